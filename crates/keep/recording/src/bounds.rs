//! How much a file may stand for. A few bytes can say "as before" of very many rows: without bounds a
//! small file would take all memory, and hours. Whoever writes keeps to the same bounds, so that what
//! is written can be read.

use crate::error::Bad;

/// Rows of a table in a frame: more than any machine has tasks for.
const ROWS: usize = 1 << 20;
/// Figures of the rows of a frame, and of all rows that are remembered: those of some 200,000 tasks.
pub(crate) const CELLS: usize = 1 << 24;
/// A row takes memory beside its figures, as much as so many of them.
const ROW: usize = 8;
/// Texts between two keyframes,
const TEXTS: usize = 1 << 20;
/// and their bytes.
const TEXT_BYTES: usize = 64 << 20;
/// A file's header, which says little and is for people, too.
pub(crate) const LONGEST_HEADER: u64 = 1 << 20;
/// More CPUs than any kernel can have.
pub(crate) const CPUS: usize = 1 << 16;
/// What a byte in the file may stand for, in bytes and in figures. Ten thousand idle tasks that are
/// all listed need a tenth of it.
const EXPANSION: usize = 1024;
/// And every frame, however short.
const EXPANSION_BASE: usize = 1 << 16;

/// What a frame holds once decompressed.
#[derive(Clone, Debug)]
pub(crate) struct Payload {
    pub bytes: Vec<u8>,
    /// Figures it stands for; of one that is read: may stand for.
    pub cells: usize,
}

/// Bytes, or figures, that so many bytes of a file may stand for.
pub(crate) fn expanded(stored: usize) -> usize {
    stored.saturating_mul(EXPANSION).saturating_add(EXPANSION_BASE)
}

/// Figures that so many rows take the memory of.
pub(crate) fn cells(rows: usize, columns: usize) -> usize {
    rows.saturating_mul(columns + ROW)
}

/// Counts what a frame stands for.
#[derive(Debug)]
pub(crate) struct Room {
    most: usize,
    used: usize,
}

impl Room {
    /// For a frame that may stand for so many figures.
    pub fn new(most: usize) -> Room {
        Room { most: most.min(CELLS), used: 0 }
    }

    /// Rows of a table that may have `most`.
    pub fn take(&mut self, rows: usize, columns: usize, most: usize) -> Result<(), Bad> {
        self.used = self.used.saturating_add(cells(rows, columns));
        let possible = rows <= most.min(ROWS) && self.used <= self.most;
        possible.then_some(()).ok_or(Bad::TooMuch)
    }

    /// Figures so far.
    pub fn used(&self) -> usize {
        self.used
    }
}

/// Whether there may be so many texts with so many bytes.
pub(crate) fn check_texts(texts: usize, bytes: usize) -> Result<(), Bad> {
    (texts <= TEXTS && bytes <= TEXT_BYTES).then_some(()).ok_or(Bad::TooMuch)
}
