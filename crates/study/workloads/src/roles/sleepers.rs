//! Processes that do nothing.

use super::{desk, number};
use crate::children;
use crate::error::Refusal;
use std::convert::Infallible;

pub(super) fn run(args: &[String]) -> Result<Infallible, Refusal> {
    let pids = children::make(number(args, 0)?, || {
        children::fork(|| loop {
            // SAFETY: takes no arguments and returns nothing; a handled signal would only end the
            // wait.
            unsafe { libc::pause() };
        })
    })?;
    desk::serve(pids, |_| None)
}
