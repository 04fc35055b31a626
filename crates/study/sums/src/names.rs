//! Names of a recording's groups, as far as they were read.

use crate::group::{unit_of, Group, Id};
use exactop_model::ledger::named::{GroupName, UNKNOWN};
use exactop_model::ledger::snapshot::ProcessRef;
use exactop_model::owner::{Grouping, Owner};
use exactop_model::text::escape::{escape, escape_str};
use exactop_model::{Book, Comm, TaskSample, Window};
use exactop_recording::Replay;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A number, and the index of its boot.
type Numbered<T> = (usize, T);

/// Names known so far.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// The boots, in the order of reading.
    boots: Vec<String>,
    /// Index of the current boot.
    boot: usize,
    commands: FxHashMap<Numbered<ProcessRef>, Comm>,
    paths: FxHashMap<Numbered<u64>, String>,
    /// Names in the recording; older files have none.
    groups: FxHashMap<Numbered<u64>, Arc<GroupName>>,
    users: FxHashMap<Numbered<u32>, String>,
    /// Names from windows, for owners whose names are not fully known from the owner alone.
    others: FxHashMap<Numbered<Owner>, String>,
}

impl Names {
    /// Sets the boot of the next windows; returns true if it is new.
    pub fn enter(&mut self, boot_id: &str) -> bool {
        let known = self.boots.iter().position(|boot| boot == boot_id);
        self.boot = known.unwrap_or(self.boots.len());
        if known.is_none() {
            self.boots.push(boot_id.into());
        }
        known.is_none()
    }

    /// Key of an owner in the current boot.
    pub fn id(&self, owner: Owner) -> Id {
        Id::new(owner, self.boot)
    }

    /// Adds the name of a living task's owner, as far as it was read.
    pub fn learn(&mut self, owner: Owner, task: &TaskSample, replay: &Replay) {
        let process = replay.book().leader(task);
        let known = || replay.known(process.account);
        match owner {
            Owner::Process(key) => {
                self.commands.insert((self.boot, key), process.ident.comm);
            }
            Owner::Group(Some(id)) if process.ident.cgroup_id == Some(id) => {
                let id = (self.boot, id);
                if self.paths.contains_key(&id) || self.groups.contains_key(&id) {
                    return;
                }
                let path = known().and_then(|detail| detail.cgroup.ok());
                self.paths.extend(path.map(|path| (id, escape(&path))));
            }
            Owner::User(Some(uid)) if process.ident.uid == uid => {
                if self.users.contains_key(&(self.boot, uid)) {
                    return;
                }
                let user = known().and_then(|detail| detail.user.ok());
                self.users.extend(user.map(|user| ((self.boot, uid), escape_str(&user))));
            }
            _ => {}
        }
    }

    /// Adds the names of users that are recorded beside the current window's rows.
    pub fn learn_users(&mut self, replay: &Replay) {
        let boot = self.boot;
        self.users.extend(replay.users().map(|(uid, name)| ((boot, uid), escape_str(name))));
    }

    /// Adds the name that the owner has in the current window; a later window may know less of it.
    pub fn learn_from_book(&mut self, by: Grouping, owner: Owner, book: &Book) {
        // Other fields have the names of these.
        let is_elsewhere = matches!(owner, Owner::Process(_) | Owner::Group(_) | Owner::User(_));
        if is_elsewhere || !owner.has_number() {
            return;
        }
        let (name, is_rest) = owner.name(by, book);
        if !is_rest && name != owner.name(by, &()).0 {
            self.others.insert((self.boot, owner), name);
        }
    }

    /// Adds the control groups of a window; the book may forget them later.
    pub fn groups(&mut self, window: &Window, book: &Book) {
        let tasks = window.tasks.iter().filter_map(|task| task.sample.ident.cgroup_id);
        let exited = window.exited.iter().filter_map(|exit| exit.sample.cgroup_id);
        let moved = window.moves.iter().flat_map(|moved| [moved.from, moved.to]);
        for number in tasks.chain(exited).chain(moved) {
            let id = (self.boot, number);
            if !self.groups.contains_key(&id) {
                self.groups.extend(book.group(number).map(|group| (id, Arc::clone(group))));
            }
        }
    }

    /// Name of a control group.
    fn group_by(&self, by: Grouping, id: Numbered<u64>) -> String {
        match (self.groups.get(&id), by, self.paths.get(&id)) {
            (Some(group), ..) => group.under(by).unwrap_or_else(|| by.none().into()),
            (None, Grouping::Unit, Some(path)) => unit_of(path).unwrap_or_else(|| by.none().into()),
            (None, Grouping::Cgroup, Some(path)) => path.clone(),
            (None, Grouping::Unit | Grouping::Cgroup, None) => self.without_path(id),
            (None, ..) => UNKNOWN.into(),
        }
    }

    /// Name of an owner, once all is read.
    pub fn group(&self, by: Grouping, id: Id) -> Group {
        let named = |name: String| Group { name, process: None };
        // Only an owner with a number has a boot. Without a boot no name applies: the number is
        // another group's in another boot.
        let boot = id.boot;
        match id.owner {
            Owner::Process(process) => Group {
                name: boot
                    .and_then(|boot| self.commands.get(&(boot, process)))
                    .map_or("?".into(), Comm::to_string),
                process: Some((process.tgid, process.start_ns)),
            },
            Owner::User(None) => named(Grouping::User.none().into()),
            Owner::User(Some(uid)) => named(
                boot.and_then(|boot| self.users.get(&(boot, uid)))
                    .map_or_else(|| uid.to_string(), String::clone),
            ),
            Owner::Group(None) => named(UNKNOWN.into()),
            Owner::Group(Some(id)) => {
                named(boot.map_or_else(|| UNKNOWN.into(), |boot| self.group_by(by, (boot, id))))
            }
            other => named(match boot.and_then(|boot| self.others.get(&(boot, other))) {
                Some(name) => name.clone(),
                None => other.name(by, &()).0,
            }),
        }
    }

    /// In two boots one number may be two groups.
    fn without_path(&self, (boot, number): Numbered<u64>) -> String {
        match self.boots.len() {
            0 | 1 => format!("(control group {number}, path not read)"),
            _ => format!("(control group {number} of boot {}, path not read)", boot + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_without_a_boot_gets_no_name_of_the_first_boot() {
        let process = ProcessRef { tgid: 7, start_ns: 1 };
        let mut names = Names::default();
        names.commands.insert((0, process), Comm::new(b"other"));
        names.users.insert((0, 1000), "other".into());
        names.paths.insert((0, 9), "/other".into());
        let of = |by, boot, owner| names.group(by, Id { boot, owner }).name;
        assert_eq!(of(Grouping::Process, Some(0), Owner::Process(process)), "other");
        assert_eq!(of(Grouping::Process, None, Owner::Process(process)), "?");
        assert_eq!(of(Grouping::User, None, Owner::User(Some(1000))), "1000");
        assert_eq!(of(Grouping::Cgroup, None, Owner::Group(Some(9))), UNKNOWN);
    }
}
