#!/usr/bin/env bash
# Packages that building and testing need, on Debian and its relatives. As root it installs what
# is missing; else it prints the one line to run and fails.
#
#   deps.sh                 install what build and tests need
#   deps.sh --check build   only say what is missing for a build (or: test)
set -euo pipefail

build=(clang libelf-dev zlib1g-dev pkg-config)
test=(procps tmux)

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
[[ ${2:-} == build ]] || wanted+=("${test[@]}")
mapfile -t lacking < <(missing "${wanted[@]}")
((${#lacking[@]})) || exit 0

line="apt-get install --no-install-recommends -y ${lacking[*]}"
if [[ ${1:-} == --check ]]; then
    echo "exactop: missing packages: ${lacking[*]}: run 'make deps' as root, or: $line" >&2
    exit 1
fi
if ((EUID)); then
    echo "exactop: not root, so nothing was installed; run as root: $line" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
$line
