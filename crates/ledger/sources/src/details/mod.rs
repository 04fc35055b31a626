//! Reads details of single rows when a view shows them: memory, command line, user, cgroup.
//!
//! A row names a process by its key, but its PID may belong to another process by now. So the
//! reader opens the process's directory first and reads all files below that descriptor. The
//! descriptor stays with its process, even if the PID is reused. The start time in the stat line
//! must be that of the row; if not, the row's process has exited.

mod command_lines;
mod open_files;
mod users;

#[cfg(test)]
mod tests;

use crate::error::SourceError;
use crate::procfs::files::{open_at, open_dir, read_record, read_start};
use crate::procfs::ticks::{number, Ticks};
use crate::procfs::TaskStat;
use command_lines::CommandLines;
use exactop_cgroups::path_in;
use exactop_model::{Detail, Missing, Needs, Row, RowKind};
pub(crate) use open_files::{DescriptorCount, OpenFiles};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::CWD;
use rustix::io::Errno;
use std::path::{Path, PathBuf};
use users::Users;

/// Longest command line, bytes. Lines may have megabytes; no screen shows more than this.
const CMDLINE_MAX_BYTES: usize = 16 * 1024;

/// The needs that are files of the row's process.
const FILES: [Needs; 4] = [Needs::STAT, Needs::STATM, Needs::CMDLINE, Needs::CGROUP];

/// Reads details of rows.
pub struct Details {
    root: OwnedFd,
    users: Users,
    lines: CommandLines,
    ticks: Ticks,
    page_bytes: u64,
    buf: Vec<u8>,
    line: Vec<u8>,
}

impl Details {
    /// Opens a /proc; `root` is `/proc` outside of tests.
    ///
    /// # Errors
    /// [`SourceError::Read`].
    pub fn open(root: &Path) -> Result<Details, SourceError> {
        let root = open_at(CWD, root)
            .map_err(|errno| SourceError::Read { path: root.into(), error: errno.into() })?;
        Ok(Details {
            root,
            users: Users::new(PathBuf::from("/etc/passwd")),
            lines: CommandLines::default(),
            ticks: Ticks::of_this_system(),
            page_bytes: rustix::param::page_size() as u64,
            buf: Vec::new(),
            line: vec![0; CMDLINE_MAX_BYTES],
        })
    }

    /// Reads user names from another file than `/etc/passwd`.
    pub fn with_passwd(mut self, path: PathBuf) -> Details {
        self.users = Users::new(path);
        self
    }

    /// Reads the details in `needs` into `Row::detail` and leaves the others alone. A detail that
    /// cannot be read holds the reason: `NotPermitted`, `Vanished`, `NotApplicable` for exited
    /// groups, or `Source` for a file that this kernel lacks or that differs from proc(5).
    ///
    /// `time_ns` of a process includes its exited threads. Memory, command line and cgroup of a
    /// thread are those of its process.
    pub fn fill(&mut self, rows: &mut [&mut Row], needs: Needs) {
        for row in rows {
            self.fill_one(row, needs, &mut OpenFiles::default(), false);
        }
    }

    /// Like [`Details::fill`] for one row, with the files that are still open from before. With
    /// `keep` they stay open. Reading the stat line also updates the row's parent and priority,
    /// which others can change while the task sleeps.
    pub(crate) fn fill_one(
        &mut self,
        row: &mut Row,
        needs: Needs,
        open: &mut OpenFiles,
        keep: bool,
    ) {
        if row.kind == RowKind::Exited {
            refuse(&mut row.detail, needs, Missing::NotApplicable);
            if let Some(uid) = row.uid().filter(|_| needs.has(Needs::USER)) {
                row.detail.user = Ok(self.users.name(uid));
            }
            return;
        }
        if needs.has(Needs::USER) {
            row.detail.user = Ok(self.users.name(row.ident.uid));
        }
        let mut files = FILES.into_iter().filter(|&n| needs.has(n)).fold(Needs::NONE, Needs::with);
        if needs.has(Needs::CMDLINE) {
            let known = match (row.ident.kthread, is_worker(row)) {
                // A worker's name in /proc changes with its work.
                (true, true) => None,
                (true, false) => Some(Vec::new()),
                (false, _) => self.lines.get(row.key, row.ident.comm),
            };
            if let Some(line) = known {
                row.detail.cmdline = Ok(line);
                files = without(files, Needs::CMDLINE);
            }
        }
        if row.ident.kthread {
            files = without_memory(row, files, open);
        }
        if files == Needs::NONE {
            return;
        }
        let in_place = files.has(Needs::CMDLINE) || files.has(Needs::CGROUP) || !open.are_open();
        let found = match open.stat(&mut self.buf).filter(|_| !in_place) {
            Some(stat) => stat.map(|stat| (None, stat)),
            None => self.open_process(row, open, keep).map(|(dir, stat)| (Some(dir), stat)),
        };
        match found {
            Ok((dir, stat)) => self.read_files(dir.as_ref(), &stat, row, files, open, keep),
            Err(missing) => {
                *open = OpenFiles::default();
                refuse(&mut row.detail, files, missing);
            }
        }
    }

    /// Name of a user; the number as text if the user has no name.
    pub fn user(&mut self, uid: u32) -> String {
        self.users.name(uid)
    }

    /// Opens the directory of the row's process and reads the row's stat line, and checks that both
    /// belong to the row.
    fn open_process(
        &mut self,
        row: &Row,
        open: &mut OpenFiles,
        keep: bool,
    ) -> Result<(OwnedFd, TaskStat), Missing> {
        let key = row.key;
        let dir = open_dir(self.root.as_fd(), key.tgid.to_string()).map_err(why)?;
        let path = match row.kind {
            RowKind::Process if key.is_leader() => "stat".into(),
            _ => format!("task/{}/stat", key.tid),
        };
        let (mut fd, mut stat) = self.stat_of(&dir, &path)?;
        let start_ns = self.ticks.to_ns(stat.start_ticks).ok_or(Missing::Source)?;
        // The file's start time is rounded down to a tick; the ledger's key is not.
        if start_ns.abs_diff(key.start_ns) > self.ticks.tick_ns() {
            return Err(Missing::Vanished);
        }
        // A kernel may hide a leader: another thread then identifies the process.
        if is_by_another(row) {
            (fd, stat) = self.stat_of(&dir, "stat")?;
        }
        if keep {
            open.keep_stat(fd);
        }
        Ok((dir, stat))
    }

    fn stat_of(&mut self, dir: &OwnedFd, path: &str) -> Result<(OwnedFd, TaskStat), Missing> {
        let fd = open_at(dir.as_fd(), path).map_err(why)?;
        let n = read_record(fd.as_fd(), &mut self.buf).map_err(why)?;
        let stat = TaskStat::parse(&self.buf[..n]).ok_or(Missing::Source)?;
        Ok((fd, stat))
    }

    fn read_files(
        &mut self,
        dir: Option<&OwnedFd>,
        stat: &TaskStat,
        row: &mut Row,
        files: Needs,
        open: &mut OpenFiles,
        keep: bool,
    ) {
        row.ident.ppid = stat.ppid;
        row.ident.nice = stat.nice;
        row.ident.prio = stat.prio;
        row.ident.policy = stat.policy;
        if files.has(Needs::STAT) {
            row.detail.virt = Ok(stat.vsize_bytes);
            row.detail.time_ns = stat.cpu_ns(self.ticks).ok_or(Missing::Source);
            if let Ok(time_ns) = row.detail.time_ns {
                open.set_time_base(row, time_ns);
            }
        }
        // The cached line may be that of a program before an exec under the same name.
        let is_old = row.detail.cmdline.is_ok()
            && !row.ident.kthread
            && self.lines.forget_other(row.key, row.ident.comm, stat.stack_start);
        let detail = &mut row.detail;
        if files.has(Needs::STATM) {
            let text = open.statm(dir, keep, &mut self.buf);
            (detail.res, detail.shr) = match text.and_then(|text| memory(text, self.page_bytes)) {
                Ok((res, shr)) => (Ok(res), Ok(shr)),
                Err(missing) => (Err(missing), Err(missing)),
            };
        }
        // Both files need the directory. A row with open files gets here without one only if it
        // needs neither.
        let Some(dir) = dir else { return };
        if files.has(Needs::CGROUP) {
            let text = read_file(dir, "cgroup", &mut self.buf);
            detail.cgroup = text.and_then(|text| cgroup_path(text).ok_or(Missing::Source));
        }
        if files.has(Needs::CMDLINE) || is_old {
            detail.cmdline = match row.ident.kthread {
                true => self.read_purpose(dir),
                false => self.read_cmdline(dir),
            };
            if let (Ok(line), false) = (&detail.cmdline, row.ident.kthread) {
                self.lines.put(row.key, row.ident.comm, stat.stack_start, line);
            }
        }
    }

    /// Name of a kernel worker in /proc: `kworker/1:2-events`, with its present or last work (since
    /// Linux 4.18). A worker has no command line.
    fn read_purpose(&mut self, dir: &OwnedFd) -> Result<Vec<u8>, Missing> {
        let name = read_file(dir, "comm", &mut self.buf)?;
        Ok(name.trim_ascii_end().to_vec())
    }

    fn read_cmdline(&mut self, dir: &OwnedFd) -> Result<Vec<u8>, Missing> {
        let fd = open_at(dir.as_fd(), "cmdline").map_err(why)?;
        let n = read_start(fd.as_fd(), &mut self.line).map_err(why)?;
        let end =
            self.line[..n].iter().rposition(|b| !matches!(b, 0 | b' ')).map_or(0, |at| at + 1);
        Ok(self.line[..end].iter().map(|&b| if b == 0 { b' ' } else { b }).collect())
    }
}

/// Resident and shared memory, bytes, from statm (proc_pid_statm(5)).
fn memory(text: &[u8], page_bytes: u64) -> Result<(u64, u64), Missing> {
    let mut pages = text.trim_ascii().split(|&b| b == b' ').map(number::<u64>);
    let mut bytes = |at| pages.nth(at).flatten()?.checked_mul(page_bytes);
    let (res, shr) = (bytes(1), bytes(0));
    res.zip(shr).ok_or(Missing::Source)
}

/// Sets a kernel thread's memory to 0 and its CPU time if known; returns the needs that are left.
fn without_memory(row: &mut Row, files: Needs, open: &OpenFiles) -> Needs {
    let mut left = files;
    if files.has(Needs::STATM) {
        (row.detail.res, row.detail.shr) = (Ok(0), Ok(0));
        left = without(left, Needs::STATM);
    }
    if let Some(time_ns) = open.time_since_base(row).filter(|_| files.has(Needs::STAT)) {
        (row.detail.virt, row.detail.time_ns) = (Ok(0), Ok(time_ns));
        left = without(left, Needs::STAT);
    }
    left
}

/// True for a kernel worker; /proc has a longer name for it.
fn is_worker(row: &Row) -> bool {
    row.ident.comm.0.starts_with(b"kworker/")
}

/// True if another thread than the leader identifies the row's process, because the kernel hides
/// the leader.
fn is_by_another(row: &Row) -> bool {
    row.kind == RowKind::Process && !row.key.is_leader()
}

fn read_file<'b>(dir: &OwnedFd, path: &str, buf: &'b mut Vec<u8>) -> Result<&'b [u8], Missing> {
    let fd = open_at(dir.as_fd(), path).map_err(why)?;
    let n = read_record(fd.as_fd(), buf).map_err(why)?;
    Ok(&buf[..n])
}

fn why(errno: Errno) -> Missing {
    match errno {
        Errno::ACCESS | Errno::PERM => Missing::NotPermitted,
        Errno::NOENT | Errno::SRCH => Missing::Vanished,
        _ => Missing::Source,
    }
}

/// Sets the reason in every detail of `needs`.
fn refuse(detail: &mut Detail, needs: Needs, missing: Missing) {
    if needs.has(Needs::STAT) {
        detail.virt = Err(missing);
        detail.time_ns = Err(missing);
    }
    if needs.has(Needs::STATM) {
        detail.res = Err(missing);
        detail.shr = Err(missing);
    }
    if needs.has(Needs::CMDLINE) {
        detail.cmdline = Err(missing);
    }
    if needs.has(Needs::CGROUP) {
        detail.cgroup = Err(missing);
    }
    if needs.has(Needs::USER) {
        detail.user = Err(missing);
    }
}

fn without(files: Needs, not: Needs) -> Needs {
    FILES.into_iter().filter(|&n| n != not && files.has(n)).fold(Needs::NONE, Needs::with)
}

/// The path in the hierarchy with the cpu controller: that of v1 if mounted, else v2.
fn cgroup_path(text: &[u8]) -> Option<Vec<u8>> {
    path_in(text, Some("cpu")).or_else(|| path_in(text, None)).map(<[u8]>::to_vec)
}
