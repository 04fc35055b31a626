#!/usr/bin/env bash
# Installs built files; builds nothing.
#
#   install.sh command|library
#   install.sh hints                what is left to do by hand for the service, on a machine that is in use
#
# PREFIX (/usr/local), LIBDIR (PREFIX/lib), UNITDIR (PREFIX/lib/systemd/system) and DESTDIR say where;
# BUILT is where cargo left it (target/release).
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."

dest=${DESTDIR:-}
prefix=${PREFIX:-/usr/local}
libdir=${LIBDIR:-$prefix/lib}
units=$dest${UNITDIR:-$prefix/lib/systemd/system}
built=${BUILT:-${CARGO_TARGET_DIR:-target}/release}
version=$(scripts/version.sh)

command_files() {
    local exactop=$built/exactop share=$dest$prefix/share page
    install -D -m 755 "$exactop" "$dest$prefix/bin/exactop"
    install -d "$share/man/man1"
    for page in $("$exactop" man --list); do
        "$exactop" man "$page" >"$share/man/man1/$page.1"
    done
    install -d "$share/bash-completion/completions" "$share/zsh/site-functions" \
        "$share/fish/vendor_completions.d"
    "$exactop" completions bash >"$share/bash-completion/completions/exactop"
    "$exactop" completions zsh >"$share/zsh/site-functions/_exactop"
    "$exactop" completions fish >"$share/fish/vendor_completions.d/exactop.fish"
    install -D -m 644 packaging/exactop.sysusers "$dest$prefix/lib/sysusers.d/exactop.conf"
    install -d "$units"
    sed "s|@BINDIR@|$prefix/bin|" packaging/exactop.service.in >"$units/exactop.service"
    # An existing configuration stays.
    [[ -e $dest/etc/exactop/config.toml ]] ||
        install -D -m 644 packaging/config.toml "$dest/etc/exactop/config.toml"
    install -D -m 644 packaging/exactop.tmpfiles "$dest$prefix/lib/tmpfiles.d/exactop.conf"
}

library_files() {
    local lib=$dest$libdir major=${version%%.*}
    install -D -m 644 "$built/libexactop.so" "$lib/libexactop.so.$version"
    ln -sf "libexactop.so.$version" "$lib/libexactop.so.$major"
    ln -sf "libexactop.so.$major" "$lib/libexactop.so"
    install -m 644 "$built/libexactop.a" "$lib/libexactop.a"
    install -D -m 644 crates/show/capi/include/exactop.h "$dest$prefix/include/exactop.h"
    install -d "$lib/pkgconfig"
    sed -e "s|@PREFIX@|$prefix|" -e "s|@LIBDIR@|$libdir|" -e "s|@VERSION@|$version|" \
        crates/show/capi/exactop.pc.in >"$lib/pkgconfig/exactop.pc"
}

# Prints the steps that a package's scripts would do and that an installation from source leaves to
# the user.
hints() {
    # A packager installs nothing on this machine.
    [[ -z $dest ]] || return 0
    local lines=()
    if ! getent group exactop >/dev/null; then
        if command -v systemd-sysusers >/dev/null; then
            lines+=("systemd-sysusers $prefix/lib/sysusers.d/exactop.conf    # the group that may look without root")
        else
            lines+=("groupadd --system exactop    # those who may look without root")
        fi
    fi
    if [[ -d ${EXACTOP_SYSTEMD:-/run/systemd/system} ]]; then
        case $units in
        /etc/systemd/system | /usr/local/lib/systemd/system | /usr/lib/systemd/system | /lib/systemd/system) ;;
        *) lines+=("systemctl link $units/exactop.service    # no directory that systemd looks into") ;;
        esac
        lines+=("systemctl daemon-reload    # then: systemctl enable --now exactop")
    fi
    ((${#lines[@]} == 0)) || printf '%s\n' 'For the service, as root:' "${lines[@]/#/    }"
}

case ${1:-} in
command) command_files ;;
library) library_files ;;
hints) hints ;;
*)
    echo "exactop: install.sh '${1:-}': give command, library or hints" >&2
    exit 2
    ;;
esac
