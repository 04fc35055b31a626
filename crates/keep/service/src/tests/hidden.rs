//! A machine whose /proc hides other users' processes: this test runs itself again in its own mount
//! namespace.

use super::{look, Daemon};
use crate::notices::Notice;
use exactop_testkit::wait;
use rustix::fs::{chmod, Mode};
use rustix::process::Uid;
use rustix::thread::set_thread_res_uid;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;

const WITHIN: &str = "tests::hidden::a_user_is_refused_and_root_is_not";

/// The daemon's answer to a user other than root.
fn told_somebody(path: &Path) -> String {
    let somebody = Uid::from_raw(65534);
    let told = std::thread::scope(|scope| {
        let asks = scope.spawn(|| {
            // Only this thread changes its user; it ends after this.
            set_thread_res_uid(somebody, somebody, somebody).unwrap();
            let mut stream = UnixStream::connect(path).unwrap();
            stream.set_read_timeout(Some(wait::LIMIT)).unwrap();
            let mut told = Vec::new();
            let _ = stream.read_to_end(&mut told);
            told
        });
        asks.join().unwrap()
    });
    String::from_utf8_lossy(&told).into_owned()
}

#[test]
#[ignore = "run by the test below, where /proc hides processes"]
fn a_user_is_refused_and_root_is_not() {
    let daemon = Daemon::start();
    let open = Mode::from_raw_mode(0o777);
    let within = [daemon.dir.path(), daemon.path.parent().unwrap(), &daemon.path];
    within.iter().for_each(|path| chmod(*path, open).unwrap());
    let told = told_somebody(&daemon.path);
    assert!(told.contains("hides others' processes here (hidepid): run as root"), "{told}");
    assert_eq!(look(&daemon.path, 100, 1).len(), 2, "root may");
    let said = daemon.said();
    assert!(matches!(&said[..], [Notice::Refused(why)] if why.contains("hidepid")), "{said:?}");
}

#[test]
fn with_hidepid_only_root_may_connect() {
    let hide = "mount -t proc -o hidepid=2 proc /proc";
    let within = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", script]).arg(std::env::current_exe().unwrap());
        command.output()
    };
    if !within(hide).is_ok_and(|output| output.status.success()) {
        return eprintln!("left out: only root mounts, where it may");
    }
    let run = format!("{hide} && exec \"$0\" --exact --ignored {WITHIN}");
    let output = within(&run).unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}
