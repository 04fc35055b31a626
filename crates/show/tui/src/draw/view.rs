//! A process and its page, as the drawing functions of its parts get them.

use super::theme::Theme;
use crate::app::process::ProcessPage;
use crate::app::App;
use exactop_model::words::units::duration;
use exactop_model::{Frame, Row};

/// Programs end their windows a little before or after the frame's; an older window is marked.
const OLD_NS: u64 = 500_000_000;

/// The process and the shown part of it.
pub(super) struct View<'a> {
    pub app: &'a App,
    pub frame: &'a Frame,
    pub page: &'a ProcessPage,
    pub row: &'a Row,
    pub theme: Theme,
    pub room: usize,
    /// The line after the last one of the page.
    pub end_y: u16,
}

impl View<'_> {
    /// Age of figures that belong to an earlier window than the frame: they stay until newer ones
    /// exist.
    pub(super) fn age(&self, t1_ns: u64) -> Option<String> {
        self.old(t1_ns).map(|old| until_newer(self.app, old))
    }

    /// The same in two words.
    pub(super) fn old(&self, t1_ns: u64) -> Option<String> {
        let age_ns = self.frame.t1_ns.saturating_sub(t1_ns);
        (age_ns >= OLD_NS).then(|| format!("{} old", duration(age_ns)))
    }
}

/// Says when newer figures replace those of this age. A window of the past keeps its own.
pub(super) fn until_newer(app: &App, old: String) -> String {
    match (app.past.is_some(), app.is_paused()) {
        (true, _) => old,
        (false, true) => format!("{old}; paused: p shows the next window"),
        (false, false) => format!("{old}; the next window has new figures"),
    }
}
