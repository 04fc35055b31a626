//! Threads that vhost makes for the owner of a device: without a fork, so that only `task_newtask`
//! reports them.

use crate::books::Books;
use exactop_model::{Counter, ErrorKind, Frame, Row};
use exactop_sources::ledger::Options;
use rustix::ioctl::{ioctl, opcode, NoArg};
use std::fs::File;
use std::time::Duration;

/// VHOST_SET_OWNER of include/uapi/linux/vhost.h, which makes the worker.
const SET_OWNER: rustix::ioctl::Opcode = opcode::none(0xaf, 0x01);

/// The rows of this thread's workers: threads of this process since 6.4, kernel threads before.
fn workers(frame: &Frame) -> Vec<&Row> {
    let name = format!("vhost-{}", rustix::thread::gettid().as_raw_nonzero());
    frame.rows.iter().filter(|row| row.ident.comm.to_string() == name).collect()
}

#[test]
fn vhost_workers_have_names_from_their_birth_on() {
    let Some(_machine) = crate::machine() else { return };
    let device = "/dev/vhost-net";
    if let Err(error) = File::open(device) {
        eprintln!("left out: {device}: {error}");
        return;
    }
    let mut books = Books::open(&Options::default());
    let mut unseen = 0;
    for _ in 0..3 {
        let vhost = File::options().read(true).write(true).open(device).expect("as above");
        // SAFETY: it takes no argument.
        unsafe { ioctl(&vhost, NoArg::<SET_OWNER>::new()).expect("it has no owner") };
        let window = books.window(Duration::from_millis(50));
        let faults = books.faults(&window);
        assert!(faults.is_empty(), "{faults:?}");
        unseen += window.errors.get(ErrorKind::UnseenBirth);
        let frame = books.threads(&window);
        let [worker] = workers(&frame)[..] else { panic!("{} rows", workers(&frame).len()) };
        let [run, asleep] =
            [Counter::RunNs, Counter::SleepNs].map(|counter| worker.delta.get(counter));
        println!("{:?}: {run:?} ns on a CPU, {asleep:?} ns asleep", worker.key);
        assert!(run > Some(0) && asleep > Some(0), "it ran, and waits for work");
        drop(vhost);
        books.find("it to end with its device", |books, window| {
            workers(&books.threads(&window)).is_empty().then_some(())
        });
    }
    assert!(unseen < 3, "{unseen} births were not seen");
}
