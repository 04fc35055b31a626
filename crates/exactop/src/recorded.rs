//! What is shown is also recorded: a feed whose session tells a recorder, and whoever asked for it
//! what becomes of that.

use crate::failure::{complain, Failure};
use crate::options::time::{size, stretch};
use exactop_model::cgroups::GroupSample;
use exactop_model::feed::timeline::Timeline;
use exactop_model::on_demand::waits::WaitWindow;
use exactop_model::text::escape::escape_str;
use exactop_model::{Ask, Book, Feed, Frame, Needs, Row, Snapshot, Tap};
use exactop_recording::{Machine, Notice, Options, Recorder};
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

/// How long it is kept unless someone says otherwise, as `--keep` has it.
pub const KEEP: &str = "7d";
/// How much of it, as `--max-size` has it.
pub const MOST: &str = "2G";

/// What is kept where nobody says how much.
pub fn kept() -> Options {
    let (keep, most) = (stretch(KEEP), size(MOST));
    Options {
        keep: Some(keep.expect("a length of time")),
        max_bytes: Some(most.expect("a size")),
        ..Options::default()
    }
}

/// A recorder that a session tells, and that others ask.
#[derive(Clone)]
pub struct Shared(Rc<RefCell<Recorder>>);

impl Shared {
    /// Records windows of this machine into a directory.
    ///
    /// # Errors
    /// Someone else does, or could change it, or it cannot be written.
    pub fn open(path: &Path, machine: Machine, options: Options) -> Result<Shared, Failure> {
        let recorder = Recorder::open(path, machine, options).map_err(Failure::failed)?;
        Ok(Shared(Rc::new(RefCell::new(recorder))))
    }

    /// Something of it.
    pub fn with<T>(&self, what: impl FnOnce(&mut Recorder) -> T) -> T {
        what(&mut self.0.borrow_mut())
    }

    /// Says on standard error what there is to know, a line each.
    pub fn tell(&self) {
        self.with(Recorder::notices).iter().for_each(|notice| complain(&words(notice)));
    }
}

impl Tap for Shared {
    fn snapshot(&mut self, now: &Snapshot, before: &Book) {
        self.with(|recorder| Tap::snapshot(recorder, now, before));
    }

    fn waits(&mut self, tgid: u32, waits: &Result<WaitWindow, String>) {
        self.with(|recorder| recorder.waits(tgid, waits));
    }

    fn groups(&mut self, before: &[GroupSample], after: &[GroupSample]) {
        self.with(|recorder| recorder.groups(before, after));
    }

    fn details(&mut self, row: &Row) {
        self.with(|recorder| recorder.details(row));
    }
}

fn words(notice: &Notice) -> String {
    match notice {
        Notice::Cut(bytes) => {
            format!("recording: {bytes} bytes of a window that was not written to its end are cut off")
        }
        Notice::Unreadable(files, bytes) => format!(
            "recording: {files} files that cannot be read ({bytes} bytes) count in --max-size and go when \
             their time comes: 'exactop record verify'"
        ),
        Notice::Foreign(names) => {
            let shown: Vec<String> = names.iter().take(3).map(|name| escape_str(name)).collect();
            let (shown, more) = (shown.join(", "), names.len().saturating_sub(3));
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("recording: left alone, as none of its files, and not counted: {shown}{more}")
        }
        Notice::Shortened(bytes) => format!(
            "recording: {bytes} bytes of the oldest windows went because of --max-size, before their \
             time"
        ),
        Notice::TooOld(bytes) => {
            format!("recording: {bytes} bytes of windows went that are older than --keep")
        }
        Notice::Full(bytes) => format!(
            "recording: the disk is full; {bytes} bytes of the oldest windows went to make room"
        ),
        Notice::NotWritten(why) => format!("recording: {why}; what is not written will be a gap"),
        Notice::Again => "recording: it can be written again".into(),
    }
}

/// A feed that is recorded.
pub struct Recorded {
    pub feed: Box<dyn Feed>,
    pub recorder: Shared,
    /// It has a screen of its own: what there is to say comes at its end, else window by window.
    pub on_screen: bool,
}

impl Feed for Recorded {
    fn next_frame(&mut self, ask: &Ask) -> Result<Option<Frame>, String> {
        let frame = self.feed.next_frame(ask);
        if !self.on_screen {
            self.recorder.tell();
        }
        frame
    }

    fn same_frame(&mut self, ask: &Ask) -> Option<Frame> {
        self.feed.same_frame(ask)
    }

    fn details(&mut self, rows: &mut [&mut Row], needs: Needs) {
        self.feed.details(rows, needs);
    }

    fn forget_details(&mut self) {
        self.feed.forget_details();
    }

    fn timeline(&mut self) -> Option<&mut dyn Timeline> {
        self.feed.timeline()
    }

    fn look_back(&mut self) -> bool {
        self.feed.look_back()
    }

    fn look_on(&mut self) {
        self.feed.look_on();
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        self.recorder.with(Recorder::finish);
        self.recorder.tell();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_bounds_is_bounded_as_a_recorder_of_its_own_is() {
        let Options { keep, max_bytes, .. } = kept();
        assert_eq!(keep, Some(std::time::Duration::from_secs(7 * 86_400)));
        assert_eq!(max_bytes, Some(2 << 30));
    }
}
