//! Tagged processes get their CPUs and their control group together, by the kernel's own files.

use crate::helpers::processes::Load;
use crate::helpers::terminal::Terminal;
use std::fs;
use std::path::{Path, PathBuf};

/// A control group of the cpu controller; `None`: none can be made.
struct Group(PathBuf);

impl Group {
    fn new() -> Option<Group> {
        let name = format!("exactop-test-placing-{}", std::process::id());
        for root in ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup"].map(Path::new) {
            let directory = root.join(&name);
            // With version 1 the second root is an ordinary file system.
            if root.join("cgroup.procs").exists() && fs::create_dir(&directory).is_ok() {
                return Some(Group(directory));
            }
        }
        eprintln!("left out: no control group can be made");
        None
    }

    fn path(&self) -> String {
        format!("/{}", self.0.file_name().expect("a name").to_string_lossy())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// A line of a file of a process.
fn line(pid: u32, file: &str, wanted: impl Fn(&str) -> bool) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/{file}")).expect("it lives");
    text.lines().find(|line| wanted(line)).map(Into::into)
}

fn cpus(pid: u32) -> String {
    let list = line(pid, "status", |line| line.starts_with("Cpus_allowed_list:"));
    list.expect("a list").split_whitespace().nth(1).expect("CPUs").into()
}

/// The view of two sleepers, both tagged.
fn tagged(sleepers: &[Load; 2]) -> Terminal {
    let [one, other] = [sleepers[0].pid(), sleepers[1].pid()];
    let terminal = Terminal::live(120, 24, &format!("-d 0.3 --source procfs -p {one},{other}"));
    terminal.shows(&one.to_string());
    terminal.shows(&other.to_string());
    terminal.keys(&["Home", "Space", "Space"]);
    terminal.shows("2 tagged");
    terminal
}

/// Asks for a place with a key and its question, and confirms it.
fn place(terminal: &Terminal, key: &str, question: &str, text: &str) {
    terminal.keys(&[key]);
    terminal.shows(question);
    terminal.line(text);
    terminal.shows("[y/N]");
    terminal.text("y");
}

#[test]
fn tagged_processes_run_only_on_the_chosen_cpus() {
    let sleepers = [Load::sleep(), Load::sleep()];
    let before = cpus(sleepers[0].pid());
    let first = before.split([',', '-']).next().expect("a CPU").to_string();
    let terminal = tagged(&sleepers);
    terminal.keys(&["A"]);
    terminal.shows("CPUs for 2 processes");
    terminal.line("all");
    terminal.shows("'all': write numbers and ranges");
    terminal.escape();
    // No machine has the last CPU that the kernel's interface can name.
    terminal.keys(&["A"]);
    terminal.shows("CPUs for 2 processes");
    terminal.line("1023");
    terminal.shows("no CPU 1023: this machine has ");
    terminal.escape();
    assert_eq!(sleepers.each_ref().map(|sleeper| cpus(sleeper.pid())), [&*before, &*before]);
    place(&terminal, "A", "CPUs for 2 processes", &first);
    terminal.shows(&format!("CPUs {first} set for 2 processes"));
    assert_eq!(sleepers.each_ref().map(|sleeper| cpus(sleeper.pid())), [&*first, &*first]);
}

#[test]
fn tagged_processes_move_to_the_named_group() {
    let Some(group) = Group::new() else { return };
    let sleepers = [Load::sleep(), Load::sleep()];
    let is_in = |sleeper: &Load| {
        line(sleeper.pid(), "cgroup", |line| line.ends_with(&format!(":{}", group.path())))
            .is_some()
    };
    let terminal = tagged(&sleepers);
    place(&terminal, "J", "group for 2 processes", "/no/such/group");
    terminal.shows("group /no/such/group set for 0 of 2: no cgroup /no/such/group");
    assert_eq!(sleepers.each_ref().map(is_in), [false, false]);
    let terminal = tagged(&sleepers);
    place(&terminal, "J", "group for 2 processes", &group.path());
    terminal.shows(&format!("group {} set for 2 processes", group.path()));
    assert_eq!(sleepers.each_ref().map(is_in), [true, true]);
    // The group is removed after its last process.
    drop(sleepers);
}
