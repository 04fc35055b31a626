//! Names of users and control groups, as far as they were read so far.

use exactop_model::text::escape::{escape, escape_str};
use exactop_recording::Replay;
use rustc_hash::FxHashMap;

/// Known names. A number keeps its meaning within a boot.
#[derive(Debug, Default)]
pub(crate) struct Names {
    boot_id: Option<String>,
    users: FxHashMap<u32, String>,
    paths: FxHashMap<u64, String>,
}

impl Names {
    /// Adds the names in the replay's current window.
    pub fn learn(&mut self, replay: &Replay) {
        let boot_id = replay.reader().machine().map(|machine| machine.boot_id.clone());
        if boot_id != self.boot_id {
            *self = Names { boot_id, ..Names::default() };
        }
        self.users.extend(replay.users().map(|(uid, name)| (uid, escape_str(name))));
        let Some(window) = replay.window() else { return };
        for task in &window.tasks {
            let ident = &task.sample.ident;
            let path_known = ident.cgroup_id.is_none_or(|id| self.paths.contains_key(&id));
            if path_known && self.users.contains_key(&ident.uid) {
                continue;
            }
            let process = replay.book().process(task.sample.key.tgid);
            let leader = process.and_then(|process| process.leader);
            let sample = leader.and_then(|account| replay.book().task(account));
            let Some((sample, detail)) =
                sample.and_then(|sample| Some((sample, replay.known(sample.account)?)))
            else {
                continue;
            };
            if let (Some(id), Ok(path)) = (sample.ident.cgroup_id, &detail.cgroup) {
                self.paths.insert(id, escape(path));
            }
            if let Ok(user) = &detail.user {
                self.users.insert(sample.ident.uid, escape_str(user));
            }
        }
    }

    pub fn user(&self, uid: u32) -> Option<&str> {
        self.users.get(&uid).map(String::as_str)
    }

    pub fn path(&self, id: Option<u64>) -> Option<&str> {
        self.paths.get(&id?).map(String::as_str)
    }
}
