#!/usr/bin/env bash
# The version of exactop. It stands once, in Cargo.toml below [workspace.package]; crates, the manual, packages,
# the image, exactop.pc and the name of the shared library follow from it.
#
#   version.sh               print it
#   version.sh set VERSION   write it to Cargo.toml, and to the two files that must repeat it: Cargo.lock and
#                            deploy/kubernetes/daemonset.yaml
#   version.sh check         fail unless these files and the library's Debian package agree with Cargo.toml
set -euo pipefail
cd "$(dirname "$0")/.."
manifest=deploy/kubernetes/daemonset.yaml

print() {
    awk -F '"' '/^\[/ { here = $0 == "[workspace.package]" } here && /^version = "/ { print $2; exit }' Cargo.toml
}

# The version of each package of the workspace in Cargo.lock; these packages have no source.
locked() {
    awk -F '"' 'BEGIN { RS = "" } /^\[\[package\]\]/ && !/\nsource = / {
        match($0, /\nversion = "[^"]*"/); print substr($0, RSTART + 12, RLENGTH - 13) }' Cargo.lock | sort -u
}

in_image() { sed -n 's/^ *image: exactop:\(.*\)$/\1/p' "$manifest" | sort -u; }

# Writes what a command makes of a file in its place; the file keeps its mode.
rewrite() { # FILE COMMAND...
    local new
    new=$("${@:2}" <"$1" && echo .)
    printf '%s' "${new%.}" >"$1"
}

write() {
    rewrite Cargo.toml awk -v version="$1" '
        /^\[/ { here = $0 == "[workspace.package]" }
        here && /^version = "/ { $0 = "version = \"" version "\"" }
        { print }'
    # A block of the lock file is printed at its end, where it is known whether it has a source.
    rewrite Cargo.lock awk -v version="$1" '
        function block() {
            if (package && !source) sub(/\nversion = "[^"]*"/, "\nversion = \"" version "\"", text)
            printf "%s", text
            text = ""; package = source = 0
        }
        $0 == "[[package]]" { block(); package = 1 }
        /^source = / { source = 1 }
        { text = text $0 "\n" }
        END { block() }'
    rewrite "$manifest" sed "s/^\( *image: exactop:\).*$/\1$1/"
}

check() {
    local version major failed=0
    version=$(print)
    major=${version%%.*}
    differs() { # FILE FOUND
        [[ $2 == "$version" ]] || {
            echo "exactop: version.sh: $1 has version '${2//$'\n'/ }', and Cargo.toml has '$version': run scripts/version.sh set $version" >&2
            failed=1
        }
    }
    differs Cargo.lock "$(locked)"
    differs "$manifest" "$(in_image)"
    grep -qx "Package: libexactop$major" packaging/debian/control && [[ -e packaging/debian/libexactop$major.install ]] || {
        echo "exactop: version.sh: packaging/debian has no package libexactop$major, and the library is libexactop.so.$major: rename the package in packaging/debian/control and its .install file" >&2
        failed=1
    }
    return "$failed"
}

case "${1:-}/$#" in
/0)
    version=$(print)
    [[ -n $version ]] || { echo "exactop: version.sh: Cargo.toml has no version below [workspace.package]: add it" >&2; exit 1; }
    echo "$version"
    ;;
set/2) write "$2" ;;
check/1) check ;;
*)
    echo "exactop: version.sh: unknown arguments '$*': give nothing, 'set VERSION' or 'check'" >&2
    exit 2
    ;;
esac
