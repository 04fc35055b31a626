//! Processes that wake up, do next to nothing, and sleep again.

use super::{desk, number};
use crate::children;
use crate::error::Refusal;
use std::convert::Infallible;
use std::time::Duration;

pub(super) fn run(args: &[String]) -> Result<Infallible, Refusal> {
    let pause = Duration::from_millis(number(args, 1)? as u64);
    let pids = children::make(number(args, 0)?, || {
        children::fork(|| loop {
            std::thread::sleep(pause);
        })
    })?;
    desk::serve(pids, |_| None)
}
