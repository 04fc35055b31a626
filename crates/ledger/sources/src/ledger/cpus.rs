//! Reads the CPUs as of T.

use super::closing::Closed;
use super::kernel_side::{KernelSide, CUR_IDLE, CUR_OFFLINE};
use super::skel::types::ex_cpu;
use exactop_model::CpuSample;

/// The accounts of all possible CPUs as of T.
pub fn read(kernel: &KernelSide, closed: &Closed, steal: bool) -> Vec<CpuSample> {
    (0..kernel.possible_cpus)
        .map(|cpu| sample(cpu as u32, &stable(kernel, cpu), closed, steal))
        .collect()
}

/// A copy of a CPU's account that was not taken while the CPU crossed T.
fn stable(kernel: &KernelSide, cpu: usize) -> ex_cpu {
    let epoch_of = |c: *const ex_cpu| unsafe { &raw const (*c).epoch };
    loop {
        let epoch = kernel.cpus.field(cpu, epoch_of);
        let copy = kernel.cpus.read(cpu);
        if kernel.cpus.field(cpu, epoch_of) == epoch {
            return copy;
        }
    }
}

fn sample(cpu: u32, account: &ex_cpu, closed: &Closed, steal: bool) -> CpuSample {
    let crossed = account.epoch == closed.epoch;
    let mut cum = if crossed { account.snap } else { account.cum };
    if !crossed {
        // The CPU has been idle or offline since before T; a CPU with a running task was flushed.
        let ns = closed.t_ns.saturating_sub(account.since);
        match account.cur {
            CUR_IDLE => cum.idle += ns,
            CUR_OFFLINE => cum.offline += ns,
            _ => {}
        }
    }
    CpuSample {
        cpu,
        online: account.cur != CUR_OFFLINE,
        task_ns: cum.task,
        unnamed_ns: cum.unnamed,
        idle_ns: cum.idle,
        irq_ns: Some(cum.irq),
        irq_idle_ns: Some(cum.irq_idle + cum.no_name_irq),
        steal_ns: steal.then_some(cum.steal),
        steal_idle_ns: steal.then_some(cum.steal_idle + cum.no_name_steal),
        no_name_ns: cum.no_name,
        no_name_processes: cum.no_name_processes,
        offline_ns: cum.offline,
        switches: Some(cum.switches),
        missed_switches: (account.rq != 0).then_some(cum.missed),
        watched_ns: Some(cum.watched),
        watched_dispatches: Some(cum.watched_dispatches),
    }
}
