//! Combines sums of maps into one row for each thread.

use super::skel::types::{self, ex_part, ex_queued_after, ex_wait_kind, names};
use crate::bpf::task;
use crate::on_demand::attached::Ended;
use exactop_model::on_demand::waits::{Latency, OtherShare, Sleep, WaitKind, WaitRow};
use exactop_model::{SyscallNr, TaskRef};
use rustc_hash::FxHashMap;

fn kind(kind: ex_wait_kind) -> WaitKind {
    match kind {
        ex_wait_kind::EX_LOCKS => WaitKind::Lock,
        ex_wait_kind::EX_BLOCKS => WaitKind::Block,
        ex_wait_kind::EX_THROTTLED => WaitKind::Throttle,
        _ => WaitKind::Sleep,
    }
}

/// The part of each thread's present sleep that earlier windows counted. The kernel side adds a
/// sleep to its sum only when it ends.
#[derive(Default)]
pub struct OpenSleeps(FxHashMap<u32, Open>);

#[derive(Clone, Copy)]
struct Open {
    since: u64,
    ns: u64,
    nr: i32,
    kind: ex_wait_kind,
}

impl OpenSleeps {
    /// From the iterator's records.
    pub fn new(open: &[types::ex_open_wait]) -> OpenSleeps {
        let no_sleeps = [ex_wait_kind::EX_QUEUES, ex_wait_kind::EX_NO_WAIT];
        let sleeps = open.iter().filter(|o| !no_sleeps.contains(&o.kind));
        let part = |o: &types::ex_open_wait| Open {
            since: o.since,
            ns: o.now.saturating_sub(o.since),
            nr: o.nr,
            kind: o.kind,
        };
        OpenSleeps(sleeps.map(|o| (o.tid, part(o))).collect())
    }

    /// The part of this sum of ended sleeps that earlier windows counted.
    fn counted(&self, tid: u32, nr: i32, kind: ex_wait_kind) -> u64 {
        let same = |o: &&Open| o.nr == nr && o.kind == kind;
        self.0.get(&tid).filter(same).map_or(0, |o| o.ns)
    }

    /// The part of the sleep with this start that earlier windows counted.
    fn counted_of(&self, tid: u32, since: u64) -> u64 {
        self.0.get(&tid).filter(|o| o.since == since).map_or(0, |o| o.ns)
    }
}

/// Rows of a window under construction.
pub struct Rows {
    ended: Ended,
    rows: FxHashMap<u32, WaitRow>,
}

impl Rows {
    /// An empty set of rows.
    pub fn new(ended: Ended) -> Rows {
        Rows { ended, rows: FxHashMap::default() }
    }

    fn row(&mut self, tgid: u32, tid: u32, names: &names) -> &mut WaitRow {
        let who = task::thread!(tgid, tid, names);
        let row = self.rows.entry(tid).or_insert_with(|| WaitRow::new(who));
        if row.who.comm.bytes().is_empty() {
            row.who = who;
        }
        row
    }

    /// Adds sleeps that ended.
    pub fn sleeps(&mut self, sums: &[(types::ex_sleep_key, types::ex_sleep)], before: &OpenSleeps) {
        for (key, sum) in sums {
            let max_ns = self.ended.greatest(sum.longest.ns, sum.longest.epoch);
            let counted = before.counted(key.tid, key.nr, key.kind);
            self.row(key.tgid, key.tid, &sum.names).add_sleep(Sleep {
                kind: kind(key.kind),
                nr: SyscallNr(key.nr),
                count: sum.count,
                ns: sum.ns.saturating_sub(counted),
                max_ns,
            });
        }
    }

    /// Adds waits that have not ended, with their part in the window. A row of a thread that does
    /// not wait gets its name: a wake-up without effect has none.
    pub fn open(&mut self, open: &[types::ex_open_wait], before: &OpenSleeps) {
        for wait in open {
            if wait.kind == ex_wait_kind::EX_NO_WAIT && !self.rows.contains_key(&wait.tid) {
                continue;
            }
            let row = self.row(wait.tgid, wait.tid, &wait.names);
            match wait.kind {
                ex_wait_kind::EX_NO_WAIT => continue,
                ex_wait_kind::EX_QUEUES => {
                    row.queued += 1;
                    continue;
                }
                _ => {}
            }
            let ns = wait.now.saturating_sub(wait.since);
            row.add_sleep(Sleep {
                kind: kind(wait.kind),
                nr: SyscallNr(wait.nr),
                count: 0,
                ns: ns.saturating_sub(before.counted_of(wait.tid, wait.since)),
                max_ns: None,
            });
        }
    }

    /// Adds waits for a CPU.
    pub fn queues(&mut self, sums: &[(types::ex_queue_key, types::ex_queue)]) {
        for (key, sum) in sums {
            let max_ns = self.ended.greatest(sum.longest.ns, sum.longest.epoch);
            let mut latency =
                Latency { count: sum.count, ns: sum.ns, max_ns, ..Latency::default() };
            for (to, from) in latency.buckets.iter_mut().zip(sum.buckets) {
                *to = from.into();
            }
            let row = self.row(key.tgid, key.tid, &sum.names);
            let place = if key.after == ex_queued_after::EX_AFTER_WAKEUP {
                &mut row.woken
            } else {
                &mut row.preempted
            };
            place.add(&latency);
        }
    }

    /// Adds tasks that ran instead and tasks that woke the thread. An entry without a thread is the
    /// sum over its process.
    pub fn others(&mut self, sums: &[(types::ex_other_key, types::ex_other)]) {
        for (key, sum) in sums {
            let ran = key.part != ex_part::EX_WOKEN_BY;
            let other = task::thread!(key.other_tgid, key.other_tid, sum.names);
            let who = match (key.other_tgid, key.other_tid, key.part) {
                (0, _, ex_part::EX_RAN_INSTEAD) => TaskRef::IDLE,
                (0, _, ex_part::EX_RAN_BEFORE) => TaskRef::EARLIER,
                (0, _, _) => TaskRef::INTERRUPT,
                (_, 0, _) => other.process(),
                _ => other,
            };
            let row = self.row(key.tgid, key.tid, &names::default());
            let parts = if ran { &mut row.ran_instead } else { &mut row.woken_by };
            // A part of the kernel may be in both tables.
            match parts.iter_mut().find(|part| part.who == who && who.tgid == 0) {
                Some(same) => same.amount += sum.amount,
                None => parts.push(OtherShare { who, amount: sum.amount }),
            }
        }
    }

    /// The rows, each with its largest parts first. A sleep that ends while the sums are read could
    /// count twice or not at all. So a thread's sleep is limited to the window's length.
    pub fn finish(self) -> Vec<WaitRow> {
        let window_ns = self.ended.t1_ns - self.ended.t0_ns;
        let mut rows: Vec<WaitRow> = self.rows.into_values().collect();
        for sleep in rows.iter_mut().flat_map(|row| &mut row.sleeps) {
            sleep.ns = sleep.ns.min(window_ns);
        }
        rows.iter_mut().for_each(WaitRow::sort);
        rows
    }
}
