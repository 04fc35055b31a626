# Features of this kernel, and one window of each source that needs BPF or netlink.
set -eu
exactop=/test/exactop
"$exactop" doctor
for source in ledger snapshot taskstats; do
    "$exactop" --source "$source" --once -d 1
done
