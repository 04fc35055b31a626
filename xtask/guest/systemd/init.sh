#!/bin/busybox sh
# The first program of a guest with systemd: makes busybox's names, then becomes systemd.
/bin/busybox --install -s /bin
ln -s /bin /sbin 2>/dev/null
for name in /bin/*; do
    ln -s "$name" /usr/bin/ 2>/dev/null
done
mkdir -p /etc/systemd /var
ln -s /run /var/run
printf '[Manager]\nDefaultStandardOutput=tty\nDefaultStandardError=tty\n' > /etc/systemd/system.conf
sed s/tty/null/ /etc/systemd/system.conf > /etc/systemd/user.conf
exec /lib/systemd/systemd --show-status=false --log-target=console --log-level=warning
