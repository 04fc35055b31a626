//! Divides windows into slots. No I/O.

/// Limits of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Slots along the time line, besides those that gaps add, which are at most half as many.
    pub slots: usize,
    /// Slots times CPUs.
    pub cpu_cells: usize,
    /// Figures of rows: each row has one per column and slot in which it lived.
    pub row_cells: usize,
    /// Rows.
    pub rows: usize,
    /// Figures of control groups, counted like those of rows.
    pub group_cells: usize,
    /// Control groups.
    pub groups: usize,
    /// Figures of threads, counted like those of rows.
    pub thread_cells: usize,
    /// Threads.
    pub threads: usize,
    /// Pairs of a victim and a culprit, under each key.
    pub pairs: usize,
    /// Counts of waits by size, under each key, besides those of all other owners.
    pub size_cells: usize,
    /// Findings.
    pub marks: usize,
    /// Gaps.
    pub gaps: usize,
    /// Most rows that are weighed at once.
    pub weighed: usize,
}

impl Default for Limits {
    /// A page of at most some 14 MB: most figures of a column take three bytes.
    fn default() -> Limits {
        Limits {
            slots: 720,
            cpu_cells: 120_000,
            row_cells: 60_000,
            rows: 20_000,
            group_cells: 50_000,
            groups: 2000,
            thread_cells: 15_000,
            threads: 2000,
            pairs: 300,
            size_cells: 120_000,
            marks: 400,
            gaps: 1000,
            weighed: 200_000,
        }
    }
}

/// The facts of a window that decide on its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// True if it begins where the previous one ended, on the same machine and boot.
    pub goes_on: bool,
    /// Number of CPUs.
    pub cpus: usize,
}

impl Limits {
    /// Most CPUs with a strip in this number of slots: all CPUs of a window, if [`layout`] made the
    /// slots.
    pub(crate) fn cpus(&self, slots: usize) -> usize {
        (self.cpu_cells + self.cpu_cells / 2) / slots.max(1)
    }
}

/// The slot of each window. Slots have the same number of windows, but before a break or the end.
/// No slot spans a gap or a
/// change of the number of CPUs, unless there are hundreds of those.
pub(crate) fn layout(pieces: &[Piece], limits: &Limits) -> Vec<u32> {
    let cpus = pieces.iter().map(|piece| piece.cpus).max().map_or(1, |n| n.max(1));
    let most = limits.slots.min(limits.cpu_cells / cpus).max(1);
    let together = pieces.len().div_ceil(most).max(1);
    let breaks: Vec<bool> = pieces
        .iter()
        .enumerate()
        .map(|(at, piece)| at > 0 && (!piece.goes_on || pieces[at - 1].cpus != piece.cpus))
        .collect();
    let keeps_breaks = breaks.iter().filter(|&&is_break| is_break).count() <= most / 2;
    let (mut slot, mut filled) = (0, 0);
    let mut layout = Vec::with_capacity(pieces.len());
    for is_break in breaks {
        if filled == together || filled > 0 && is_break && keeps_breaks {
            slot += 1;
            filled = 0;
        }
        filled += 1;
        layout.push(slot);
    }
    layout
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(n: usize) -> Vec<Piece> {
        vec![Piece { goes_on: true, cpus: 2 }; n]
    }

    fn limits(slots: usize) -> Limits {
        Limits { slots, ..Limits::default() }
    }

    #[test]
    fn each_window_is_alone_where_there_is_room() {
        assert_eq!(layout(&pieces(4), &limits(4)), [0, 1, 2, 3]);
        assert_eq!(layout(&[], &limits(4)), [0; 0]);
    }

    #[test]
    fn a_slot_does_not_go_over_a_gap_or_another_number_of_cpus() {
        let mut of = pieces(8);
        of[3].goes_on = false;
        of[6].cpus = 3;
        of[7].cpus = 3;
        assert_eq!(layout(&of, &limits(4)), [0, 0, 1, 2, 2, 3, 4, 4]);
    }

    #[test]
    fn there_are_never_more_slots_than_allowed() {
        for n in [0, 1, 7, 100, 1001] {
            for gaps in [1, 2, 3, 50] {
                let mut of = pieces(n);
                of.iter_mut().step_by(gaps).for_each(|piece| piece.goes_on = false);
                let last = layout(&of, &limits(20)).last().map_or(0, |&slot| slot + 1);
                assert!(last <= 31, "{n} windows, a gap each {gaps}: {last} slots");
            }
        }
    }

    #[test]
    fn many_cpus_take_room() {
        let of = vec![Piece { goes_on: true, cpus: 100 }; 1000];
        let limits = Limits { slots: 1000, cpu_cells: 5000, ..Limits::default() };
        assert_eq!(layout(&of, &limits).last(), Some(&49));
    }
}
