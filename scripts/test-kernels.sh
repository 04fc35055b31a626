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

vm() {
    cargo xtask vm --kernel "$series" "$@"
}

vm -- target/debug/exactop doctor
vm -- target/debug/exactop --source ledger --once -d 1
vm --timeout 600 --file target/debug/exactop-lab-worker \
    --env EXACTOP_TEST_EMULATED=1 --env EXACTOP_LAB_WORKER=/test/exactop-lab-worker -- "$tests" --test-threads=1
