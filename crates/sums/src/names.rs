//! What the groups of a recording are called, as far as it was read by somebody.

use crate::group::{unit_of, By, Group, Id, Numbered, Process};
use exactop_model::escape::{escape, escape_str};
use exactop_model::named::{By as Named, GroupName, UNKNOWN};
use exactop_model::workers::Workers;
use exactop_model::{Book, Comm, TaskSample, Window};
use exactop_recording::Replay;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What is known of names so far.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// The boots, in the order in which they were read.
    boots: Vec<String>,
    /// The one that is read.
    boot: usize,
    commands: FxHashMap<Process, Comm>,
    paths: FxHashMap<Numbered<u64>, String>,
    /// As the recording names them; files from before it did have none.
    groups: FxHashMap<Numbered<u64>, Arc<GroupName>>,
    users: FxHashMap<Numbered<u32>, String>,
}

impl Names {
    /// Windows of this boot are read from now on; whether it is the first time.
    pub fn enter(&mut self, boot_id: &str) -> bool {
        let known = self.boots.iter().position(|boot| boot == boot_id);
        self.boot = known.unwrap_or(self.boots.len());
        if known.is_none() {
            self.boots.push(boot_id.into());
        }
        known.is_none()
    }

    fn numbered<T>(&self, number: T) -> Numbered<T> {
        Numbered { boot: self.boot, number }
    }

    /// A control group of the boot that is read.
    pub fn cgroup(&self, number: Option<u64>) -> Id {
        Id::Cgroup(number.map(|number| self.numbered(number)))
    }

    /// Whose a living task's time is.
    pub fn of_task(&mut self, by: By, task: &TaskSample, replay: &Replay) -> Id {
        let process = replay.book().leader(task);
        match by {
            By::Command => {
                Workers::of_task(process).map_or(Id::Command(process.ident.comm), Id::Workers)
            }
            By::Process => {
                let pid = self.numbered(process.key.tgid);
                let key = Process { pid, start_ns: process.key.start_ns };
                self.commands.insert(key, process.ident.comm);
                Id::Process(key)
            }
            By::Cgroup | By::Unit | By::Container | By::Pod | By::Namespace => {
                let id = task.ident.cgroup_id.map(|id| self.numbered(id));
                let known = |id: &_| self.paths.contains_key(id) || self.groups.contains_key(id);
                if let Some(id) = id.filter(|id| !known(id)) {
                    let own = process.ident.cgroup_id == task.ident.cgroup_id;
                    let path = replay.known(process.account).and_then(|detail| detail.cgroup.ok());
                    self.paths.extend(path.filter(|_| own).map(|path| (id, escape(&path))));
                }
                Id::Cgroup(id)
            }
            By::User => {
                let uid = self.numbered(task.ident.uid);
                if !self.users.contains_key(&uid) && process.ident.uid == uid.number {
                    let user = replay.known(process.account).and_then(|detail| detail.user.ok());
                    self.users.extend(user.map(|user| (uid, escape_str(&user))));
                }
                Id::User(Some(uid))
            }
        }
    }

    /// Whose what exited was, where that is known.
    pub fn user_who_was(&self, uid: Option<u32>) -> Id {
        Id::User(uid.map(|uid| self.numbered(uid)))
    }

    /// The control groups of a window by name: they may be forgotten later.
    pub fn groups(&mut self, window: &Window, book: &Book) {
        let tasks = window.tasks.iter().filter_map(|task| task.sample.ident.cgroup_id);
        let exited = window.exited.iter().filter_map(|exit| exit.sample.cgroup_id);
        let moved = window.moves.iter().flat_map(|moved| [moved.from, moved.to]);
        for number in tasks.chain(exited).chain(moved) {
            let id = self.numbered(number);
            if !self.groups.contains_key(&id) {
                self.groups.extend(book.group(number).map(|group| (id, Arc::clone(group))));
            }
        }
    }

    /// What a control group is called.
    fn group_by(&self, by: By, id: Numbered<u64>) -> String {
        let unread = || self.without_path(id);
        match (by.named(), self.groups.get(&id), self.paths.get(&id)) {
            (Some(named), Some(group), _) => {
                let name = group.named.under(named);
                name.map_or(named.none().into(), |name| escape_str(&name))
            }
            (None, Some(group), _) => escape(&group.path),
            (Some(Named::Unit), None, Some(path)) => {
                unit_of(path).unwrap_or_else(|| Named::Unit.none().to_string())
            }
            (Some(Named::Unit), None, None) => unread(),
            (Some(_), None, _) => UNKNOWN.into(),
            (None, None, path) => path.map_or_else(unread, String::clone),
        }
    }

    /// What it is called, once all is read.
    pub fn group(&self, by: By, id: Id) -> Group {
        let named = |name: String| Group { name, process: None };
        match id {
            Id::Command(comm) => named(comm.to_string()),
            Id::Workers(workers) => named(workers.name().into()),
            Id::Exited(comm) => named(format!("{comm} (exited)")),
            Id::Process(process) => Group {
                name: self.commands.get(&process).map_or("?".into(), Comm::to_string),
                process: Some((process.pid.number, process.start_ns)),
            },
            Id::User(None) => named("(exited, whose is not recorded)".into()),
            Id::User(Some(uid)) => {
                named(self.users.get(&uid).map_or_else(|| uid.number.to_string(), String::clone))
            }
            Id::Cgroup(None) => named("(no control group told)".into()),
            Id::Cgroup(Some(id)) => named(self.group_by(by, id)),
        }
    }

    /// One number may be two groups of two boots.
    fn without_path(&self, Numbered { boot, number }: Numbered<u64>) -> String {
        match self.boots.len() {
            0 | 1 => format!("(control group {number}, whose path was not read)"),
            _ => format!("(control group {number} of boot {}, whose path was not read)", boot + 1),
        }
    }
}
