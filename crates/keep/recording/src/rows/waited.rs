//! Waits of a process while its page was open: threads, sleeps, lengths of their run-queue waits,
//! the tasks that ran meanwhile, and the tasks that woke them.

use super::cells::{Cells, Fields};
use super::words;
use crate::error::FrameError;
use crate::schema::TableId;
use crate::strings::Strings;
use crate::values::Row;
use exactop_model::ledger::key::TaskRef;
use exactop_model::on_demand::losses::Losses;
use exactop_model::on_demand::waits::{Latency, OtherShare, Sleep, WaitRow, WaitWindow, BUCKETS};
use exactop_model::{Comm, SyscallNr};

/// Waits of a process in a window.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Waited {
    /// PID of the process.
    pub tgid: u32,
    /// The waits, or why they are unknown.
    pub waits: Result<WaitWindow, String>,
}

impl Waited {
    /// Joins these waits with those of the next window; `None` if they are another process's.
    pub fn and(self, later: Waited) -> Option<Waited> {
        let (tgid, waits) = (self.tgid, self.waits);
        let waits = waits.and_then(|mut waits| {
            waits.then(later.waits?);
            Ok(waits)
        });
        (tgid == later.tgid).then_some(Waited { tgid, waits })
    }
}

/// The tables that hold waits.
const TABLES: [TableId; 5] =
    [TableId::Waits, TableId::Wait, TableId::WaitSleep, TableId::WaitLength, TableId::WaitOther];

pub(crate) fn waited(waited: &Waited, strings: &mut Strings) -> Vec<(TableId, Vec<Row>)> {
    let mut tables = TABLES.map(|which| (which, Vec::new()));
    let [whole, threads, sleeps, lengths, others] = tables.each_mut().map(|(_, rows)| rows);
    whole.push(window(waited, strings));
    let rows = waited.waits.iter().flat_map(|waits| &waits.rows);
    for (n, row) in (0..).zip(rows) {
        threads.push(thread(n, row, strings));
        for sleep in &row.sleeps {
            sleeps.push(slept(sleeps.len() as u64, n, sleep, strings));
        }
        for (preempted, latency) in [(false, &row.woken), (true, &row.preempted)] {
            let used = (0..).zip(latency.buckets).filter(|&(_, waits)| waits > 0);
            for (bucket, waits) in used {
                let mut cells = Cells::new(TableId::WaitLength.table(), strings);
                cells.uint(n).bool(preempted).uint(bucket).uint(waits);
                lengths.push(cells.row(lengths.len() as u64));
            }
        }
        for (ran_instead, parts) in [(true, &row.ran_instead), (false, &row.woken_by)] {
            for part in parts {
                let mut cells = Cells::new(TableId::WaitOther.table(), strings);
                cells.uint(n).bool(ran_instead);
                put_who(&mut cells, part.who);
                cells.uint(part.amount);
                others.push(cells.row(others.len() as u64));
            }
        }
    }
    tables.into()
}

/// The row of the window: the process, and what is missing.
fn window(waited: &Waited, strings: &mut Strings) -> Row {
    let mut cells = Cells::new(TableId::Waits.table(), strings);
    cells.uint(u64::from(waited.tgid));
    let known = waited.waits.as_ref();
    let figure = |of: fn(&WaitWindow) -> Option<u64>| known.ok().and_then(of);
    cells
        .uint(figure(|waits| Some(waits.t0_ns)))
        .uint(figure(|waits| Some(waits.t1_ns)))
        .uint(figure(|waits| Some(waits.losses.lost)))
        .uint(figure(|waits| waits.losses.skipped))
        .uint(figure(|waits| Some(waits.losses.unseen)))
        .uint(figure(|waits| waits.losses.tables_bytes))
        .text(known.err().map(|why| why.as_bytes()));
    cells.row(0)
}

fn thread(n: u64, row: &WaitRow, strings: &mut Strings) -> Row {
    let mut cells = Cells::new(TableId::Wait.table(), strings);
    put_who(&mut cells, row.who);
    cells.uint(row.queued);
    for Latency { count, ns, max_ns, buckets: _ } in [&row.woken, &row.preempted] {
        cells.uint(*count).uint(*ns).uint(*max_ns);
    }
    cells.row(n)
}

fn slept(key: u64, n: u64, sleep: &Sleep, strings: &mut Strings) -> Row {
    let Sleep { kind, nr, count, ns, max_ns } = *sleep;
    let mut cells = Cells::new(TableId::WaitSleep.table(), strings);
    cells
        .uint(n)
        .text(Some(words::wait_kind(kind).as_bytes()))
        .int(i64::from(nr.0))
        .uint(count)
        .uint(ns)
        .uint(max_ns);
    cells.row(key)
}

fn put_who(cells: &mut Cells, who: TaskRef) {
    let TaskRef { tgid, tid, comm, process } = who;
    let known = (!process.bytes().is_empty()).then(|| words::comm(&process));
    cells.uint(u64::from(tgid)).uint(tid.map(u64::from)).text(Some(words::comm(&comm))).text(known);
}

fn who_of(f: &mut Fields) -> Result<TaskRef, FrameError> {
    Ok(TaskRef {
        tgid: f.known_small()?,
        tid: f.small()?,
        comm: words::comm_of(f.text()?)?,
        process: f.text()?.map_or(Ok(Comm::default()), |name| words::comm_of(Some(name)))?,
    })
}

/// Reads these tables of a frame; `None` if no process page was open.
pub(crate) fn waited_of<'a>(
    rows: impl Fn(TableId) -> &'a [Row],
    strings: &Strings,
) -> Result<Option<Waited>, FrameError> {
    let Some(whole) = rows(TableId::Waits).first() else { return Ok(None) };
    let mut f = Fields::new(whole, strings);
    let tgid = f.known_small()?;
    let [t0_ns, t1_ns, lost, skipped, unseen, tables_bytes] = std::array::from_fn(|_| f.uint());
    if let Some(why) = f.text()? {
        return Ok(Some(Waited { tgid, waits: Err(String::from_utf8_lossy(why).into_owned()) }));
    }
    let known = |figure: Option<u64>| figure.ok_or(FrameError::Missing);
    let losses =
        Losses { lost: known(lost)?, skipped, unseen: known(unseen)?, tables_bytes, left_out: 0 };
    let threads = rows(TableId::Wait).iter().map(|row| thread_of(row, strings));
    let mut threads: Vec<WaitRow> = threads.collect::<Result<_, _>>()?;
    parts(&mut threads, &rows, strings)?;
    let window = WaitWindow { t0_ns: known(t0_ns)?, t1_ns: known(t1_ns)?, rows: threads, losses };
    Ok(Some(Waited { tgid, waits: Ok(window) }))
}

fn thread_of(row: &Row, strings: &Strings) -> Result<WaitRow, FrameError> {
    let mut f = Fields::new(row, strings);
    let mut thread = WaitRow::new(who_of(&mut f)?);
    thread.queued = f.known()?;
    for latency in [&mut thread.woken, &mut thread.preempted] {
        (latency.count, latency.ns, latency.max_ns) = (f.known()?, f.known()?, f.uint());
    }
    Ok(thread)
}

/// Reads the other tables into `threads`.
fn parts<'a>(
    threads: &mut [WaitRow],
    rows: impl Fn(TableId) -> &'a [Row],
    strings: &Strings,
) -> Result<(), FrameError> {
    let mut of =
        |f: &mut Fields,
         what: &mut dyn FnMut(&mut WaitRow, &mut Fields) -> Result<(), FrameError>| {
            let place = usize::try_from(f.known()?).map_err(|_| FrameError::Number)?;
            what(threads.get_mut(place).ok_or(FrameError::Number)?, f)
        };
    for row in rows(TableId::WaitSleep) {
        of(&mut Fields::new(row, strings), &mut |thread, f| {
            let kind = words::wait_kind_of(f.text()?)?;
            let nr = SyscallNr(f.small_int()?.ok_or(FrameError::Missing)?);
            let (count, ns, max_ns) = (f.known()?, f.known()?, f.uint());
            thread.sleeps.push(Sleep { kind, nr, count, ns, max_ns });
            Ok(())
        })?;
    }
    for row in rows(TableId::WaitLength) {
        of(&mut Fields::new(row, strings), &mut |thread, f| {
            let latency = if f.bool()? { &mut thread.preempted } else { &mut thread.woken };
            let bucket = usize::try_from(f.known()?).map_err(|_| FrameError::Number)?;
            let bucket = latency.buckets.get_mut(bucket).ok_or(FrameError::Number)?;
            *bucket = f.known()?;
            Ok(())
        })?;
    }
    for row in rows(TableId::WaitOther) {
        of(&mut Fields::new(row, strings), &mut |thread, f| {
            let parts = if f.bool()? { &mut thread.ran_instead } else { &mut thread.woken_by };
            parts.push(OtherShare { who: who_of(f)?, amount: f.known()? });
            Ok(())
        })?;
    }
    Ok(())
}

const _: () = assert!(BUCKETS == 144, "the schema says how long the waits of a bucket are");
