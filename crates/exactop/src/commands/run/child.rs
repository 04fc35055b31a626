//! Prepares the command as a child process and starts it.

use super::condition::{Condition, Sched};
use super::relay;
use super::user::{answer, User};
use super::waiting::{self, Waiting};
use super::{ours, RunArgs};
use crate::descriptors;
use crate::exit_code::{CANNOT_RUN, NOT_FOUND};
use crate::failure::Failure;
use exactop_cgroups::Entrance;
use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command as Process};

/// Starts the command in the group of `entrance`. `signals` are those that the command gets from
/// then on. With `--gate`, `at_gate` is called after the user opened the gate and before the
/// command begins.
///
/// # Errors
/// The failure, with the exit code for its kind.
pub fn start(
    typed: &RunArgs,
    condition: &Condition,
    entrance: Option<Entrance>,
    signals: relay::Child,
    at_gate: impl FnOnce(),
) -> Result<Child, Failure> {
    let (doors, scope) = match entrance {
        Some(Entrance::Doors(doors)) => (doors, None),
        Some(Entrance::Taken(scope)) => (Vec::new(), Some(scope)),
        None => (Vec::new(), None),
    };
    let pair = |wanted: bool| wanted.then(waiting::pair).transpose().map_err(ours);
    let (for_group, joining) = pair(scope.is_some())?.unzip();
    let (for_gate, gate) = pair(typed.gate)?.unzip();
    let mut process = prepare(typed, condition, Steps { doors, joining, gate, signals })?;
    let name = typed.command.first().map(|name| name.to_string_lossy());
    std::thread::scope(|threads| {
        let spawned = threads.spawn(move || process.spawn());
        let taken_in = match for_group.zip(scope) {
            Some((summoner, scope)) => summoner.serve(|pid| scope.take_in(pid)).map_err(ours),
            None => Ok(()),
        };
        // A child that could not join the group does not reach the gate.
        if let Some(summoner) = for_gate.filter(|_| taken_in.is_ok()) {
            let Ok(()) = summoner.serve(|_| -> Result<(), Infallible> {
                at_gate();
                Ok(())
            });
        }
        let child = spawned.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        taken_in.and(child.map_err(|error| why(name.as_deref().unwrap_or_default(), &error)))
    })
}

/// Steps that the child and this process do together.
struct Steps {
    doors: Vec<File>,
    joining: Option<Waiting>,
    gate: Option<Waiting>,
    signals: relay::Child,
}

/// Prepares everything but the fork.
fn prepare(typed: &RunArgs, condition: &Condition, steps: Steps) -> Result<Process, Failure> {
    let (program, arguments) = typed
        .command
        .split_first()
        .unwrap_or_else(|| unreachable!("the command line requires a command"));
    let user = typed.user.as_deref().map(User::named).transpose().map_err(ours)?;
    let mut process = Process::new(program);
    process.args(arguments);
    if let Some(user) = user.as_ref().filter(|_| !typed.keep_env) {
        process.envs(user.environment.iter().map(|(name, value)| (name, value)));
    }
    process.envs(typed.env.iter().cloned());
    if let Some(dir) = &typed.chdir {
        if !dir.is_dir() {
            return Err(ours(format!(
                "--chdir {} does not exist or is not a directory: give another",
                dir.display()
            )));
        }
        process.current_dir(dir);
    }
    let before = ChildSetup {
        steps,
        nice: condition.niceness().map(|(nice, _)| nice),
        cpus: condition.cpus.as_ref().map(|cpus| cpus.numbers().to_vec()),
        sched: condition.sched,
        user,
        no_new_privs: typed.no_new_privs,
    };
    // SAFETY: between fork and exec the child makes only system calls and allocates nothing.
    unsafe { process.pre_exec(move || before.run()) };
    Ok(process)
}

/// The reason why the command did not start. Steps before exec mark their errors.
fn why(program: &str, error: &io::Error) -> Failure {
    match error.raw_os_error().map(|code| code / STEP) {
        Some(step @ 1..) if (step as usize) <= STEPS.len() => {
            let what = STEPS[step as usize - 1];
            let errno = error.raw_os_error().unwrap_or(0) % STEP;
            let reason = io::Error::from_raw_os_error(errno);
            ours(format!("{what}: {reason}"))
        }
        _ if error.kind() == io::ErrorKind::NotFound => Failure::Ended(
            NOT_FOUND,
            Some(format!("cannot find {program} in PATH: check the name, or give a path")),
        ),
        _ => Failure::Ended(CANNOT_RUN, Some(format!("cannot run {program}: {error}"))),
    }
}

/// A step's error is its errno plus the step's number times this value. Every errno is smaller
/// (include/linux/err.h, MAX_ERRNO).
const STEP: i32 = 4096;

/// Error texts of the steps, in order.
const STEPS: [&str; 7] = [
    "cannot join the control group",
    "cannot set --sched, which needs root or RLIMIT_RTPRIO",
    "cannot set --nice, which needs root or RLIMIT_NICE for a lower niceness",
    "cannot set --cpus",
    "cannot change to --user, which needs root",
    "cannot set --no-new-privs",
    "cannot prepare the command",
];

/// Steps of the child before it becomes the command.
struct ChildSetup {
    steps: Steps,
    nice: Option<i32>,
    cpus: Option<Vec<usize>>,
    sched: Option<Sched>,
    user: Option<User>,
    no_new_privs: bool,
}

impl ChildSetup {
    fn run(&self) -> io::Result<()> {
        let Steps { doors, joining, gate, signals } = &self.steps;
        marked(7, signals.first())?;
        marked(7, descriptors::put_back())?;
        marked(1, doors.iter().try_for_each(|door| (&*door).write_all(b"0")))?;
        marked(1, joining.as_ref().map_or(Ok(()), Waiting::wait))?;
        if let Some(sched) = self.sched {
            let (policy, priority) = sched.numbers();
            let parameters = libc::sched_param { sched_priority: priority };
            // SAFETY: the structure lives until the call returns.
            marked(2, answer(unsafe { libc::sched_setscheduler(0, policy, &parameters) }))?;
        }
        if let Some(nice) = self.nice {
            // SAFETY: the call takes only numbers.
            marked(3, answer(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) }))?;
        }
        if let Some(cpus) = &self.cpus {
            let mut set = rustix::thread::CpuSet::new();
            cpus.iter().for_each(|&cpu| set.set(cpu));
            marked(4, rustix::thread::sched_setaffinity(None, &set).map_err(Into::into))?;
        }
        if let Some(user) = &self.user {
            marked(5, user.become_them())?;
            marked(7, signals.stay_with_parent())?;
        }
        if self.no_new_privs {
            // SAFETY: the call takes only numbers.
            marked(6, answer(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }))?;
        }
        if let Some(gate) = gate {
            wait_for_enter();
            marked(7, gate.wait())?;
        }
        marked(7, signals.last())
    }
}

/// Marks an error with its step.
fn marked(step: i32, result: io::Result<()>) -> io::Result<()> {
    result.map_err(|error| {
        io::Error::from_raw_os_error(step * STEP + error.raw_os_error().unwrap_or(libc::EIO))
    })
}

/// Waits until the user presses Enter.
fn wait_for_enter() {
    let pid = std::process::id();
    let mut text = [0u8; 64];
    let mut room = &mut text[..];
    // Written into an array, because this code must not allocate.
    let _ = write!(room, "PID: {pid}\npress Enter to go on\n");
    let left = room.len();
    let written = text.len() - left;
    let _ = io::stderr().write_all(&text[..written]);
    let mut byte = [0u8];
    // SAFETY: reads one byte into an array of one byte.
    while unsafe { libc::read(0, byte.as_mut_ptr().cast(), 1) } == 1 && byte[0] != b'\n' {}
}
