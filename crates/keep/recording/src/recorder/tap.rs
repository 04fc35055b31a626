//! The recorder as the `Tap` of a session.

use super::Recorder;
use crate::clocks::Clocks;
use crate::rows::{DetailKey, Facts, GroupFiles, Waited};
use exactop_model::cgroups::GroupSample;
use exactop_model::on_demand::waits::WaitWindow;
use exactop_model::{Book, Missing, Row, Snapshot, Tap, TaskSample};

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
        // `user` may have given the name to a row that was read without it.
        if let (Err(_), Some(before)) = (&facts.detail.user, self.pending(key)) {
            facts.detail.user = before.detail.user.clone();
        }
        self.put_pending(key, facts);
    }

    /// Recordings have names of users only as details of processes.
    fn user(&mut self, leader: &TaskSample, name: &str) {
        let key = DetailKey { is_task: false, account: leader.account.0 };
        let mut facts = match (self.pending(key), self.lasting(key)) {
            (Some(facts), _) => facts.clone(),
            (None, Some(Facts { detail, .. })) => {
                Facts { detail, ..Facts::of_ident(&leader.ident) }
            }
            (None, None) => Facts::of_ident(&leader.ident),
        };
        if facts.detail.user.as_deref() != Ok(name) {
            facts.detail.user = Ok(name.into());
            self.put_pending(key, facts);
        }
    }
}

impl Recorder {
    /// Details for the last window that are not written yet.
    fn pending(&self, key: DetailKey) -> Option<&Facts> {
        self.places.get(&key).map(|&at| &self.pending[at].1)
    }

    fn put_pending(&mut self, key: DetailKey, facts: Facts) {
        match self.places.get(&key) {
            Some(&at) => self.pending[at].1 = facts,
            None => {
                self.places.insert(key, self.pending.len());
                self.pending.push((key, facts));
            }
        }
    }

    /// Details of earlier windows that still hold.
    fn lasting(&self, key: DetailKey) -> Option<Facts> {
        match &self.running {
            Some(running) => running.bytes.lasting(key),
            None => self.known.lasting(key),
        }
    }
}
