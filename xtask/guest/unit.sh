# Tests the daemon's unit in a guest with systemd (cargo xtask vm --systemd): it counts as started
# when it serves, restarts after a kill or a hang, and does not start with wrong settings. Fails at
# the first error.
set -eu
exactop=/test/exactop
fail() { echo "unit: $*" >&2; systemctl status exactop >&2 || true; cat /run/said >&2; exit 1; }
shown() { systemctl show -p "$1" --value exactop; }
is() { [ "$(shown "$1")" = "$2" ] || fail "$1 is $(shown "$1"), not $2"; }

# Waits until it serves again, as another process.
comes_back() {
    for _ in $(seq 360); do
        [ "$(shown ActiveState)" = active ] && [ "$(shown MainPID)" != "$1" ] && return
        sleep 0.5
    done
    fail "it does not come back"
}

# A window from the socket, as this user.
window_as() {
    su "$1" -c "$exactop --source daemon --once --json -d 0.5"
}

# The guest's systemd has only the units that it needs to run one command.
for target in sysinit basic shutdown; do
    [ -e /etc/systemd/system/$target.target ] || echo '[Unit]' >/etc/systemd/system/$target.target
done
echo 'exactop:x:990:user' >>/etc/group
echo 'other:x:1001:1001::/tmp:/bin/sh' >>/etc/passwd
sed 's|@BINDIR@|/test|' /test/exactop.service.in >/etc/systemd/system/exactop.service
mkdir -p /etc/systemd/system/exactop.service.d
# There is no journal here. A guest on a busy host stops for some seconds, which is no hang of the
# daemon.
printf '[Service]\nWatchdogSec=20\nStandardOutput=null\nStandardError=append:/run/said\n' >/etc/systemd/system/exactop.service.d/sooner.conf
systemctl daemon-reload

echo "-- it is started when it serves"
systemctl start exactop || { systemctl show -p ExecMainStatus -p Result -p StatusText exactop; fail "it does not start"; }
is ActiveState active
is Type notify
window_as user | grep -q '"exact":true' || fail "no window for one of the group"
! window_as other 2>/tmp/said || fail "a window for anybody"
cat /tmp/said
grep -q 'group' /tmp/said || fail "not said: which group"

echo "-- killed, it comes back"
was=$(shown MainPID)
kill -9 "$was"
comes_back "$was"
is NRestarts 1
window_as user | grep -q '"exact":true' || fail "no window after it was killed"

echo "-- hanging, it is killed and comes back"
was=$(shown MainPID)
kill -STOP "$was"
comes_back "$was"
is NRestarts 2

echo "-- settings are read anew, and it goes on"
mkdir -p /etc/exactop
was=$(shown MainPID)
printf '[record]\ninterval = "2s"\n' >/etc/exactop/config.toml
systemctl reload exactop
is ActiveState active
is MainPID "$was"

echo "-- ended, it leaves a whole recording and no socket"
systemctl stop exactop
is Result success
[ ! -e /run/exactop/socket ] || fail "its socket is still there"
$exactop record verify || fail "the recording is not whole"

echo "-- with settings that are wrong it does not try again and again"
printf '[record]\nintervall = "2s"\n' >/etc/exactop/config.toml
! systemctl start exactop 2>/dev/null || fail "it started with a key that is not known"
sleep 3
is ActiveState failed
is ExecMainStatus 2
is NRestarts 0
echo "unit: all as it should be"
