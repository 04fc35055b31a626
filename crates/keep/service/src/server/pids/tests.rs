use super::*;
use exactop_sources::pid_namespace;
use exactop_testkit::wait;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Environment variable that tells the child where to connect.
const SOCKET: &str = "EXACTOP_TEST_CONNECT_TO";

/// A nested namespace: both give PID 99 next, to the process that connects from the inner one. No
/// other process is born there meanwhile; numbers in a namespace continue from its own ns_last_pid.
const NESTED: &str = r#"
    unshare --pid --fork --kill-child sh -c '
        echo 98 >/proc/sys/kernel/ns_last_pid && : >$DIR/inner
        while ! [ -e $DIR/go ]; do :; done
        "$EXE" --exact server::pids::tests::one_who_connects --nocapture &
        wait' &
    while ! [ -e $DIR/inner ]; do :; done
    echo 98 >/proc/sys/kernel/ns_last_pid && : >$DIR/go
    wait
"#;

/// Kills all processes in the namespace on drop.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Not a test: [`NESTED`] runs it. It connects and stays until released.
#[test]
fn one_who_connects() {
    let Some(path) = std::env::var_os(SOCKET) else { return };
    let mut stream = UnixStream::connect(path).unwrap();
    let _ = stream.read(&mut [0; 1]);
}

/// A process that connects from the inner of two namespaces.
fn nested(dir: &Path) -> (Killed, UnixStream) {
    let path = dir.join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    listener.set_nonblocking(true).unwrap();
    let mut outer = Command::new("unshare");
    outer.args(["--pid", "--fork", "--kill-child", "sh", "-c", NESTED]).env("DIR", dir);
    outer.env("EXE", std::env::current_exe().unwrap()).env(SOCKET, &path);
    let outer = Killed(outer.stdout(Stdio::null()).spawn().expect("unshare(1)"));
    let (stream, _) = wait::find("who connects", || listener.accept().ok());
    (outer, stream)
}

fn parent(pid: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap();
    parent.trim().parse().unwrap()
}

fn file(path: &str) -> OwnedFd {
    File::open(path).unwrap().into()
}

#[test]
fn only_the_readers_own_namespace_is_accepted() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("left out: only root makes namespaces");
    }
    if !Path::new("/proc/sys/kernel/ns_last_pid").exists() {
        return eprintln!("left out: this kernel does not let anyone choose the next number");
    }
    let own = PidNamespace::from_file(pid_namespace::own().unwrap()).unwrap();
    if own.number(std::process::id()).is_err() {
        return eprintln!("left out: before Linux 6.11 the kernel does not translate PIDs");
    }
    let depth = own.depth().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (_outer, stream) = nested(dir.path());
    assert_eq!(peer_numbering(&stream), Ok(PidNumbering::Theirs));
    let (pid, numbers) = asker(&stream).unwrap();
    assert_eq!(numbers, [pid, 99, 99]);
    // The process, the shell that started it, and the unshare in the outer namespace.
    let above = format!("/proc/{}/ns/pid", parent(parent(pid)));
    let of_above = PidNamespace::from_file(file(&above)).unwrap();
    let number = of_above.number(pid).unwrap();
    assert_eq!(
        (of_above.depth().unwrap(), number),
        (depth + 1, Some(99)),
        "the same number as in theirs"
    );
    let refused = |shown_file: Option<OwnedFd>, why: &str| {
        let error = shown(&stream, shown_file).unwrap_err();
        assert!(error.contains(why), "{error}");
        assert!(!error.contains(&pid.to_string()), "it reveals the host's PID: {error}");
    };
    refused(None, "your reader did not send its namespace");
    refused(Some(file("/dev/null")), "your reader did not send its namespace");
    refused(Some(file("/proc/self/ns/mnt")), "your reader did not send its namespace");
    refused(Some(pid_namespace::own().unwrap()), "your reader sent another one");
    refused(Some(file(&above)), "your reader sent another one");
    // Of the same depth, but another reader's.
    let elsewhere = tempfile::tempdir().unwrap();
    let (_another, beside) = nested(elsewhere.path());
    let beside = format!("/proc/{}/ns/pid", asker(&beside).unwrap().0);
    refused(Some(file(&beside)), "your reader sent another one");
    let theirs = shown(&stream, Some(file(&format!("/proc/{pid}/ns/pid")))).unwrap();
    assert_eq!((theirs.depth().unwrap(), theirs.number(pid).unwrap()), (depth + 2, Some(99)));
}

#[test]
fn an_error_does_not_reveal_the_hosts_pid() {
    let nobody = u32::MAX;
    let error = numbers(nobody).unwrap_err();
    assert!(error.contains("/proc") && !error.contains(&nobody.to_string()), "{error}");
}
