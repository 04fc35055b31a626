//! What the live view has done for it: signals, nice values, keeping the settings.

use crate::{config, users};
use exactop_tui::{Host, Settings};
use rustix::io::Errno;
use rustix::process::{self, Pid, Signal};

/// The real machine.
pub struct Machine;

impl Host for Machine {
    fn signal(&mut self, pid: u32, signal: i32) -> Result<(), String> {
        let target = target(pid)?;
        let signal = Signal::from_named_raw(signal)
            .ok_or_else(|| format!("cannot send signal {signal}: it has no name"))?;
        process::kill_process(target, signal)
            .map_err(|error| format!("cannot signal {pid}: {}", reason(error)))
    }

    fn renice(&mut self, pid: u32, nice: i32) -> Result<(), String> {
        process::setpriority_process(Some(target(pid)?), nice)
            .map_err(|error| format!("cannot renice {pid} to {nice}: {}", reason(error)))
    }

    fn save(&mut self, settings: &Settings) -> Result<String, String> {
        config::save(settings).map(|path| path.display().to_string())
    }

    fn user_id(&mut self, name: &str) -> Option<u32> {
        users::id(name)
    }
}

/// Never 0 or negative: those would mean process groups.
fn target(pid: u32) -> Result<Pid, String> {
    i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or_else(|| format!("no process {pid}"))
}

fn reason(error: Errno) -> &'static str {
    match error {
        Errno::PERM | Errno::ACCESS => "not permitted for this user",
        Errno::SRCH => "it is gone",
        Errno::INVAL => "the kernel does not know this signal",
        _ => "the kernel refused",
    }
}
