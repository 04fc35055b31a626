//! Details of rows: read once in a window, and kept while the process does nothing.

use crate::details::{Details, Held, OpenFiles};
use crate::error::SourceError;
use exactop_model::{Detail, Ident, Needs, Row, RowKind, TaskKey, Window};
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::Path;

/// The needs that are details of a row; the others are the source's.
pub(super) const DETAILS: [Needs; 5] =
    [Needs::STAT, Needs::STATM, Needs::CMDLINE, Needs::USER, Needs::CGROUP];

/// How long details of a process that did nothing are kept. Without it doing anything only others
/// can change them: the kernel by reclaiming its memory, or someone who moves it to another cgroup
/// or gives it another priority.
const KEPT_NS: u64 = 10_000_000_000;

/// What was read for a row.
#[derive(Default)]
struct Read {
    needs: Needs,
    detail: Detail,
    /// As read with the detail: what a ledger does not hear of while the task sleeps.
    ident: Option<Ident>,
    /// End of the window it was read in.
    at_ns: u64,
    /// End of the window it was last asked for in.
    used_ns: u64,
    open: OpenFiles,
}

/// The reader of details, and what it read.
pub(super) struct RowDetails {
    details: Details,
    /// By what the key stands for: a thread, or else a process.
    read: FxHashMap<(bool, TaskKey), Read>,
    /// The descriptors they keep open.
    held: Held,
}

impl RowDetails {
    /// From the /proc at `root`.
    pub(super) fn open(root: &Path) -> Result<RowDetails, SourceError> {
        let details = Details::open(root)?;
        Ok(RowDetails { details, read: FxHashMap::default(), held: Held::default() })
    }

    /// The name of a user.
    pub(super) fn user(&mut self, uid: u32) -> String {
        self.details.user(uid)
    }

    /// What there is for an exited group. They share one key: nothing is kept of them.
    pub(super) fn fill_exited(&mut self, row: &mut Row, needs: Needs) {
        self.details.fill(&mut [row], needs);
    }

    /// Everything is read anew when it is next asked for.
    pub(super) fn forget(&mut self) {
        self.read.values_mut().for_each(Read::forget);
    }

    /// Nothing that was read is of a task of the ledger that begins.
    pub(super) fn begin_anew(&mut self) {
        for (_, read) in self.read.drain() {
            self.held.changed(read.open.open(), 0);
        }
    }

    /// Forgets what was read for processes that did something since, and what is old. A source
    /// that looks at everyone cannot tell who did nothing: then all is forgotten. The files of
    /// rows that are still looked at stay open.
    pub(super) fn window_closed(&mut self, window: Option<&Window>) {
        let Some(window) = window else { return self.read.clear() };
        let complete = window.end.complete;
        let active: FxHashSet<u32> = match complete {
            true => FxHashSet::default(),
            false => window.tasks.iter().map(|t| t.sample.key.tgid).collect(),
        };
        let t1_ns = window.t1_ns;
        let held = &mut self.held;
        self.read.retain(|(_, key), read| {
            let is_old = t1_ns.saturating_sub(read.at_ns) >= KEPT_NS;
            if complete || is_old || active.contains(&key.tgid) {
                read.forget();
            }
            let used = t1_ns.saturating_sub(read.used_ns) < KEPT_NS;
            if !used {
                held.changed(read.open.open(), 0);
            }
            used
        });
        // What a storm took is given back, where it is much.
        if self.read.capacity() > (8 * self.read.len()).max(4096) {
            self.read.shrink_to(2 * self.read.len());
        }
    }

    /// Gives a row its details: what is kept of it, the rest read now, in the window that ended at `now_ns`.
    pub(super) fn fill(&mut self, row: &mut Row, needs: Needs, now_ns: u64) {
        let read = self.read.entry((row.kind == RowKind::Task, row.key)).or_default();
        read.used_ns = now_ns;
        let missing = DETAILS
            .into_iter()
            .filter(|&n| needs.has(n) && !read.needs.has(n))
            .fold(Needs::NONE, Needs::with);
        row.detail = std::mem::take(&mut read.detail);
        if missing != Needs::NONE {
            if read.needs == Needs::NONE {
                read.at_ns = now_ns;
            }
            let before = read.open.open();
            let keep = before > 0 || self.held.has_room();
            self.details.fill_one(row, missing, &mut read.open, keep);
            self.held.changed(before, read.open.open());
            read.needs = read.needs | missing;
            if missing.has(Needs::STAT) || missing.has(Needs::STATM) {
                read.ident = Some(row.ident);
            }
        } else if let Some(then) = read.ident {
            let Ident { ppid, nice, prio, policy, .. } = then;
            row.ident = Ident { ppid, nice, prio, policy, ..row.ident };
        }
        read.detail = row.detail.clone();
    }
}

impl Read {
    /// What was read may have changed; the files stay open.
    fn forget(&mut self) {
        self.needs = Needs::NONE;
        self.detail = Detail::default();
        self.ident = None;
    }
}
