//! Reads exited groups as of T, and frees a group when no task exits into it any more.

use super::closing::Closed;
use super::kernel_side::KernelSide;
use super::skel::types::{ex_group, ex_group_cum, ex_process};
use super::tasks::{comm, counters, Measured};
use crate::error::SourceError;
use exactop_model::ledger::audit::{ExitAudit, ExitedDifference};
use exactop_model::ledger::snapshot::ProcessRef;
use exactop_model::{AccountId, ExitSample};

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    /// The programs can find the group.
    #[default]
    Linked,
    /// The group is out of the index; a program may still hold it from before.
    Unlinked,
}

#[derive(Clone, Copy, Default)]
struct Mirror {
    serial: u64,
    /// Number of tasks and of processes.
    ended: [u64; 2],
    stage: Stage,
}

/// The reader's memory of all groups.
#[derive(Default)]
pub struct ExitReader {
    mirror: Vec<Mirror>,
}

impl ExitReader {
    /// Reads all groups as of T. A group without an exit in a whole window is freed in two steps.
    /// It leaves the index now. Its place is reused after the next window is closed: no program can
    /// then hold it any more.
    pub fn read(
        &mut self,
        kernel: &mut KernelSide,
        closed: &Closed,
        measured: Measured,
    ) -> Result<Vec<ExitSample>, SourceError> {
        // A group made after the maps last grew is empty as of T.
        let groups = (kernel.globals.next_group() as usize).min(kernel.groups.len());
        let (mut samples, mut idle_keys) = (Vec::new(), Vec::new());
        self.mirror.resize(groups.max(self.mirror.len()), Mirror::default());
        for index in 0..groups {
            if kernel.groups.field(index, |g| unsafe { &raw const (*g).used }) == 0 {
                continue;
            }
            let (group, crossed) = read_group(kernel, closed, index);
            let sample = sample(&group, crossed, measured);
            let mirror = &mut self.mirror[index];
            let ended = [sample.tasks, sample.processes];
            let idle = mirror.serial == group.serial && mirror.ended == ended && !crossed;
            mirror.serial = group.serial;
            mirror.ended = ended;
            samples.push(sample);
            match mirror.stage {
                Stage::Linked if idle => {
                    idle_keys.push(group.key);
                    mirror.stage = Stage::Unlinked;
                }
                Stage::Unlinked if idle => {
                    *mirror = Mirror::default();
                    kernel.groups.write(index, ex_group::default());
                    kernel.free_group(index as u32)?;
                }
                _ => {}
            }
        }
        kernel.unlink_groups(&idle_keys);
        Ok(samples)
    }
}

fn sample(group: &ex_group, crossed: bool, measured: Measured) -> ExitSample {
    let cum = if crossed { &group.snap } else { &group.cum };
    ExitSample {
        account: AccountId(group.serial),
        of: ProcessRef { tgid: group.key.of_tgid, start_ns: group.key.of_start },
        ancestors: group.ancestors.map(|p| process(&p)),
        comm: comm(group.key.comm),
        cgroup_id: (group.key.cgroup != 0).then_some(group.key.cgroup),
        uid: Some(group.key.uid),
        session: Some(group.key.session),
        tree: group.key.tree,
        processes: cum.processes,
        tasks: cum.tasks,
        life_ns: cum.life_ns,
        counters: counters(&cum.sum, measured),
        audit: audit(cum),
    }
}

fn audit(cum: &ex_group_cum) -> ExitAudit {
    let of = |error_ns: i64, bias_ns: i64, worst_ns| ExitedDifference {
        error_ns: error_ns as u64,
        bias_ns: bias_ns as u64,
        worst_ns,
    };
    ExitAudit {
        run: of(cum.sum.run_error, cum.sum.run_bias, cum.run_worst),
        lat: of(cum.sum.lat_error, cum.sum.lat_bias, cum.lat_worst),
        repaired: cum.sum.repairs.into(),
    }
}

/// A copy of a group, and true if its `snap` is the state as of T (see [`super::tasks`]).
fn read_group(kernel: &KernelSide, closed: &Closed, index: usize) -> (ex_group, bool) {
    let epoch_of = |g: *const ex_group| unsafe { &raw const (*g).epoch };
    loop {
        let epoch = kernel.groups.field(index, epoch_of);
        let group = kernel.groups.read(index);
        // A program can change the group at most once meanwhile: at the first exit after T.
        if kernel.groups.field(index, epoch_of) == epoch {
            return (group, epoch == closed.epoch);
        }
    }
}

fn process(p: &ex_process) -> ProcessRef {
    ProcessRef { tgid: p.tgid, start_ns: p.start }
}
