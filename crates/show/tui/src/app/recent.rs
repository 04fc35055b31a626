//! How busy the machine was in the last windows, for a line of bars in the header.

use super::App;
use exactop_model::Frame;
use std::collections::VecDeque;

/// Most windows that are remembered.
const KEPT: usize = 300;

/// The last windows, the newest last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recent {
    /// Parts of all CPUs' time that were not idle.
    busy: VecDeque<f32>,
    until_ns: u64,
}

impl Recent {
    /// Notes a window, unless it is already noted (the same window arranged again) or covers the
    /// machine's whole life.
    fn note(&mut self, frame: &Frame) {
        let books = &frame.books;
        if frame.is_since_boot() || frame.t1_ns <= self.until_ns || books.total_ns == 0 {
            return;
        }
        self.until_ns = frame.t1_ns;
        let idle_ns = books.idle_ns.saturating_add(books.offline_ns);
        let busy_ns = books.total_ns.saturating_sub(idle_ns);
        self.busy.push_back((busy_ns as f64 / books.total_ns as f64) as f32);
        if self.busy.len() > KEPT {
            self.busy.pop_front();
        }
    }

    /// The last `most` values.
    pub(crate) fn last(&self, most: usize) -> impl Iterator<Item = f32> + '_ {
        self.busy.iter().skip(self.busy.len().saturating_sub(most)).copied()
    }

    /// Number of values.
    pub(crate) fn len(&self) -> usize {
        self.busy.len()
    }
}

impl App {
    /// Notes a new window. A recording has no last windows, because its user moves in both directions.
    pub(super) fn note_recent(&mut self, frame: &Frame) {
        if self.past.is_none() {
            self.recent.note(frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_model::SourceKind;
    use exactop_testkit::frame;

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
