# A minute on one kernel: books and states under a herd and a fork storm, the herd's verdict, a
# quota, each command once. Before 5.15, which has no ledger: exactop says why, and works. The lines
# `works: COMMAND: yes` or `NO`, and the kernel's release, are for scripts/kernel-table.sh; `took:
# COMMAND` gives the time of each.
set -u
exactop=/test/exactop
status=0
failures=0

failed() {
    echo "FAILED: $*"
    failures=$((failures + 1))
    status=1
}

# Tries one command, by its name in the table.
try() {
    tried=$1
    shift
    before=$failures
    began=$(date +%s)
    "$@"
    echo "took: $tried: $(($(date +%s) - began)) s"
    if [ $failures = $before ]; then echo "works: $tried: yes"; else echo "works: $tried: NO"; fi
}

# Runs a command that must succeed and print something.
prints() {
    if ! "$@" >/tmp/out 2>/tmp/err; then
        failed "$* ended badly: $(head -n 3 /tmp/err)"
    elif ! [ -s /tmp/out ]; then
        failed "$* printed nothing"
    fi
}

# Counts windows whose books do not close, except those that say that they were published late.
open_books() {
    grep '"late":0' "$1" | grep -c '"residual_ns":-*[1-9]'
}

books() {
    for measured in "--split sampled --irq off" "--split exact --irq on"; do
        # shellcheck disable=SC2086 # options
        prints "$exactop" --source ledger --json -n 4 -d 0.5 $measured
        [ "$(grep -c '"tasks_ns":[1-9]' /tmp/out)" = 4 ] || failed "$measured: not four windows"
        [ "$(open_books /tmp/out)" = 0 ] || failed "$measured: $(grep -o '"residual_ns":-*[0-9]*' /tmp/out | tr '\n' ' '; grep -o '"window":.*' /tmp/out)"
        grep -q '"lock_ns":[1-9]' /tmp/out || failed "$measured: nobody waits for a lock in a herd"
    done
}

waits() {
    prints "$exactop" waits -p $herd 1 2
    grep -q futex /tmp/out || failed "a herd sleeps in futex: $(cat /tmp/out)"
}

wakeups() {
    "$exactop" wakeups --check -p $herd 6 1 >/tmp/out 2>&1
    [ $? = 3 ] || failed "no thundering herd: $(head -n 20 /tmp/out)"
}

# Runs a load in the background. An emulated CPU is slow: exactop comes before it.
give_way() {
    sh -c '/bin/busybox renice -n 19 -p $$ && exec "$@"' sh "$@" >/dev/null 2>&1 &
}

# Busy threads, more than there are CPUs.
spin() {
    give_way "$exactop" load spin --threads 7 --duration 600
    spin=$!
}

# Reported and missing moves sum to the kernel's count; a load on every CPU is balanced.
moves() {
    spin
    prints "$exactop" moves --json 4 1
    kill $spin
    grep -q '"migrations":[1-9]' /tmp/out || failed "moves: none: $(cat /tmp/out)"
    ! grep -q '"why":"moved by' /tmp/out || failed "moves: $(grep -o '"unknown":.*' /tmp/out)"
}

owed() {
    spin
    prints "$exactop" owed -p $spin --json 2 1
    kill $spin
    grep -q '"cause":"busy","group":"/[^"]*","ns":[1-9]' /tmp/out || failed "owed: $(cat /tmp/out)"
}

# A child that no process waits for is part of the tree.
run_a_tree() {
    prints "$exactop" run --json - -q -- sh -c '(/bin/busybox true &); /bin/busybox true'
    grep -q '"run_ns":[1-9]' /tmp/out || failed "run: no run_ns: $(cat /tmp/out)"
}

quota() {
    prints "$exactop" run --max 50% --json - -q -- "$exactop" load spin --threads 1 --duration 3
    for some in throttle_ns nr_throttled run_ns; do
        grep -q "\"$some\":[1-9]" /tmp/out || failed "quota: no $some: $(cat /tmp/out)"
    done
}

trace() {
    "$exactop" trace -d 1 -o /tmp/trace >/tmp/err 2>&1 || failed "trace: $(cat /tmp/err)"
    [ -s /tmp/trace ] || failed "an empty trace"
}

now() {
    date -u +%Y-%m-%dT%H:%M:%SZ
}

# The bound of tests/ledger/attach.rs: kernels before 6.8 also verify functions that nothing calls.
cheap_to_load() {
    most=0
    for verified in $(cat /proc/"$1"/fdinfo/* 2>/dev/null | grep '^verified_insns' | tr -dc '0-9\n'); do
        [ "$verified" -le $most ] || most=$verified
    done
    [ $most -gt 1000 ] && [ $most -lt 36000 ] || failed "$most verified instructions of a program"
}

# Records six seconds of windows from the first one on; the commands that read them come after.
record() {
    "$exactop" record -d 0.5 --dir /tmp/recorded >/tmp/err 2>&1 &
    recorder=$!
    waited=0
    until "$exactop" record verify /tmp/recorded 2>/dev/null | grep -q '^[1-9][0-9]* window'; do
        waited=$((waited + 1))
        [ $waited -le 60 ] || break
        sleep 1
    done
    cheap_to_load $recorder
    from=$(now)
    sleep 3
    half=$(now)
    sleep 3
    kill $recorder
    wait $recorder
    # The signal ends it.
    [ $? = 143 ] || failed "record: $(cat /tmp/err)"
    prints "$exactop" record list /tmp/recorded
    prints "$exactop" record verify /tmp/recorded
}

# Checks that all recorded windows are there, with closed books in every state.
replay() {
    prints "$exactop" replay -b /tmp/recorded
    prints "$exactop" replay --json /tmp/recorded
    [ "$(grep -c '"tasks_ns":[1-9]' /tmp/out)" -ge 5 ] || failed "replay: $(wc -l </tmp/out) windows"
    [ "$(open_books /tmp/out)" = 0 ] || failed "replay: books that do not close"
}

two_halves() {
    prints "$exactop" diff -a "$from+3s" -b "$half+3s" /tmp/recorded
}

report() {
    prints "$exactop" report /tmp/recorded
    prints "$exactop" report --html /tmp/recorded
}

export_parquet() {
    "$exactop" export parquet -o /tmp/exported /tmp/recorded >/tmp/err 2>&1 || failed "export: $(cat /tmp/err)"
    for table in accounts rows groups; do
        [ -s /tmp/exported/day=*/$table.parquet ] || failed "export: no $table"
    done
}

load() {
    "$exactop" load spin --threads 1 --duration 1 >/tmp/out 2>&1 || failed "load: $(cat /tmp/out)"
}

# Commands that need no ledger, also before 5.15.
everywhere() {
    try '`--source taskstats`' prints "$exactop" --source taskstats --once -d 1
    try '`--source procfs`' prints "$exactop" --source procfs --once -d 1
    try ptop prints "$exactop" ptop --once -d 1
    try cgroups prints "$exactop" cgroups 1 1
    try load load
    try "lab list, columns, man, completions" words
}

words() {
    prints "$exactop" lab list
    prints "$exactop" columns
    prints "$exactop" man
    prints "$exactop" completions bash
}

with_a_ledger() {
    give_way "$exactop" load herd --wake all --threads 64 --rate 10 --duration 600
    herd=$!
    give_way sh -c 'while :; do /bin/busybox true; done'
    forks=$!
    sleep 1
    try '`--json` (both splits)' books
    kill $forks
    try waits waits
    try wakeups wakeups
    kill $herd
    try moves moves
    try owed owed
    try '`-b`' prints "$exactop" -b -n 2 -d 0.5
    try run run_a_tree
    try '`run --max`' quota
    try prstat prints "$exactop" prstat -mL -c 1 1
    try syscalls prints "$exactop" syscalls 1 1
    try '`--source snapshot`' prints "$exactop" --source snapshot --once -d 1
    try trace trace
    try record record
    try replay replay
    try diff two_halves
    try report report
    try "export parquet" export_parquet
}

without_a_ledger() {
    "$exactop" --source ledger --once -d 1 >/tmp/out 2>&1 && failed "a ledger before Linux 5.15"
    cat /tmp/out
    grep -q "5.15" /tmp/out || failed "the reason is missing"
    prints "$exactop" --once -d 1
    head -n 3 /tmp/out
}

doctor() {
    "$exactop" doctor >/tmp/doctor 2>&1 || failed "doctor: $(cat /tmp/doctor)"
}

# There doctor names the missing parts, with its exit code for that.
doctor_without_a_ledger() {
    "$exactop" doctor >/tmp/doctor 2>&1 && failed "doctor misses nothing"
    grep -q "5.15" /tmp/doctor || failed "doctor does not say why: $(cat /tmp/doctor)"
}

echo "kernel: $(uname -r)"
case $(uname -r) in
5.10.*)
    try doctor doctor_without_a_ledger
    try 'why there is no ledger' without_a_ledger
    ;;
*)
    try doctor doctor
    with_a_ledger
    ;;
esac
everywhere
grep -e "a kernel that the ledger supports" -e "^missing  the programs" /tmp/doctor
exit $status
