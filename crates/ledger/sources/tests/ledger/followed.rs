//! Several followed trees at the same time: each child has the number of its tree. A process with
//! the number of a followed one, but another start time, is a stranger.

use crate::books::Books;
use exactop_sources::ledger::Options;
use exactop_sources::{FollowedProcess, Source};
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const CHILDREN: u64 = 40;

/// A shell that starts this number of children on request; each becomes an orphan.
struct Parent(Child);

impl Parent {
    fn start() -> Parent {
        let script = format!(
            "while read go; do i=0; while [ $i -lt {CHILDREN} ]; do (/bin/true &); i=$((i+1)); done; done"
        );
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).stdin(Stdio::piped());
        Parent(shell.spawn().expect("a shell"))
    }

    fn go(&mut self) {
        self.0.stdin.as_mut().expect("a pipe").write_all(b"go\n").expect("it reads");
    }

    fn followed(&self, books: &Books, tree: u32) -> FollowedProcess {
        let process = books.book.process(self.0.id()).expect("it lives");
        let leader = books.book.task(process.leader.expect("a leader")).expect("known");
        FollowedProcess { tgid: self.0.id(), start_ns: leader.key.start_ns, tree }
    }
}

impl Drop for Parent {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().ok();
    }
}

/// Number of exited tasks in each tree, counted until `until` have exited and a little longer.
fn exited(books: &mut Books, trees: [u32; 3], until: u64) -> [u64; 3] {
    let mut all = [0; 3];
    let mut more = 3;
    books.find("all children to end", |_, window| {
        for (sum, tree) in all.iter_mut().zip(trees) {
            let of = window.exited.iter().filter(|group| group.sample.tree == tree);
            *sum += of.map(|group| group.processes).sum::<u64>();
        }
        if all.iter().sum::<u64>() >= until {
            more -= 1;
        }
        (more == 0).then_some(())
    });
    all
}

#[test]
fn each_tree_has_its_own_children_and_no_stranger() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    let mut parents = [Parent::start(), Parent::start(), Parent::start()];
    books.window(Duration::from_millis(200));
    let [mut first, second, mut stranger] = [0, 1, 2].map(|n| parents[n].followed(&books, 0));
    (first.tree, stranger.tree) = (11, 13);
    stranger.start_ns -= 1;
    let second = FollowedProcess { tree: 12, ..second };
    books.ledger.follow(&[first, second, stranger]).expect("it follows");
    parents.iter_mut().for_each(Parent::go);
    // Each child and its own child.
    let both = 2 * CHILDREN;
    assert_eq!(exited(&mut books, [11, 12, 13], 2 * both), [both, both, 0]);
    // The first one is no longer followed, the second one still is, and the third has the right
    // start time.
    stranger.start_ns += 1;
    books.ledger.follow(&[second, stranger]).expect("it follows");
    parents.iter_mut().for_each(Parent::go);
    assert_eq!(exited(&mut books, [11, 12, 13], 2 * both), [0, both, both]);
    let many: Vec<FollowedProcess> =
        (1..=17).map(|tree| FollowedProcess { tree, ..first }).collect();
    assert!(books.ledger.follow(&many).is_err(), "too many are refused");
}
