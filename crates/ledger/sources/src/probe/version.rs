//! Checks if this kernel is one of the tested ones.

use super::machine::Machine;
use super::Status::{self, Available, Degraded, Missing};

/// The first version with `bpf_task_pt_regs`, which finds a sleep's system call; task storage and
/// type information are older.
const OLDEST_KERNEL: (u32, u32) = (5, 15);

/// The tested kernels, oldest first (docs/reference/kernels.md, and 6.18).
pub(super) const TESTED: [(u32, u32); 5] = [(6, 1), (6, 12), (6, 18), (7, 2), (7, 3)];

/// How a kernel differs from the tested ones.
fn untested(version: (u32, u32)) -> Option<String> {
    let older = TESTED.iter().rfind(|tested| **tested <= version);
    let newer = TESTED.iter().find(|tested| **tested >= version);
    let told = |(major, minor): &(u32, u32)| format!("{major}.{minor}");
    match (older, newer) {
        (Some(older), Some(newer)) if older == newer => None,
        (Some(older), Some(newer)) => {
            Some(format!("between tested ones ({} and {})", told(older), told(newer)))
        }
        (Some(newest), None) => Some(format!("newer than tested ({})", told(newest))),
        (None, oldest) => Some(format!("older than tested ({})", oldest.map_or("-".into(), told))),
    }
}

/// Checks the kernel's version.
pub(super) fn kernel_version(m: &Machine) -> (Status, String) {
    match m.version() {
        Ok((version, release)) if version < OLDEST_KERNEL => {
            let [major, minor] = <[u32; 2]>::from(OLDEST_KERNEL);
            (Missing, format!("{release}, older than {major}.{minor}"))
        }
        Ok((version, release)) => match untested(version) {
            Some(how) => (Degraded, format!("{release}, {how}")),
            None => (Available, release),
        },
        Err(why) => (Missing, why),
    }
}
