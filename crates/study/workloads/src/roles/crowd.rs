//! Loads by which an unprivileged user can burden a task counter: very many living tasks, zombies,
//! or tasks with different names.

use super::{desk, number};
use crate::children;
use crate::counters::Counters;
use crate::error::Refusal;
use rustix::process::{waitpid, Gid, Uid, WaitOptions};
use std::convert::Infallible;
use std::sync::atomic::Ordering::Relaxed;

/// The user `nobody` of Debian (base-passwd).
const NOBODY: u32 = 65_534;

pub(super) fn run(args: &[String]) -> Result<Infallible, Refusal> {
    become_nobody()?;
    let count = number(args, 1)?;
    match args.first().map_or("", String::as_str) {
        "living" => desk::serve(children::make(count, || children::fork(pause))?, |_| None),
        "zombies" => desk::serve(children::make(count, || children::fork(|| {}))?, |_| None),
        "names" => names(count),
        other => {
            Err(Refusal::Other(format!("{other:?} is not a crowd: write living, zombies or names")))
        }
    }
}

fn become_nobody() -> Result<(), Refusal> {
    if !rustix::process::getuid().is_root() {
        return Ok(());
    }
    let (uid, gid) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
    rustix::thread::set_thread_groups(&[])
        .and_then(|()| rustix::thread::set_thread_res_gid(gid, gid, gid))
        .and_then(|()| rustix::thread::set_thread_res_uid(uid, uid, uid))
        .map_err(|errno| Refusal::other(std::io::Error::from(errno)))
}

fn pause() {
    loop {
        // SAFETY: takes no arguments and returns nothing; a handled signal would only end the wait.
        unsafe { libc::pause() };
    }
}

/// Children one after the other, each with a new name.
fn names(count: usize) -> Result<Infallible, Refusal> {
    let (counters, _) = Counters::new().map_err(Refusal::other)?;
    let done = counters;
    std::thread::spawn(move || {
        for n in 0..count {
            let name = std::ffi::CString::new(format!("n{n}")).expect("no zero byte in it");
            // A child that could not be created is not counted.
            let Ok(pid) = children::fork(|| {
                let _ = rustix::thread::set_name(&name);
            }) else {
                continue;
            };
            let pid = rustix::process::Pid::from_raw(pid as i32);
            let _ = waitpid(pid, WaitOptions::empty());
            done.at(0).fetch_add(1, Relaxed);
        }
    });
    desk::serve([], |request| (request == "done").then(|| vec![counters.at(0).load(Relaxed)]))
}
