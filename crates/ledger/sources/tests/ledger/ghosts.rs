//! No row outlives its task, even if the kernel hides the task's release.

use crate::books::Books;
use exactop_model::{Book, MicroState, TaskKey};
use exactop_sources::ledger::{Loss, LostEvent, Options};
use exactop_testkit::wait;
use exactop_workloads::workloads::{ExitingThreads, ForkStorm};
use std::collections::HashSet;
use std::process::Command;
use std::time::{Duration, Instant};

/// Length of the storm, s; `EXACTOP_TEST_STORM_SECONDS` changes it.
const STORM_SECONDS: u64 = 5;
/// Most tasks that still run but are no longer in /proc: they were reaped before their last switch.
const LEAVING: usize = 16;

fn hidden(one_in: u32) -> Options {
    let lose = Some(Loss { event: LostEvent::Release, one_in, in_a_row: 1 });
    Options { lose, ..Options::default() }
}

/// All tasks of the book: only zombies, or only others.
fn keys(book: &Book, zombies: bool) -> HashSet<TaskKey> {
    let accounts = book.processes().flat_map(|(_, process)| &process.tasks);
    let tasks = accounts.filter_map(|&account| book.task(account));
    let wanted = tasks.filter(|task| (task.state == MicroState::Zombie) == zombies);
    wanted.map(|task| task.key).collect()
}

/// All tasks in /proc, by process and thread.
fn living() -> HashSet<(u32, u32)> {
    let numbers = |path: &str| {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()).collect()
    };
    let processes: Vec<u32> = numbers("/proc");
    let threads = |tgid: u32| -> Vec<(u32, u32)> {
        let tids: Vec<u32> = numbers(&format!("/proc/{tgid}/task"));
        tids.into_iter().map(|tid| (tgid, tid)).collect()
    };
    processes.into_iter().flat_map(threads).collect()
}

/// One zombie is checked by itself, a hundred as a list.
#[test]
fn a_zombie_whose_release_is_hidden_goes_when_it_is_reaped() {
    let Some(_machine) = crate::machine() else { return };
    for count in [1, 100] {
        let mut books = Books::open(&hidden(1));
        let spawn = |_| Command::new("/bin/true").spawn().expect("true");
        let mut children: Vec<_> = (0..count).map(spawn).collect();
        let pids: HashSet<u32> = children.iter().map(|child| child.id()).collect();
        let shown = |books: &Books| {
            keys(&books.book, true).iter().filter(|key| pids.contains(&key.tgid)).count()
        };
        books.find("every child as a zombie", |books, _| (shown(books) == count).then_some(()));
        let lost = books.ledger.lost_on_purpose();
        for child in &mut children {
            child.wait().expect("reaped");
        }
        books.find("no child", |books, _| (shown(books) == 0).then_some(()));
        wait::until("every release to be lost", || {
            books.ledger.lost_on_purpose() >= lost + count as u64
        });
    }
}

/// A task in the book at a window's end is in /proc afterwards, or exits in the next window.
#[test]
fn a_storm_with_hidden_releases_leaves_no_task_behind() {
    let Some(_machine) = crate::machine() else { return };
    let seconds = std::env::var("EXACTOP_TEST_STORM_SECONDS");
    let seconds = seconds.map_or(STORM_SECONDS, |text| text.parse().expect("a number of seconds"));
    let mut books = Books::open(&hidden(2));
    let load =
        (ForkStorm::start(2).expect("a fork storm"), ExitingThreads::start(1).expect("exits"));
    let _ = rustix::process::setpriority_process(None, -19);
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut ended = 0;
    books.window(Duration::from_millis(50));
    while Instant::now() < end || ended < 1_000 {
        let (tasks, zombies) = (keys(&books.book, false).len(), keys(&books.book, true));
        let living = living();
        std::thread::sleep(Duration::from_millis(50));
        let next = books.close().expect("a window is open");
        let exited = next.exited.iter().map(|group| group.tasks as usize).sum::<usize>();
        ended += exited;
        assert!(
            tasks <= living.len() + exited + LEAVING,
            "{tasks} are held, {} live, {exited} exited since; {ended} in all",
            living.len()
        );
        let both = keys(&books.book, true).into_iter().filter(|key| zombies.contains(key));
        let ghosts: Vec<_> = both.filter(|key| !living.contains(&(key.tgid, key.tid))).collect();
        assert!(ghosts.is_empty(), "reaped and held: {ghosts:?}");
    }
    drop(load);
    println!("{ended} exits, {} hidden releases", books.ledger.lost_on_purpose());
    assert!(books.ledger.lost_on_purpose() > 100, "releases were lost");
}
