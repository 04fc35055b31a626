#!/usr/bin/env bash
# The ledger on other kernels than this machine's: its tests, and the command, in emulated machines.
#
#   test-kernels.sh [SERIES]     6.1, 6.12 ... or all (the default)
set -euo pipefail
cd "$(dirname "$0")/.."
series=${1:-all}

cargo build -p exactop -p exactop-lab
# The program of a package's tests.
program_of() {
    local program
    program=$(cargo test -p "$1" --test "$2" --no-run 2>&1 |
        sed -n 's/.*Executable .*(\(.*\))$/\1/p')
    [[ -x $program ]] || { echo "exactop: cannot find the program of the tests $2" >&2; exit 1; }
    echo "$program"
}
ledger=$(program_of exactop-sources ledger)
shares=$(program_of exactop shares)
lab=$(program_of exactop lab)
records=$(cargo test -p exactop-sources --lib --no-run 2>&1 |
    sed -n 's/.*Executable .*(\(.*\))$/\1/p')

[[ $series == all ]] && series="6.1 6.12"

ledger_on() {
    cargo xtask vm --kernel "$1" --timeout 600 --file target/debug/exactop-lab-worker \
        --env EXACTOP_TEST_EMULATED=1 --env EXACTOP_LAB_WORKER=/test/exactop-lab-worker \
        -- "$ledger" --test-threads=1
}

# What a niceness and a quota give, in control groups of version 2; weights are the lab's.
shares_on() {
    cargo xtask vm --kernel "$1" --timeout 300 --file target/debug/exactop \
        --env EXACTOP_PROGRAM=/test/exactop -- "$shares" --test-threads=1 --nocapture \
        --skip a_period_of_a_second --skip a_weight_of
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
        --file scripts/guest-systemd.sh -- sh /test/guest-systemd.sh
}

# An emulated machine's CPUs stand still whenever its host is busy, and timings with them: what
# fails is tried once more, from the boot on. Twice is a failure.
twice() {
    "$@" || { echo "== $* failed: once more" >&2; "$@"; }
}

for kernel in $series; do
    cargo xtask vm --kernel "$kernel" -- target/debug/exactop doctor
    for source in ledger snapshot taskstats; do
        cargo xtask vm --kernel "$kernel" -- target/debug/exactop --source "$source" --once -d 1
    done
    twice records_on "$kernel"
    twice systemd_on "$kernel"
    twice shares_on "$kernel"
    twice lab_on "$kernel"
    twice ledger_on "$kernel"
done
