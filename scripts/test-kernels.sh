#!/usr/bin/env bash
# The ledger on other kernels than this machine's: its tests, and the command, in emulated machines.
#
#   test-kernels.sh [KERNELS]    as `"$xtask" vm --kernel` takes them, separate by spaces; or
#                                all (the default): the short pass and the long one on each;
#                                ci: the short pass on each, the long one on the oldest
#
# As many emulated machines run at once as this one has CPUs, because each takes one thread. What a
# pass printed comes when it has ended; the table of what passed, and how long it took, at the end.
# EXACTOP_KERNEL_LOGS names a directory that keeps what they printed.
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
cargo build -q -p xtask
xtask=${CARGO_TARGET_DIR:-target}/debug/xtask

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

# A program that knows what it did, and that the guest has no compiler for.
herd=${CARGO_TARGET_DIR:-target}/vm/herd_server
mkdir -p "$(dirname "$herd")"
clang -O2 -pthread -o "$herd" crates/sources/tests/ledger/programs/herd_server.c
# A scheduler for sched_ext.
scheduler=${CARGO_TARGET_DIR:-target}/vm/ext_scheduler.bpf.o
clang -O2 -g -target bpf -c -o "$scheduler" crates/sources/tests/ledger/programs/ext_scheduler.bpf.c

# A minute: books, states, the herd, a quota, each command once.
short_on() {
    "$xtask" vm --kernel "$1" --timeout 1500 --file target/debug/exactop --file xtask/guest/short.sh \
        -- sh /test/short.sh
}

# Each source once, and what there is.
sources_on() {
    "$xtask" vm --kernel "$1" --timeout 600 --file target/debug/exactop --file xtask/guest/sources.sh \
        -- sh /test/sources.sh
}

# Tests of the ledger: all, or those that are named.
ledger_on() {
    local kernel=$1
    shift
    "$xtask" vm --kernel "$kernel" --timeout 2400 --file target/debug/exactop-workload-worker \
        --file "$herd" --env EXACTOP_TEST_HERD_SERVER=/test/herd_server \
        --env EXACTOP_TEST_EMULATED=1 --env EXACTOP_WORKLOAD_WORKER=/test/exactop-workload-worker \
        -- "$ledger" --test-threads=1 "$@"
}

# Causes of moves for which there have to be two nodes, and a scheduler in BPF.
rare_moves_on() {
    "$xtask" vm --kernel "$1" --timeout 600 --nodes 2 --mem 1536 \
        --file target/debug/exactop-workload-worker --file "$scheduler" \
        --env EXACTOP_TEST_EXT_SCHEDULER=/test/ext_scheduler.bpf.o \
        --env EXACTOP_TEST_EMULATED=1 --env EXACTOP_WORKLOAD_WORKER=/test/exactop-workload-worker \
        -- "$ledger" --test-threads=1 --nocapture moves::rare
}

# What a niceness and a quota give, in control groups of version 2; weights are the lab's.
shares_on() {
    "$xtask" vm --kernel "$1" --timeout 300 --file target/debug/exactop \
        --env EXACTOP_TEST_EMULATED=1 --env EXACTOP_PROGRAM=/test/exactop -- "$shares" --test-threads=1 --nocapture \
        --skip a_period_of_a_second --skip a_weight_of --skip niceness_above --skip the_ends_of
}

# Experiments on control groups of version 2, two levels deep.
lab_on() {
    "$xtask" vm --kernel "$1" --timeout 200 --file target/debug/exactop \
        --env EXACTOP_PROGRAM=/test/exactop -- "$lab" --nocapture weights_and_quotas
}

# Records of exits, in the versions that these kernels have.
records_on() {
    "$xtask" vm --kernel "$1" --timeout 600 -- "$records" --test-threads=1 taskstats
}

# Groups that systemd makes.
systemd_on() {
    "$xtask" vm --systemd --kernel "$1" --timeout 300 --file target/debug/exactop \
        --file xtask/guest/groups-by-systemd.sh -- sh /test/groups-by-systemd.sh
}

# The daemon's unit: started, killed, hanging, reloaded, ended.
unit_on() {
    "$xtask" vm --systemd --kernel "$1" --timeout 500 --file target/debug/exactop \
        --file packaging/exactop.service.in --file "$(command -v systemctl)" \
        --file xtask/guest/unit.sh -- sh /test/unit.sh
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

# All of a kernel, whatever becomes of a part.
long_on() {
    local kernel=$1 failed=0
    twice sources_on "$kernel" || failed=1
    twice records_on "$kernel" || failed=1
    twice systemd_on "$kernel" || failed=1
    twice unit_on "$kernel" || failed=1
    twice rare_moves_on "$kernel" || failed=1
    twice shares_on "$kernel" || failed=1
    twice lab_on "$kernel" || failed=1
    twice_by_test "$kernel" || failed=1
    return $failed
}

kept=${EXACTOP_KERNEL_LOGS:-}
logs=${kept:-$(mktemp -d)}
mkdir -p "$logs"
# Whoever is interrupted leaves no machines behind: they end with the xtask that started them.
end() {
    jobs -p | xargs -r kill 2>/dev/null || true
    [[ -n $kept ]] || rm -rf "$logs"
}
trap end EXIT
: >"$logs/passes"

# One pass of a kernel, in the background; what it printed comes whole.
pass() {
    local what=$1 kernel=$2 begin=$SECONDS how=passed again=twice
    # The long one tries its parts again by itself.
    [[ $what != long ]] || again=
    $again "${what}_on" "$kernel" >"$logs/$what-$kernel" 2>&1 || how=FAILED
    ! grep -q ' failed: once more$' "$logs/$what-$kernel" || how+=", in part at the second try"
    {
        flock 9
        echo "== the $what pass on $kernel"
        cat "$logs/$what-$kernel"
        printf '%-5s  %-16s  %s, %d s\n' "$what" "$kernel" "$how" $((SECONDS - begin)) >>"$logs/passes"
    } 9>"$logs/lock"
}

# The long ones first, so that the last to end is a short one.
at_once=$(nproc)
for one in $(printf 'long:%s ' $long) $(printf 'short:%s ' $short); do
    # Nothing is tested on no kernel.
    [[ $one != *: ]] || continue
    while (($(jobs -rp | wc -l) >= at_once)); do
        wait -n || true
    done
    pass "${one%%:*}" "${one#*:}" &
done
wait
echo "== all passes"
sort "$logs/passes"
! grep -q FAILED "$logs/passes"
