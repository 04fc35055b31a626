//! Retention: removes files that are too old or too much.

use crate::disk::{Disk, StoredFile};
use crate::frame::Span;
use crate::options::{Notice, Options};

/// The wall clock counts once it was not set for this long, ns.
const STEADY_NS: u64 = 600_000_000_000;
/// A move of the wall clock up to this is not a set, ns: NTP slews it.
const TURNED_NS: u64 = 1_000_000_000;

/// Decides which files to remove. Files of this boot are as old as CLOCK_MONOTONIC says; nothing
/// can set it. Files of an earlier boot have only the wall clock. It counts once it is steady: a
/// machine without a clock battery starts in 1970, and a wrong time of an NTP server is soon
/// corrected.
#[derive(Debug, Default)]
pub(crate) struct Retention {
    /// Offset of the wall clock from CLOCK_MONOTONIC, and since when it holds.
    steady: Option<(i64, u64)>,
}

impl Retention {
    /// Removes files, as of the last window's end; `running`: the newest file is being written.
    pub fn apply(
        &mut self,
        disk: &mut Disk,
        options: &Options,
        boot_id: &str,
        last: Span,
        running: bool,
    ) -> Vec<Notice> {
        if let (Some(file), true) = (disk.files.last_mut(), running) {
            file.to_wall_ns = Some(last.wall_t1_ns());
            file.to_ns = Some(last.t1_ns);
            file.boot_id = Some(boot_id.into());
        }
        let is_steady = self.is_steady(last);
        let mut notices = Vec::new();
        if let Some(keep_ns) = options.keep.map(|keep| keep.as_nanos()) {
            // All files before an old one are old, whatever their clocks said.
            let is_old = |file: &StoredFile| age_ns(file, boot_id, last, is_steady) > keep_ns;
            while let Some(gone) = disk.drop_first(is_old) {
                notices.push(Notice::TooOld(gone.bytes));
            }
        }
        while options.max_bytes.is_some_and(|most| disk.bytes() > most) {
            let Some(gone) = disk.drop_oldest() else { break };
            notices.push(Notice::Shortened(gone.bytes));
        }
        notices
    }

    fn is_steady(&mut self, now: Span) -> bool {
        let (offset_ns, since_ns) = *self.steady.get_or_insert((now.wall_offset_ns, now.t1_ns));
        if offset_ns.abs_diff(now.wall_offset_ns) > TURNED_NS {
            self.steady = Some((now.wall_offset_ns, now.t1_ns));
            return false;
        }
        now.t1_ns.saturating_sub(since_ns) >= STEADY_NS
    }
}

/// Lower bound of the age of a file's end, ns.
fn age_ns(file: &StoredFile, boot_id: &str, now: Span, is_steady: bool) -> u128 {
    let this_boot = file.boot_id.as_deref() == Some(boot_id);
    match (file.to_ns, file.to_wall_ns) {
        (Some(to_ns), _) if this_boot => now.t1_ns.saturating_sub(to_ns).into(),
        (_, Some(to_wall_ns)) if is_steady => {
            u128::try_from(now.wall_t1_ns() - to_wall_ns).unwrap_or(0)
        }
        _ => 0,
    }
}
