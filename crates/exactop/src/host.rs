//! What the live view has done for it: signals, nice values, keeping the settings.

use crate::rights::asked;
use crate::{cgroups, config, users};
use exactop_model::limits::Max;
use exactop_model::text::unescape;
use exactop_tui::app::groups::Limit;
use exactop_tui::{Host, Settings};
use rustix::io::Errno;
use rustix::process::{self, Pid, Signal};
use rustix::thread::CapabilitySet as Caps;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The real machine.
pub struct Machine;

impl Host for Machine {
    fn signal(&mut self, pid: u32, signal: i32) -> Result<(), String> {
        let target = target(pid)?;
        let signal = Signal::from_named_raw(signal)
            .ok_or_else(|| format!("cannot send signal {signal}: it has no name"))?;
        asked(Caps::KILL, || process::kill_process(target, signal))
            .map_err(|error| format!("cannot signal {pid}: {}", reason(error)))
    }

    fn renice(&mut self, pid: u32, nice: i32) -> Result<(), String> {
        let target = target(pid)?;
        asked(Caps::SYS_NICE, || process::setpriority_process(Some(target), nice))
            .map_err(|error| format!("cannot renice {pid} to {nice}: {}", reason(error)))
    }

    fn limit(&mut self, limit: &Limit) -> Result<String, String> {
        let max = limit.max.as_deref().map(str::parse::<Max>).transpose();
        let max = max.map_err(|why| why.to_string())?;
        // The page shows names harmless; the group itself may be called anything.
        let group = unescape(&limit.group).ok_or("no group has such a name")?;
        let group = Path::new(OsStr::from_bytes(&group));
        // It may have been handed to another user.
        asked(Caps::DAC_OVERRIDE, || cgroups::set(group, limit.weight, max))
            .map(|(_, before, after)| format!("{before} -> {after}"))
            .map_err(|error| error.to_string())
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Child, Command};

    fn sleeper() -> Child {
        Command::new("sleep").arg("600").spawn().expect("sleep(1)")
    }

    #[test]
    fn a_signal_arrives() {
        let mut child = sleeper();
        assert_eq!(Machine.signal(child.id(), 15), Ok(()));
        assert_eq!(child.wait().expect("an end").signal(), Some(15));
        let gone = Machine.signal(child.id(), 15);
        assert_eq!(gone, Err(format!("cannot signal {}: it is gone", child.id())));
    }

    #[test]
    fn a_nice_value_is_set() {
        let mut child = sleeper();
        assert_eq!(Machine.renice(child.id(), 7), Ok(()));
        let target = target(child.id()).expect("a process");
        assert_eq!(process::getpriority_process(Some(target)), Ok(7));
        child.kill().expect("a kill");
        child.wait().expect("an end");
        assert!(Machine.renice(child.id(), 7).is_err());
    }

    #[test]
    fn there_is_no_process_zero() {
        assert_eq!(Machine.signal(0, 15), Err("no process 0".into()));
        assert!(Machine.renice(u32::MAX, 1).is_err());
    }
}
