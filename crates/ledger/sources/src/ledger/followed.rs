//! Processes whose children begin followed trees. An entry keeps its place, so that no child is
//! missed while other entries come or go.

use super::maps::Globals;
use crate::bpf::wire::ex_follows;
use crate::source::{FollowedProcess, FOLLOWED_MOST as MOST};

const _: () = assert!(MOST == ex_follows::EX_FOLLOWED_MOST.0 as usize);

/// The entries that the programs have.
#[derive(Default)]
pub struct Entries([Option<FollowedProcess>; MOST]);

/// Changes to write, by place.
#[derive(Debug, Default, PartialEq, Eq)]
struct Change {
    writes: Vec<(usize, FollowedProcess)>,
    used: u32,
}

impl Entries {
    /// Sets the followed processes. If there are too many, the first ones are followed.
    pub fn set(&mut self, globals: &Globals, followed: &[FollowedProcess]) {
        let change = self.change(followed);
        // The programs read all places while entries change. They see a new entry as soon as it is
        // written, and an old one until it is cleared.
        globals.set_followed_n(MOST as u32);
        for (at, entry) in change.writes {
            globals.set_followed(at, entry);
        }
        globals.set_followed_n(change.used);
    }

    fn change(&mut self, followed: &[FollowedProcess]) -> Change {
        let followed = &followed[..followed.len().min(MOST)];
        let mut change = Change::default();
        for (at, entry) in self.0.iter_mut().enumerate() {
            if entry.is_some_and(|entry| !followed.contains(&entry)) {
                *entry = None;
                change.writes.push((at, FollowedProcess::default()));
            }
        }
        for &new in followed {
            if self.0.contains(&Some(new)) {
                continue;
            }
            let Some(at) = self.0.iter().position(Option::is_none) else { break };
            self.0[at] = Some(new);
            change.writes.push((at, new));
        }
        change.used = self.0.iter().rposition(Option::is_some).map_or(0, |at| at as u32 + 1);
        change
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn followed(tree: u32) -> FollowedProcess {
        FollowedProcess { tgid: 100 + tree, start_ns: 5, tree }
    }

    #[test]
    fn an_entry_keeps_its_place_while_others_come_and_go() {
        let mut entries = Entries::default();
        let first = entries.change(&[followed(1), followed(2), followed(3)]);
        assert_eq!((first.writes.len(), first.used), (3, 3));
        let without = entries.change(&[followed(1), followed(3)]);
        assert_eq!(without.writes, [(1, FollowedProcess::default())]);
        assert_eq!(without.used, 3, "the third one is still where it was");
        let with = entries.change(&[followed(3), followed(1), followed(4)]);
        assert_eq!((with.writes, with.used), (vec![(1, followed(4))], 3));
        assert_eq!(entries.change(&[]).used, 0);
    }

    #[test]
    fn entries_without_room_are_left_out() {
        let all: Vec<FollowedProcess> = (1..=40).map(followed).collect();
        let change = Entries::default().change(&all);
        assert_eq!((change.writes.len(), change.used), (MOST, MOST as u32));
    }
}
