#!/usr/bin/env bash
# Packages that building and testing need, on Debian and its relatives. As root it installs what
# is missing; else it prints the one line to run and fails.
#
#   deps.sh [build|test|kernels|truth|postgres|deb|packages|fleet|web|python]    what a build needs, what the tests need
#                                 too (the default), what test-kernels, bench-truth, test-postgres, deb,
#                                 test-packages, test-fleet or test-web run, or what installs Python's modules below target/
set -euo pipefail

build=(clang libelf-dev zlib1g-dev pkg-config)
test=(procps tmux strace linux-perf zsh fish valgrind stress-ng prometheus python3-prometheus-client runc containerd podman systemd-container)
# The emulator, the one program of the guest's init, the programs of a guest with systemd, and the
# keys of Debian's suites.
kernels=(qemu-system-x86 busybox-static systemd dbus-daemon debian-archive-keyring)
deb=(debhelper dpkg-dev)
packages=(lintian mmdebstrap python3-yaml umoci runc containerd)
python=(python3-venv)
fleet=("${python[@]}" default-jre-headless prometheus victoria-metrics)
web=(chromium)
postgres=(postgresql)
truth=("${postgres[@]}" stress-ng rt-tests nginx-light wrk)

missing() {
    local package
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
            echo "$package"
    done
}

# On systems other than Debian the compiler reports what is missing.
command -v dpkg-query >/dev/null || exit 0

wanted=("${build[@]}")
case ${1:-test} in
test) wanted+=("${test[@]}") ;;
kernels) wanted+=("${kernels[@]}") ;;
truth) wanted+=("${truth[@]}") ;;
postgres) wanted+=("${postgres[@]}") ;;
deb) wanted+=("${deb[@]}") ;;
web) wanted+=("${web[@]}") ;;
fleet) wanted+=("${fleet[@]}") ;;
python) wanted+=("${python[@]}") ;;
packages) wanted+=("${deb[@]}" "${packages[@]}") ;;
esac
mapfile -t lacking < <(missing "${wanted[@]}")
((${#lacking[@]})) || exit 0

line="apt-get install --no-install-recommends -y ${lacking[*]}"
if ((EUID)); then
    echo "exactop: missing packages: ${lacking[*]}: run as root: $line" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
$line
