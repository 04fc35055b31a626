//! What the process whose page is open waits for: programs that are attached for it alone, and only
//! as long.

use exactop_model::on_demand::waits::WaitWindow;

/// The process that is watched.
#[derive(Default)]
pub struct Watched {
    /// Its waits in the last window, or why they are not known.
    pub waits: Option<Result<WaitWindow, String>>,
    #[cfg(feature = "bpf")]
    times: Option<(u32, Result<crate::on_demand::waits::WaitTimes, String>)>,
}

impl Watched {
    /// Ends the window; from here on this process is watched, or none. What cannot be attached or
    /// read is not known on the page, which is no reason not to show the rest.
    #[cfg(feature = "bpf")]
    pub fn advance(&mut self, pid: Option<u32>) {
        use crate::on_demand::waits::WaitTimes;
        let Some(pid) = pid else {
            (self.waits, self.times) = (None, None);
            return;
        };
        self.waits = match &mut self.times {
            Some((watched, Ok(times))) if *watched == pid => {
                Some(times.window().map_err(|error| error.to_string()))
            }
            Some((watched, Err(why))) if *watched == pid => Some(Err(why.clone())),
            other => {
                let times = WaitTimes::open(&[pid]).map_err(|error| error.to_string());
                let failed = times.as_ref().err().cloned();
                *other = Some((pid, times));
                failed.map(Err)
            }
        };
    }

    /// There is nothing to attach.
    #[cfg(not(feature = "bpf"))]
    pub fn advance(&mut self, _: Option<u32>) {}
}
