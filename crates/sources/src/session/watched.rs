//! What the process whose page is open waits for: programs that are attached for it alone, and only
//! as long.

use exactop_model::on_demand::waits::WaitWindow;

/// The process that is watched.
#[derive(Default)]
pub struct Watched {
    /// Its waits in the last window.
    pub waits: Option<WaitWindow>,
    #[cfg(feature = "bpf")]
    times: Option<(u32, Option<crate::on_demand::waits::WaitTimes>)>,
}

impl Watched {
    /// Ends the window; from here on this process is watched, or none. What cannot be attached or
    /// read is missing on the page, which is no reason not to show the rest.
    #[cfg(feature = "bpf")]
    pub fn advance(&mut self, pid: Option<u32>) {
        use crate::on_demand::waits::WaitTimes;
        self.waits = None;
        let Some(pid) = pid else {
            self.times = None;
            return;
        };
        match &mut self.times {
            Some((watched, times)) if *watched == pid => {
                self.waits = times.as_mut().and_then(|times| times.window().ok());
            }
            other => *other = Some((pid, WaitTimes::open(&[pid]).ok())),
        }
    }

    /// There is nothing to attach.
    #[cfg(not(feature = "bpf"))]
    pub fn advance(&mut self, _: Option<u32>) {}
}
