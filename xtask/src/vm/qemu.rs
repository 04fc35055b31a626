//! The emulated machine: starts it, passes its console on, and stops it at the timeout.

use super::{EXIT_GUEST_DIED, EXIT_TIMEOUT};
use crate::children::end_with_us;
use anyhow::{bail, Context, Result};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

const QEMU: &str = "qemu-system-x86_64";

/// An oops ends the run: later results prove nothing. At boot, a kernel that sees no tick for ten of them takes its timer for broken
/// and panics; no_timer_check prevents that on a busy host.
const KERNEL_ARGS: &str = "console=ttyS0 quiet panic=-1 oops=panic no_timer_check";

pub struct Machine<'a> {
    pub kernel: &'a Path,
    pub initrd: &'a Path,
    /// Virtual CPUs.
    pub cpus: u32,
    /// NUMA nodes.
    pub nodes: u32,
    pub mem_mib: u32,
    pub timeout: Duration,
}

pub struct Run {
    /// Time from the machine's start until the init ran the program.
    started: Option<Duration>,
    ended: Ended,
    took: Duration,
}

enum Ended {
    Status(u8),
    TimedOut,
    Died,
}

/// The init's words on the console.
enum Event {
    Started,
    Exit(u8),
    Closed,
}

/// Checks that the emulator is installed; the error says how to install it.
pub fn check_installed() -> Result<()> {
    match Command::new(QEMU).arg("--version").stdout(Stdio::null()).status() {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            bail!("{QEMU} is not installed: {}", super::INSTALL)
        }
        Err(error) => Err(error).context(QEMU),
    }
}

impl Machine<'_> {
    /// Starts the machine and waits for it; `token` marks the lines of its init.
    pub fn run(&self, token: &str) -> Result<Run> {
        let start = Instant::now();
        let mut qemu = self.spawn()?;
        let console = qemu.stdout.take().context("qemu has no console")?;
        let (sender, events) = channel();
        let marker = format!("{token} ");
        let reader = thread::spawn(move || pass_on(console, &marker, &sender));
        let run = self.wait(start, &events);
        // After its status the guest only powers off, so the machine is killed.
        qemu.kill().context("stopping qemu")?;
        qemu.wait().context("waiting for qemu")?;
        // The reader ends with the console, and has already printed a panic of its own.
        let _ = reader.join();
        Ok(run)
    }

    fn spawn(&self) -> Result<Child> {
        let mut command = Command::new(QEMU);
        // Emulation, because CI machines rarely permit virtualization. One thread for all virtual
        // CPUs. With one thread each, a CPU may run a breakpoint that
        // another has already removed, and the kernel dies when tracepoints come and go.
        command.args([
            "-accel",
            "tcg,thread=single",
            "-no-reboot",
            "-net",
            "none",
            "-display",
            "none",
        ]);
        command.args(["-serial", "stdio", "-monitor", "none", "-append", KERNEL_ARGS]);
        command.args(self.topology());
        command.arg("-kernel").arg(self.kernel).arg("-initrd").arg(self.initrd);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        end_with_us(&mut command);
        command.spawn().context("starting qemu")
    }

    /// Arguments for its CPUs, memory and NUMA nodes.
    fn topology(&self) -> Vec<String> {
        let Machine { cpus, nodes, mem_mib, .. } = self;
        let mut args = vec!["-m".into(), mem_mib.to_string(), "-smp".into()];
        let (of_node, mem) = (cpus / nodes, mem_mib / nodes);
        args.push(format!("{cpus},sockets={nodes},cores={of_node}"));
        for node in (0..*nodes).filter(|_| *nodes > 1) {
            let (first, last) = (node * of_node, (node + 1) * of_node - 1);
            args.extend([
                "-object".into(),
                format!("memory-backend-ram,id=node{node},size={mem}M"),
            ]);
            let of = format!("node,nodeid={node},cpus={first}-{last},memdev=node{node}");
            args.extend(["-numa".into(), of]);
        }
        args
    }

    fn wait(&self, start: Instant, events: &Receiver<Event>) -> Run {
        let mut started = None;
        let ended = loop {
            let left = self.timeout.saturating_sub(start.elapsed());
            match events.recv_timeout(left) {
                Ok(Event::Started) => started = Some(start.elapsed()),
                Ok(Event::Exit(status)) => break Ended::Status(status),
                Ok(Event::Closed) | Err(RecvTimeoutError::Disconnected) => break Ended::Died,
                Err(RecvTimeoutError::Timeout) => break Ended::TimedOut,
            }
        };
        Run { started, ended, took: start.elapsed() }
    }
}

/// Copies the console to standard output, line by line, without the init's own lines.
fn pass_on(console: impl Read, marker: &str, events: &Sender<Event>) {
    let mut console = BufReader::new(console);
    let mut line = Vec::new();
    while console.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&line).replace('\r', "");
        let (output, event) = split(&text, marker);
        print!("{output}");
        // If the reader of our output is gone, the status still counts.
        let _ = std::io::stdout().flush();
        if let Some(event) = event {
            // The receiver is gone once the run is decided.
            let _ = events.send(event);
        }
        line.clear();
    }
    let _ = events.send(Event::Closed);
}

/// Splits a line into the program's output and the init's word, which may share a line.
fn split<'a>(line: &'a str, marker: &str) -> (&'a str, Option<Event>) {
    let Some((output, word)) = line.split_once(marker) else { return (line, None) };
    let word = word.trim_end();
    let event = match word.strip_prefix("exit ") {
        Some(status) => status.parse().ok().map(Event::Exit),
        None => (word == "start").then_some(Event::Started),
    };
    (output, event)
}

impl Run {
    pub fn exit_code(&self) -> u8 {
        match self.ended {
            Ended::Status(status) => status,
            Ended::TimedOut => EXIT_TIMEOUT,
            Ended::Died => EXIT_GUEST_DIED,
        }
    }

    /// One line on the run.
    pub fn describe(&self, timeout: u64) -> String {
        let boot = match self.started {
            Some(after) => format!("booted in {:.1} s", after.as_secs_f64()),
            None => "init never ran the program".to_owned(),
        };
        let took = self.took.as_secs_f64();
        let ended = match self.ended {
            Ended::Status(status) => format!("status {status} after {took:.1} s"),
            Ended::TimedOut => format!("stopped: time was up after {timeout} s"),
            Ended::Died => format!("the machine died after {took:.1} s, without a status"),
        };
        format!("{boot}, {ended}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_found_behind_unfinished_output() {
        let (output, event) = split("no newline TOKEN exit 137\n", "TOKEN ");
        assert_eq!(output, "no newline ");
        assert!(matches!(event, Some(Event::Exit(137))));
    }

    #[test]
    fn cpus_and_memory_are_shared_out_among_nodes() {
        let machine = |cpus, nodes| Machine {
            kernel: Path::new("k"),
            initrd: Path::new("i"),
            cpus,
            nodes,
            mem_mib: 1024,
            timeout: Duration::ZERO,
        };
        let plain = machine(4, 1).topology().join(" ");
        assert_eq!(plain, "-m 1024 -smp 4,sockets=1,cores=4");
        let two = machine(4, 2).topology().join(" ");
        assert!(two.contains("-smp 4,sockets=2,cores=2 -object"), "{two}");
        assert!(
            two.contains("id=node1,size=512M -numa node,nodeid=1,cpus=2-3,memdev=node1"),
            "{two}"
        );
    }

    #[test]
    fn what_the_program_prints_is_no_event() {
        assert!(matches!(split("exit 1\n", "TOKEN "), ("exit 1\n", None)));
        assert!(matches!(split("TOKEN exit x\n", "TOKEN "), ("", None)));
    }
}
