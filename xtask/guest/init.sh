#!/bin/busybox sh
# The first program of the guest: sets up the machine, runs the one command, reports its status.
/bin/busybox --install -s /bin
export PATH=/test:/bin HOME=/root TERM=dumb LC_ALL=C.UTF-8
ln -s /bin /sbin 2>/dev/null
mkdir -p /usr && ln -s /bin /usr/bin 2>/dev/null

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
mount -t bpf bpf /sys/fs/bpf
mount -t tracefs tracefs /sys/kernel/tracing
mount -t cgroup2 cgroup2 /sys/fs/cgroup
for controller in cpu cpuset memory pids; do
    echo "+$controller" > /sys/fs/cgroup/cgroup.subtree_control
done
ln -s /proc/self/fd /dev/fd
ip link set lo up
hostname exactop-vm

cd /test
echo "@TOKEN@ start"
@COMMAND@ </dev/null
printf '@TOKEN@ exit %d\n' $?
poweroff -f
