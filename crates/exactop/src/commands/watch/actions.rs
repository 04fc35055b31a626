//! Actions of the live view on the machine: signals, nice values, CPUs, groups, limits, saving the
//! settings.

use super::held_process::{self as held, ProcessHandle, Reached};
use super::reader::Reader;
use crate::commands::cgroups;
use crate::options::{config, time};
use crate::rights::with_capabilities;
use exactop_cgroups::CgroupError;
use exactop_model::cgroups::limits::Max;
use exactop_model::frame::holdings::{Holdings, HoldingsRequest, Refusal};
use exactop_model::text::cpu_list::CpuList;
use exactop_model::text::escape::{harmless, unescape};
use exactop_model::words::holdings;
use exactop_model::TaskKey;
use exactop_sources::passwd;
use exactop_sources::procfs::task_stat::TaskStat;
use exactop_tui::app::placement::Placement;
use exactop_tui::app::target::Limit;
use exactop_tui::{Host, ProcessAction, Settings, Target};
use rustix::io::Errno;
use rustix::process::Signal;
use rustix::thread::CapabilitySet as Caps;
use std::cell::RefCell;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::rc::Rc;
use std::{fs, io};

/// The machine on which exactop runs.
#[derive(Default)]
pub struct LiveHost {
    /// The process that reads other processes; `None` for a recording.
    pub reader: Option<Rc<RefCell<Reader>>>,
}

impl Host for LiveHost {
    fn identify(&mut self, pid: u32, deed: ProcessAction) -> Result<Target, String> {
        identify(pid, deed)
            .ok_or_else(|| format!("no process {pid}: give the PID of a process that runs"))
    }

    fn has_exited(&mut self, task: TaskKey) -> bool {
        !held::process_is_there(task)
    }

    fn look_into(&mut self, request: HoldingsRequest) -> Result<Holdings, String> {
        let told = match &self.reader {
            Some(reader) => reader.borrow_mut().read(request),
            None => {
                Err(Refusal::Because("the reader of processes has ended: restart exactop".into()))
            }
        };
        told.map_err(|refusal| holdings::refused(request.part, &refusal))
    }

    fn signal(&mut self, target: &Target, signal: i32) -> Result<(), String> {
        let signal = Signal::from_named_raw(signal)
            .ok_or_else(|| format!("cannot send signal {signal}: it has no name"))?;
        let process = ProcessHandle::process_of(target.key).ok_or_else(|| target.gone())?;
        with_capabilities(Caps::KILL, || process.signal(signal)).map_err(|error| match error {
            Errno::SRCH => target.gone(),
            error => format!("cannot signal {}: {}", target.shown(), reason(error)),
        })
    }

    fn renice(&mut self, target: &Target, nice: i32) -> Result<(), String> {
        let process = ProcessHandle::process_of(target.key).ok_or_else(|| target.gone())?;
        let number = held::number(target.pid).ok_or_else(|| target.gone())?;
        match with_capabilities(Caps::SYS_NICE, || process.renice(number, nice)) {
            Ok(Reached::It) => Ok(()),
            Ok(Reached::Perhaps) => Err(perhaps(target)),
            Err(Errno::SRCH) => Err(target.gone()),
            Err(error) => {
                Err(format!("cannot renice {} to {nice}: {}", target.shown(), reason(error)))
            }
        }
    }

    fn place(&mut self, target: &Target, placement: &Placement) -> Result<(), String> {
        let process = ProcessHandle::process_of(target.key).ok_or_else(|| target.gone())?;
        let reached = match placement {
            Placement::Cpus(cpus) => set_cpus(&process, target, cpus)?,
            Placement::Group(group) => move_to(&process, target, group)?,
        };
        match reached {
            Reached::It => Ok(()),
            Reached::Perhaps => Err(perhaps(target)),
        }
    }

    fn limit(&mut self, limit: &Limit) -> Result<String, String> {
        let max = limit.max.as_deref().map(str::parse::<Max>).transpose();
        let max = max.map_err(|why| why.to_string())?;
        let group = group_path(&limit.group)?;
        // The group may have been handed to another user.
        let set = || cgroups::set_if(&group, limit.id, limit.weight, max);
        match with_capabilities(Caps::DAC_OVERRIDE, set) {
            Ok(Some((before, after))) => Ok(format!("{before} -> {after}")),
            Ok(None) => {
                Err(format!("group {} does not exist any more: choose another", limit.group))
            }
            Err(error) => Err(harmless(&error.to_string())),
        }
    }

    fn save(&mut self, settings: &Settings) -> Result<String, String> {
        config::save(settings).map(|path| path.display().to_string())
    }

    fn user_id(&mut self, name: &str) -> Option<u32> {
        passwd::id(name)
    }

    fn point_in_time(&mut self, text: &str, end_wall_ns: i128) -> Result<i128, String> {
        time::point_in(text, &time::now(), Some(end_wall_ns))
    }

    fn local_time(&mut self, wall_ns: i128) -> String {
        time::shown(wall_ns, &time::now())
    }
}

fn set_cpus(process: &ProcessHandle, target: &Target, cpus: &CpuList) -> Result<Reached, String> {
    with_capabilities(Caps::SYS_NICE, || process.set_cpus(cpus.numbers())).map_err(
        |(tid, error)| {
            let (whom, error) = (target.shown(), io::Error::from(error));
            match tid == target.pid {
                true => format!("cannot set CPUs {cpus} for {whom}: {error}"),
                false => format!("cannot set CPUs {cpus} for thread {tid} of {whom}: {error}"),
            }
        },
    )
}

fn move_to(process: &ProcessHandle, target: &Target, group: &str) -> Result<Reached, String> {
    let path = group_path(group)?;
    // The group may belong to another user, and its cpuset asks for the right to place the process.
    let caps = Caps::DAC_OVERRIDE | Caps::SYS_NICE;
    with_capabilities(caps, || process.move_to(&path)).map_err(|error| match error {
        CgroupError::Move { error, .. } if error.raw_os_error() == Some(libc::ESRCH) => {
            target.gone()
        }
        // The group's name may hold any byte.
        error => harmless(&error.to_string()),
    })
}

/// The path of a group. The pages show names with control characters escaped; the group's real name
/// may hold any byte.
fn group_path(shown: &str) -> Result<PathBuf, String> {
    let bytes =
        unescape(shown).ok_or("the group's name has an invalid escape: choose the group again")?;
    Ok(PathBuf::from(OsString::from_vec(bytes)))
}

/// The message if the number may have passed to another process during the change.
fn perhaps(target: &Target) -> String {
    format!("{} exited during the change: check if another process has its PID", target.shown())
}

/// The process or thread that has this number now. kill(2) takes a thread's number as its process,
/// setpriority(2) as the thread itself.
fn identify(pid: u32, deed: ProcessAction) -> Option<Target> {
    let status = fs::read(format!("/proc/{pid}/status")).ok()?;
    let tgid = status.split(|&b| b == b'\n').find_map(|line| line.strip_prefix(b"Tgid:"))?;
    let tgid: u32 = std::str::from_utf8(tgid).ok()?.trim().parse().ok()?;
    let tid = if deed == ProcessAction::Renice { pid } else { tgid };
    let stat = TaskStat::read(&format!("/proc/{tgid}/task/{tid}/stat"))?;
    let key = TaskKey { tgid, tid, start_ns: held::start_ns(&stat) };
    Some(Target {
        pid: tid,
        key,
        name: stat.comm.to_string(),
        nice: stat.nice,
        kthread: stat.kthread,
    })
}

fn reason(error: Errno) -> &'static str {
    match error {
        Errno::PERM | Errno::ACCESS => "not permitted for this user",
        Errno::INVAL => "the kernel does not know this signal",
        _ => "the kernel refused",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process;
    use std::os::unix::process::ExitStatusExt;
    use std::path::Path;
    use std::process::{Child, Command};

    fn sleeper() -> (Child, Target) {
        let child = Command::new("sleep").arg("600").spawn().expect("sleep(1)");
        let target =
            LiveHost::default().identify(child.id(), ProcessAction::Kill).expect("a process");
        (child, target)
    }

    #[test]
    fn a_signal_arrives() {
        let (mut child, target) = sleeper();
        assert_eq!(LiveHost::default().signal(&target, 15), Ok(()));
        assert_eq!(child.wait().expect("an end").signal(), Some(15));
        assert_eq!(LiveHost::default().signal(&target, 15), Err(target.gone()));
        assert!(LiveHost::default().has_exited(target.key));
    }

    #[test]
    fn a_nice_value_is_set() {
        let (mut child, target) = sleeper();
        assert_eq!(LiveHost::default().renice(&target, 7), Ok(()));
        assert_eq!(process::getpriority_process(held::number(target.pid)), Ok(7));
        assert_eq!(
            LiveHost::default().identify(child.id(), ProcessAction::Renice).map(|t| t.nice),
            Ok(7)
        );
        child.kill().expect("a kill");
        child.wait().expect("an end");
        assert_eq!(LiveHost::default().renice(&target, 7), Err(target.gone()));
    }

    /// A number that passed to another process: same number, another start time.
    #[test]
    fn a_later_process_with_the_same_pid_is_left_alone() {
        let (mut child, target) = sleeper();
        let nice = process::getpriority_process(held::number(target.pid));
        for started in [target.key.start_ns - 1, target.key.start_ns + 10_000_000] {
            let before =
                Target { key: TaskKey { start_ns: started, ..target.key }, ..target.clone() };
            assert_eq!(LiveHost::default().signal(&before, 9), Err(before.gone()));
            assert_eq!(LiveHost::default().renice(&before, 19), Err(before.gone()));
            let cpus = Placement::Cpus("0".parse().expect("a list"));
            for place in [cpus, Placement::Group("/".into())] {
                assert_eq!(LiveHost::default().place(&before, &place), Err(before.gone()));
            }
            assert!(LiveHost::default().has_exited(before.key));
        }
        assert!(!LiveHost::default().has_exited(target.key));
        assert_eq!(child.try_wait().expect("a state"), None, "nobody was killed");
        assert_eq!(process::getpriority_process(held::number(target.pid)), nice);
        child.kill().expect("a kill");
        child.wait().expect("an end");
    }

    #[test]
    fn a_signal_to_a_thread_id_goes_to_its_process() {
        let tid = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let own = std::process::id();
        let target =
            LiveHost::default().identify(tid, ProcessAction::Kill).expect("this thread's process");
        assert_eq!((target.pid, target.key.tid), (own, own));
        let target = LiveHost::default().identify(tid, ProcessAction::Renice).expect("this thread");
        assert_eq!((target.pid, target.key.tgid), (tid, own));
        assert!(held::is_there(target.key) && held::process_is_there(target.key));
    }

    #[test]
    fn a_thread_of_the_kernel_is_known_as_one() {
        let comm = |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/comm"));
        if comm("2").is_ok_and(|comm| comm == "kthreadd\n") {
            let found = LiveHost::default().identify(2, ProcessAction::Kill).expect("it lives");
            assert!(found.kthread && found.refuses(ProcessAction::Kill).is_some(), "{found:?}");
        }
        let own = LiveHost::default().identify(std::process::id(), ProcessAction::Kill);
        assert_eq!(own.expect("this process").refuses(ProcessAction::Kill), None);
    }

    #[test]
    fn there_is_no_process_zero() {
        for nobody in [0, u32::MAX] {
            assert!(LiveHost::default().identify(nobody, ProcessAction::Kill).is_err());
            let key = TaskKey { tgid: nobody, tid: nobody, start_ns: 0 };
            let target = Target { pid: nobody, key, name: String::new(), nice: 0, kthread: false };
            assert_eq!(LiveHost::default().signal(&target, 15), Err(target.gone()));
            assert_eq!(LiveHost::default().renice(&target, 1), Err(target.gone()));
        }
    }

    #[test]
    fn a_group_that_was_made_again_is_another() {
        let limit = Limit { group: "/".into(), id: Some(u64::MAX), weight: Some(100), max: None };
        let refused = LiveHost::default().limit(&limit).expect_err("no such group");
        let none_here = !Path::new("/sys/fs/cgroup/cgroup.procs").exists();
        assert!(refused.contains("does not exist any more") || none_here, "{refused}");
    }
}
