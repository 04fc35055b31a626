//! A running tool on a terminal or a pipe: its output is read, and it is ended in time.

use super::terminal;
use crate::children::end_with_us;
use anyhow::{anyhow, Context, Result};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::process::{kill_process, pidfd_open, Pid, PidfdFlags, Signal};
use std::fs::File;
use std::io::{PipeReader, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Silence after which a refresh is over. All tools wait for seconds between two refreshes, and
/// write one within milliseconds.
const SILENCE: Duration = Duration::from_millis(250);

/// Longest time for a tool to end, first after a request, then after a kill.
const ENDING: Duration = Duration::from_secs(3);

/// Longest time for a program that prints its version.
const ANSWER: Duration = Duration::from_secs(10);

/// Output of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// A terminal of 80x24.
    Terminal,
    /// A terminal of 200x50.
    LargeTerminal,
    Pipe,
}

/// A started tool. Dropping it ends it.
pub struct Running {
    child: Child,
    /// The terminal's other end, to type on.
    keyboard: Option<File>,
    output: Arc<Output>,
}

#[derive(Default)]
struct Output {
    seen: Mutex<ScreenOutput>,
    news: Condvar,
}

#[derive(Default)]
struct ScreenOutput {
    text: Vec<u8>,
    refreshes: u64,
    last: Option<Instant>,
    /// The text to find at the start, and when it came.
    needle: &'static str,
    found: Option<Instant>,
    ended: bool,
}

impl Running {
    pub fn start(command: &mut Command, surface: Surface) -> Result<Running> {
        Running::start_looking_for(command, surface, "")
    }

    /// Starts the tool, and notes when a text first appears.
    pub fn start_looking_for(
        command: &mut Command,
        surface: Surface,
        needle: &'static str,
    ) -> Result<Running> {
        let program = command.get_program().to_string_lossy().into_owned();
        end_with_us(command);
        let (child, source, keyboard) =
            open(command, surface).with_context(|| format!("starting {program}"))?;
        let output = Arc::new(Output::default());
        output.lock().needle = needle;
        let to = Arc::clone(&output);
        // Not joined: children of the tool may keep the pipe open.
        std::thread::spawn(move || drain(source, &to));
        Ok(Running { child, keyboard, output })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the next refresh is written, and returns the instant. If the tool writes
    /// nothing, that is after `patience`.
    pub fn after_refresh(&self, patience: Duration) -> Instant {
        let deadline = Instant::now() + patience;
        let mut seen = self.output.lock();
        let before = seen.refreshes;
        loop {
            let now = Instant::now();
            let quiet = seen.last.map_or(Duration::ZERO, |last| now.duration_since(last));
            let fresh = seen.refreshes > before;
            if now >= deadline || seen.ended || fresh && quiet >= SILENCE {
                return now;
            }
            let until = match fresh {
                true => SILENCE - quiet,
                false => deadline - now,
            };
            seen = self.output.wait(seen, until.min(deadline - now));
        }
    }

    /// When the text appeared.
    pub fn found(&self, patience: Duration) -> Result<Instant> {
        let deadline = Instant::now() + patience;
        let mut seen = self.output.lock();
        loop {
            if let Some(at) = seen.found {
                return Ok(at);
            }
            let now = Instant::now();
            if now >= deadline || seen.ended {
                return Err(anyhow!("{:?} did not appear", seen.needle));
            }
            seen = self.output.wait(seen, deadline - now);
        }
    }

    /// Types on its terminal.
    pub fn press(&mut self, keys: &[u8]) -> Result<()> {
        let keyboard = self.keyboard.as_mut().context("it has no terminal")?;
        Ok(keyboard.write_all(keys)?)
    }

    pub fn signal(&self, signal: Signal) -> Result<()> {
        let pid = Pid::from_raw(self.pid() as i32).context("no such process")?;
        Ok(kill_process(pid, signal)?)
    }

    /// Waits until the process has ended, with any status.
    pub fn ended(mut self, patience: Duration) -> Result<()> {
        let pid = Pid::from_child(&self.child);
        let process = pidfd_open(pid, PidfdFlags::empty()).context("pidfd_open")?;
        let patience = Timespec::try_from(patience).context("too long")?;
        if poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&patience))? == 0 {
            return Err(anyhow!("it did not end"));
        }
        self.child.wait()?;
        Ok(())
    }

    /// Waits until it ends by itself. Returns its whole output.
    pub fn finish(mut self, patience: Duration) -> Result<String> {
        let deadline = Instant::now() + patience;
        let mut seen = self.output.lock();
        while !seen.ended {
            let now = Instant::now();
            if now >= deadline {
                return Err(anyhow!("it did not end within {} s", patience.as_secs()));
            }
            seen = self.output.wait(seen, deadline - now);
        }
        let text = String::from_utf8_lossy(&seen.text).into_owned();
        drop(seen);
        let status = wait(&mut self.child, ENDING);
        match status {
            Some(status) if status.success() => Ok(text),
            Some(status) => Err(anyhow!("it failed ({status}): {}", text.trim())),
            None => Err(anyhow!("it closed its output and did not end")),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A request first: atop turns process accounting off again, exactop restores the terminal.
        if let (Some(pid), Ok(None)) = (Pid::from_raw(self.pid() as i32), self.child.try_wait()) {
            let _ = kill_process(pid, Signal::TERM);
        }
        if wait(&mut self.child, ENDING).is_none() {
            let _ = self.child.kill();
            wait(&mut self.child, ENDING);
        }
        self.keyboard = None;
    }
}

impl Output {
    fn lock(&self) -> MutexGuard<'_, ScreenOutput> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(
        &self,
        seen: MutexGuard<'a, ScreenOutput>,
        most: Duration,
    ) -> MutexGuard<'a, ScreenOutput> {
        self.news.wait_timeout(seen, most).unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Our end of the tool's output.
enum Source {
    Terminal(File),
    Pipe(PipeReader),
}

fn open(command: &mut Command, surface: Surface) -> Result<(Child, Source, Option<File>)> {
    match surface {
        Surface::Terminal | Surface::LargeTerminal => {
            let (width, height) = if surface == Surface::Terminal { (80, 24) } else { (200, 50) };
            let (child, terminal) = terminal::spawn(command, width, height)?;
            let keyboard = terminal.try_clone()?;
            Ok((child, Source::Terminal(terminal), Some(keyboard)))
        }
        Surface::Pipe => {
            let (reader, writer) = std::io::pipe()?;
            let child =
                command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::null()).spawn()?;
            // The command holds the pipe's other end open until it is replaced.
            command.stdout(Stdio::null());
            Ok((child, Source::Pipe(reader), None))
        }
    }
}

fn drain(mut source: Source, output: &Output) {
    let mut chunk = vec![0; 64 * 1024];
    loop {
        let read = match &mut source {
            Source::Terminal(file) => file.read(&mut chunk),
            Source::Pipe(pipe) => pipe.read(&mut chunk),
        };
        let mut seen = output.lock();
        match read {
            // A terminal that no process has open answers with EIO.
            Ok(0) | Err(_) => seen.ended = true,
            Ok(n) => seen.take(&chunk[..n], Instant::now()),
        }
        output.news.notify_all();
        if seen.ended {
            return;
        }
    }
}

impl ScreenOutput {
    fn take(&mut self, chunk: &[u8], now: Instant) {
        if self.last.is_none_or(|last| now.duration_since(last) >= SILENCE) {
            self.refreshes += 1;
        }
        self.last = Some(now);
        let from = self.text.len().saturating_sub(self.needle.len());
        self.text.extend_from_slice(chunk);
        let needle = self.needle.as_bytes();
        if self.found.is_none() && !needle.is_empty() {
            let there = self.text[from..].windows(needle.len()).any(|w| w == needle);
            self.found = there.then_some(now);
        }
    }
}

fn wait(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let deadline = Instant::now() + patience;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
            _ => return None,
        }
    }
}

/// The first line that a program prints; empty without one.
pub fn first_line(program: &str, args: &[&str]) -> String {
    let mut command = Command::new(program);
    let started = Running::start(command.args(args), Surface::Pipe);
    let text = started.and_then(|running| running.finish(ANSWER)).unwrap_or_default();
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or("").trim().to_string()
}
