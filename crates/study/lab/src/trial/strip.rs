//! Strips from the switch log: the task on each CPU over time.

use crate::record::Strip;
use exactop_model::on_demand::switchlog::{SwitchEvent, SwitchEventKind};
use std::collections::HashMap;

/// Most pieces of a strip: more cannot be distinguished.
const MOST: usize = 3_000;
/// Most workers with their own name.
const NAMES: usize = 7;

/// Strip of some CPUs. A worker is its process and that process's children. `capped`: a quota may
/// stop them.
pub fn build(
    events: &[SwitchEvent],
    workers: &[(u32, String)],
    cpus: &[usize],
    capped: bool,
    lost: u64,
) -> Strip {
    let mut names: Vec<String> = workers.iter().take(NAMES).map(|(_, name)| name.clone()).collect();
    names.push("others".into());
    let others = names.len() - 1;
    let whose = |event: &SwitchEvent| {
        let is = |(pid, _): &(u32, String)| *pid == event.next_tgid || *pid == event.next_ppid;
        workers.iter().position(is).map_or(others, |at| at.min(others))
    };
    let switches = events.iter().filter(|e| matches!(e.what, SwitchEventKind::Switch { .. }));
    let mut switches: Vec<&SwitchEvent> =
        switches.filter(|e| cpus.contains(&(e.cpu as usize))).collect();
    switches.sort_by_key(|event| event.at_ns);
    let Some(first) = switches.first().map(|e| e.at_ns) else {
        return Strip { names, left_out: lost, ..Strip::default() };
    };
    let last = switches.last().map_or(first, |e| e.at_ns);
    let ms = |at_ns: u64| (at_ns - first) as f64 / 1e6;
    let mut strip = Strip { names, length_ms: ms(last), left_out: lost, ..Strip::default() };
    let mut on: HashMap<u32, (u64, Option<usize>)> = HashMap::new();
    let mut held = WaitingWorkers::default();
    for event in switches {
        let next = (event.next_tid != 0).then(|| whose(event));
        let before = on.insert(event.cpu, (event.at_ns, next));
        let Some((since, who)) = before else { continue };
        let (cpu, from, to) = (event.cpu, ms(since), ms(event.at_ns));
        let worker = |who: &Option<usize>| who.filter(|&who| who < others);
        if strip.pieces.len() >= MOST {
            strip.left_out += u64::from(who.is_some());
        } else if let Some(who) = who {
            strip.pieces.push((cpu, from, to, who));
        } else if held.is_any() && capped && cpus.len() == 1 {
            strip.throttled.push((cpu, from, to));
        }
        held.switched(worker(&who), worker(&next), event);
    }
    // Tasks that are on a CPU to the end.
    for (cpu, (since, who)) in on {
        if let Some(who) = who.filter(|_| since < last && strip.pieces.len() < MOST) {
            strip.pieces.push((cpu, ms(since), ms(last), who));
        }
    }
    strip
        .pieces
        .sort_by(|a, b| (a.0, a.1).partial_cmp(&(b.0, b.1)).unwrap_or(std::cmp::Ordering::Equal));
    strip
}

/// Workers that can run but have no CPU. If their only CPU is idle meanwhile, a quota stops them.
#[derive(Default)]
struct WaitingWorkers(Vec<usize>);

impl WaitingWorkers {
    fn switched(&mut self, from: Option<usize>, to: Option<usize>, event: &SwitchEvent) {
        let SwitchEventKind::Switch { preempted, state } = event.what else { return };
        self.0.extend(from.filter(|_| preempted || state == 0));
        self.0.retain(|who| Some(*who) != to);
    }

    fn is_any(&self) -> bool {
        !self.0.is_empty()
    }
}

#[cfg(test)]
pub(super) mod drawn {
    use super::*;
    use exactop_model::Comm;

    /// A switch to a task, which is its own process, from a task that can still run.
    pub fn switch(at_ms: u64, cpu: u32, next: u32, ppid: u32) -> SwitchEvent {
        SwitchEvent {
            at_ns: 1_000_000_000 + at_ms * 1_000_000,
            cpu,
            what: SwitchEventKind::Switch { preempted: false, state: 0 },
            prev_tid: 0,
            prev_prio: 120,
            next_tid: next,
            next_tgid: next,
            next_ppid: ppid,
            next_prio: 120,
            next_comm: Comm::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::drawn::switch;
    use super::*;

    #[test]
    fn pieces_join_and_idle_is_a_gap() {
        let events = [
            switch(0, 1, 7, 1),
            switch(4, 1, 50, 8),
            switch(6, 1, 0, 0),
            switch(7, 1, 99, 1),
            switch(7, 0, 7, 1),
            switch(10, 1, 7, 1),
        ];
        let workers = [(7, "a".to_string()), (8, "b".to_string())];
        let strip = build(&events, &workers, &[1], false, 0);
        assert_eq!(strip.names, ["a", "b", "others"]);
        assert_eq!(strip.pieces, [(1, 0.0, 4.0, 0), (1, 4.0, 6.0, 1), (1, 7.0, 10.0, 2)]);
        assert_eq!((strip.length_ms, strip.left_out), (10.0, 0));
    }

    #[test]
    fn idle_time_while_a_worker_could_run_is_throttling() {
        let asleep = |mut event: SwitchEvent| {
            event.what = SwitchEventKind::Switch { preempted: false, state: 1 };
            event
        };
        let events = [
            switch(0, 1, 7, 1),
            switch(4, 1, 0, 0),
            // A kernel thread in between changes nothing.
            switch(6, 1, 50, 2),
            asleep(switch(7, 1, 0, 0)),
            switch(10, 1, 7, 1),
            asleep(switch(12, 1, 0, 0)),
            switch(15, 1, 7, 1),
        ];
        let workers = [(7, "a".to_string())];
        let strip = build(&events, &workers, &[1], true, 0);
        assert_eq!(strip.pieces, [(1, 0.0, 4.0, 0), (1, 6.0, 7.0, 1), (1, 10.0, 12.0, 0)]);
        assert_eq!(strip.throttled, [(1, 4.0, 6.0), (1, 7.0, 10.0)]);
        assert_eq!(build(&events, &workers, &[1], false, 0).throttled, []);
        assert_eq!(build(&events, &workers, &[0, 1], true, 0).throttled, []);
    }
}
