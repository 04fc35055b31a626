//! Waits as text, the same in every view.

use crate::on_demand::waits::{by_name, Latency, OtherShare, Sleep, WaitKind, WaitRow, WaitWindow};
use crate::words::units::duration;

/// Number of parts shown of each list: tasks that ran instead, tasks that woke the thread, and
/// calls.
const PARTS: usize = 3;

/// Sleeps: `SLP 80.3 % (accept 79.9, epoll_wait 0.4) · LCK 6.9 % (futex 6.9) · THR 3.0 % (quota
/// used up)`, in per cent of `seconds` of thread time.
pub fn sleeps(row: &WaitRow, seconds: f64) -> Option<String> {
    let pct = |ns: u64| 100.0 * ns as f64 / (seconds.max(1e-9) * 1e9);
    let of_kind = |kind: WaitKind| {
        let calls: Vec<&Sleep> = row.sleeps.iter().filter(|s| s.kind == kind).collect();
        let total = row.sleep_ns(kind);
        if total == 0 {
            return None;
        }
        if kind == WaitKind::Throttle {
            return Some(format!("{} {:.1} % (quota used up)", kind.name(), pct(total)));
        }
        let parts: Vec<String> = calls
            .iter()
            .take(PARTS)
            .map(|s| {
                let call = if s.nr.0 < 0 { "no call".to_string() } else { s.nr.to_string() };
                format!("{call} {:.1}", pct(s.ns))
            })
            .collect();
        let more = if calls.len() > PARTS { ", ..." } else { "" };
        Some(format!("{} {:.1} % ({}{more})", kind.name(), pct(total), parts.join(", ")))
    };
    let kinds = [WaitKind::Sleep, WaitKind::Lock, WaitKind::Block, WaitKind::Throttle];
    let kinds: Vec<String> = kinds.into_iter().filter_map(of_kind).collect();
    (!kinds.is_empty()).then(|| kinds.join(" · "))
}

/// The call in which each thread of a process slept longest, longest sleepers first: `worker/12
/// futex 99.8 % · worker/11 epoll_wait 80.0 %`. `None` if fewer than two threads slept.
pub fn by_thread(waits: &WaitWindow, tgid: u32) -> Option<String> {
    let of_window = |ns: u64| 100.0 * ns as f64 / (waits.seconds().max(1e-9) * 1e9);
    let rows = waits.rows.iter().filter(|row| row.who.tgid == tgid);
    let most = |row| Some((row, longest(row)?));
    let mut threads: Vec<(&WaitRow, &Sleep)> = rows.filter_map(most).collect();
    if threads.len() < 2 {
        return None;
    }
    threads.sort_by_key(|(row, sleep)| (std::cmp::Reverse(sleep.ns), row.who.tid));
    let text = |(row, sleep): &(&WaitRow, &Sleep)| {
        let call = match (sleep.kind, sleep.nr.0 < 0) {
            (WaitKind::Throttle, _) => "its quota".to_string(),
            (_, true) => "no call".to_string(),
            (_, false) => sleep.nr.to_string(),
        };
        format!("{} {call} {:.1} %", row.who, of_window(sleep.ns))
    };
    Some(threads.iter().map(text).collect::<Vec<_>>().join(" · "))
}

fn longest(row: &WaitRow) -> Option<&Sleep> {
    row.sleeps.iter().filter(|sleep| sleep.ns > 0).max_by_key(|sleep| sleep.ns)
}

/// Waits for a CPU: `0.12 %: 34 waits, p99 41.0us, max 1.20ms`.
pub fn queue(latency: &Latency, seconds: f64) -> String {
    let time = |ns: Option<u64>| ns.map_or("-".into(), duration);
    format!(
        "{:.2} %: {} waits, p99 {}, max {}",
        100.0 * latency.ns as f64 / (seconds.max(1e-9) * 1e9),
        latency.count,
        time(latency.quantile_ns(0.99)),
        time(latency.max_ns),
    )
}

/// The largest parts with their shares, processes of one name summed: `make/12 60 % (90), sh × 312
/// 40 % (60)`. `None` without parts.
pub fn shares(parts: &[OtherShare], by_time: bool) -> Option<String> {
    let total: u64 = parts.iter().map(|p| p.amount).sum();
    if total == 0 {
        return None;
    }
    let parts = by_name(parts);
    let texts = parts.iter().take(PARTS).map(|(who, amount)| {
        let told = if by_time { duration(*amount) } else { amount.to_string() };
        format!("{who} {:.0} % ({told})", 100.0 * *amount as f64 / total as f64)
    });
    let more = if parts.len() > PARTS { ", ..." } else { "" };
    Some(texts.collect::<Vec<_>>().join(", ") + more)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::on_demand::SyscallNr;
    use crate::{Comm, TaskRef};

    #[test]
    fn a_used_up_quota_is_shown_and_is_no_call() {
        let who = TaskRef::thread(5, 5, Comm::new(b"web"), Comm::new(b"web"));
        let sleep = |kind, nr, ns| Sleep { kind, nr, count: 1, ns, max_ns: Some(ns) };
        let mut row = WaitRow::new(who);
        row.sleeps = vec![
            sleep(WaitKind::Throttle, SyscallNr::NONE, 600_000_000),
            sleep(WaitKind::Sleep, SyscallNr::NONE, 100_000_000),
        ];
        let told = sleeps(&row, 1.0).expect("it slept");
        assert_eq!(told, "SLP 10.0 % (no call 10.0) · THR 60.0 % (quota used up)");
    }

    #[test]
    fn processes_of_one_name_sum_with_their_number() {
        let part = |tgid, tid, thread: &[u8], process: &[u8], amount| OtherShare {
            who: TaskRef::thread(tgid, tid, Comm::new(thread), Comm::new(process)),
            amount,
        };
        let mut parts: Vec<OtherShare> =
            (100..412).map(|pid| part(pid, pid, b"sh", b"sh", 1)).collect();
        parts.push(part(500, 501, b"timer", b"sh", 88));
        parts.push(part(7, 8, b"worker", b"api", 300));
        parts.push(part(7, 9, b"worker", b"api", 200));
        parts.push(OtherShare { who: TaskRef::INTERRUPT, amount: 100 });
        let told = shares(&parts, false).expect("parts");
        assert_eq!(told, "sh × 313 40 % (400), worker/8 30 % (300), worker/9 20 % (200), ...");
        let processes: Vec<OtherShare> = parts
            .iter()
            .map(|part| OtherShare { who: part.who.process(), ..*part })
            .filter(|part| part.who.tgid < 102 || part.who.tgid == 500)
            .collect();
        let told = shares(&processes, false).expect("parts");
        // Both parts belong to threads of one process.
        assert!(told.starts_with("api (7) "), "{told}");
        assert_eq!(shares(&[], true), None);
    }

    #[test]
    fn each_thread_has_the_call_it_slept_in_longest() {
        let row = |tid, sleeps: &[(i32, u64)]| {
            let who = TaskRef::thread(5, tid, Comm::new(b"web"), Comm::new(b"web"));
            let sleep = |&(nr, ns): &(i32, u64)| Sleep {
                kind: WaitKind::Sleep,
                nr: SyscallNr(nr),
                count: 1,
                ns,
                max_ns: None,
            };
            WaitRow { sleeps: sleeps.iter().map(sleep).collect(), ..WaitRow::new(who) }
        };
        let rows = vec![row(5, &[(0, 10), (202, 400)]), row(6, &[(-1, 900)]), row(7, &[])];
        let losses = crate::on_demand::losses::Losses::default();
        let mut waits = WaitWindow { t0_ns: 0, t1_ns: 1000, rows, losses };
        let told = by_thread(&waits, 5).expect("two that slept");
        assert!(told.starts_with("web/6 no call 90.0 % · web/5 "), "{told}");
        assert!(told.ends_with(" 40.0 %"), "{told}");
        assert_eq!(by_thread(&waits, 6), None);
        waits.rows.truncate(1);
        assert_eq!(by_thread(&waits, 5), None, "one thread: it is all of the process");
    }
}
