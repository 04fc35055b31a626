#!/usr/bin/env bash
# Makes the table of docs/reference/kernels.md, every command on every kernel, from the output of
# the short pass (xtask/guest/short.sh), as `EXACTOP_KERNEL_LOGS=DIR make test-kernels` keeps it.
#
#   kernel-table.sh DIR
set -euo pipefail
dir=${1:?exactop: kernel-table.sh DIR: the directory that EXACTOP_KERNEL_LOGS named}

kernels=()
for log in "$dir"/short-*; do
    # Only passes that reached a kernel.
    ! grep -q '^kernel: ' "$log" || kernels+=("$(basename "$log" | sed 's/^short-//')")
done
((${#kernels[@]})) || { echo "exactop: $dir: no short pass was kept there" >&2; exit 1; }

# In the order of the passes, each once.
mapfile -t commands < <(sed -n 's/\r$//; s/^works: \(.*\): \(yes\|NO\)$/\1/p' "$dir"/short-* | awk '!seen[$0]++')

row() { printf '| %s |' "$1"; shift; printf ' %s |' "$@"; echo; }
# The last line of a pass with this prefix.
last() { tr -d '\r' <"$dir/short-$2" | sed -n "s/^$1//p" | tail -n 1; }

row "" "${kernels[@]}"
row --- "${kernels[@]//*/---}"
release=() date=()
for kernel in "${kernels[@]}"; do
    release+=("$(last 'kernel: ' "$kernel")")
    date+=("$(date -u -r "$dir/short-$kernel" +%F)")
done
row release "${release[@]}"
row date "${date[@]}"
for command in "${commands[@]}"; do
    cells=()
    for kernel in "${kernels[@]}"; do
        word=$(last "works: $command: " "$kernel")
        cells+=("${word:--}")
    done
    row "$command" "${cells[@]}"
done
