//! How output ends: a reader that leaves, a full disk, signals.

use crate::helpers::processes::{send, until_stuck, HUP, INT, TERM};
use crate::helpers::run::{command, done, program, run};
use crate::made_up_proc::tree;
use exactop_testkit::wait;
use std::fs::File;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

/// Every way to print.
const PRINTING: &[&[&str]] = &[
    &["--help"],
    &["--version"],
    &["-O"],
    &["columns"],
    &["columns", "--json"],
    &["columns", "--markdown"],
    &["man"],
    &["completions", "bash"],
    &["doctor", "--json"],
];

#[test]
fn a_reader_that_is_gone_is_no_error() {
    for args in PRINTING {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = command(args);
        command.stdout(writer);
        let done = done(command);
        assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn a_full_disk_is_an_error() {
    for args in &PRINTING[..7] {
        let mut command = command(args);
        command.stdout(File::options().write(true).open("/dev/full").expect("/dev/full"));
        let done = done(command);
        assert_eq!(done.code, Some(1), "{args:?}");
        assert!(done.err.contains("No space left"), "{args:?}: {}", done.err);
    }
}

#[test]
fn windows_end_without_an_error_when_the_reader_leaves() {
    let tree = tree();
    for format in ["-b", "--json", "--csv"] {
        let mut child = windows(tree.path(), format);
        let mut out = child.stdout.take().expect("a pipe");
        out.read_exact(&mut [0; 10]).expect("a window");
        drop(out);
        let mut err = String::new();
        let _ = child.stderr.take().expect("a pipe").read_to_string(&mut err);
        assert_eq!((child.wait().expect("an end").code(), err.as_str()), (Some(0), ""), "{format}");
    }
}

#[test]
fn a_signal_ends_windows_with_its_number() {
    let tree = tree();
    for signal in [INT, TERM, HUP] {
        let mut child = windows(tree.path(), "--json");
        let mut out = child.stdout.take().expect("a pipe");
        // At a full pipe a signal cuts a line; this larger pipe takes seconds to fill.
        rustix::pipe::fcntl_setpipe_size(&out, 1 << 20).expect("a large pipe");
        out.read_exact(&mut [0; 10]).expect("a window");
        send(child.id(), signal);
        let mut rest = String::new();
        out.read_to_string(&mut rest).expect("the rest");
        assert!(rest.ends_with("}\n"), "the last line is whole: {rest:?}");
        let status = child.wait().expect("an end");
        assert_eq!((status.code(), status.signal()), (Some(128 + signal), None), "{signal}");
    }
}

/// A reader that does not read fills the pipe; a signal must still end the command.
#[test]
fn a_signal_ends_a_blocked_write() {
    let tree = tree();
    let mut child = windows(tree.path(), "--json");
    let mut out = child.stdout.take().expect("a pipe");
    out.read_exact(&mut [0; 1]).expect("a window");
    until_full(&out);
    until_stuck("a write that waits", child.id());
    send(child.id(), TERM);
    assert_eq!(child.wait().expect("an end").code(), Some(143));
}

/// A pipe takes whole pages, so the writes determine how many bytes fill it. It is full when no
/// more bytes come although windows are due.
fn until_full(pipe: &impl std::os::fd::AsFd) {
    let held = || rustix::io::ioctl_fionread(pipe).expect("a count");
    let (mut before, mut unchanged) = (held(), 0);
    wait::until("a full pipe", || {
        let now = held();
        unchanged = if now == before { unchanged + 1 } else { 0 };
        before = now;
        unchanged == 50
    });
}

#[test]
fn signals_ignored_from_the_start_stay_ignored() {
    let tree = tree();
    let mut shell = Command::new("sh");
    let binary = program();
    let line = format!(
        "trap '' INT; {binary} --json -n 1 -d 0.3 --proc-root {} & \
         kill -INT $!; wait $!",
        tree.path().display()
    );
    shell.args(["-c", &line]);
    assert!(done(shell).fine().ends_with("}\n"));
}

fn windows(root: &std::path::Path, format: &str) -> Child {
    let mut command = command(&[format, "-d", "0.01", "--proc-root"]);
    command.arg(root).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the command starts")
}

#[test]
fn help_and_version_are_answers() {
    let short = run(&["-V"]).fine();
    assert_eq!(short, format!("exactop {}\n", env!("CARGO_PKG_VERSION")));
    let long = run(&["--version"]).fine();
    let (build, kernel) =
        long.strip_prefix(&short).and_then(|l| l.split_once('\n')).expect("lines");
    assert!(build.starts_with("build: ") && build.contains(std::env::consts::ARCH), "{long}");
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("a release");
    assert!(kernel.starts_with("kernel: Linux ") && kernel.contains(release.trim()), "{long}");
    assert!(run(&["-h"]).fine().contains("Usage"));
    assert!(run(&["help", "doctor"]).fine().contains("--json"));
}
