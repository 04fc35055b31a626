//! Control groups over windows: what the kernel's files say, beside a source's tasks summed by group.

use crate::clock::now_ns;
use crate::cpu_list;
use crate::error::SourceError;
use crate::source::{Request, Source};
use exactop_cgroups::{CgroupError, Hierarchy};
use exactop_model::cgroups::{self, GroupRow, GroupSample, GroupUse, Groups};
use exactop_model::{Book, Window};
use rustc_hash::FxHashMap;

/// What tasks used in a window, by group.
type Uses = FxHashMap<u64, GroupUse>;

/// What the groups' files say, one window after the other.
struct GroupFiles {
    hierarchy: Hierarchy,
    before: Vec<GroupSample>,
}

impl GroupFiles {
    fn open() -> Result<GroupFiles, CgroupError> {
        let hierarchy = Hierarchy::of_this_machine()?;
        let before = hierarchy.groups();
        Ok(GroupFiles { hierarchy, before })
    }

    /// Ends the window of the files; the next begins.
    fn window(&mut self, uses: Option<&Uses>) -> Vec<GroupRow> {
        let after = self.hierarchy.groups();
        let rows = cgroups::rows(&self.before, &after, uses);
        self.before = after;
        rows
    }
}

/// Groups with a ledger of their own, where one can be had.
pub struct GroupWindows {
    files: GroupFiles,
    t0_ns: u64,
    ledger: Result<Sums, String>,
}

impl GroupWindows {
    /// Opens the ledger, if there is one, and the first window.
    ///
    /// # Errors
    /// When there are no groups; a ledger that cannot be had is no error.
    pub fn open() -> Result<GroupWindows, CgroupError> {
        let ledger = Sums::open().map_err(|error| error.to_string());
        Ok(GroupWindows { files: GroupFiles::open()?, t0_ns: now_ns(), ledger })
    }

    /// Ends the window; the next begins.
    pub fn window(&mut self) -> Groups {
        let uses = match &mut self.ledger {
            Ok(sums) => sums.window().map_err(|error| error.to_string()),
            Err(why) => Err(why.clone()),
        };
        let rows = self.files.window(uses.as_ref().ok());
        let t1_ns = now_ns();
        Groups {
            t0_ns: std::mem::replace(&mut self.t0_ns, t1_ns),
            t1_ns,
            cpus: cpu_list::online().map_or(1, |cpus| cpus.len() as u32),
            no_ledger: uses.err(),
            rows,
        }
    }
}

/// A ledger whose tasks are summed by group.
struct Sums {
    ledger: Box<dyn Source>,
    book: Book,
}

impl Sums {
    fn open() -> Result<Sums, SourceError> {
        let mut sums = Sums { ledger: ledger()?, book: Book::new() };
        sums.window()?;
        Ok(sums)
    }

    fn window(&mut self) -> Result<Uses, SourceError> {
        let snapshot = self.ledger.snapshot(&Request::default())?;
        let window = self.book.advance(snapshot);
        Ok(window.map_or_else(Uses::default, |window| cgroups::uses(&window, &self.book)))
    }
}

#[cfg(feature = "bpf")]
fn ledger() -> Result<Box<dyn Source>, SourceError> {
    use crate::ledger::{Ledger, Options};
    Ok(Box::new(Ledger::open(&Options { calibrate: false, ..Options::default() })?))
}

#[cfg(not(feature = "bpf"))]
fn ledger() -> Result<Box<dyn Source>, SourceError> {
    Err(SourceError::without_bpf())
}

/// Groups beside the windows of a source that someone else closes, while they are looked at.
#[derive(Default)]
pub(crate) struct GroupsBeside {
    /// The last window's; `None` in the first, and where there are no groups.
    pub groups: Option<Groups>,
    files: Option<GroupFiles>,
}

impl GroupsBeside {
    /// Reads the files as of a window's end; `is_ledger`: its tasks are worth summing.
    pub fn advance(&mut self, window: &Window, book: &Book, is_ledger: bool) {
        let Some(files) = &mut self.files else {
            self.files = GroupFiles::open().ok();
            return;
        };
        let uses = is_ledger.then(|| cgroups::uses(window, book));
        self.groups = Some(Groups {
            t0_ns: window.t0_ns,
            t1_ns: window.t1_ns,
            cpus: window.cpus.len() as u32,
            no_ledger: (!is_ledger).then(|| "the source is /proc".into()),
            rows: files.window(uses.as_ref()),
        });
    }
}
