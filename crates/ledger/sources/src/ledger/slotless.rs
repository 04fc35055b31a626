//! Tasks without a slot, shown as far as /proc has them. Their time is in the unnamed account, so
//! their rows have no run time.

use super::kernel_side::KernelSide;
use super::tasks::Changes;
use crate::error::SourceError;
use crate::procfs::Procfs;
use crate::source::{Request, Source};
use exactop_model::{AccountId, Counter, Counters, MicroState, Needs, TaskSample};
use rustc_hash::FxHashSet;
use std::path::Path;

/// Flag in the account of a task without a slot. Below it stand the start time in ticks of 10 ms
/// and the thread id, which has at most 22 bits (PID_MAX_LIMIT of include/linux/threads.h).
const SLOTLESS_ACCOUNT: u64 = 1 << 62;
const TID_BITS: u32 = 22;
/// Counters that /proc has of a task and that do not contain its run time in the window.
const KEPT: [Counter; 6] = [
    Counter::UtimeNs,
    Counter::StimeNs,
    Counter::Vcx,
    Counter::Icx,
    Counter::MinorFaults,
    Counter::MajorFaults,
];

/// The reader's memory of the tasks that it showed without a slot.
#[derive(Default)]
pub struct Slotless {
    shown: FxHashSet<AccountId>,
}

impl Slotless {
    /// Adds a sample for each task without a slot, if some were `left_out`, and ends the accounts
    /// of those that are gone.
    pub fn read(
        &mut self,
        kernel: &KernelSide,
        left_out: bool,
        slots: usize,
        out: &mut Changes,
    ) -> Result<(), SourceError> {
        if !left_out && self.shown.is_empty() {
            return Ok(());
        }
        let mut now = FxHashSet::default();
        if left_out {
            let with_slot = tids_with_slot(kernel, slots);
            let request = Request { needs: Needs::THREADS, ..Request::default() };
            let everyone = Procfs::open(Path::new("/proc"))?.snapshot(&request)?.tasks;
            for task in everyone.iter().filter(|task| !with_slot.contains(&task.key.tid)) {
                let account = account(task);
                now.insert(account);
                out.tasks.push(sample(task, account));
            }
        }
        out.gone.extend(self.shown.difference(&now));
        self.shown = now;
        Ok(())
    }
}

fn tids_with_slot(kernel: &KernelSide, slots: usize) -> FxHashSet<u32> {
    let owned =
        |&index: &usize| kernel.slots.field(index, |s| unsafe { &raw const (*s).task }) != 0;
    let tid = |index| kernel.slots.field(index, |s| unsafe { &raw const (*s).id }).tid;
    (0..slots).filter(owned).map(tid).collect()
}

fn account(task: &TaskSample) -> AccountId {
    let ticks = (task.key.start_ns / 10_000_000) << TID_BITS;
    AccountId(SLOTLESS_ACCOUNT | ticks & (SLOTLESS_ACCOUNT - 1) | u64::from(task.key.tid))
}

fn sample(task: &TaskSample, account: AccountId) -> TaskSample {
    let mut counters = Counters::unknown();
    for counter in KEPT {
        if let Some(value) = task.counters.get(counter) {
            counters.set(counter, value);
        }
    }
    TaskSample { account, state: MicroState::Unknown, counters, ..*task }
}
