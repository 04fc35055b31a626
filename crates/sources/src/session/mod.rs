//! A source, the book and the readers of details put together: frames, one window after the other.

#[cfg(test)]
mod tests;

use crate::details::Details;
use crate::error::SourceError;
use crate::procfs::ticks::own_cpu_ns;
use crate::procfs::Procfs;
use crate::source::{Request, Source, SplitOptions};
use crate::system::SystemReader;
use exactop_model::{
    Ask, Book, Detail, Feed, Frame, Needs, Provenance, Row, RowKind, TaskKey, Window,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::Path;

/// The needs that are details of a row; the others are the source's.
const DETAILS: [Needs; 5] = [Needs::STAT, Needs::STATM, Needs::CMDLINE, Needs::USER, Needs::CGROUP];

/// Which source to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Choice {
    /// The ledger, or procfs where the ledger cannot be had; the provenance says why.
    #[default]
    Auto,
    /// The ledger or nothing.
    Ledger,
    /// /proc.
    Procfs,
}

/// Opens a session on this machine.
///
/// # Errors
/// `Auto` and `Procfs`: when /proc cannot be read. `Ledger`: what the ledger could not get.
pub fn open(choice: Choice, split: SplitOptions) -> Result<Session, SourceError> {
    let root = Path::new("/proc");
    let source: Box<dyn Source> = match choice {
        Choice::Procfs => Box::new(Procfs::open(root)?),
        Choice::Ledger => ledger(split)?,
        Choice::Auto => match ledger(split) {
            Ok(source) => source,
            Err(why) => Box::new(Procfs::open(root)?.because(why.to_string())),
        },
    };
    Session::new(source, root)
}

#[cfg(feature = "bpf")]
fn ledger(split: SplitOptions) -> Result<Box<dyn Source>, SourceError> {
    use crate::ledger::{Ledger, Options};
    Ok(Box::new(Ledger::open(&Options { split, ..Options::default() })?))
}

#[cfg(not(feature = "bpf"))]
fn ledger(_: SplitOptions) -> Result<Box<dyn Source>, SourceError> {
    Err(SourceError::Unavailable {
        what: "this exactop was built without the BPF ledger".into(),
        advice: "build it with the feature 'bpf' for exact accounting".into(),
    })
}

/// How long details of a process that did nothing are kept. Without it doing anything only the
/// kernel can change them: by reclaiming its memory, or when someone moves it to another cgroup.
const KEPT_NS: u64 = 10_000_000_000;

/// What was read for a row.
#[derive(Default)]
struct Read {
    needs: Needs,
    detail: Detail,
    /// End of the window it was first read in.
    at_ns: u64,
}

/// A feed of frames from one source.
pub struct Session {
    source: Box<dyn Source>,
    book: Book,
    details: Details,
    system: SystemReader,
    window: Option<Window>,
    /// By what the key stands for: a thread, or else a process.
    read: FxHashMap<(bool, TaskKey), Read>,
}

impl Session {
    /// A session on a source; `root` is where /proc is, for details and the header.
    ///
    /// # Errors
    /// [`SourceError::Read`] when `root` cannot be opened.
    pub fn new(source: Box<dyn Source>, root: &Path) -> Result<Session, SourceError> {
        let details = Details::open(root)?;
        Ok(Session::with_readers(source, details, SystemReader::open(root)))
    }

    /// A session with readers of one's own, for tests on a made-up machine.
    pub fn with_readers(
        source: Box<dyn Source>,
        details: Details,
        system: SystemReader,
    ) -> Session {
        Session {
            source,
            book: Book::new(),
            details,
            system,
            window: None,
            read: FxHashMap::default(),
        }
    }

    /// Who measures and how good the figures are.
    pub fn provenance(&self) -> &Provenance {
        self.source.provenance()
    }

    /// The window closed last, for callers that want more than a frame of it.
    pub fn window(&self) -> Option<&Window> {
        self.window.as_ref()
    }

    /// Everything known of everyone as of the last snapshot.
    pub fn book(&self) -> &Book {
        &self.book
    }

    /// Closes the window that has been open since the call before, and forgets the details read
    /// in it. `false`: this call only opened the first window.
    ///
    /// # Errors
    /// What the source could not read.
    pub fn advance(&mut self, request: &Request) -> Result<bool, SourceError> {
        // The header's ticks right before the source's instant, so that they tell of the same
        // window; how long the source takes to collect its tasks does not matter then.
        let system = self.system.read();
        let mut snapshot = self.source.snapshot(request)?;
        snapshot.system = system;
        snapshot.cost.user_ns = own_cpu_ns();
        self.window = self.book.advance(snapshot);
        self.forget_details();
        Ok(self.window.is_some())
    }

    /// Forgets what was read for processes that did something since, and what is old. A source
    /// that looks at everyone cannot tell who did nothing: then all is forgotten.
    fn forget_details(&mut self) {
        let Some(window) = self.window.as_ref().filter(|w| !w.end.complete) else {
            return self.read.clear();
        };
        let active: FxHashSet<u32> = window.tasks.iter().map(|t| t.sample.key.tgid).collect();
        let t1_ns = window.t1_ns;
        self.read.retain(|(_, key), read| {
            !active.contains(&key.tgid) && t1_ns.saturating_sub(read.at_ns) < KEPT_NS
        });
    }
}

impl Feed for Session {
    fn next_frame(&mut self, ask: &Ask) -> Result<Option<Frame>, String> {
        let request = Request { needs: ask.needs, watch: ask.watch };
        self.advance(&request).map_err(|error| error.to_string())?;
        Ok(self.same_frame(ask))
    }

    fn same_frame(&mut self, ask: &Ask) -> Option<Frame> {
        Some(Frame::new(self.window.as_ref()?, &self.book, &ask.options))
    }

    fn details(&mut self, rows: &mut [&mut Row], needs: Needs) {
        for row in rows {
            // Exited groups share one key, but there is nothing to read for them either.
            if row.kind == RowKind::Exited {
                self.details.fill(&mut [row], needs);
                continue;
            }
            let at_ns = self.window.as_ref().map_or(0, |w| w.t1_ns);
            let fresh = || Read { at_ns, ..Read::default() };
            let read = self.read.entry((row.kind == RowKind::Task, row.key)).or_insert_with(fresh);
            let missing = DETAILS
                .into_iter()
                .filter(|&n| needs.has(n) && !read.needs.has(n))
                .fold(Needs::NONE, Needs::with);
            row.detail = std::mem::take(&mut read.detail);
            if missing != Needs::NONE {
                self.details.fill(&mut [row], missing);
                read.needs = read.needs | missing;
            }
            read.detail = row.detail.clone();
        }
    }
}
