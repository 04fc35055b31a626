//! Waits of threads in a window: where they slept, how long they queued for a CPU, which task had
//! the CPU meanwhile, and which task woke them.

use super::counted::{Choice, Counted, Panel};
use super::losses::Losses;
use super::namesakes::{sum_by, Namesakes, Party};
use super::sums::{leave, merge};
use super::syscall_nr::SyscallNr;
use crate::ledger::key::TaskRef;
use serde::{Deserialize, Serialize};
use std::mem::size_of;

/// Why a thread was not on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum WaitKind {
    /// Asleep, interruptible.
    Sleep,
    /// Asleep on a user-space lock.
    Lock,
    /// Asleep, uninterruptible.
    Block,
    /// Runnable, but the quota of its group is used up. It belongs to no system call.
    Throttle,
}

impl WaitKind {
    /// Name of its column in prstat.
    pub const fn name(self) -> &'static str {
        match self {
            WaitKind::Sleep => "SLP",
            WaitKind::Lock => "LCK",
            WaitKind::Block => "BLK",
            WaitKind::Throttle => "THR",
        }
    }
}

/// Sleeps of one kind in one system call, or waits for a new quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sleep {
    /// Kind of wait.
    pub kind: WaitKind,
    /// System call; [`SyscallNr::NONE`] for a page fault, a kernel thread or a used up quota.
    pub nr: SyscallNr,
    /// Number of sleeps that ended in the window.
    pub count: u64,
    /// Time asleep inside the window, ns, with sleeps that have not ended.
    pub ns: u64,
    /// The longest sleep that ended, ns, with its time before the window; `None` if no sleep ended.
    pub max_ns: Option<u64>,
}

/// Number of buckets in [`Latency`] (`EX_BUCKETS` in bpf/on_demand/waits.h).
pub const BUCKETS: usize = 144;

/// Waits for a CPU as a log-linear histogram with four buckets for each power of two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// Number of waits that ended in the window.
    pub count: u64,
    /// Time of these waits, ns.
    pub ns: u64,
    /// The longest of these waits, ns; `None` if no wait ended.
    pub max_ns: Option<u64>,
    /// Number of waits in each bucket.
    #[serde(with = "buckets")]
    pub buckets: [u64; BUCKETS],
}

/// Serializes the buckets as a list of the non-empty ones, because most are empty.
mod buckets {
    use super::BUCKETS;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(buckets: &[u64; BUCKETS], to: S) -> Result<S::Ok, S::Error> {
        let filled = buckets.iter().enumerate().filter(|(_, &n)| n != 0);
        filled.map(|(bucket, &n)| (bucket, n)).collect::<Vec<_>>().serialize(to)
    }

    pub fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<[u64; BUCKETS], D::Error> {
        let mut buckets = [0; BUCKETS];
        for (bucket, n) in Vec::<(usize, u64)>::deserialize(from)? {
            *buckets
                .get_mut(bucket)
                .ok_or_else(|| D::Error::custom("cannot use a bucket beyond the last"))? = n;
        }
        Ok(buckets)
    }
}

impl Default for Latency {
    fn default() -> Latency {
        Latency { count: 0, ns: 0, max_ns: None, buckets: [0; BUCKETS] }
    }
}

impl Latency {
    /// Adds other waits.
    pub fn add(&mut self, other: &Latency) {
        self.count += other.count;
        self.ns += other.ns;
        self.max_ns = self.max_ns.max(other.max_ns);
        for (mine, theirs) in self.buckets.iter_mut().zip(other.buckets) {
            *mine += theirs;
        }
    }

    /// The wait that this part (0..1) of all waits does not exceed, ns. It is the upper end of a
    /// bucket: at most a quarter above the true value, and never above the longest wait.
    pub fn quantile_ns(&self, part: f64) -> Option<u64> {
        let total: u64 = self.buckets.iter().sum();
        if total == 0 {
            return None;
        }
        let rank = ((part * total as f64).ceil() as u64).clamp(1, total);
        let mut seen = 0;
        let bucket = self.buckets.iter().position(|&n| {
            seen += n;
            seen >= rank
        })?;
        let end = upper_ns(bucket);
        Some(self.max_ns.map_or(end, |max| end.min(max)))
    }
}

/// Largest value of a bucket, ns.
fn upper_ns(bucket: usize) -> u64 {
    match bucket {
        0..4 => bucket as u64,
        _ if bucket >= BUCKETS - 1 => u64::MAX,
        _ => {
            let (log, part) = (bucket / 4 + 1, bucket as u64 % 4);
            ((5 + part) << (log - 2)) - 1
        }
    }
}

/// The share of another task in a thread's waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)] // Their names say it.
pub struct OtherShare {
    pub who: TaskRef,
    /// Time in ns, or number of wake-ups.
    pub amount: u64,
}

/// Shares with the processes of one name summed, the largest first. The threads of any other
/// process stay separate.
pub fn by_name(parts: &[OtherShare]) -> Vec<(Party, u64)> {
    let names = Namesakes::among(parts.iter().map(|part| part.who));
    let parties = parts.iter().map(|part| (names.party(part.who), part.amount));
    let mut sums = sum_by(parties, |sum, amount| *sum += amount);
    sums.sort_by_key(|(_, amount)| std::cmp::Reverse(*amount));
    sums
}

/// Waits of a thread, or of all threads of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)] // Their names say it.
pub struct WaitRow {
    pub who: TaskRef,
    /// Number of threads.
    pub threads: usize,
    /// Sleeps by kind and call, longest first.
    pub sleeps: Vec<Sleep>,
    /// Waits for a CPU after a wake-up.
    pub woken: Latency,
    /// Waits for a CPU after another task preempted the thread; waits for a quota are not in it.
    pub preempted: Latency,
    /// Waits for a CPU that had not ended.
    pub queued: u64,
    /// Tasks that had the CPU meanwhile, ns, most first; reaches back over the last 32 switches of
    /// that CPU.
    pub ran_instead: Vec<OtherShare>,
    /// Tasks that woke the thread, number of wake-ups, most first.
    pub woken_by: Vec<OtherShare>,
}

impl WaitRow {
    /// A row without waits.
    pub fn new(who: TaskRef) -> WaitRow {
        WaitRow {
            who,
            threads: usize::from(who.tid.is_some()),
            sleeps: Vec::new(),
            woken: Latency::default(),
            preempted: Latency::default(),
            queued: 0,
            ran_instead: Vec::new(),
            woken_by: Vec::new(),
        }
    }

    /// Time asleep of this kind, ns.
    pub fn sleep_ns(&self, kind: WaitKind) -> u64 {
        self.sleeps.iter().filter(|s| s.kind == kind).map(|s| s.ns).sum()
    }

    /// Time of all waits, ns; the sort key of rows.
    pub fn waited_ns(&self) -> u64 {
        self.sleeps.iter().map(|s| s.ns).sum::<u64>() + self.woken.ns + self.preempted.ns
    }

    /// Adds a thread's row to its process's row.
    pub fn add(&mut self, other: &WaitRow) {
        self.threads += other.threads;
        for sleep in &other.sleeps {
            self.add_sleep(*sleep);
        }
        self.woken.add(&other.woken);
        self.preempted.add(&other.preempted);
        self.queued += other.queued;
        for part in &other.ran_instead {
            add_other(&mut self.ran_instead, *part);
        }
        for part in &other.woken_by {
            add_other(&mut self.woken_by, *part);
        }
    }

    /// Adds the same thread's row of the next window; open waits are those of the later window.
    fn go_on(&mut self, later: &WaitRow) {
        let threads = self.threads;
        self.add(later);
        (self.threads, self.queued, self.who) = (threads, later.queued, later.who);
    }

    /// Adds sleeps of one kind and call.
    pub fn add_sleep(&mut self, sleep: Sleep) {
        match self.sleeps.iter_mut().find(|s| (s.kind, s.nr) == (sleep.kind, sleep.nr)) {
            Some(same) => {
                same.count += sleep.count;
                same.ns += sleep.ns;
                same.max_ns = same.max_ns.max(sleep.max_ns);
            }
            None => self.sleeps.push(sleep),
        }
    }

    /// Sorts all lists, the largest first.
    pub fn sort(&mut self) {
        self.sleeps.sort_by_key(|s| (std::cmp::Reverse(s.ns), s.nr));
        for parts in [&mut self.ran_instead, &mut self.woken_by] {
            parts.sort_by_key(|o| (std::cmp::Reverse(o.amount), o.who.tgid, o.who.tid));
        }
    }
}

fn add_other(parts: &mut Vec<OtherShare>, part: OtherShare) {
    let same = |o: &&mut OtherShare| (o.who.tgid, o.who.tid) == (part.who.tgid, part.who.tid);
    match parts.iter_mut().find(same) {
        Some(same) => same.amount += part.amount,
        None => parts.push(part),
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)] // Their names say it.
pub struct WaitWindow {
    /// Start, CLOCK_MONOTONIC ns.
    pub t0_ns: u64,
    pub t1_ns: u64,
    /// One row for each thread, in no order.
    pub rows: Vec<WaitRow>,
    /// Losses of the programs.
    pub losses: Losses,
}

impl WaitWindow {
    /// One row for each process.
    pub fn by_process(&self) -> Vec<WaitRow> {
        let mut sums: std::collections::BTreeMap<u32, WaitRow> = Default::default();
        let mut rows: Vec<&WaitRow> = self.rows.iter().collect();
        rows.sort_by_key(|row| (row.who.tgid, row.who.tid != Some(row.who.tgid), row.who.tid));
        for row in rows {
            let sum = sums.entry(row.who.tgid);
            let sum = sum.or_insert_with(|| WaitRow::new(row.who.process()));
            // The name of a thread may be unknown if it waited throughout the window without an
            // event.
            if sum.who.comm.bytes().is_empty() {
                sum.who = row.who.process();
            }
            sum.add(row);
        }
        let mut rows: Vec<WaitRow> = sums.into_values().collect();
        rows.iter_mut().for_each(WaitRow::sort);
        rows
    }
}

impl Counted for WaitWindow {
    const PANEL: Option<Panel> = Some(Panel::Always);

    fn rows(&self) -> usize {
        self.rows.len()
    }

    /// A row has lists of its own, which take memory too.
    fn bytes(&self) -> usize {
        let bytes = |row: &WaitRow| {
            size_of::<WaitRow>()
                + row.sleeps.len() * size_of::<Sleep>()
                + (row.ran_instead.len() + row.woken_by.len()) * size_of::<OtherShare>()
        };
        self.rows.iter().map(bytes).sum()
    }

    fn visible_to(&self, _: &Choice, is_theirs: &dyn Fn(&TaskRef) -> bool) -> WaitWindow {
        let rows = self.rows.iter().filter(|row| is_theirs(&row.who));
        WaitWindow { rows: rows.cloned().collect(), ..*self }
    }

    fn merge(&mut self, later: WaitWindow) {
        self.rows.iter_mut().for_each(|row| row.queued = 0);
        let thread = |row: &WaitRow| (row.who.tgid, row.who.tid);
        merge(&mut self.rows, later.rows, thread, WaitRow::go_on);
        self.rows.iter_mut().for_each(WaitRow::sort);
    }

    fn cut(&mut self, most: &dyn Fn(usize) -> usize) {
        leave(&mut self.rows, most, WaitRow::waited_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Comm;
    use proptest::prelude::*;

    /// The bucket that the BPF program chooses.
    fn bucket_of(ns: u64) -> usize {
        if ns < 4 {
            return ns as usize;
        }
        if ns >> 37 != 0 {
            return BUCKETS - 1;
        }
        let log = ns.ilog2() as usize;
        4 * (log - 1) + (ns >> (log - 2) & 3) as usize
    }

    fn latency(waits: &[u64]) -> Latency {
        let mut latency = Latency::default();
        for &ns in waits {
            let mut one = Latency { count: 1, ns, max_ns: Some(ns), buckets: [0; BUCKETS] };
            one.buckets[bucket_of(ns)] = 1;
            latency.add(&one);
        }
        latency
    }

    proptest! {
        #[test]
        fn a_bucket_holds_what_is_put_into_it(ns in 0u64..1 << 36) {
            let bucket = bucket_of(ns);
            prop_assert!(ns <= upper_ns(bucket));
            prop_assert!(bucket == 0 || ns > upper_ns(bucket - 1));
            prop_assert!(upper_ns(bucket) <= ns + ns / 4);
        }

        #[test]
        fn a_quantile_is_at_most_a_quarter_too_long(
            mut waits in proptest::collection::vec(0u64..1 << 36, 1..200), part in 0.0f64..=1.0
        ) {
            let found = latency(&waits).quantile_ns(part).unwrap();
            waits.sort_unstable();
            let rank = ((part * waits.len() as f64).ceil() as usize).clamp(1, waits.len());
            let exact = waits[rank - 1];
            prop_assert!(exact <= found && found <= exact + exact / 4, "{exact} {found}");
        }
    }

    #[test]
    fn no_wait_has_no_quantile() {
        assert_eq!(Latency::default().quantile_ns(0.99), None);
        assert_eq!(latency(&[u64::MAX]).quantile_ns(0.5), Some(u64::MAX));
    }

    #[test]
    fn threads_sum_to_their_process() {
        let who = |tid| TaskRef::thread(5, tid, Comm::new(b"t"), Comm::new(b"t"));
        let sleep = |nr, ns| Sleep {
            kind: WaitKind::Sleep,
            nr: SyscallNr(nr),
            count: 1,
            ns,
            max_ns: Some(ns),
        };
        let row = |tid, ns| WaitRow {
            sleeps: vec![sleep(1, ns), sleep(tid as i32 + 10, 1)],
            woken_by: vec![OtherShare { who: TaskRef::INTERRUPT, amount: 2 }],
            ..WaitRow::new(who(tid))
        };
        let waits = WaitWindow {
            t0_ns: 0,
            t1_ns: 1,
            rows: vec![row(6, 7), row(5, 20)],
            losses: Losses::default(),
        };
        let sum = &waits.by_process()[0];
        assert_eq!((sum.who, sum.threads), (who(5).process(), 2));
        assert_eq!(sum.sleeps[0], Sleep { count: 2, ns: 27, max_ns: Some(20), ..sleep(1, 0) });
        assert_eq!(sum.sleeps.len(), 3);
        assert_eq!(sum.woken_by, [OtherShare { who: TaskRef::INTERRUPT, amount: 4 }]);
        assert_eq!(sum.waited_ns(), 29);
        let mut nameless = waits;
        nameless.rows[1].who.comm = Comm::default();
        assert_eq!(nameless.by_process()[0].who, who(5).process(), "the other thread has a name");
    }

    #[test]
    fn windows_join_to_sums_and_keep_the_open_waits_of_the_end() {
        let who = |tid| TaskRef::thread(5, tid, Comm::new(b"t"), Comm::new(b"t"));
        let losses = |lost| Losses {
            lost,
            skipped: Some(2),
            unseen: 1,
            tables_bytes: Some(lost),
            left_out: lost,
        };
        let row = |tid, queued, waits: &[u64]| {
            let nr = SyscallNr(7);
            let (kind, max_ns) = (WaitKind::Sleep, Some(40 + queued));
            let sleeps = vec![Sleep { kind, nr, count: 1, ns: 30, max_ns }];
            WaitRow { queued, woken: latency(waits), sleeps, ..WaitRow::new(who(tid)) }
        };
        let window =
            |t0_ns, rows, lost| WaitWindow { t0_ns, t1_ns: t0_ns + 10, rows, losses: losses(lost) };
        let mut joined = window(0, vec![row(5, 1, &[10]), row(6, 3, &[1])], 4);
        joined.then(window(10, vec![row(7, 1, &[9]), row(5, 2, &[20, 30])], 5));
        assert_eq!((joined.t0_ns, joined.t1_ns), (0, 20));
        let expected =
            Losses { lost: 9, skipped: Some(4), unseen: 2, tables_bytes: Some(5), left_out: 9 };
        assert_eq!(joined.losses, expected);
        let told: Vec<_> = joined.rows.iter().map(|row| (row.who.tid, row.queued)).collect();
        assert_eq!(told, [(Some(5), 2), (Some(6), 0), (Some(7), 1)]);
        let both = &joined.rows[0];
        assert_eq!((both.threads, &both.woken), (1, &latency(&[10, 20, 30])));
        let Sleep { count, ns, max_ns, .. } = both.sleeps[0];
        assert_eq!((count, ns, max_ns, both.sleeps.len()), (2, 60, Some(42), 1));
    }
}
