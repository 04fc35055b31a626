//! Processes that do nothing.

use super::{desk, number};
use crate::children;
use crate::error::Refusal;
use std::convert::Infallible;

pub(super) fn run(args: &[String]) -> Result<Infallible, Refusal> {
    let pids = children::make(number(args, 0)?, || {
        children::fork(|| loop {
            // SAFETY: takes and gives nothing; a signal that is handled would only wake us.
            unsafe { libc::pause() };
        })
    })?;
    desk::serve(pids, |_| None)
}
