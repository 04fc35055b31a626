//! Replaces names. The same name always becomes the same mask, so figures keep their meaning.
//!
//! Each type that holds a name is destructured field by field: a new field does not compile until
//! it is handled here.

use crate::about::Machine;
use crate::rows::{Facts, GroupFiles, PageData, Waited};
use exactop_model::blame::Party;
use exactop_model::cgroups::GroupSample;
use exactop_model::ledger::key::TaskRef;
use exactop_model::ledger::named::{GroupName, Named};
use exactop_model::ledger::provenance::Provenance;
use exactop_model::on_demand::waits::{OtherShare, WaitRow, WaitWindow};
use exactop_model::{Comm, Detail, ExitSample, Ident, Missing, Snapshot, TaskSample};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Unit name suffixes that stay visible: they say what the unit is, not whose it is.
const KINDS: [&str; 6] = [".service", ".scope", ".slice", ".socket", ".mount", ".swap"];

/// The mask of each name, by type of name.
#[derive(Debug, Default)]
pub(crate) struct Masks {
    commands: FxHashMap<Comm, Comm>,
    users: FxHashMap<String, String>,
    uids: FxHashMap<u32, u32>,
    parts: FxHashMap<Vec<u8>, String>,
}

/// Number of the next mask.
fn next<K, V>(known: &FxHashMap<K, V>) -> usize {
    known.len() + 1
}

impl Masks {
    /// Returns the machine with its host name and boot id replaced.
    pub fn machine(machine: &Machine) -> Machine {
        let Machine { host: _, boot_id: _, kernel, architecture, exactop } = machine;
        // A suffix added by a vendor or an owner may be a name.
        let version = |c: &char| c.is_ascii_digit() || *c == '.';
        Machine {
            host: "host".into(),
            boot_id: "boot".into(),
            kernel: kernel.chars().take_while(version).collect(),
            architecture: architecture.clone(),
            exactop: exactop.clone(),
        }
    }

    fn comm(&mut self, comm: Comm) -> Comm {
        let number = next(&self.commands);
        *self.commands.entry(comm).or_insert_with(|| Comm::new(format!("cmd{number}").as_bytes()))
    }

    fn uid(&mut self, uid: u32) -> u32 {
        let number = next(&self.uids) as u32;
        *self.uids.entry(uid).or_insert(number)
    }

    fn user(&mut self, user: String) -> String {
        let number = next(&self.users);
        self.users.entry(user).or_insert_with(|| format!("user{number}")).clone()
    }

    /// Masks each path component by itself, so the hierarchy stays visible.
    fn path(&mut self, path: &[u8]) -> Vec<u8> {
        let parts: Vec<String> = path.split(|&b| b == b'/').map(|part| self.part(part)).collect();
        parts.join("/").into_bytes()
    }

    fn part(&mut self, part: &[u8]) -> String {
        if part.is_empty() {
            return String::new();
        }
        let number = next(&self.parts);
        let kind = KINDS.into_iter().find(|kind| part.ends_with(kind.as_bytes()));
        let kind = kind.map_or("", |kind| kind);
        self.parts.entry(part.to_vec()).or_insert_with(|| format!("g{number}{kind}")).clone()
    }

    /// Masks equal names equally, whichever field they are in.
    fn named(&mut self, named: &Named) -> Named {
        let Named { unit, container, pod, namespace, runtime } = named;
        let mut part = |name: &Option<String>| name.as_ref().map(|name| self.part(name.as_bytes()));
        Named {
            unit: part(unit),
            container: part(container),
            pod: part(pod),
            namespace: part(namespace),
            runtime: *runtime,
        }
    }

    fn group(&mut self, group: &GroupName) -> GroupName {
        let GroupName { id, path, named } = group;
        GroupName { id: *id, path: self.path(path), named: Arc::new(self.named(named)) }
    }

    fn ident(&mut self, ident: Ident) -> Ident {
        let Ident { ppid, comm, uid, session, cgroup_id, nice, prio, policy, kthread } = ident;
        let (comm, uid) = (self.comm(comm), self.uid(uid));
        Ident { ppid, comm, uid, session, cgroup_id, nice, prio, policy, kthread }
    }

    fn task(&mut self, task: TaskSample) -> TaskSample {
        let TaskSample {
            account: _,
            key: _,
            ident,
            state: _,
            letter: _,
            since_ns: _,
            last_cpu: _,
            threads: _,
            tree: _,
            counters: _,
            audit: _,
        } = task;
        TaskSample { ident: self.ident(ident), ..task }
    }

    fn exit(&mut self, exit: ExitSample) -> ExitSample {
        let ExitSample {
            account: _,
            of: _,
            ancestors: _,
            comm,
            cgroup_id: _,
            uid,
            session: _,
            tree: _,
            processes: _,
            tasks: _,
            life_ns: _,
            counters: _,
            audit: _,
        } = exit;
        ExitSample { comm: self.comm(comm), uid: uid.map(|uid| self.uid(uid)), ..exit }
    }

    /// Masks a snapshot, including texts of its source that may hold names.
    pub fn snapshot(&mut self, now: Snapshot) -> Snapshot {
        let Snapshot {
            at_ns,
            provenance,
            irq_again,
            complete,
            tasks,
            gone,
            exited,
            moves,
            groups,
            leader_names,
            cpus,
            watch,
            born,
            errors,
            repaired_ns,
            repaired_wait_ns,
            system,
            cost,
            outside,
            blame,
        } = now;
        Snapshot {
            at_ns,
            provenance: Provenance { reason: None, ..provenance },
            irq_again,
            complete,
            tasks: tasks.into_iter().map(|task| self.task(task)).collect(),
            gone,
            exited: exited.into_iter().map(|exit| self.exit(exit)).collect(),
            moves,
            groups: groups.iter().map(|group| Arc::new(self.group(group))).collect(),
            leader_names: leader_names.into_iter().map(|(tgid, n)| (tgid, self.comm(n))).collect(),
            cpus,
            watch,
            born,
            errors,
            repaired_ns,
            repaired_wait_ns,
            system,
            cost,
            outside,
            blame: blame.map(|book| book.seen(|party| Some(self.party(party)))),
        }
    }

    fn party(&mut self, party: Party) -> Party {
        let Party { cgroup_id, uid, session, comm, kthread } = party;
        Party { cgroup_id, uid: self.uid(uid), session, comm: self.comm(comm), kthread }
    }

    /// Masks a task or process; the kernel itself has no name to hide.
    fn masked_task(&mut self, who: TaskRef) -> TaskRef {
        let told = !who.process.bytes().is_empty();
        let process = if told { self.comm(who.process) } else { who.process };
        match who.tgid {
            0 => who,
            _ => TaskRef { comm: self.comm(who.comm), process, ..who },
        }
    }

    fn others(&mut self, others: Vec<OtherShare>) -> Vec<OtherShare> {
        let masked = |OtherShare { who, amount }| OtherShare { who: self.masked_task(who), amount };
        others.into_iter().map(masked).collect()
    }

    fn wait(&mut self, row: WaitRow) -> WaitRow {
        let WaitRow { who, threads, sleeps, woken, preempted, queued, ran_instead, woken_by } = row;
        let who = self.masked_task(who);
        let (ran_instead, woken_by) = (self.others(ran_instead), self.others(woken_by));
        WaitRow { who, threads, sleeps, woken, preempted, queued, ran_instead, woken_by }
    }

    /// Masks the path of a control group; its cpuset is not a name.
    fn file(&mut self, group: GroupSample) -> GroupSample {
        let name = self.path(group.name.as_bytes());
        GroupSample { name: String::from_utf8_lossy(&name).into_owned(), ..group }
    }

    /// Masks what was measured on demand.
    pub fn page(&mut self, page: PageData) -> PageData {
        let PageData { waits, groups, users } = page;
        let mut files =
            |files: Vec<GroupSample>| files.into_iter().map(|group| self.file(group)).collect();
        let groups = groups.map(|GroupFiles { before, after }| GroupFiles {
            before: files(before),
            after: files(after),
        });
        let users = users.into_iter().map(|(uid, name)| (self.uid(uid), self.user(name))).collect();
        PageData { waits: waits.map(|waits| self.waits(waits)), groups, users }
    }

    /// Masks what a process waited for and which tasks it waited for. A failure text may hold
    /// names, so it is replaced too.
    fn waits(&mut self, waited: Waited) -> Waited {
        let Waited { tgid, waits } = waited;
        let waits = waits.map(|WaitWindow { t0_ns, t1_ns, rows, losses }| {
            let rows = rows.into_iter().map(|row| self.wait(row)).collect();
            WaitWindow { t0_ns, t1_ns, rows, losses }
        });
        Waited { tgid, waits: waits.map_err(|_| "cannot measure the waits".into()) }
    }

    /// Masks the details of a row and drops its command line.
    pub fn facts(&mut self, facts: Facts) -> Facts {
        let Facts { detail, ppid, nice, prio, policy } = facts;
        let Detail { virt, res, shr, time_ns, cmdline, user, cgroup, named, disk } = detail;
        let detail = Detail {
            virt,
            res,
            shr,
            time_ns,
            cmdline: cmdline.and(Err(Missing::NotRead)),
            user: user.map(|user| self.user(user)),
            cgroup: cgroup.map(|path| self.path(&path)),
            named: named.map(|named| Arc::new(self.named(&named))),
            disk,
        };
        Facts { detail, ppid, nice, prio, policy }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_get_equal_masks() {
        let mut masks = Masks::default();
        let path = |masks: &mut Masks, path: &str| {
            String::from_utf8(masks.path(path.as_bytes())).expect("UTF-8")
        };
        assert_eq!(path(&mut masks, "/system.slice/db.service"), "/g1.slice/g2.service");
        assert_eq!(path(&mut masks, "/system.slice/web.service/x"), "/g1.slice/g3.service/g4");
        assert_eq!(path(&mut masks, "/"), "/");
        let (a, b) = (Comm::new(b"postgres"), Comm::new(b"nginx"));
        let shown = [a, b, a].map(|comm| masks.comm(comm).to_string());
        assert_eq!(shown, ["cmd1", "cmd2", "cmd1"]);
    }
}
