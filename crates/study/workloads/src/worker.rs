//! Finds the worker program, starts it, sends it requests and ends it.
//!
//! A request is a line with a word. The answer is a line with `ok` and numbers, or `refused` and a
//! reason. The worker ends when its standard input closes: when the handle is dropped, and also
//! when this program is killed. (A parent death signal would come too early: the kernel sends it
//! when the *thread* that started the worker ends, and handles move between threads.)

use crate::error::{Error, Refusal};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::process::{kill_process_group, pidfd_open, Pid, PidfdFlags, Signal};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Environment variable that names the worker program.
pub const WORKER_VARIABLE: &str = "EXACTOP_WORKLOAD_WORKER";

const PROGRAM: &str = "exactop-workload-worker";

/// Longest wait for an answer, s. Tens of thousands of forks take minutes in an emulated machine.
const PATIENCE_SECONDS: u64 = 600;

#[derive(Debug)]
pub(crate) struct Worker {
    role: &'static str,
    supervisor: Child,
    talk: Mutex<Talk>,
    first: u32,
    started_with: Vec<u64>,
}

/// Both directions of the connection. The input is an `Option` because closing it ends the worker.
#[derive(Debug)]
struct Talk {
    input: Option<ChildStdin>,
    output: ChildStdout,
    unread: Vec<u8>,
}

impl Worker {
    /// Starts a worker in a role; returns when its load is complete.
    pub(crate) fn start(role: &'static str, args: &[String]) -> Result<Self, Error> {
        let program = find()?;
        let mut supervisor = Command::new(&program)
            .arg(role)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // In its own process group: Ctrl-C on the terminal does not reach it, so this program
            // ends it.
            .process_group(0)
            .spawn()
            .map_err(|source| Error::Spawn { program, source })?;
        let (input, output) = (supervisor.stdin.take(), supervisor.stdout.take());
        let output = output.expect("asked for above");
        let talk = Mutex::new(Talk { input, output, unread: Vec::new() });
        let mut worker = Self { role, supervisor, talk, first: 0, started_with: Vec::new() };
        let mut greeting = worker.answer(&mut worker.lock())?;
        if greeting.is_empty() {
            return Err(worker.nonsense("cannot find a process number"));
        }
        worker.first = greeting.remove(0) as u32;
        worker.started_with = greeting;
        Ok(worker)
    }

    /// First process of the load; its number is also that of the load's process group.
    pub(crate) fn pid(&self) -> u32 {
        self.first
    }

    /// Ids of the threads or processes that the worker started.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u32> + '_ {
        self.started_with.iter().map(|id| *id as u32)
    }

    pub(crate) fn ask(&self, request: &str) -> Result<Vec<u64>, Error> {
        let mut talk = self.lock();
        let sent = talk.input.as_mut().map(|input| writeln!(input, "{request}"));
        match sent {
            Some(Ok(())) => self.answer(&mut talk),
            _ => Err(self.nonsense("")),
        }
    }

    /// Sends a request whose answer is `N` numbers.
    pub(crate) fn ask_for<const N: usize>(&self, request: &str) -> Result<[u64; N], Error> {
        let numbers = self.ask(request)?;
        numbers.try_into().map_err(|numbers| self.nonsense(&format!("{numbers:?}")))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Talk> {
        self.talk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, talk: &mut Talk) -> Result<Vec<u64>, Error> {
        let line = self.line(talk)?;
        if let Some(reason) = line.strip_prefix("refused ") {
            return Err(Refusal::from_line(reason).into());
        }
        let mut words = line.split_ascii_whitespace();
        let ok = words.next() == Some("ok");
        let numbers = words.map(str::parse).collect::<Result<_, _>>();
        numbers.ok().filter(|_| ok).ok_or_else(|| self.nonsense(&line))
    }

    fn line(&self, talk: &mut Talk) -> Result<String, Error> {
        let patience = Timespec { tv_sec: PATIENCE_SECONDS as i64, tv_nsec: 0 };
        let mut searched = 0;
        loop {
            if let Some(at) = talk.unread[searched..].iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = talk.unread.drain(..=searched + at).collect();
                return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            searched = talk.unread.len();
            let mut fds = [PollFd::new(&talk.output, PollFlags::IN)];
            match poll(&mut fds, Some(&patience)) {
                Ok(0) => return Err(Error::Silent { role: self.role, seconds: PATIENCE_SECONDS }),
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(self.nonsense(&error.to_string())),
            }
            let mut chunk = [0; 4096];
            match talk.output.read(&mut chunk) {
                Ok(read) if read > 0 => talk.unread.extend_from_slice(&chunk[..read]),
                _ => return Err(self.nonsense(&String::from_utf8_lossy(&talk.unread))),
            }
        }
    }

    fn nonsense(&self, answer: &str) -> Error {
        Error::BadAnswer { role: self.role, answer: answer.to_owned() }
    }

    /// True if the supervisor ended in time.
    fn ends(&self) -> bool {
        let Some(pid) = Pid::from_raw(self.supervisor.id() as i32) else { return false };
        let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
        let patience = Timespec { tv_sec: PATIENCE_SECONDS as i64, tv_nsec: 0 };
        let mut fds = [PollFd::new(&pidfd, PollFlags::IN)];
        loop {
            match poll(&mut fds, Some(&patience)) {
                Err(rustix::io::Errno::INTR) => {}
                result => return result.is_ok_and(|ready| ready > 0),
            }
        }
    }
}

impl Drop for Worker {
    /// Ends the load and waits until all of it is reaped.
    fn drop(&mut self) {
        self.lock().input = None;
        if !self.ends() {
            // The supervisor hangs. Its processes die with their parents.
            let _ = self.supervisor.kill();
            if let Some(group) = Pid::from_raw(self.first as i32) {
                let _ = kill_process_group(group, Signal::KILL);
            }
        }
        // An error here means that it is already reaped.
        let _ = self.supervisor.wait();
    }
}

/// Finds the worker program: where the variable says, else next to this program, else one directory
/// up (test programs have their own directory).
fn find() -> Result<PathBuf, Error> {
    let mut looked = Vec::new();
    match std::env::var_os(WORKER_VARIABLE) {
        Some(path) => looked.push(PathBuf::from(path)),
        None => {
            let me = std::env::current_exe().unwrap_or_default();
            looked.extend(me.ancestors().skip(1).take(2).map(|dir| dir.join(PROGRAM)));
        }
    }
    let found = looked.iter().find(|path| path.is_file()).cloned();
    found.ok_or(Error::WorkerNotFound { looked })
}
