//! From sums in maps to one row a thread.

use super::skel::types;
use crate::bpf::on_demand;
use crate::bpf::sums::{Plain, Sum};
use exactop_model::on_demand::waits::{Latency, Other, Sleep, WaitKind, WaitRow};
use exactop_model::{CallNr, Comm, Who};
use rustc_hash::FxHashMap;
use std::hash::{Hash, Hasher};

/// `EX_LOCKS`, `EX_BLOCKS`, `EX_QUEUES`, `EX_AFTER_WAKEUP`, `EX_RAN_INSTEAD` of bpf/on_demand/waits.h.
const LOCKS: u32 = 1;
const BLOCKS: u32 = 2;
const QUEUES: u32 = 3;
const AFTER_WAKEUP: u32 = 0;
const RAN_INSTEAD: u32 = 0;

fn kind(kind: u32) -> WaitKind {
    match kind {
        LOCKS => WaitKind::Lock,
        BLOCKS => WaitKind::Block,
        _ => WaitKind::Sleep,
    }
}

/// How much of a thread's present sleep lay before the end of a window: counted, though the kernel
/// adds it to its sum only when the sleep ends.
#[derive(Default)]
pub struct OpenSleeps(FxHashMap<u32, Open>);

#[derive(Clone, Copy)]
struct Open {
    since: u64,
    ns: u64,
    nr: i32,
    kind: u32,
}

impl OpenSleeps {
    /// From what the iterator told.
    pub fn new(open: &[types::ex_open_wait]) -> OpenSleeps {
        let sleeps = open.iter().filter(|o| o.kind != QUEUES);
        let part = |o: &types::ex_open_wait| Open {
            since: o.since,
            ns: o.now.saturating_sub(o.since),
            nr: o.nr,
            kind: o.kind,
        };
        OpenSleeps(sleeps.map(|o| (o.tid, part(o))).collect())
    }

    /// What of this sum of ended sleeps was counted in earlier windows.
    fn counted(&self, tid: u32, nr: i32, kind: u32) -> u64 {
        let same = |o: &&Open| o.nr == nr && o.kind == kind;
        self.0.get(&tid).filter(same).map_or(0, |o| o.ns)
    }

    /// What of a sleep that began then.
    fn counted_of(&self, tid: u32, since: u64) -> u64 {
        self.0.get(&tid).filter(|o| o.since == since).map_or(0, |o| o.ns)
    }
}

/// A window's rows in the making.
pub struct Rows {
    epoch: u32,
    window_ns: u64,
    rows: FxHashMap<u32, WaitRow>,
}

impl Rows {
    /// No rows yet; `epoch` is that of the window, `window_ns` its length.
    pub fn new(epoch: u32, window_ns: u64) -> Rows {
        Rows { epoch, window_ns, rows: FxHashMap::default() }
    }

    fn row(&mut self, tgid: u32, tid: u32, comm: &[i8; 16]) -> &mut WaitRow {
        let comm = Comm::new(&comm.map(|c| c as u8));
        let row = self.rows.entry(tid);
        let row = row.or_insert_with(|| WaitRow::new(Who { tgid, tid: Some(tid), comm }));
        if row.who.comm.bytes().is_empty() {
            row.who.comm = comm;
        }
        row
    }

    /// Sleeps that ended.
    pub fn sleeps(&mut self, sums: &[(types::ex_sleep_key, types::ex_sleep)], before: &OpenSleeps) {
        for (key, sum) in sums {
            let max_ns = on_demand::greatest(sum.longest.ns, sum.longest.epoch, self.epoch);
            let counted = before.counted(key.tid, key.nr, key.kind);
            self.row(key.tgid, key.tid, &sum.comm).add_sleep(Sleep {
                kind: kind(key.kind),
                nr: CallNr(key.nr),
                count: sum.count,
                ns: sum.ns.saturating_sub(counted),
                max_ns,
            });
        }
    }

    /// Waits that have not ended, as far as they lie in the window.
    pub fn open(&mut self, open: &[types::ex_open_wait], before: &OpenSleeps) {
        for wait in open {
            let row = self.row(wait.tgid, wait.tid, &wait.comm);
            if wait.kind == QUEUES {
                row.queued += 1;
                continue;
            }
            let ns = wait.now.saturating_sub(wait.since);
            row.add_sleep(Sleep {
                kind: kind(wait.kind),
                nr: CallNr(wait.nr),
                count: 0,
                ns: ns.saturating_sub(before.counted_of(wait.tid, wait.since)),
                max_ns: None,
            });
        }
    }

    /// Waits for a CPU.
    pub fn queues(&mut self, sums: &[(types::ex_queue_key, types::ex_queue)]) {
        for (key, sum) in sums {
            let max_ns = on_demand::greatest(sum.longest.ns, sum.longest.epoch, self.epoch);
            let mut latency =
                Latency { count: sum.count, ns: sum.ns, max_ns, ..Latency::default() };
            for (to, from) in latency.buckets.iter_mut().zip(sum.buckets) {
                *to = from.into();
            }
            let row = self.row(key.tgid, key.tid, &sum.comm);
            let place = if key.after == AFTER_WAKEUP { &mut row.woken } else { &mut row.preempted };
            place.add(&latency);
        }
    }

    /// Who ran instead, who woke.
    pub fn others(&mut self, sums: &[(types::ex_other_key, types::ex_other)]) {
        for (key, sum) in sums {
            let ran = key.part == RAN_INSTEAD;
            let who = match (key.other_tgid, ran) {
                (0, true) => Who { comm: Comm::new(b"idle"), ..Who::INTERRUPT },
                (0, false) => Who::INTERRUPT,
                (tgid, _) => Who {
                    tgid,
                    tid: (!ran).then_some(key.other_tid),
                    comm: Comm::new(&sum.comm.map(|c| c as u8)),
                },
            };
            let row = self.row(key.tgid, key.tid, &[0; 16]);
            let parts = if ran { &mut row.ran_instead } else { &mut row.woken_by };
            parts.push(Other { who, amount: sum.amount });
        }
    }

    /// The rows, each with its largest parts first. A sleep that ends while the sums are being read
    /// could be in both or in none; no thread sleeps longer than the window.
    pub fn finish(self) -> Vec<WaitRow> {
        let window_ns = self.window_ns;
        let mut rows: Vec<WaitRow> = self.rows.into_values().collect();
        for sleep in rows.iter_mut().flat_map(|row| &mut row.sleeps) {
            sleep.ns = sleep.ns.min(window_ns);
        }
        rows.iter_mut().for_each(WaitRow::sort);
        rows
    }
}

// SAFETY: integers without padding, as the C side declares them.
unsafe impl Plain for types::ex_sleep_key {}
unsafe impl Plain for types::ex_sleep {}
unsafe impl Plain for types::ex_queue_key {}
unsafe impl Plain for types::ex_queue {}
unsafe impl Plain for types::ex_other_key {}
unsafe impl Plain for types::ex_other {}
unsafe impl Plain for types::ex_open_wait {}

macro_rules! by_fields {
    ($type:ident: $($field:ident)+) => {
        impl PartialEq for types::$type {
            fn eq(&self, other: &Self) -> bool {
                $(self.$field == other.$field)&&+
            }
        }
        impl Eq for types::$type {}
        impl Hash for types::$type {
            fn hash<H: Hasher>(&self, state: &mut H) {
                $(self.$field.hash(state);)+
            }
        }
    };
}

by_fields!(ex_sleep_key: tgid tid nr kind);
by_fields!(ex_queue_key: tgid tid after);
by_fields!(ex_other_key: tgid tid other_tgid other_tid part);

impl Sum for types::ex_sleep {
    fn since(&self, before: &Self) -> Self {
        types::ex_sleep { count: self.count - before.count, ns: self.ns - before.ns, ..*self }
    }

    fn is_zero(&self) -> bool {
        self.count == 0
    }
}

impl Sum for types::ex_queue {
    fn since(&self, before: &Self) -> Self {
        let mut grown = *self;
        grown.count -= before.count;
        grown.ns -= before.ns;
        for (bucket, was) in grown.buckets.iter_mut().zip(before.buckets) {
            *bucket -= was;
        }
        grown
    }

    fn is_zero(&self) -> bool {
        self.count == 0
    }
}

impl Sum for types::ex_other {
    fn since(&self, before: &Self) -> Self {
        types::ex_other { amount: self.amount - before.amount, ..*self }
    }

    fn is_zero(&self) -> bool {
        self.amount == 0
    }
}
