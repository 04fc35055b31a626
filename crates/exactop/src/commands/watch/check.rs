//! `--check`: whether all printed windows are exact.

use crate::failure::{complain, Failure};
use exactop_model::ledger::exactness::WindowState;
use exactop_model::Frame;

/// Counts of the windows so far.
pub struct Check {
    is_asked_for: bool,
    windows: u64,
    inexact: u64,
}

impl Check {
    /// No windows yet.
    pub fn new(is_asked_for: bool) -> Check {
        Check { is_asked_for, windows: 0, inexact: 0 }
    }

    /// Counts a window.
    pub fn look(&mut self, frame: &Frame) {
        self.windows += 1;
        self.inexact += u64::from(frame.state == WindowState::Inexact);
    }

    /// The result at the end.
    ///
    /// # Errors
    /// `--check` was given and a window was inexact. Standard error says how many.
    pub fn verdict(self) -> Result<(), Failure> {
        if !self.is_asked_for || self.inexact == 0 {
            return Ok(());
        }
        complain(&format!(
            "inexact windows: {} of {} (--json says why for each, 'exactop doctor' says why there is no ledger)",
            self.inexact, self.windows
        ));
        Err(Failure::Found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_model::SourceKind;

    fn verdict(is_asked_for: bool, states: &[WindowState]) -> Result<(), Failure> {
        let mut check = Check::new(is_asked_for);
        let mut frame = exactop_testkit::frame(SourceKind::Ledger, false);
        for &state in states {
            frame.state = state;
            check.look(&frame);
        }
        check.verdict()
    }

    #[test]
    fn check_fails_at_one_inexact_window() {
        use WindowState::{Exact, Inexact, Repaired};
        assert!(verdict(true, &[Exact, Repaired]).is_ok());
        assert!(matches!(verdict(true, &[Exact, Inexact, Exact]), Err(Failure::Found)));
        assert!(verdict(false, &[Inexact]).is_ok());
        assert!(verdict(true, &[]).is_ok());
    }
}
