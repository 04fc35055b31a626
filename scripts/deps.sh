#!/usr/bin/env bash
# Packages that building and testing need, on Debian and its relatives. As root it installs what
# is missing; else it prints the one line to run and fails.
#
#   deps.sh [build|test]    what a build needs, or what the tests need too (the default)
set -euo pipefail

build=(clang libelf-dev zlib1g-dev pkg-config)
test=(procps tmux valgrind)

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
[[ ${1:-test} == build ]] || wanted+=("${test[@]}")
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
