# Tests groups that systemd makes in a guest with systemd (cargo xtask vm --systemd), for root and
# for a user with a manager. Prints its findings and fails at the first error.
set -eu
exactop=/test/exactop
left() { find /sys/fs/cgroup -name 'exactop-run-*' | grep -c . || true; }
fail() { echo "systemd groups: $*" >&2; exit 1; }

# Waits until systemd has removed empty groups.
gone() {
    for _ in $(seq 120); do
        [ "$(left)" = 0 ] && return
        sleep 0.5
    done
    fail "$1: $(find /sys/fs/cgroup -name 'exactop-run-*') is still there"
}

inside='cat /proc/self/cgroup; cat /sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)/cpu.max
    cat /sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)/cpu.weight
    /test/exactop load spin --threads 2 --duration 3 2>&1'

echo "-- root: a scope of the system's"
text=$($exactop run --max 40% --weight 200 -- sh -c "$inside" 2>&1)
echo "$text"
echo "$text" | grep -q '^0::/system.slice/exactop-run-.*\.scope$' || fail "not in a scope"
echo "$text" | grep -q '^40000 100000$' || fail "no quota"
echo "$text" | grep -q '^200$' || fail "no weight"
echo "$text" | grep -q 'allowed 0.40: throttled in [1-9]' || fail "not throttled"
gone "after the end"

echo "-- a user: a scope of their manager's"
text=$(su user -c "$exactop run --max 400000/1000000 -- sh -c '$inside'" 2>&1)
echo "$text"
echo "$text" | grep -q '^0::/user.slice/.*/exactop-run-.*\.scope$' || fail "not in a scope"
echo "$text" | grep -q '^400000 1000000$' || fail "no quota"
gone "after a user's"

echo "-- killed: the command lives on, and its scope goes with it"
$exactop run --max 40% -- sh -c 'kill -9 $PPID; : >/tmp/killed
    until [ -e /tmp/seen ]; do sleep 0.2; done' &
for _ in $(seq 300); do [ -e /tmp/killed ] && break; sleep 0.2; done
[ -e /tmp/killed ] || fail "the command did not start"
[ "$(left)" = 1 ] || fail "the scope does not outlive a killed exactop"
: >/tmp/seen
gone "after a killed one's command"

echo "-- what lives on keeps it"
text=$($exactop run --max 40% -- sh -c 'until [ -e /tmp/told ]; do sleep 0.2; done >/dev/null 2>&1 & exec true' 2>&1)
echo "$text" | grep -q 'systemd removes it when they have ended' || fail "not said: $text"
: >/tmp/told
gone "after what lived on"

echo "-- a command that is not there"
status=0
$exactop run --max 40% -- nonesuch || status=$?
[ $status = 127 ] || fail "status $status"
gone "after a command that is not there"

echo "-- without a bus it is made without systemd, with a notice"
text=$(DBUS_SYSTEM_BUS_ADDRESS=unix:path=/none $exactop run --max 40% -- true 2>&1)
echo "$text" | grep -q 'systemd does not make a scope.*made without it' || fail "not said: $text"
gone "after one without a bus"
echo "systemd groups: all as it should be"
