#!/usr/bin/env bash
# Packages that building and testing need, on Debian and its relatives. As root it installs what
# is missing; else it prints the one line to run and fails.
#
#   deps.sh [build|test|truth|deb|packages|fleet]    what a build needs, what the tests need too (the
#                                 default), or what bench-truth, deb, test-packages or test-fleet run
set -euo pipefail

build=(clang libelf-dev zlib1g-dev pkg-config)
test=(procps tmux zsh fish valgrind stress-ng prometheus runc containerd podman systemd-container)
deb=(debhelper dpkg-dev)
packages=(lintian mmdebstrap python3-yaml umoci runc containerd)
fleet=(default-jre-headless prometheus victoria-metrics)
truth=(stress-ng rt-tests postgresql nginx-light wrk)

missing() {
    local package
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
            echo "$package"
    done
}

# Elsewhere than on Debian the compiler itself will say what it lacks.
command -v dpkg-query >/dev/null || exit 0

wanted=("${build[@]}")
case ${1:-test} in
test) wanted+=("${test[@]}") ;;
truth) wanted+=("${truth[@]}") ;;
deb) wanted+=("${deb[@]}") ;;
fleet) wanted+=("${fleet[@]}") ;;
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
