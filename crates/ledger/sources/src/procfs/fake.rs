//! A /proc made of ordinary files, for tests.

use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A directory that looks like /proc.
pub(crate) struct FakeProc {
    dir: TempDir,
}

/// The fields of a stat line; by default a sleeping child of process 1.
#[derive(Clone, Copy)]
pub(crate) struct FakeTask {
    pub pid: u32,
    pub comm: &'static [u8],
    pub letter: char,
    pub ppid: u32,
    pub flags: u32,
    pub utime: u64,
    pub stime: u64,
    pub threads: u32,
    pub start: u64,
    pub vsize: u64,
    pub cpu: u32,
}

impl FakeTask {
    pub fn new(pid: u32) -> FakeTask {
        FakeTask {
            pid,
            comm: b"task",
            letter: 'S',
            ppid: 1,
            flags: 0,
            utime: 0,
            stime: 0,
            threads: 1,
            start: 100,
            vsize: 4096,
            cpu: 0,
        }
    }

    pub fn line(&self) -> Vec<u8> {
        let FakeTask { pid, letter, ppid, flags, utime, stime, threads, start, vsize, cpu, .. } =
            self;
        let mut line = format!("{pid} (").into_bytes();
        line.extend_from_slice(self.comm);
        line.extend_from_slice(
            format!(
                ") {letter} {ppid} {pid} {pid} 0 -1 {flags} 1 2 3 4 {utime} {stime} 5 6 20 0 \
                 {threads} 0 {start} {vsize} 10 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 \
                 {cpu} 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
            )
            .as_bytes(),
        );
        line
    }
}

impl FakeProc {
    /// A machine with one CPU and no tasks.
    pub fn new() -> FakeProc {
        let proc = FakeProc { dir: tempfile::tempdir().unwrap() };
        proc.cpus(&[[0; 8]]);
        proc
    }

    pub fn root(&self) -> &Path {
        self.dir.path()
    }

    /// Sets /proc/stat: user nice system idle iowait irq softirq steal of each CPU.
    pub fn cpus(&self, cpus: &[[u64; 8]]) {
        let line = |name: &str, ticks: &[u64; 8]| {
            let ticks: Vec<_> = ticks.iter().map(u64::to_string).collect();
            format!("{name} {} 0 0\n", ticks.join(" "))
        };
        let mut total = [0; 8];
        let mut lines = String::new();
        for (cpu, ticks) in cpus.iter().enumerate() {
            total.iter_mut().zip(ticks).for_each(|(sum, n)| *sum += n);
            lines += &line(&format!("cpu{cpu}"), ticks);
        }
        let text = line("cpu ", &total) + &lines + "intr 1 2 3\nprocesses 42\nsoftirq 1\n";
        self.write("stat", text);
    }

    /// Writes a file and makes its directories.
    pub fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Adds a process with one thread.
    pub fn process(&self, task: FakeTask) {
        self.write(format!("{}/stat", task.pid), task.line());
        self.thread(task.pid, task);
    }

    /// Adds a thread of a process.
    pub fn thread(&self, tgid: u32, task: FakeTask) {
        self.write(format!("{tgid}/task/{}/stat", task.pid), task.line());
    }

    /// Removes a process with all its files.
    pub fn exit(&self, pid: u32) {
        fs::remove_dir_all(self.root().join(pid.to_string())).unwrap();
    }
}
