#!/usr/bin/env bash
# The ledger on other kernels than this machine's: its tests, and the command, in emulated machines.
#
#   test-kernels.sh [KERNELS]    as `cargo xtask vm --kernel` takes them, separate by spaces; or
#                                all (the default): the short pass and the long one on each;
#                                ci: the short pass on each, the long one on the oldest
set -euo pipefail
cd "$(dirname "$0")/.."
kernels=${1:-all}

# The ledger works on all of them; sid or trixie-backports has the newest.
every="6.1 6.1-rt 6.12 6.12-rt trixie-backports sid"
# Before 5.15 only the other sources can work.
no_ledger="5.10"
case $kernels in
all) short="$every $no_ledger" long=$every ;;
ci) short="$every $no_ledger" long="6.1" ;;
*) short=$kernels long=${kernels//$no_ledger/} ;;
esac

# As `make test` builds them, so that nothing is built twice.
built=$(cargo test --workspace --no-run 2>&1) || { echo "$built" >&2; exit 1; }
# The program of some tests, by their file as cargo names it.
program_of() {
    local program
    program=$(sed -n "s|.*Executable $1 (\(.*/$2-[0-9a-f]*\))\$|\1|p" <<<"$built")
    [[ -x $program ]] || { echo "exactop: cannot find the program of the tests $2" >&2; exit 1; }
    echo "$program"
}
ledger=$(program_of tests/ledger/main.rs ledger)
shares=$(program_of tests/shares.rs shares)
lab=$(program_of tests/lab.rs lab)
records=$(program_of "unittests src/lib.rs" exactop_sources)

# A minute: books, states, the herd, a quota, each command once.
short_on() {
    cargo xtask vm --kernel "$1" --timeout 420 --file target/debug/exactop --file xtask/guest/short.sh \
        -- sh /test/short.sh
}

# Each source once, and what there is.
sources_on() {
    cargo xtask vm --kernel "$1" --file target/debug/exactop --file xtask/guest/sources.sh \
        -- sh /test/sources.sh
}

# Tests of the ledger: all, or those that are named.
ledger_on() {
    local kernel=$1
    shift
    cargo xtask vm --kernel "$kernel" --timeout 1500 --file target/debug/exactop-workload-worker \
        --env EXACTOP_TEST_EMULATED=1 --env EXACTOP_WORKLOAD_WORKER=/test/exactop-workload-worker \
        -- "$ledger" --test-threads=1 "$@"
}

# What a niceness and a quota give, in control groups of version 2; weights are the lab's.
shares_on() {
    cargo xtask vm --kernel "$1" --timeout 300 --file target/debug/exactop \
        --env EXACTOP_TEST_EMULATED=1 --env EXACTOP_PROGRAM=/test/exactop -- "$shares" --test-threads=1 --nocapture \
        --skip a_period_of_a_second --skip a_weight_of --skip niceness_above --skip the_ends_of
}

# Experiments on control groups of version 2, two levels deep.
lab_on() {
    cargo xtask vm --kernel "$1" --timeout 200 --file target/debug/exactop \
        --env EXACTOP_PROGRAM=/test/exactop -- "$lab" --nocapture weights_and_quotas
}

# Records of exits, in the versions that these kernels have.
records_on() {
    cargo xtask vm --kernel "$1" -- "$records" --test-threads=1 taskstats
}

# Groups that systemd makes.
systemd_on() {
    cargo xtask vm --systemd --kernel "$1" --file target/debug/exactop \
        --file xtask/guest/groups-by-systemd.sh -- sh /test/groups-by-systemd.sh
}

# An emulated machine's CPUs stand still whenever its host is busy, and timings with them: what
# fails is tried once more, from the boot on. Twice is a failure.
twice() {
    "$@" || { echo "== $* failed: once more" >&2; "$@"; }
}

# The same, test by test.
twice_by_test() {
    local kernel=$1 log failed
    log=$(mktemp)
    ledger_on "$kernel" | tee "$log" && { rm "$log"; return; }
    failed=$(sed -n 's/^test \([^ ]*\) \.\.\. FAILED$/\1/p' "$log")
    rm "$log"
    # Without a name the machine itself failed.
    [[ -n $failed ]] || { echo "== the ledger on $kernel failed: once more" >&2; ledger_on "$kernel"; return; }
    echo "== once more on $kernel: $failed" >&2
    # shellcheck disable=SC2086 # names without spaces
    ledger_on "$kernel" --exact $failed
}

for kernel in $short; do
    twice short_on "$kernel"
done
for kernel in $long; do
    sources_on "$kernel"
    twice records_on "$kernel"
    twice systemd_on "$kernel"
    twice shares_on "$kernel"
    twice lab_on "$kernel"
    twice_by_test "$kernel"
done
