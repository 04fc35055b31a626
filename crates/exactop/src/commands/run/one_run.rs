//! One run, from the fork to the report.

use super::child;
use super::condition::Condition;
use super::following::Follower;
use super::group::CommandGroup;
use super::relay::Relay;
use super::{ours, RunArgs};
use crate::failure::{complain, Failure};
use crate::recorded::Shared;
use exactop_model::run::{End, RunReport, Rusage};
use rustix::event::{poll, PollFd, PollFlags};
use rustix::process::{pidfd_open, Pid, PidfdFlags};
use std::convert::Infallible;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Length of a ledger window while the command runs. Exited tasks stay in groups until their window
/// is read.
const WINDOW: Duration = Duration::from_millis(500);

/// Runs the command to its end under these conditions. Signals for it go through `relay`, windows
/// to the recorder.
///
/// # Errors
/// The command did not run.
pub fn run(
    typed: &RunArgs,
    condition: &Condition,
    relay: &mut Relay,
    recorder: Option<&Shared>,
) -> Result<RunReport, Failure> {
    if let Some((nice, true)) = condition.niceness() {
        let asked = condition.nice.unwrap_or(0);
        complain(&format!("niceness {asked} is not within -20 and 19: using {nice}"));
    }
    let mut group = CommandGroup::from_condition(condition).map_err(ours)?;
    let mut follower = Follower::open(typed, recorder)?;
    let resident_floor_kib = own_resident_kib();
    let mut began = Instant::now();
    let entrance = group.as_ref().map(CommandGroup::entrance).transpose().map_err(ours)?;
    // The wait at the gate is not counted.
    let at_gate = || {
        follower.begin_again();
        began = Instant::now();
    };
    let child = child::start(typed, condition, entrance, relay.for_child(), at_gate);
    let child = child.inspect_err(|_| relay.ended())?;
    if let Some(group) = group.as_mut().filter(|_| typed.gate) {
        group.begin_again();
    }
    let ended = follow(child.id(), &mut follower, relay).map_err(ours);
    relay.ended();
    follower.end();
    let (at, end, rusage) = ended?;
    let elapsed = at.saturating_duration_since(began);
    let elapsed_ns = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
    let words = typed.command.iter().map(|word| word.to_string_lossy().into_owned());
    let command: Vec<String> = words.collect();
    let mut tree = follower.finish();
    // A short command may have exited before its command line was read; exactop knows it from its
    // own arguments.
    let slowest = tree.as_mut().ok().and_then(|tree| tree.slowest.as_mut().ok());
    let own = slowest.and_then(|of| of.list.iter_mut().find(|one| one.pid == child.id()));
    if let Some(own) = own {
        own.command.get_or_insert_with(|| command.join(" ").into_bytes());
    }
    Ok(RunReport {
        command,
        end,
        elapsed_ns,
        rusage,
        resident_floor_kib,
        tree,
        group: group.map(closed),
    })
}

/// The group's figures. The group is removed unless processes are left in it.
fn closed(group: CommandGroup) -> exactop_model::run::RunGroup {
    let report = group.report();
    if let Some((left, what)) = group.left() {
        let path = exactop_model::text::escape::escape_str(&report.path);
        complain(&format!("{left} processes of the command still run in {path}: {what}"));
    }
    report
}

/// Ends windows of the ledger until the child exits. Returns when and how it exited, and its use. A
/// thread waits for the child, because a daemon's window may take long to end.
fn follow(
    pid: u32,
    follower: &mut Follower,
    relay: &mut Relay,
) -> io::Result<(Instant, End, Rusage)> {
    std::thread::scope(|threads| {
        let (lives, ends) = mpsc::channel::<Infallible>();
        let waits = threads.spawn(move || {
            let ended = wait_for(pid, relay);
            drop(lives);
            ended
        });
        while let Err(RecvTimeoutError::Timeout) = ends.recv_timeout(WINDOW) {
            follower.advance();
        }
        waits.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Passes signals on until the child has exited.
fn wait_for(pid: u32, relay: &mut Relay) -> io::Result<(Instant, End, Rusage)> {
    let raw = Pid::from_raw(pid as i32).ok_or(io::ErrorKind::InvalidInput)?;
    let exits: OwnedFd = pidfd_open(raw, PidfdFlags::empty())?;
    loop {
        let signals = relay.as_fd();
        let mut fds = [PollFd::new(&exits, PollFlags::IN), PollFd::new(&signals, PollFlags::IN)];
        match poll(&mut fds, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let has_exited = !fds[0].revents().is_empty();
        if !fds[1].revents().is_empty() {
            relay.pass_on(exits.as_fd(), pid)?;
        }
        if has_exited {
            let at = Instant::now();
            return wait4(pid).map(|(end, rusage)| (at, end, rusage));
        }
    }
}

/// Largest resident set of this process so far in KiB, with some room for the steps before exec.
fn own_resident_kib() -> u64 {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: room for the answer, which is read only if it was given.
    let usage = unsafe {
        let known = libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) == 0;
        known.then(|| usage.assume_init())
    };
    usage.map_or(0, |usage| rusage(&usage).max_resident_kib + 256)
}

/// Reaps the child. Returns the use of the child and of the children that it waited for.
fn wait4(pid: u32) -> io::Result<(End, Rusage)> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    loop {
        // SAFETY: room for both answers.
        match unsafe { libc::wait4(pid as i32, &mut status, 0, usage.as_mut_ptr()) } {
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            -1 => return Err(io::Error::last_os_error()),
            _ => break,
        }
    }
    // SAFETY: filled by the call that succeeded.
    let usage = unsafe { usage.assume_init() };
    let end = match libc::WIFSIGNALED(status) {
        true => End::Killed(libc::WTERMSIG(status)),
        false => End::Exited(libc::WEXITSTATUS(status)),
    };
    Ok((end, rusage(&usage)))
}

fn rusage(usage: &libc::rusage) -> Rusage {
    let ns = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1000;
    let count = |n: libc::c_long| u64::try_from(n).unwrap_or(0);
    Rusage {
        user_ns: ns(usage.ru_utime),
        system_ns: ns(usage.ru_stime),
        max_resident_kib: count(usage.ru_maxrss),
        minor_faults: count(usage.ru_minflt),
        major_faults: count(usage.ru_majflt),
        blocks_in: count(usage.ru_inblock),
        blocks_out: count(usage.ru_oublock),
        vcx: count(usage.ru_nvcsw),
        icx: count(usage.ru_nivcsw),
    }
}
