//! A /proc made of ordinary files.

use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Two idle CPUs and three processes, one of them with a hostile name. The files never change, so
/// every change in a window is 0.
pub fn tree() -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = |path: &str, text: &[u8]| write(dir.path(), path, text);
    file("stat", STAT.as_bytes());
    file("meminfo", MEMINFO.as_bytes());
    file("loadavg", b"2.52 1.57 0.79 1/113 4711\n");
    file("uptime", b"9125580.50 100.00\n");
    process(dir.path(), 1, b"init", "/sbin/init\0splash\0");
    process(dir.path(), 7, b"a) R 1 (b", "a\0");
    process(dir.path(), 812, b"evil\x1b[2J\n,\"", "\x1b]0;pwned\x07\0--flag\0");
    dir
}

fn write(root: &Path, path: &str, text: &[u8]) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
    fs::write(path, text).expect("a file");
}

fn process(root: &Path, pid: u32, comm: &[u8], cmdline: &str) {
    let mut stat = format!("{pid} (").into_bytes();
    stat.extend_from_slice(comm);
    stat.extend_from_slice(
        format!(
            ") S {} {pid} {pid} 0 -1 4194560 1 2 3 4 300 100 5 6 20 0 1 0 {pid} 222298112 10 \
             18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
            u32::from(pid != 1)
        )
        .as_bytes(),
    );
    let file = |name: &str, text: &[u8]| write(root, &format!("{pid}/{name}"), text);
    file("stat", &stat);
    file(&format!("task/{pid}/stat"), &stat);
    for at in ["", &format!("task/{pid}/")] {
        file(&format!("{at}statm"), b"54272 768 256 10 0 100 0\n");
        file(&format!("{at}cmdline"), cmdline.as_bytes());
        file(&format!("{at}cgroup"), b"0::/system.slice/a.service\n");
        file(&format!("{at}schedstat"), b"1000000000 20000000 50\n");
        file(&format!("{at}status"), STATUS.as_bytes());
    }
}

const STAT: &str = "\
cpu  600 0 400 9000 0 0 0 0 0 0
cpu0 300 0 200 4500 0 0 0 0 0 0
cpu1 300 0 200 4500 0 0 0 0 0 0
intr 1 2 3
ctxt 4711
btime 1700000000
processes 42
procs_running 1
procs_blocked 0
softirq 1
";

const MEMINFO: &str = "\
MemTotal:        3879972 kB
MemFree:         1887436 kB
MemAvailable:    2929687 kB
Buffers:          100000 kB
Cached:          1600000 kB
SwapCached:            0 kB
SwapTotal:       4194304 kB
SwapFree:        4194304 kB
SReclaimable:      82578 kB
";

const STATUS: &str = "\
Name:\tx
Uid:\t0\t0\t0\t0
Gid:\t0\t0\t0\t0
voluntary_ctxt_switches:\t10
nonvoluntary_ctxt_switches:\t5
";
