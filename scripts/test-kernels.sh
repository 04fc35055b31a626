#!/usr/bin/env bash
# The ledger on other kernels than this machine's: its tests, and the command, in emulated machines.
#
#   test-kernels.sh [KERNELS]    as `cargo xtask vm --kernel` takes them, separate by spaces; or
#                                all (the default): the short pass and the long one on each;
#                                ci: the short pass on the oldest kernel that has the ledger and on
#                                the newest of Debian's. The third is this machine's own: `make test`
#                                runs the ledger's tests and all commands on it.
#
# As many emulated machines run at once as this one has CPUs, because each takes one thread. The
# output of a pass is printed when it ends; the table of results and times comes last. Nothing is
# retried. A missing prerequisite ends the run before the first pass: root installs packages, and
# kernels are downloaded once per machine (scripts/cache.sh). EXACTOP_KERNEL_LOGS names a directory
# for the output of the passes.
set -euo pipefail
cd "$(dirname "$0")/.."
kernels=${1:-all}

# Kernels with a ledger; sid or trixie-backports has the newest.
every="6.1 6.1-rt 6.12 6.12-rt trixie-backports sid"
# Before 5.15 only the other sources can work.
no_ledger="5.10"
case $kernels in
all) short="$every $no_ledger" long=$every ;;
ci) short="6.1 newest" long= ;;
*) short=$kernels long=${kernels//$no_ledger/} ;;
esac

scripts/deps.sh kernels
# Directory of the tested programs.
built_in=${CARGO_TARGET_DIR:-target}/debug
xtask=$built_in/xtask

# Built like `make test`, so that nothing is built twice: with a test among the targets, cargo
# chooses the same features.
building=$SECONDS
cargo build -q --workspace --bin xtask --bin exactop --test shares
if [[ -n $long ]]; then
    built=$(cargo test --workspace --no-run 2>&1) || { echo "$built" >&2; exit 1; }
fi
echo "== built in $((SECONDS - building)) s"
getting=$SECONDS
# shellcheck disable=SC2086 # names without spaces
"$xtask" vm-kernels $short
echo "== kernels are here after $((SECONDS - getting)) s"

# A program without debug information, which is most of its size: each machine unpacks it.
slim() {
    strip --strip-debug -o "$made/$(basename "$1").$$" "$1"
    mv "$made/$(basename "$1").$$" "$made/$(basename "$1")"
    echo "$made/$(basename "$1")"
}
made=${CARGO_TARGET_DIR:-target}/vm
mkdir -p "$made"
exactop=$(slim "$built_in/exactop")

# The program of some tests, by their file name in cargo.
program_of() {
    local program
    program=$(sed -n "s|.*Executable $1 (\(.*/$2-[0-9a-f]*\))\$|\1|p" <<<"$built")
    [[ -x $program ]] || { echo "exactop: cannot find the program of the tests $2" >&2; exit 1; }
    slim "$program"
}

# Further files for the long pass.
if [[ -n $long ]]; then
    ledger=$(program_of tests/ledger/main.rs ledger)
    shares=$(program_of tests/shares.rs shares)
    lab=$(program_of tests/lab.rs lab)
    live=$(program_of tests/live/main.rs live)
    records=$(program_of "unittests src/lib.rs" exactop_sources)
    worker=$(slim "$built_in/exactop-workload-worker")
    # A program with a known behaviour; the guest has no compiler.
    herd=$made/herd_server
    clang -O2 -pthread -o "$herd" crates/ledger/sources/tests/ledger/programs/herd_server.c
    # A scheduler for sched_ext.
    scheduler=$made/ext_scheduler.bpf.o
    clang -O2 -g -target bpf -c -o "$scheduler" crates/ledger/sources/tests/ledger/programs/ext_scheduler.bpf.c
fi

# A minute: books, states, the herd, a quota, each command once.
short_on() {
    "$xtask" vm --kernel "$1" --timeout 1500 --file "$exactop" --file xtask/guest/short.sh \
        -- sh /test/short.sh
}

# Each source once, and the kernel's features.
sources_on() {
    "$xtask" vm --kernel "$1" --timeout 600 --file "$exactop" --file xtask/guest/sources.sh \
        -- sh /test/sources.sh
}

# Tests of the ledger: all, or the named ones.
ledger_on() {
    local kernel=$1
    shift
    "$xtask" vm --kernel "$kernel" --timeout 2400 --file "$worker" \
        --file "$herd" --env EXACTOP_TEST_HERD_SERVER=/test/herd_server \
        --env EXACTOP_TEST_EMULATED=1 --env EXACTOP_WORKLOAD_WORKER=/test/exactop-workload-worker \
        -- "$ledger" --test-threads=1 "$@"
}

# Causes of moves that need two nodes, and a scheduler in BPF.
rare_moves_on() {
    "$xtask" vm --kernel "$1" --timeout 600 --nodes 2 --mem 1536 \
        --file "$worker" --file "$scheduler" \
        --env EXACTOP_TEST_EXT_SCHEDULER=/test/ext_scheduler.bpf.o \
        --env EXACTOP_TEST_EMULATED=1 --env EXACTOP_WORKLOAD_WORKER=/test/exactop-workload-worker \
        -- "$ledger" --test-threads=1 --nocapture moves::rare
}

# Shares by a niceness and a quota, in control groups of version 2; the lab measures weights.
shares_on() {
    "$xtask" vm --kernel "$1" --timeout 300 --file "$exactop" \
        --env EXACTOP_TEST_EMULATED=1 --env EXACTOP_PROGRAM=/test/exactop -- "$shares" --test-threads=1 --nocapture \
        --skip a_period_of_a_second --skip a_weight_of --skip niceness_above --skip the_ends_of
}

# Experiments on control groups of version 2, two levels deep.
lab_on() {
    "$xtask" vm --kernel "$1" --timeout 200 --file "$exactop" \
        --env EXACTOP_PROGRAM=/test/exactop -- "$lab" --nocapture weights_and_quotas
}

# Tagged processes get CPUs and a control group of version 2 by the live view's keys.
placing_on() {
    "$xtask" vm --kernel "$1" --timeout 400 --file "$exactop" --file "$live" \
        --file "$(command -v tmux)" --file /usr/lib/locale/C.utf8/LC_CTYPE \
        --file /lib/terminfo/s/screen-256color --file xtask/guest/placing.sh \
        --env EXACTOP_PROGRAM=/test/exactop -- sh /test/placing.sh
}

# Records of exits, in these kernels' versions.
records_on() {
    "$xtask" vm --kernel "$1" --timeout 600 -- "$records" --test-threads=1 taskstats
}

# Groups that systemd makes.
systemd_on() {
    "$xtask" vm --systemd --kernel "$1" --timeout 300 --file "$exactop" \
        --file xtask/guest/groups-by-systemd.sh -- sh /test/groups-by-systemd.sh
}

# The daemon's unit: started, killed, hanging, reloaded, ended.
unit_on() {
    "$xtask" vm --systemd --kernel "$1" --timeout 500 --file "$exactop" \
        --file packaging/exactop.service.in --file "$(command -v systemctl)" \
        --file xtask/guest/unit.sh -- sh /test/unit.sh
}

# All passes of a kernel; a failed part does not end them.
long_on() {
    local kernel=$1 part failed=0 begin
    for part in sources records systemd unit rare_moves shares lab placing ledger; do
        begin=$SECONDS
        "${part}_on" "$kernel" || { echo "== FAILED: $part on $kernel"; failed=1; }
        echo "== $part on $kernel: $((SECONDS - begin)) s"
    done
    return $failed
}

kept=${EXACTOP_KERNEL_LOGS:-}
logs=${kept:-$(mktemp -d)}
mkdir -p "$logs"
# An interrupt leaves no machines behind: they end with the xtask that started them.
end() {
    jobs -p | xargs -r kill 2>/dev/null || true
    [[ -n $kept ]] || rm -rf "$logs"
}
trap end EXIT
: >"$logs/passes"

# One pass of a kernel, in the background; its output is printed as a whole.
pass() {
    local what=$1 kernel=$2 begin=$SECONDS how=passed
    "${what}_on" "$kernel" >"$logs/$what-$kernel" 2>&1 || how=FAILED
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
    # An empty list tests no kernel.
    [[ $one != *: ]] || continue
    while (($(jobs -rp | wc -l) >= at_once)); do
        wait -n || true
    done
    pass "${one%%:*}" "${one#*:}" &
done
wait
echo "== all passes"
sort "$logs/passes"
[[ $kernels != ci ]] || echo "       $(uname -r | head -c 16)  this machine's own: by make test"
! grep -q FAILED "$logs/passes"
