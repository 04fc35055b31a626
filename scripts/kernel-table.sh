#!/usr/bin/env bash
# Makes the table of docs/reference/kernels.md, every command on every kernel, from the output of
# the short pass (xtask/guest/short.sh), as `EXACTOP_KERNEL_LOGS=DIR make test-kernels` keeps it.
# Commands with equal results share a row of at most 15 words.
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
same=$(printf '%s\n' "${date[@]}" | sort -u)
[[ $same != *$'\n'* ]] || row date "${date[@]}"
declare -A names
results=()
for command in "${commands[@]}"; do
    cells=()
    for kernel in "${kernels[@]}"; do
        word=$(last "works: $command: " "$kernel")
        cells+=("${word:--}")
    done
    result=${cells[*]}
    [[ -v names[$result] ]] || results+=("$result")
    names[$result]+=${names[$result]:+$'\n'}$command
done
for result in "${results[@]}"; do
    # shellcheck disable=SC2086 # a word for each kernel
    while read -r joined; do row "$joined" $result; done < <(awk '
        words + NF > 15 { print text; text = ""; words = 0 }
        { text = text (text == "" ? "" : ", ") $0; words += NF }
        END { print text }' <<<"${names[$result]}")
done
[[ $same == *$'\n'* ]] || printf '\nAll runs are of %s.\n' "$same"
