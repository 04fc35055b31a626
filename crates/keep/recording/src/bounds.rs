//! Limits on what a file may expand to. A few bytes can encode "as before" for very many rows.
//! Without limits a small file would take all memory and hours of time. The writer keeps the same
//! limits, so a reader accepts all that is written.

use crate::error::FrameError;

/// Most rows of a table in a frame: more than the tasks of any machine.
const ROWS: usize = 1 << 20;
/// Most figures in the rows of a frame, and in all remembered rows: enough for some 200,000 tasks.
pub(crate) const CELLS: usize = 1 << 24;
/// Overhead of a row in memory, counted in figures.
const ROW: usize = 8;
/// Most texts between two keyframes.
const TEXTS: usize = 1 << 20;
/// Most bytes of texts between two keyframes.
const TEXT_BYTES: usize = 64 << 20;
/// Most bytes of a file's header.
pub(crate) const LONGEST_HEADER: u64 = 1 << 20;
/// Most CPUs: more than any kernel supports.
pub(crate) const CPUS: usize = 1 << 16;
/// Most bytes or figures that one stored byte may expand to. Ten thousand idle tasks that are all
/// listed need a tenth of it.
const EXPANSION: usize = 1024;
/// Expansion allowed to every frame, however short.
const EXPANSION_BASE: usize = 1 << 16;

/// Content of a frame, decompressed.
#[derive(Clone, Debug)]
pub(crate) struct Payload {
    pub bytes: Vec<u8>,
    /// Written payload: the figures it expands to. Read payload: the most figures it may expand to.
    pub cells: usize,
}

/// Most bytes or figures that `stored` bytes may expand to.
pub(crate) fn expanded(stored: usize) -> usize {
    stored.saturating_mul(EXPANSION).saturating_add(EXPANSION_BASE)
}

/// Memory of `rows` rows, counted in figures.
pub(crate) fn cells(rows: usize, columns: usize) -> usize {
    rows.saturating_mul(columns + ROW)
}

/// Counts the figures that a frame expands to.
#[derive(Debug)]
pub(crate) struct Room {
    most: usize,
    used: usize,
}

impl Room {
    /// Allows at most `most` figures.
    pub fn new(most: usize) -> Room {
        Room { most: most.min(CELLS), used: 0 }
    }

    /// Counts `rows` rows of a table that may have at most `most`; fails above a limit.
    pub fn take(&mut self, rows: usize, columns: usize, most: usize) -> Result<(), FrameError> {
        self.used = self.used.saturating_add(cells(rows, columns));
        let possible = rows <= most.min(ROWS) && self.used <= self.most;
        possible.then_some(()).ok_or(FrameError::TooMuch)
    }

    /// Figures counted so far.
    pub fn used(&self) -> usize {
        self.used
    }
}

/// Fails if there are too many texts or too many bytes of them.
pub(crate) fn check_texts(texts: usize, bytes: usize) -> Result<(), FrameError> {
    (texts <= TEXTS && bytes <= TEXT_BYTES).then_some(()).ok_or(FrameError::TooMuch)
}
