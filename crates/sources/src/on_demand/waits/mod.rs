//! What threads wait for, timed while this source lives (bpf/on_demand/waits.bpf.c).

mod rows;

use crate::bpf::iterator;
use crate::bpf::loading::Open;
use crate::bpf::plain::plain;
use crate::bpf::sums::{sums, WindowSums};
use crate::error::SourceError;
use crate::on_demand::attached::{is_gone, load, object, Attached};
use exactop_model::on_demand::waits::WaitWindow;
use rows::{OpenSleeps, Rows};
use skel::types::*;
use skel::WaitsSkelBuilder;

object!("waits", "the waits'", WaitsSkelBuilder);
plain! { ex_sleep_key ex_queue_key ex_other_key ex_open_wait }
sums! {
    ex_sleep: count, ns;
    ex_queue: count, ns, buckets;
    ex_other: amount;
}

/// The programs, attached.
pub struct WaitTimes {
    sleeps: WindowSums<ex_sleep_key, ex_sleep>,
    queues: WindowSums<ex_queue_key, ex_queue>,
    others: WindowSums<ex_other_key, ex_other>,
    /// Sleeps that had not ended when the window before did: what of them is counted already.
    open: OpenSleeps,
    programs: Attached<WaitsSkelBuilder>,
}

impl WaitTimes {
    /// Attaches the programs for these processes, for all if there are none; the first window
    /// begins.
    ///
    /// # Errors
    /// [`SourceError::Unavailable`] with the reason and what would help.
    pub fn open(pids: &[u32]) -> Result<WaitTimes, SourceError> {
        let programs = Attached::<WaitsSkelBuilder>::open(pids, set_up)?;
        let open = iterator::records(&programs.skel.progs.open_waits)?;
        Ok(WaitTimes {
            sleeps: WindowSums::default(),
            queues: WindowSums::default(),
            others: WindowSums::default(),
            open: OpenSleeps::new(&open),
            programs: programs.begins_now(),
        })
    }

    /// Ends the window; the next begins.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn window(&mut self) -> Result<WaitWindow, SourceError> {
        let ended = self.programs.end_window();
        let skel = &self.programs.skel;
        let open = iterator::records(&skel.progs.open_waits)?;
        let sleeps = self.sleeps.window(&skel.maps.sleeps, |k| is_gone(k.tgid, k.tid))?;
        let queues = self.queues.window(&skel.maps.queues, |k| is_gone(k.tgid, k.tid))?;
        let others = self.others.window(&skel.maps.others, |k| is_gone(k.tgid, k.tid))?;
        let mut rows = Rows::new(ended);
        rows.sleeps(&sleeps, &self.open);
        rows.queues(&queues);
        rows.others(&others);
        rows.open(&open, &self.open);
        self.open = OpenSleeps::new(&open);
        let lost = self.programs.newly_lost();
        Ok(WaitWindow { t0_ns: ended.t0_ns, t1_ns: ended.t1_ns, rows: rows.finish(), lost })
    }
}

/// Whether the kernel takes the programs; nothing is attached.
pub(crate) fn try_to_load() -> Result<(), SourceError> {
    load::<WaitsSkelBuilder>(&[], set_up).map(drop)
}

fn set_up(open: &mut Open<WaitsSkelBuilder>) -> libbpf_rs::Result<()> {
    open.maps.pasts.set_max_entries(libbpf_rs::num_possible_cpus()? as u32)
}
