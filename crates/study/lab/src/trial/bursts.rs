//! Bursts in the switch log. A busy task with a quota gets a CPU until the quota is used up, then
//! none until the next period.

use exactop_model::on_demand::switchlog::{SwitchEvent, SwitchEventKind};
use std::collections::HashMap;

/// Time without a CPU that ends a burst, ns. Other tasks, such as threads of interrupts, run for
/// less.
const GAP_NS: u64 = 1_000_000;

/// Bursts that lie completely within the log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bursts {
    /// CPU time of each burst, ms.
    pub lengths_ms: Vec<f64>,
    /// Beginning of each burst, ms.
    pub began_ms: Vec<f64>,
}

impl Bursts {
    /// Time from each beginning to the next, ms.
    pub fn apart_ms(&self) -> Vec<f64> {
        self.began_ms.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }
}

/// Bursts of some processes and their children, taken together.
pub fn find(events: &[SwitchEvent], pids: &[u32]) -> Bursts {
    let stretches = stretches(events, pids);
    let mut bursts: Vec<(u64, u64, u64)> = Vec::new();
    for (from, to) in stretches {
        match bursts.last_mut().filter(|(_, end, _)| from < *end + GAP_NS) {
            Some((_, end, run)) => (*end, *run) = ((*end).max(to), *run + to - from),
            None => bursts.push((from, to, to - from)),
        }
    }
    // The log cuts the first and the last.
    let whole = bursts.get(1..bursts.len().saturating_sub(1)).unwrap_or_default();
    let ms = |ns: u64| ns as f64 / 1e6;
    Bursts {
        lengths_ms: whole.iter().map(|&(.., run)| ms(run)).collect(),
        began_ms: whole.iter().map(|&(from, ..)| ms(from - events[0].at_ns)).collect(),
    }
}

/// Times at which one of them had a CPU, sorted by beginning.
fn stretches(events: &[SwitchEvent], pids: &[u32]) -> Vec<(u64, u64)> {
    let mut switches: Vec<&SwitchEvent> = events
        .iter()
        .filter(|event| matches!(event.what, SwitchEventKind::Switch { .. }))
        .collect();
    switches.sort_by_key(|event| event.at_ns);
    let mut since: HashMap<u32, u64> = HashMap::new();
    let mut stretches = Vec::new();
    for event in switches {
        if let Some(from) = since.remove(&event.cpu) {
            stretches.push((from, event.at_ns));
        }
        if pids.contains(&event.next_tgid) || pids.contains(&event.next_ppid) {
            since.insert(event.cpu, event.at_ns);
        }
    }
    stretches.sort_unstable();
    stretches
}

#[cfg(test)]
mod tests {
    use super::super::strip::drawn::switch;
    use super::*;

    #[test]
    fn a_short_interruption_does_not_end_a_burst_and_cut_bursts_do_not_count() {
        let mut events = vec![switch(0, 1, 7, 1), switch(3, 1, 0, 0)];
        for period in 1..5 {
            let begin = period * 100;
            // Another task runs for half a millisecond in the middle.
            let mut other = switch(begin + 10, 1, 50, 1);
            other.at_ns += 500_000;
            let [begins, goes_on, ends] = [begin, begin + 11, begin + 41];
            events.extend([switch(begins, 1, 7, 1), other]);
            events.extend([switch(goes_on, 1, 99, 7), switch(ends, 1, 0, 0)]);
        }
        // A switch on another CPU does not belong to them.
        events.push(switch(205, 0, 50, 1));
        let bursts = find(&events, &[7]);
        assert_eq!(bursts.lengths_ms, [40.5; 3]);
        assert_eq!(bursts.began_ms, [100.0, 200.0, 300.0]);
        assert_eq!(bursts.apart_ms(), [100.0, 100.0]);
    }

    #[test]
    fn a_task_without_switches_has_no_bursts() {
        assert_eq!(find(&[], &[7]), Bursts::default());
        assert_eq!(find(&[switch(0, 0, 7, 1)], &[7]), Bursts::default());
    }
}
