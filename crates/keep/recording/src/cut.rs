//! Cuts a part of a recording into one file, for example to send it; can mask its names.

use crate::anonymous::Masks;
use crate::error::{FrameError, RecordingError};
use crate::file::FileBytes;
use crate::frame::Span;
use crate::gap::{Gap, GapReason, GapRecord};
use crate::parts::Recording;
use crate::reader::{Reader, Recorded, Step};
use crate::rows::{DetailKey, Facts, PageData};
use crate::windows::TimeRange;
use exactop_model::{Book, Snapshot};
use std::io::Write;

/// Windows between two keyframes, as recorders write them.
const KEYFRAME_WINDOWS: u64 = 64;

/// Summary of a cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Windows written.
    pub windows: u64,
    /// Gaps between them.
    pub gaps: u64,
    /// Bytes written.
    pub bytes: u64,
    /// When the machine rebooted within the time, ns since the epoch. A file is about one boot, so
    /// the cut ends there.
    pub boot: Option<i128>,
}

/// Why a cut failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CutError {
    /// The recording cannot be read.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// A frame cannot be encoded.
    #[error("cannot write a window: {0}")]
    Frame(#[from] FrameError),
    /// The output cannot be written.
    #[error("cannot write the file: {0}")]
    Io(#[from] std::io::Error),
}

/// Writes the windows of a time as one file. With `anonymous`, names of the host, commands, users,
/// control groups and units are replaced and command lines dropped. The same name gets the same
/// mask everywhere.
pub fn cut(
    recording: Recording,
    when: TimeRange,
    anonymous: bool,
    out: &mut dyn Write,
) -> Result<Cut, CutError> {
    let mut reader = Reader::new(recording);
    let Some(last) = when.go_to(&mut reader)? else { return Ok(Cut::default()) };
    let mut scissors = Scissors {
        out,
        masks: anonymous.then(Masks::default),
        file: None,
        book: Book::new(),
        fresh: true,
        missing: Vec::new(),
        cut: Cut::default(),
    };
    while let Some(step) = reader.step()? {
        match step {
            Step::Gap(gap) if gap.why == GapReason::Boot && scissors.file.is_some() => {
                scissors.cut.boot = Some(gap.to_wall_ns);
                break;
            }
            Step::Gap(gap) => scissors.gap(&gap),
            Step::Opened(whole) => scissors.open(*whole),
            Step::Window(recorded) => {
                let at = recorded.at;
                match when.has(recorded.span.wall_t1_ns()) {
                    false => scissors.pass_by(recorded.span, recorded.snapshot),
                    true => scissors.window(*recorded, &reader)?,
                }
                if last.is_reached(at) {
                    break;
                }
            }
        }
    }
    scissors.finish()
}

struct Scissors<'a> {
    out: &'a mut dyn Write,
    masks: Option<Masks>,
    /// The output file and the end of its last window.
    file: Option<(FileBytes, Span)>,
    book: Book,
    /// The next window needs a keyframe before it.
    fresh: bool,
    /// Missing time between the last window and the next, piece by piece: the reason and the end.
    missing: Vec<(GapRecord, Span)>,
    cut: Cut,
}

impl Scissors<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), CutError> {
        self.cut.bytes += bytes.len() as u64;
        Ok(self.out.write_all(bytes)?)
    }

    /// Starts a new book.
    fn open(&mut self, whole: Snapshot) {
        self.book = Book::new();
        self.book.advance(whole);
        self.fresh = true;
    }

    /// Skips a window outside the wanted time.
    fn pass_by(&mut self, span: Span, snapshot: Snapshot) {
        self.book.advance(snapshot);
        match self.missing.last_mut() {
            Some((stated, end)) if stated.why == GapReason::Cut => *end = span,
            _ => self.missing.push((GapReason::Cut.into(), span)),
        }
        // The decoder of the output would lag behind: start with a keyframe.
        self.fresh = true;
    }

    /// Notes a gap of the recording.
    fn gap(&mut self, gap: &Gap) {
        let Some((_, last)) = &self.file else { return };
        let from_ns = self.missing.last().map_or(last, |(_, end)| end).t1_ns;
        let (stated, length_ns) = match gap.why {
            // CLOCK_MONOTONIC stood still.
            GapReason::Suspend => {
                (GapRecord { why: gap.why, suspended_ns: gap.length_ns }, Some(0))
            }
            why => (why.into(), gap.length_ns),
        };
        let Some(t1_ns) = length_ns.and_then(|ns| from_ns.checked_add(ns)) else { return };
        let offset = gap.to_wall_ns - i128::from(t1_ns);
        let Ok(wall_offset_ns) = i64::try_from(offset) else { return };
        self.missing.push((stated, Span { t0_ns: from_ns, t1_ns, wall_offset_ns }));
    }

    fn window(&mut self, recorded: Recorded, reader: &Reader) -> Result<(), CutError> {
        let Recorded { span, snapshot, details, page, at: _ } = recorded;
        if self.fresh || self.cut.windows.is_multiple_of(KEYFRAME_WINDOWS) {
            self.keyframe(span, reader)?;
        }
        let shown = self.masked(snapshot.clone());
        let mut facts: Vec<(DetailKey, Facts)> = details.into_iter().collect();
        facts.sort_by_key(|(key, _)| (key.is_task, key.account));
        let facts = self.masked_facts(facts);
        let page = self.masked_page(page);
        let Some((file, last)) = &mut self.file else { return Ok(()) };
        let mut bytes = file.window(span, &shown)?;
        if !facts.is_empty() || !page.is_empty() {
            bytes.extend(file.details(span, facts, &page)?);
        }
        *last = span;
        self.put(&bytes)?;
        self.book.advance(snapshot);
        self.cut.windows += 1;
        Ok(())
    }

    /// Writes a keyframe of the window's beginning, with the details read by then.
    fn keyframe(&mut self, window: Span, reader: &Reader) -> Result<(), CutError> {
        let Some(whole) = self.book.whole() else { return Ok(()) };
        let span = Span { t1_ns: window.t0_ns, ..window };
        if self.file.is_none() {
            self.begin(span, reader)?;
        }
        let known = match self.fresh {
            true => self.known(&whole, reader),
            // The output already has the details.
            false => Vec::new(),
        };
        let whole = self.masked(whole);
        let Some((file, last)) = &mut self.file else { return Ok(()) };
        let mut bytes = Vec::new();
        if self.missing.is_empty() && last.t1_ns < span.t1_ns {
            self.missing.push((GapReason::NotRunning.into(), span));
        }
        // The wall clock of a frame is that of its beginning.
        let mut from = *last;
        for (stated, end) in self.missing.drain(..) {
            bytes.extend(file.gap(Span { t0_ns: from.t1_ns, t1_ns: end.t1_ns, ..from }, stated)?);
            from = end;
            self.cut.gaps += 1;
        }
        bytes.extend(file.keyframe(span, &whole)?);
        if !known.is_empty() {
            bytes.extend(file.details(span, known, &PageData::default())?);
        }
        self.fresh = false;
        self.put(&bytes)
    }

    /// Details that were read earlier and still hold.
    fn known(&mut self, whole: &Snapshot, reader: &Reader) -> Vec<(DetailKey, Facts)> {
        let both = whole.tasks.iter().flat_map(|task| {
            [true, false].map(|is_task| DetailKey { is_task, account: task.account.0 })
        });
        let known = both.filter_map(|key| Some((key, reader.lasting(key)?))).collect();
        self.masked_facts(known)
    }

    fn begin(&mut self, span: Span, reader: &Reader) -> Result<(), CutError> {
        let Some(machine) = reader.machine() else { return Ok(()) };
        let anonymous = self.masks.is_some() || reader.is_anonymous();
        let machine = match &self.masks {
            Some(_) => Masks::machine(machine),
            None => machine.clone(),
        };
        let (file, begin) = FileBytes::begin(&machine, span.t1_ns, anonymous)?;
        self.file = Some((file, span));
        // Gaps before the first window are not wanted.
        self.missing.clear();
        self.put(&begin)
    }

    fn masked(&mut self, snapshot: Snapshot) -> Snapshot {
        match &mut self.masks {
            Some(masks) => masks.snapshot(snapshot),
            None => snapshot,
        }
    }

    fn masked_facts(&mut self, facts: Vec<(DetailKey, Facts)>) -> Vec<(DetailKey, Facts)> {
        match &mut self.masks {
            Some(masks) => facts.into_iter().map(|(key, f)| (key, masks.facts(f))).collect(),
            None => facts,
        }
    }

    fn masked_page(&mut self, page: PageData) -> PageData {
        match &mut self.masks {
            Some(masks) => masks.page(page),
            None => page,
        }
    }

    fn finish(mut self) -> Result<Cut, CutError> {
        if let Some((mut file, last)) = self.file.take() {
            let seal = file.seal(Span { t0_ns: last.t1_ns, ..last })?;
            self.put(&seal)?;
        }
        self.out.flush()?;
        Ok(self.cut)
    }
}
