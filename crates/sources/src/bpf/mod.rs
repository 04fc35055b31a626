//! What all BPF programs of this crate need: the checks before loading, the kernel's own words for
//! a refusal, programs that are attached on demand, and maps that are read as sums.

pub(crate) mod interrupts;
pub(crate) mod mapped;
pub(crate) mod on_demand;
pub(crate) mod refusal;
pub(crate) mod spare;
pub(crate) mod tally;
pub(crate) mod task;
pub(crate) mod told;
