//! The recorder as the `Tap` of a session.

use super::Recorder;
use crate::clocks::Clocks;
use crate::rows::{DetailKey, Facts, GroupFiles, Waited};
use exactop_model::cgroups::GroupSample;
use exactop_model::on_demand::waits::WaitWindow;
use exactop_model::{Book, Missing, Row, Snapshot, Tap};

impl Tap for Recorder {
    fn snapshot(&mut self, now: &Snapshot, before: &Book) {
        self.record(now, before, Clocks::now());
    }

    fn waits(&mut self, tgid: u32, waits: &Result<WaitWindow, String>) {
        self.page.waits = Some(Waited { tgid, waits: waits.clone() });
    }

    fn groups(&mut self, before: &[GroupSample], after: &[GroupSample]) {
        self.page.groups = Some(GroupFiles { before: before.into(), after: after.into() });
    }

    fn details(&mut self, row: &Row) {
        let Some(key) = DetailKey::from_row(row) else { return };
        let mut facts = Facts::from_row(row);
        if !self.options.command_lines {
            facts.detail.cmdline = Err(Missing::NotRead);
        }
        match self.places.get(&key) {
            Some(&at) => self.pending[at].1 = facts,
            None => {
                self.places.insert(key, self.pending.len());
                self.pending.push((key, facts));
            }
        }
    }

    fn user(&mut self, uid: u32, name: &str) {
        self.page.users.entry(uid).or_insert_with(|| name.into());
    }
}
