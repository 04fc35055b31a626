# Runs the guest's command as a service of systemd.
export PATH=/test:/bin HOME=/root TERM=dumb LC_ALL=C.UTF-8
mount -t bpf bpf /sys/fs/bpf 2>/dev/null
chmod 1777 /tmp
cd /test
echo "@TOKEN@ start"
@COMMAND@ </dev/null
printf '@TOKEN@ exit %d\n' $?
poweroff -f
