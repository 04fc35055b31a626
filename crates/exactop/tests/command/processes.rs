//! Processes that are signalled and waited for.

/// Sends a signal by its number.
pub fn send(pid: u32, signal: i32) {
    let pid = rustix::process::Pid::from_raw(pid as i32).expect("a process");
    let signal = rustix::process::Signal::from_named_raw(signal).expect("a signal with a name");
    rustix::process::kill_process(pid, signal).expect("sent");
}

/// Waits for what must come, however busy the machine is.
pub fn wait_until(what: &str, mut so: impl FnMut() -> bool) {
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !so() {
        assert!(std::time::Instant::now() < patience, "{what}: not after a minute");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// The state letter of a process (proc_pid_stat(5)); `None`: it is gone.
pub fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Whether a process is gone, or dead and not waited for.
pub fn is_over(pid: u32) -> bool {
    matches!(state(pid), None | Some('Z' | 'X'))
}
