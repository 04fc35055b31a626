# The live view in tmux(1), which wants a pty, a locale and the description of its terminal.
set -e
mkdir -p /dev/pts /usr/lib/locale/C.utf8 /lib/terminfo/s
mountpoint -q /dev/pts || mount -t devpts devpts /dev/pts
cp /test/LC_CTYPE /usr/lib/locale/C.utf8
cp /test/screen-256color /lib/terminfo/s
PATH=/test:$PATH LC_ALL=C.UTF-8 exec /test/live-* --test-threads=1 --nocapture placing::
