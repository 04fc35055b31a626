//! How busy the machine and each CPU were in the last windows, for the graphs of the header.

use super::App;
use exactop_model::{CpuRow, Frame, Needs, SourceKind};
use std::collections::VecDeque;

/// Most windows that are remembered.
const KEPT: usize = 300;

/// The last windows, the newest last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recent {
    windows: VecDeque<Window>,
    until_ns: u64,
}

/// Parts of CPU time that were not idle.
#[derive(Clone, Debug)]
struct Window {
    all: f32,
    /// Each CPU's number and part, by number.
    cpus: Vec<(u32, f32)>,
}

/// The part of these CPUs' time that was not idle; `None`: the window has no time of them.
pub(crate) fn busy(cpus: &[CpuRow]) -> Option<f64> {
    let total = cpus.iter().map(length_ns).fold(0, u64::saturating_add);
    let idle = |cpu: &CpuRow| cpu.account.time.idle_ns.saturating_add(cpu.account.time.offline_ns);
    let idle = cpus.iter().map(idle).fold(0, u64::saturating_add);
    (total > 0).then(|| total.saturating_sub(idle) as f64 / total as f64)
}

/// All accounts of a CPU, ns.
pub(crate) fn length_ns(cpu: &CpuRow) -> u64 {
    let time = &cpu.account.time;
    let always = [time.task_ns, time.unnamed_ns, time.idle_ns, time.offline_ns];
    let known = always.into_iter().chain(time.irq_ns).chain(time.steal_ns);
    known.fold(0, u64::saturating_add)
}

impl Recent {
    /// Notes a window, unless it is already noted (the same window arranged again) or covers the
    /// machine's whole life. True if it was noted.
    fn note(&mut self, frame: &Frame) -> bool {
        let books = &frame.books;
        if frame.is_since_boot() || frame.t1_ns <= self.until_ns || books.total_ns == 0 {
            return false;
        }
        self.until_ns = frame.t1_ns;
        let idle_ns = books.idle_ns.saturating_add(books.offline_ns);
        let busy_ns = books.total_ns.saturating_sub(idle_ns);
        let all = (busy_ns as f64 / books.total_ns as f64) as f32;
        let each = |cpu: &CpuRow| {
            let part = busy(std::slice::from_ref(cpu))? as f32;
            Some((cpu.account.time.cpu, part))
        };
        let mut cpus: Vec<(u32, f32)> = frame.cpus.iter().filter_map(each).collect();
        cpus.sort_unstable_by_key(|&(cpu, _)| cpu);
        self.windows.push_back(Window { all, cpus });
        if self.windows.len() > KEPT {
            self.windows.pop_front();
        }
        true
    }

    /// The last `most` values.
    pub(crate) fn last(&self, most: usize) -> impl Iterator<Item = f32> + '_ {
        self.windows.iter().skip(self.windows.len().saturating_sub(most)).map(|window| window.all)
    }

    /// The last `most` values of a CPU, back to the last window that lacks it.
    pub(crate) fn last_of_cpu(&self, cpu: u32, most: usize) -> Vec<f32> {
        let part = |window: &Window| {
            let at = window.cpus.binary_search_by_key(&cpu, |&(cpu, _)| cpu).ok()?;
            Some(window.cpus[at].1)
        };
        let mut parts: Vec<f32> = self.windows.iter().rev().map_while(part).take(most).collect();
        parts.reverse();
        parts
    }

    /// Number of values.
    pub(crate) fn len(&self) -> usize {
        self.windows.len()
    }
}

impl App {
    /// Notes a new window. A recording has no last windows, because its user moves in both directions.
    pub(super) fn note_recent(&mut self, frame: &Frame) {
        match &self.past {
            None => self.note_window(frame, self.attached_needs()),
            Some(past) if !past.kept && !self.paused => self.age_message(frame.length_ns()),
            Some(_) => {}
        }
    }

    /// Notes a new window of the present. The next one begins with the programs for these needs.
    pub(super) fn note_window(&mut self, frame: &Frame, attached: Needs) {
        if self.recent.note(frame) {
            self.age_message(frame.length_ns());
            self.note_attached(frame, attached);
        }
    }

    /// Notes that the next window begins: programs that are needed and that did not run yet are
    /// attached in it. Only the ledger has such programs.
    fn note_attached(&mut self, frame: &Frame, attached: Needs) {
        let wanted = match frame.provenance.source {
            SourceKind::Ledger => attached,
            _ => Needs::NONE,
        };
        self.attaches = [!self.watches.has(wanted), self.attaches[0]];
        self.watches = wanted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_testkit::frame;

    #[test]
    fn the_windows_of_a_cpu_begin_after_the_last_one_without_it() {
        let mut recent = Recent::default();
        let mut frame = frame(SourceKind::Ledger, false);
        let all = frame.cpus.clone();
        let cpu = all[1].account.time.cpu;
        for n in 1..=5 {
            (frame.t0_ns, frame.t1_ns) = (n, n + 1);
            frame.cpus = all.clone();
            let time = &mut frame.cpus[1].account.time;
            (time.task_ns, time.idle_ns, time.offline_ns) = (n, 10 - n, 0);
            (time.unnamed_ns, time.irq_ns, time.steal_ns) = (0, None, None);
            if n == 2 {
                frame.cpus.remove(1);
            }
            recent.note(&frame);
        }
        assert_eq!(recent.last_of_cpu(cpu, 9), [0.3, 0.4, 0.5]);
        assert_eq!(recent.last_of_cpu(cpu, 2), [0.4, 0.5]);
        assert!(recent.last_of_cpu(4711, 9).is_empty());
    }

    #[test]
    fn each_window_counts_once_and_the_oldest_goes() {
        let mut recent = Recent::default();
        let mut frame = frame(SourceKind::Ledger, false);
        for n in 1..=u64::try_from(KEPT).expect("few") + 7 {
            (frame.t0_ns, frame.t1_ns) = (n, n + 1);
            frame.books.idle_ns = frame.books.total_ns / n;
            recent.note(&frame);
            recent.note(&frame);
        }
        assert_eq!(recent.len(), KEPT);
        let all: Vec<f32> = recent.last(KEPT).collect();
        assert!(all.windows(2).all(|two| two[0] < two[1]), "each once: {all:?}");
        let [before, last] = [307.0 - 1.0, 307.0].map(|n: f32| 1.0 - 1.0 / n);
        let shown: Vec<f32> = recent.last(2).collect();
        assert!((shown[0] - before).abs() < 1e-4 && (shown[1] - last).abs() < 1e-4, "{shown:?}");
        (frame.t0_ns, frame.t1_ns) = (0, 1 << 40);
        recent.note(&frame);
        assert_eq!(recent.last(1).next(), shown.last().copied(), "a whole life is no window");
    }
}
