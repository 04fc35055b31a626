//! Child processes that do not outlive xtask.

use rustix::process::{set_parent_process_death_signal, Signal};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Has the kernel kill the command's process when the thread that starts it ends
/// (PR_SET_PDEATHSIG, prctl(2)), also if that is killed: a load that goes on would spoil the next
/// measurement.
pub fn end_with_us(command: &mut Command) {
    let die_with_parent = || Ok(set_parent_process_death_signal(Some(Signal::KILL))?);
    // SAFETY: one system call, which allocates nothing and takes no lock.
    unsafe { command.pre_exec(die_with_parent) };
}

#[cfg(test)]
mod tests {
    use super::end_with_us;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    #[test]
    fn a_child_ends_with_the_thread_that_started_it() {
        let starter = std::thread::spawn(|| {
            let mut command = Command::new("sleep");
            end_with_us(&mut command);
            command.arg("infinity").spawn().expect("sleep starts")
        });
        let mut child = starter.join().expect("the thread ends");

        assert_eq!(child.wait().expect("the child ends").signal(), Some(9));
    }
}
