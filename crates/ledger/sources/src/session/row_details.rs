//! Details of rows: read once in a window, and kept while the process does nothing.

use crate::details::{DescriptorCount, Details, OpenFiles};
use crate::error::SourceError;
use exactop_model::{Detail, Ident, Needs, Row, RowKind, TaskKey, Window};
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::Path;

/// The needs that are details of a row; the source serves the others.
pub(super) const DETAILS: [Needs; 5] =
    [Needs::STAT, Needs::STATM, Needs::CMDLINE, Needs::USER, Needs::CGROUP];

/// Longest time that details of an inactive process are kept, ns. In this time only others can
/// change them: the kernel reclaims its memory, or a user changes its cgroup or priority.
const KEPT_NS: u64 = 10_000_000_000;

/// Details read for a row.
#[derive(Default)]
struct Read {
    needs: Needs,
    detail: Detail,
    /// Identity read with the details: changes that a ledger does not see while the task sleeps.
    ident: Option<Ident>,
    /// End of the window in which it was read, ns.
    at_ns: u64,
    /// End of the window in which it was last requested, ns.
    used_ns: u64,
    open: OpenFiles,
}

/// The reader of details and their cache.
pub(super) struct RowDetails {
    details: Details,
    /// Details by key, of a thread (true) or a process (false).
    read: FxHashMap<(bool, TaskKey), Read>,
    /// Number of descriptors that the cache keeps open.
    held: DescriptorCount,
}

impl RowDetails {
    /// Opens the reader on the /proc at `root`.
    pub(super) fn open(root: &Path) -> Result<RowDetails, SourceError> {
        let details = Details::open(root)?;
        Ok(RowDetails { details, read: FxHashMap::default(), held: DescriptorCount::default() })
    }

    pub(super) fn user(&mut self, uid: u32) -> String {
        self.details.user(uid)
    }

    /// Fills in the details of an exited group. Exited groups share one key, so nothing is cached.
    pub(super) fn fill_exited(&mut self, row: &mut Row, needs: Needs) {
        self.details.fill(&mut [row], needs);
    }

    /// Drops all cached details, so that they are read again when next requested.
    pub(super) fn forget(&mut self) {
        self.read.values_mut().for_each(Read::forget);
    }

    /// Drops the cache when a new ledger begins, whose tasks have other keys.
    pub(super) fn begin_anew(&mut self) {
        for (_, read) in self.read.drain() {
            self.held.changed(read.open.open(), 0);
        }
    }

    /// Drops the details of processes that were active in the window, and old details. If the
    /// source reads all tasks, it does not know the active ones, so all details are dropped. Files
    /// of rows on the screen stay open.
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
        // Give back memory of a storm if it is much.
        if self.read.capacity() > (8 * self.read.len()).max(4096) {
            self.read.shrink_to(2 * self.read.len());
        }
    }

    /// Fills in a row's details, cached or read now, in the window that ended at `now_ns`.
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
    /// Marks all details as changed; the files stay open.
    fn forget(&mut self) {
        self.needs = Needs::NONE;
        self.detail = Detail::default();
        self.ident = None;
    }
}
