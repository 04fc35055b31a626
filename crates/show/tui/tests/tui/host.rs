//! A host for tests in which nothing on the machine may be done or asked.

use exactop_model::frame::holdings::{Holdings, HoldingsRequest};
use exactop_model::TaskKey;
use exactop_tui::app::placement::Placement;
use exactop_tui::app::target::Limit;
use exactop_tui::{Host, ProcessAction, Settings, Target};

/// ns.
const SECOND: i128 = 1_000_000_000;

/// A host that must not act.
pub struct Nobody {
    /// True if the user may return to the present, where the host says who lives.
    pub is_live: bool,
    /// Point in time of a text, ns since the epoch; the second argument is the end of the window.
    pub point_in_time: fn(&str, i128) -> Result<i128, String>,
}

impl Host for Nobody {
    fn identify(&mut self, _: u32, _: ProcessAction) -> Result<Target, String> {
        panic!("nobody is looked for");
    }

    fn has_exited(&mut self, _: TaskKey) -> bool {
        assert!(self.is_live, "who lives now says nothing of then");
        false
    }

    fn look_into(&mut self, wanted: HoldingsRequest) -> Result<Holdings, String> {
        panic!("{} is of the past: nobody looks into it", wanted.key.tgid)
    }

    fn signal(&mut self, _: &Target, _: i32) -> Result<(), String> {
        panic!("nobody is signalled");
    }

    fn renice(&mut self, _: &Target, _: i32) -> Result<(), String> {
        panic!("nobody's priority is changed");
    }

    fn place(&mut self, _: &Target, _: &Placement) -> Result<(), String> {
        panic!("nobody is moved");
    }

    fn limit(&mut self, _: &Limit) -> Result<String, String> {
        panic!("nobody is limited");
    }

    fn save(&mut self, _: &Settings) -> Result<String, String> {
        Ok("nowhere".into())
    }

    fn user_id(&mut self, _: &str) -> Option<u32> {
        None
    }

    fn point_in_time(&mut self, text: &str, end_wall_ns: i128) -> Result<i128, String> {
        (self.point_in_time)(text, end_wall_ns)
    }

    fn local_time(&mut self, wall_ns: i128) -> String {
        let seconds = wall_ns / SECOND;
        format!("2026-11-22 14:{:02}:{:02}", seconds / 60, seconds % 60)
    }
}
