//! Attaches programs in this process itself.

use super::watched::{Attached, Attaches};
use exactop_model::on_demand::Subject;

/// Attaches programs in this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnPrograms;

impl Attaches for OwnPrograms {
    #[cfg(feature = "bpf")]
    fn attach(&mut self, subject: Subject, pids: &[u32], _: Option<u64>) -> Attached {
        let choice = exactop_model::on_demand::Choice::of_processes(pids);
        crate::on_demand::open(subject, &choice).map_err(|error| error.to_string())
    }

    #[cfg(not(feature = "bpf"))]
    fn attach(&mut self, _: Subject, _: &[u32], _: Option<u64>) -> Attached {
        Err(crate::error::SourceError::without_bpf().to_string())
    }
}
