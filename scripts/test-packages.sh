#!/usr/bin/env bash
# Tests the delivered files in their place: packages in a clean Debian root, the static file in an
# empty one, the image in runc with exactly what the manifest grants.
#
#   test-packages.sh [packages|static|image|unit ...]    all of them unless some are named
#
# As root, in a few minutes. What is tested is what `make dist static` built. The clean root is made
# once, from the mirror that this machine's own sources name, and kept outside the clone (scripts/cache.sh).
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
before=$target/test-packages/old
static=$target/static/exactop
manifest=deploy/kubernetes/daemonset.yaml
suite=bookworm
version=$(scripts/version.sh)

((EUID == 0)) || {
    echo "exactop: a root of its own and containers are root's to make: run this as root" >&2
    exit 1
}
# Mounts made here disappear with this process, however it ends.
if [[ ${EXACTOP_OWN_MOUNTS:-} != yes ]]; then
    EXACTOP_OWN_MOUNTS=yes exec unshare --mount --propagation private "$0" "$@"
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/exactop-packages.XXXXXX")
tidy() {
    umount "$work"/*/proc "$work"/*/sys 2>/dev/null || true
    rm -rf --one-file-system "$work"
}
trap tidy EXIT
passed=0 failed=0

# Prints the result of a check, and its output if it failed.
check() { # WORDS COMMAND...
    if "${@:2}" >"$work/said" 2>&1; then
        echo "ok      $1"
        passed=$((passed + 1))
    else
        echo "FAILED  $1"
        sed 's/^/        /' "$work/said"
        failed=$((failed + 1))
    fi
}

not() { ! "$@"; }

same() { [[ $1 == "$2" ]] || { echo "'$1' is not '$2'"; return 1; }; }

# Prints a window of this source whose accounts sum to CPUs x time.
window_of() { # SOURCE COMMAND...
    "${@:2}" >"$work/window" || return
    python3 - "$1" "$work/window" <<'END'
import json, sys
window = json.load(open(sys.argv[2], encoding="utf-8"))
source, books = window["source"], window["books"]
assert source["name"] == sys.argv[1], source
accounts = sum(books[a] or 0 for a in books if a != "total_ns")
between = window["window"]["t1_ns"] - window["window"]["t0_ns"]
assert books["total_ns"] == window["window"]["cpus"] * between > 0, books
assert accounts + window["window"]["residual_ns"] == books["total_ns"], books
END
}

# Packages of the clean Debian besides the minimal set.
root_has=(libelf1 systemd zlib1g)

# A clean Debian with the dependencies of the packages, because dpkg runs without a network.
clean_root() { # DIRECTORY
    local mirror roots tar new
    # Named by its content, in the versions of this machine's lists: another version is another
    # root.
    roots=$(scripts/cache.sh roots)
    tar=$roots/$suite-$({
        echo minbase "${root_has[@]}"
        apt-cache show --no-all-versions "${root_has[@]}" 2>/dev/null | grep -E "^(Package|Version):" || true
    } | sha256sum | head -c 32).tar
    if [[ ! -e $tar ]]; then
        mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -1)
        # Another run may make one, too: each makes its own, and the last one stays.
        new=$(mktemp -p "$roots" new.XXXXXX)
        if ! mmdebstrap --quiet --format=tar --variant=minbase --include="$(IFS=,; echo "${root_has[*]}")" \
            "$suite" - "$mirror" >"$new"; then
            rm "$new"
            return 1
        fi
        mv "$new" "$tar"
    fi
    # Roots that were not used for a month are removed, and so are incomplete ones.
    touch "$tar"
    find "$roots" -maxdepth 1 -type f -mtime +30 -delete
    mkdir -p "$1"
    tar --extract --file "$tar" --directory "$1"
    mount -t proc proc "$1/proc"
}

# Files of the root, without the package manager's own.
files_of() { # ROOT
    (cd "$1" && find . -xdev \( -path ./var/lib/dpkg -o -path ./var/log -o -path ./var/cache \
        -o -path ./proc \
        -o -path './etc/group*' -o -path './etc/gshadow*' -o -path ./etc/.pwd.lock \) -prune -o -print; find ./var/log/exactop 2>/dev/null || true) | sort
}

in_root() { chroot "$root" "$@"; }
dpkg_in_root() { DEBIAN_FRONTEND=noninteractive LC_ALL=C in_root dpkg "$@"; }
installed_version() { in_root dpkg-query -W -f '${Version}' exactop; }

# A program linked with the -dev package runs with the library alone.
links() {
    local library=$root/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
    cc -D_DEFAULT_SOURCE -I "$root/usr/include" crates/show/capi/examples/walk.c \
        -L "$library" -lexactop -o "$root/walk" || return
    rm "$library/libexactop.so"
    in_root /walk procfs | grep '^this process ran '
}

# The copyright file, which is made from cargo's data, must list every crate that the binary's
# messages name.
crates_named() { # BINARY COPYRIGHT
    local crate crates lacking=0
    crates=$(grep -aoE '/registry/src/[^/]+/[A-Za-z0-9_.+-]+/' "$1" | cut -d/ -f5 | sort -u)
    (($(wc -w <<<"$crates") > 9)) || { echo "$1 speaks of no crates: '$crates'"; return 1; }
    for crate in $crates; do
        grep -qxF " $crate/*" "$2" || { echo "$crate is not in $2"; lacking=1; }
    done
    return $lacking
}

# A link that another user planted in /var/log, which on some systems a group can write to. exactop
# as root must neither follow nor empty it.
test_planted_link() {
    local log=$root/var/log/exactop
    mkdir "$root/theirs" && touch "$root/theirs/kept"
    chown -R 65534:65534 "$root/theirs"
    rm -r "$log"
    chmod 777 "$root/var/log"
    ln -s /theirs "$log" && chown -h 65534:65534 "$log"
    files_of "$root" >"$work/planted"
    untouched() { diff "$work/planted" <(files_of "$root") && same "$(stat -c %u "$root/theirs")" 65534; }
    # It fails on purpose; its effect counts.
    in_root systemd-tmpfiles --create exactop.conf 2>/dev/null || true
    check "another user's link in place of the log is left alone when it is installed" untouched
    for command in record "daemon --socket /run/planted"; do
        # shellcheck disable=SC2086 # words
        check "'exactop ${command%% *}' refuses it in a line" \
            refused "uid 65534" in_root exactop $command
    done
    check "and has written nothing there" untouched
    rm "$log"
    chmod 755 "$root/var/log"
    rm -r "$root/theirs"
    in_root systemd-tmpfiles --create exactop.conf
}

test_packages() {
    local now=$target/deb
    DEBS=$before scripts/deb.sh 0.1.9 >/dev/null
    DEBS=$now scripts/deb.sh >/dev/null
    check "lintian has nothing to say of the packages" \
        lintian --allow-root --fail-on error,warning --tag-display-limit 0 "$now"/*.changes
    root=$work/debian
    clean_root "$root"
    files_of "$root" >"$work/before"
    mkdir -p "$root/debs"
    cp -r "$before" "$root/debs/old" && cp -r "$now" "$root/debs/new"

    check "an older version is installed" dpkg_in_root --install -R /debs/old
    check "and is there" same "$(installed_version)" 0.1.9
    check "recordings are root's alone" same "$(stat -c %U%a "$root/var/log/exactop")" root700
    check "the group of those who may connect is there" in_root getent group exactop
    echo '# set by hand' >>"$root/etc/exactop/config.toml"
    check "this version takes its place" dpkg_in_root --install -R /debs/new
    check "and is there" same "$(installed_version)" "$(tr - '~' <<<"$version")"
    check "settings stay as they were set" grep '^# set by hand$' "$root/etc/exactop/config.toml"
    check "and can be used" in_root exactop daemon --check
    check "the command runs" window_of procfs in_root exactop --source procfs --json -n 1 -d 0.1
    check "it has its manual" test -s "$root/usr/share/man/man1/exactop-run.1.gz"
    check "a C program is made and runs with the library" links
    check "the command's copyright file names its crates" \
        crates_named "$root/usr/bin/exactop" "$root/usr/share/doc/exactop/copyright"
    check "and in the library" \
        crates_named "$(echo "$root"/usr/lib/*/libexactop.so.0)" "$root/usr/share/doc/libexactop0/copyright"
    test_planted_link
    touch "$root/var/log/exactop/one"
    check "they are removed" dpkg_in_root --remove exactop libexactop-dev libexactop0
    check "what was recorded is kept until they are purged" test -e "$root/var/log/exactop/one"
    check "and settings are" test -e "$root/etc/exactop/config.toml"
    check "they are purged" dpkg_in_root --purge exactop libexactop-dev libexactop0
    rm -r "$root/debs" "$root/walk"
    files_of "$root" >"$work/after"
    check "and nothing is left" diff "$work/before" "$work/after"
    umount "$root/proc"
}

# One line that names the missing part, with the exit code of a failure.
refused() { # WORDS COMMAND...
    local status=0
    "${@:2}" >"$work/out" 2>"$work/err" || status=$?
    same "$status $(wc -l <"$work/err")" "1 1" && grep -- "$1" "$work/err"
}

test_static() {
    root=$work/empty
    mkdir -p "$root/proc" "$root/sys"
    cp "$static" "$root/exactop"
    # It has no loader and no library.
    check "the static file asks for nothing" \
        not grep -E 'INTERP|NEEDED' <(readelf --wide --segments --dynamic "$static")
    check "and may be loaded anywhere" grep 'Type: *DYN' <(readelf --wide --file-header "$static")
    check "in an empty root it says what it is" in_root /exactop --version
    check "and without /proc what it lacks" refused /proc in_root /exactop --json -n 1
    mount -t proc proc "$root/proc"
    check "with /proc it counts" window_of procfs in_root /exactop --source procfs --json -n 1 -d 0.1
    mount -t sysfs sysfs "$root/sys"
    check "with /sys it has the ledger" window_of ledger in_root /exactop --json -n 1 -d 0.1
    umount "$root/proc" "$root/sys"
    # The oldest available kernel with a ledger.
    if command -v qemu-system-x86_64 >/dev/null && command -v busybox >/dev/null; then
        check "on Linux 6.1 it has the ledger" window_of ledger \
            cargo xtask vm --kernel 6.1 --cpus 2 --timeout 300 -- "$static" --json -n 1 -d 0.5
    else
        echo "left out: Linux 6.1: there is no emulator: run as root: scripts/deps.sh kernels"
    fi
}

# The configuration of a container with the manifest's capabilities and containerd's own filter of
# system calls.
runtimes_own() {
    local dir=$work/containerd caps cap pid made=1
    mkdir -p "$dir"
    cat >"$dir/config" <<END
version = 2
root = "$dir/root"
state = "$dir/state"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
address = "$dir/s"
END
    containerd -c "$dir/config" >"$dir/log" 2>&1 &
    pid=$!
    until ctr -a "$dir/s" version >/dev/null 2>&1; do
        kill -0 $pid || { cat "$dir/log"; return 1; }
        sleep 0.1
    done
    mapfile -t caps < <(sed -n 's/^ *add: \["\(.*\)"\]$/\1/p' "$manifest" | sed 's/", "/\n/g')
    ctr -a "$dir/s" containers create --seccomp --cap-drop CAP_SYS_CHROOT \
        $(for cap in "${caps[@]}"; do echo "--cap-add CAP_$cap"; done) \
        --rootfs "$work/bundle/rootfs" own /usr/bin/exactop &&
        ctr -a "$dir/s" containers info --spec own >"$work/own.json" && made=0
    kill $pid && wait $pid || true
    return $made
}

# Output of a container with the manifest's grants, without one capability if it is named.
contained() { # CAPABILITY ARGUMENT...
    cp "$work/config.json" "$work/bundle/config.json"
    scripts/granted.py --without "$1" --written "$work/written" --seccomp "$work/own.json" \
        "$manifest" "$work/bundle/config.json" -- "${@:2}"
    runc --root "$work/runc" run --bundle "$work/bundle" "$container"
}

# Waits for a condition.
until_so() { # COMMAND...
    local tries=300
    until "$@" >/dev/null 2>&1; do
        ((tries--)) || { echo "not after a minute: $*"; return 1; }
        sleep 0.2
    done
}

# The page of metrics, from the container's own network.
page() {
    local pid
    pid=$(runc --root "$work/runc" state "$container" | sed -n 's/^ *"pid": \([0-9]*\),$/\1/p')
    nsenter --net="/proc/$pid/ns/net" python3 -c \
        'import urllib.request as u; print(u.urlopen("http://127.0.0.1:9464/metrics").read().decode())'
}

has_page() { page | grep '^exactop_cpu_seconds_total{account="tasks"}'; }
has_name() { page | grep "^exactop_machine_info{host=\"$(uname -n)\","; }
recorded() { "$static" record list "$work/written/recordings" | grep exact; }

# The manifest's own command: its page, and its socket on the node; then a request to end.
test_daemon() {
    local socket=$work/written/socket/socket pid status=0
    contained none + >"$work/daemon" 2>&1 &
    pid=$!
    check "root on the node reads what the manifest's command serves" \
        until_so window_of ledger "$static" --source daemon --socket "$socket" --json -n 1 -d 0.2
    check "its page of metrics is there, at the manifest's port" until_so has_page
    check "it has the name of the node, not of the container" until_so has_name
    # As for `kubectl exec`: the same rights, and the socket at its usual place.
    check "a process inside the container reads it" window_of ledger \
        runc --root "$work/runc" exec "$container" /usr/bin/exactop --source daemon --json -n 1 -d 0.2
    check "it records" until_so recorded
    runc --root "$work/runc" kill "$container" TERM
    wait $pid || status=$?
    check "it ends at SIGTERM" same "$status" 0
    check "and what it recorded is whole" "$static" record verify "$work/written/recordings"
    # In a container it listens on all addresses, which are the pod's; a policy decides on access.
    check "it had nothing to complain of but that its page is for everyone who reaches it" \
        same "$(cat "$work/daemon")" "exactop: daemon: metrics on 0.0.0.0:9464 need no password: everyone who reaches the address can read commands and users of all"
    sed 's/^/        /' "$work/daemon"
}

test_image() {
    local layout=$work/image/exactop container=exactop-test-$$
    check "an image is made" scripts/image.sh "$static" "$work/image"
    check "the same file gives the same image" scripts/image.sh "$static" "$work/again"
    check "to the byte" cmp "$work/image/exactop.oci.tar" "$work/again/exactop.oci.tar"
    check "the manifest names this image" grep "image: exactop:$version\$" "$manifest"
    check "it is unpacked" umoci unpack --image "$layout:$version" "$work/bundle"
    cp "$work/bundle/config.json" "$work/config.json"
    check "with the licenses of what is in it" \
        crates_named "$static" "$work/bundle/rootfs/usr/share/doc/exactop/copyright"
    check "a runtime's own filter of system calls is had" runtimes_own
    check "with what the manifest grants it has the ledger" \
        window_of ledger contained none --json -n 1 -d 0.1
    test_daemon
    # The purpose of each grant: without it the container says so and has less.
    for needed in BPF PERFMON; do
        check "without $needed it has not" window_of procfs contained "$needed" --json -n 1 -d 0.1
    done
}

test_unit() {
    local unit=$work/exactop.service
    sed 's|@BINDIR@|/usr/bin|' packaging/exactop.service.in >"$unit"
    check "systemd takes the unit for less exposed than 3" \
        systemd-analyze security --offline=true --no-pager --threshold=30 "$unit"
}

parts=("$@")
(($#)) || parts=(packages static image unit)
for part in "${parts[@]}"; do
    "test_$part"
done
echo "$passed passed, $failed failed"
((failed == 0))
