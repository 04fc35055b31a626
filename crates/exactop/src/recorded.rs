//! A recorder that a session feeds, and the notices that tell the user about it.

use crate::failure::{complain, Failure};
use crate::options::time::{size, stretch};
use exactop_model::text::escape::escape_str;
use exactop_model::{Feed, Tap};
use exactop_recording::{FeedRecorder, Machine, Notice, Options, Recorder};
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

/// Default of `--keep`.
pub const KEEP: &str = "7d";
/// Default of `--max-size`.
pub const MOST: &str = "2G";

/// Default limits of a recording.
pub fn kept() -> Options {
    let (keep, most) = (stretch(KEEP), size(MOST));
    Options {
        keep: Some(keep.expect("a length of time")),
        max_bytes: Some(most.expect("a size")),
        ..Options::default()
    }
}

/// A recorder that a session feeds and that others query.
#[derive(Clone)]
pub struct Shared(Rc<RefCell<Recorder>>);

impl Shared {
    /// Records windows of this machine into a directory.
    ///
    /// # Errors
    /// Another recorder uses the directory, another user could change it, or it cannot be written.
    pub fn open(path: &Path, machine: Machine, options: Options) -> Result<Shared, Failure> {
        let recorder = Recorder::open(path, machine, options).map_err(Failure::failed)?;
        Ok(Shared(Rc::new(RefCell::new(recorder))))
    }

    /// Runs `what` on the recorder.
    pub fn with<T>(&self, what: impl FnOnce(&mut Recorder) -> T) -> T {
        what(&mut self.0.borrow_mut())
    }

    /// Prints the recorder's notices on standard error, one per line.
    pub fn tell(&self) {
        self.with(Recorder::notices).iter().for_each(tell);
    }

    /// A tap through which a session feeds the recorder.
    pub fn tap(&self) -> Box<dyn Tap> {
        Box::new(Rc::clone(&self.0))
    }

    /// A feed whose session feeds the recorder. On a screen, the notices come at the end.
    pub fn beside(self, feed: Box<dyn Feed>, on_screen: bool) -> Box<dyn Feed> {
        Box::new(FeedRecorder::new(feed, self.0, tell, on_screen))
    }
}

fn tell(notice: &Notice) {
    complain(&words(notice));
}

fn words(notice: &Notice) -> String {
    match notice {
        Notice::Cut(bytes) => {
            format!("recording: cut off {bytes} bytes of an incompletely written window")
        }
        Notice::Unreadable(files, bytes) => format!(
            "recording: {files} files that cannot be read ({bytes} bytes) count in --max-size and are deleted when \
             their time comes: 'exactop record verify'"
        ),
        Notice::Foreign(names) => {
            let shown: Vec<String> = names.iter().take(3).map(|name| escape_str(name)).collect();
            let (shown, more) = (shown.join(", "), names.len().saturating_sub(3));
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("recording: ignored, as these are not its files: {shown}{more}")
        }
        Notice::Shortened(bytes) => format!(
            "recording: deleted {bytes} bytes of the oldest windows because of --max-size, before their \
             time"
        ),
        Notice::TooOld(bytes) => {
            format!("recording: deleted {bytes} bytes of windows older than --keep")
        }
        Notice::Full(bytes) => format!(
            "recording: the disk is full; deleted {bytes} bytes of the oldest windows to make room"
        ),
        Notice::NotWritten(why) => format!("recording: {why}; unwritten windows will be a gap"),
        Notice::Again => "recording: works again".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_limits_are_those_of_the_record_command() {
        let Options { keep, max_bytes, .. } = kept();
        assert_eq!(keep, Some(std::time::Duration::from_secs(7 * 86_400)));
        assert_eq!(max_bytes, Some(2 << 30));
    }
}
