//! Follows the descendants of commands. Each command has a tree number, which the ledger's programs
//! give to children at birth. Only this finds all descendants: between two window ends a process
//! may be born, orphaned and gone.

use super::shares::Shares;
use exactop_model::Book;
use exactop_sources::{FollowedProcess, FOLLOWED_MOST};

/// Most commands followed at once: the programs' limit.
const FOLLOWERS: Shares = Shares { all: FOLLOWED_MOST, of_one: 4, for_root: 4 };

/// A reader that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker {
    /// Number of the reader.
    pub reader: u64,
    pub uid: u32,
    pub pid: u32,
    /// When it connected, CLOCK_BOOTTIME ns: a process that began later is not the reader.
    pub came_ns: u64,
    /// It starts its command at the answer, and not after another window.
    pub at_once: bool,
}

/// All followed processes, and those that asked.
#[derive(Debug, Default)]
pub struct Following {
    asked: Vec<Asker>,
    /// Trees to report once the source follows them, or the reason for the refusal.
    begun: Vec<(Asker, Result<u32, String>)>,
    trees: Vec<(Asker, FollowedProcess)>,
    last: u32,
}

impl Following {
    /// Registers a request; it takes effect after the next window's end.
    pub fn ask(&mut self, asker: Asker) -> Result<(), String> {
        let there = self.asked.iter().chain(self.trees.iter().map(|(asker, _)| asker));
        if there.clone().any(|other| other.reader == asker.reader) {
            return Err(
                "the daemon follows your children already: open another connection for another run"
                    .into(),
            );
        }
        FOLLOWERS.one_more(there.map(|other| other.uid), asker.uid, "commands are followed")?;
        self.asked.push(asker);
        Ok(())
    }

    /// Starts the requested trees after a window that `book` has taken.
    pub fn begin(&mut self, book: &Book) {
        for asker in std::mem::take(&mut self.asked) {
            let tree = self.begin_one(asker, book);
            self.begun.push((asker, tree));
        }
    }

    /// The trees that have begun since the last call.
    pub fn take_begun(&mut self) -> Vec<(Asker, Result<u32, String>)> {
        std::mem::take(&mut self.begun)
    }

    fn begin_one(&mut self, asker: Asker, book: &Book) -> Result<u32, String> {
        let leader = book.process(asker.pid).and_then(|process| book.task(process.leader?));
        let leader = leader.filter(|leader| leader.key.start_ns <= asker.came_ns);
        let leader = leader.ok_or("the ledger does not know your process: connect again")?;
        let mut trees = self.trees.iter().map(|(_, followed)| followed);
        if trees.clone().any(|of| (of.tgid, of.start_ns) == (asker.pid, leader.key.start_ns)) {
            return Err(
                "the daemon follows your children already on another connection: close that one"
                    .into(),
            );
        }
        // A tree whose run has ended has no reader any more.
        if trees.any(|of| of.tree == leader.tree) {
            return Err("your process descends from a command that is followed already: \
                        run as root with --source own"
                .into());
        }
        self.last = self.last.checked_add(1).ok_or("no tree number is left: restart the daemon")?;
        let tree = self.last;
        let followed = FollowedProcess { tgid: asker.pid, start_ns: leader.key.start_ns, tree };
        self.trees.push((asker, followed));
        Ok(tree)
    }

    /// Ends the tree of a reader that has gone.
    pub fn leave(&mut self, reader: u64) {
        self.asked.retain(|asker| asker.reader != reader);
        self.trees.retain(|(asker, _)| asker.reader != reader);
    }

    /// Ends all trees; returns their readers.
    pub fn take_askers(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.trees).into_iter().map(|(asker, _)| asker.reader).collect()
    }

    /// The processes whose children begin trees.
    pub fn all(&self) -> Vec<FollowedProcess> {
        self.trees.iter().map(|&(_, followed)| followed).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_model::{Ident, SourceKind, TaskKey};
    use exactop_testkit::samples;

    const START_NS: u64 = 50;

    /// Process 7, which began at 50, in this tree.
    fn book(tree: u32) -> Book {
        let key = TaskKey { tgid: 7, tid: 7, start_ns: START_NS };
        let mut task = samples::task(1, key, Ident::default());
        task.tree = tree;
        let mut now = samples::snapshot(SourceKind::Ledger, 1_000);
        (now.complete, now.tasks) = (true, vec![task]);
        let mut book = Book::new();
        book.advance(now);
        book
    }

    fn asker(reader: u64, uid: u32) -> Asker {
        Asker { reader, uid, pid: 7, came_ns: START_NS, at_once: false }
    }

    /// Starts the requested trees; returns them by reader.
    fn begin(following: &mut Following, book: &Book) -> Vec<(u64, Result<u32, String>)> {
        following.begin(book);
        following.take_begun().into_iter().map(|(asker, tree)| (asker.reader, tree)).collect()
    }

    #[test]
    fn tree_numbers_are_never_reused() {
        let mut following = Following::default();
        following.ask(asker(1, 5)).expect("there is room");
        assert!(following.all().is_empty(), "not before a window has ended");
        assert_eq!(begin(&mut following, &book(0)), [(1, Ok(1))]);
        assert_eq!(following.all(), [FollowedProcess { tgid: 7, start_ns: START_NS, tree: 1 }]);
        assert!(following.ask(asker(1, 5)).is_err(), "one connection has one");
        following.leave(1);
        assert!(following.all().is_empty());
        following.ask(asker(2, 5)).expect("there is room again");
        assert_eq!(begin(&mut following, &book(0)), [(2, Ok(2))], "those of the first may live on");
    }

    #[test]
    fn another_process_or_a_descendant_of_a_followed_one_is_refused() {
        let mut following = Following::default();
        let begun = |following: &mut Following, asker: Asker, book: &Book| {
            following.ask(asker).expect("there is room");
            begin(following, book).remove(0).1.expect_err("no tree")
        };
        let another = Asker { came_ns: START_NS - 1, ..asker(1, 5) };
        assert!(begun(&mut following, another, &book(0)).contains("does not know your process"));
        let unknown = Asker { pid: 8, ..asker(2, 5) };
        assert!(begun(&mut following, unknown, &book(0)).contains("does not know your process"));
        assert!(following.all().is_empty());
        // Process 7 has a tree; another of its connections gets none, and neither does a
        // descendant.
        following.ask(asker(3, 5)).expect("there is room");
        assert_eq!(begin(&mut following, &book(0)), [(3, Ok(1))]);
        let same = begun(&mut following, asker(4, 5), &book(0));
        assert!(same.contains("on another connection"), "{same}");
        let below = |tree| {
            let mut now = samples::snapshot(SourceKind::Ledger, 1_000);
            let key = TaskKey { tgid: 8, tid: 8, start_ns: START_NS };
            let mut task = samples::task(2, key, Ident::default());
            task.tree = tree;
            (now.complete, now.tasks) = (true, vec![task]);
            let mut book = Book::new();
            book.advance(now);
            book
        };
        assert!(begun(&mut following, unknown, &below(1)).contains("descends from a command"));
        // A tree whose run has ended has no reader, so a descendant may begin its own.
        following.ask(unknown).expect("there is room");
        assert_eq!(begin(&mut following, &below(9)), [(2, Ok(2))]);
        assert_eq!(following.take_askers(), [3, 2]);
        assert!(following.all().is_empty());
    }

    #[test]
    fn one_user_has_a_share() {
        let mut following = Following::default();
        let somebody = 4_000_000_001;
        for reader in 0..4 {
            following.ask(asker(reader, somebody)).expect("their share");
        }
        let why = following.ask(asker(9, somebody)).expect_err("no more");
        assert!(why.contains("4 commands are followed already for your user"), "{why}");
        following.ask(asker(10, somebody + 1)).expect("another's share");
    }
}
