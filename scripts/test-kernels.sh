#!/usr/bin/env bash
# The ledger on other kernels than this machine's: its tests, and the command, in emulated machines.
#
#   test-kernels.sh [SERIES]     6.1, 6.12 ... or all (the default)
set -euo pipefail
cd "$(dirname "$0")/.."
series=${1:-all}

cargo build -p exactop -p exactop-lab
tests=$(cargo test -p exactop-sources --test ledger --no-run 2>&1 |
    sed -n 's/.*Executable .*(\(.*\))$/\1/p')
[[ -x $tests ]] || { echo "exactop: cannot find the ledger's test program" >&2; exit 1; }

[[ $series == all ]] && series="6.1 6.12"

# An emulated machine's CPUs stand still whenever its host is busy, and timings with them: a kernel
# whose tests fail is tested once more, from the boot on. Twice is a failure.
tests_on() {
    cargo xtask vm --kernel "$1" --timeout 600 --file target/debug/exactop-lab-worker \
        --env EXACTOP_TEST_EMULATED=1 --env EXACTOP_LAB_WORKER=/test/exactop-lab-worker \
        -- "$tests" --test-threads=1
}

# A quota in a control group of version 2, and the kernel's word for it.
quota_on() {
    local report
    report=$(cargo xtask vm --kernel "$1" -- target/debug/exactop run --max 40% --weight 200 -- \
        /test/exactop load spin --threads 2 --duration 4 2>&1)
    echo "$report"
    grep -q 'allowed 0.40: throttled in [1-9]' <<<"$report" ||
        { echo "exactop: no throttling on $1" >&2; return 1; }
}

for kernel in $series; do
    cargo xtask vm --kernel "$kernel" -- target/debug/exactop doctor
    cargo xtask vm --kernel "$kernel" -- target/debug/exactop --source ledger --once -d 1
    quota_on "$kernel"
    if ! tests_on "$kernel"; then
        echo "== the tests failed on $kernel: once more" >&2
        tests_on "$kernel"
    fi
done
