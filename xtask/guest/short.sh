# A minute on one kernel: the books and states under a herd and a fork storm, the herd's verdict, a
# quota, each command once. Before 5.15, where no ledger can be: that exactop says why, and works.
set -u
exactop=/test/exactop
status=0

failed() {
    echo "FAILED: $*"
    status=1
}

# Runs a command that must succeed and print something.
prints() {
    if ! "$@" >/tmp/out 2>/tmp/err; then
        failed "$* ended badly: $(head -n 3 /tmp/err)"
    elif ! [ -s /tmp/out ]; then
        failed "$* printed nothing"
    fi
}

# Windows whose books do not close, but for those that say that they were published late.
open_books() {
    grep '"late":0' "$1" | grep -c '"residual_ns":-*[1-9]'
}

books() {
    "$exactop" load herd --wake all --threads 64 --rate 10 --duration 120 >/dev/null 2>&1 &
    herd=$!
    (while :; do /bin/busybox true; done) &
    forks=$!
    sleep 1
    for measured in "--split sampled --irq off" "--split exact --irq on"; do
        # shellcheck disable=SC2086 # options
        prints "$exactop" --source ledger --json -n 4 -d 0.5 $measured
        [ "$(grep -c '"tasks_ns":[1-9]' /tmp/out)" = 4 ] || failed "$measured: not four windows"
        [ "$(open_books /tmp/out)" = 0 ] || failed "$measured: $(grep -o '"residual_ns":-*[0-9]*' /tmp/out | tr '\n' ' '; grep -o '"window":.*' /tmp/out)"
        grep -q '"lock_ns":[1-9]' /tmp/out || failed "$measured: nobody waits for a lock in a herd"
    done
    kill $forks
}

the_herd() {
    prints "$exactop" waits -p $herd 1 1
    grep -q futex /tmp/out || failed "a herd sleeps in futex: $(cat /tmp/out)"
    "$exactop" wakeups --check -p $herd 2 1 >/tmp/out 2>&1
    [ $? = 3 ] || failed "no thundering herd: $(head -n 20 /tmp/out)"
    kill $herd
}

quota() {
    prints "$exactop" run --max 50% --json - -q -- "$exactop" load spin --threads 1 --duration 3
    for some in throttle_ns nr_throttled run_ns; do
        grep -q "\"$some\":[1-9]" /tmp/out || failed "quota: no $some: $(cat /tmp/out)"
    done
}

each_command() {
    prints "$exactop" prstat -mL -c 1 1
    prints "$exactop" ptop --once -d 1
    prints "$exactop" syscalls 1 1
    prints "$exactop" wakeups 1 1
    prints "$exactop" waits 1 1
    prints "$exactop" cgroups 1 1
    prints "$exactop" --source snapshot --once -d 1
    prints "$exactop" lab list
    prints "$exactop" columns
    prints "$exactop" man
    prints "$exactop" completions bash
    "$exactop" trace -d 1 -o /tmp/trace >/tmp/err 2>&1 || failed "trace: $(cat /tmp/err)"
    [ -s /tmp/trace ] || failed "an empty trace"
}

without_a_ledger() {
    "$exactop" --source ledger --once -d 1 >/tmp/out 2>&1 && failed "a ledger before Linux 5.15"
    cat /tmp/out
    grep -q "5.15" /tmp/out || failed "the reason is not told"
    prints "$exactop" --once -d 1
    head -n 3 /tmp/out
    prints "$exactop" ptop --once -d 1
    prints "$exactop" cgroups 1 1
    prints "$exactop" columns
}

"$exactop" doctor >/tmp/doctor 2>&1
doctor=$?
for source in taskstats procfs; do
    prints "$exactop" --source "$source" --once -d 1
done
case $(uname -r) in
5.10.*) without_a_ledger ;;
*)
    [ $doctor = 0 ] || failed "doctor: $(cat /tmp/doctor)"
    books
    the_herd
    quota
    each_command
    ;;
esac
grep -e "a kernel the ledger knows" -e "^missing  the programs" /tmp/doctor
exit $status
