//! Priority of a service's threads. The threads that read the ledger and serve pages run at a
//! raised priority, so that the service stays correct on an overloaded machine.

use rustix::process::{getpriority_process, setpriority_process};
use rustix::thread::gettid;
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::OnceLock;

/// Niceness of a raised thread.
const NICE: i32 = -10;
/// The lowest priority of SCHED_RR (sched(7)): above all fair tasks, below every other real-time
/// task.
const LOWEST: libc::c_int = 1;

/// How a raised thread is scheduled; the words of the setting `priority`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Priority {
    /// Niceness -10.
    Nice,
    /// SCHED_RR.
    RoundRobin,
    /// The priority at the start of the process.
    Usual,
}

/// Niceness at the start of the process.
static USUAL: OnceLock<i32> = OnceLock::new();

/// Raises this thread and those that it starts from now on.
///
/// # Errors
/// The kernel refuses: that needs CAP_SYS_NICE, or RLIMIT_NICE and RLIMIT_RTPRIO.
pub fn raise(priority: Priority) -> io::Result<()> {
    let usual = getpriority_process(Some(gettid()))?;
    let _ = USUAL.set(usual);
    match priority {
        Priority::Usual => Ok(()),
        Priority::Nice => {
            raise_session();
            Ok(setpriority_process(Some(gettid()), NICE.min(usual))?)
        }
        Priority::RoundRobin => become_real_time(),
    }
}

/// Raises the session. Where the kernel groups tasks by sessions (autogroup, sched(7)), niceness
/// counts only within a session. A service leads its own session and raises that; a session that
/// others share stays unchanged.
fn raise_session() {
    if leads_session() {
        // Without autogroups the file does not exist, and niceness counts on the whole machine.
        let _ = std::fs::write("/proc/self/autogroup", NICE.to_string());
    }
}

/// True if this process leads its session.
fn leads_session() -> bool {
    // SAFETY: neither call touches memory. rustix treats a session as a PID, which is never 0. A
    // session is 0 if it began outside of the PID namespace (pid_namespaces(7)), or if PID 1 never
    // began one.
    unsafe { libc::getsid(0) == libc::getpid() }
}

/// Lowers this thread to the priority at the start of the process.
pub fn lower() {
    let Some(&usual) = USUAL.get() else { return };
    // SAFETY: 0 is this thread.
    let policy = unsafe { libc::sched_getscheduler(0) };
    // Giving up a right is always allowed.
    if policy == libc::SCHED_RR {
        let _ = schedule(libc::SCHED_OTHER, 0);
    }
    let _ = setpriority_process(Some(gettid()), usual);
}

/// Runs `deed` in a thread with the usual priority, which its child threads inherit.
pub fn usual<T: Send>(deed: impl FnOnce() -> T + Send) -> T {
    let lowered = || {
        lower();
        deed()
    };
    std::thread::scope(|scope| match scope.spawn(lowered).join() {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// Gives this thread the lowest real-time priority.
///
/// # Errors
/// The kernel refuses.
pub fn become_real_time() -> io::Result<()> {
    schedule(libc::SCHED_RR, LOWEST)
}

fn schedule(policy: libc::c_int, sched_priority: libc::c_int) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority };
    // SAFETY: 0 is this thread, and the structure lives until the call returns.
    match unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> i32 {
        getpriority_process(Some(gettid())).expect("a thread has one")
    }

    #[test]
    fn later_threads_inherit_the_priority_unless_started_as_usual() {
        let before = own();
        std::thread::scope(|scope| {
            let raised = scope.spawn(|| {
                if let Err(error) = raise(Priority::Nice) {
                    return eprintln!("left out: {error}");
                }
                assert_eq!(own(), NICE);
                let inherits = std::thread::spawn(own).join().expect("no panic");
                assert_eq!(inherits, NICE);
                let started = usual(|| std::thread::spawn(own).join().expect("no panic"));
                assert_eq!(started, before);
                assert_eq!(own(), NICE, "the thread that starts them keeps its own");
                lower();
                assert_eq!(own(), before);
            });
            raised.join().expect("no panic");
        });
        assert_eq!(own(), before, "a priority is each thread's own");
    }

    #[test]
    fn a_session_from_outside_the_pid_namespace_is_not_led() {
        assert!(inside_pid_namespace("follower", &[]), "the session began outside");
        assert!(inside_pid_namespace("leader", &["setsid", "--wait"]), "setsid began one inside");
    }

    /// Runs `session_as_expected` inside a new PID namespace.
    fn inside_pid_namespace(expected: &str, before: &[&str]) -> bool {
        let own = std::env::current_exe().expect("a test has a file");
        let args = ["--exact", "--ignored", "priority::tests::session_as_expected"];
        let mut unshare = std::process::Command::new("unshare");
        unshare
            .args(["--pid", "--fork"])
            .args(before)
            .arg(own)
            .args(args)
            .env("EXACTOP_TEST_SESSION", expected);
        let output = unshare.output().expect("util-linux is there");
        let error = String::from_utf8_lossy(&output.stderr);
        if error.contains("unshare failed") {
            eprintln!("left out: {error}");
            return true;
        }
        output.status.success()
    }

    #[test]
    #[ignore = "runs inside the namespaces of the test above"]
    fn session_as_expected() {
        let expected = std::env::var_os("EXACTOP_TEST_SESSION").expect("the test above says it");
        assert_eq!(leads_session(), expected == "leader");
    }
}
