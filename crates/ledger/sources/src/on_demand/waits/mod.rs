//! Times what threads wait for (bpf/on_demand/waits.bpf.c).

mod rows;

use crate::bpf::iterator;
use crate::bpf::plain::plain;
use crate::bpf::skeleton::Open;
use crate::bpf::sums::{sums, WindowSums};
use crate::error::SourceError;
use crate::on_demand::attached::{load, object, Attached, ExitedTasks, Room};
use crate::on_demand::Counts;
use exactop_model::on_demand::waits::WaitWindow;
use exactop_model::on_demand::Choice;
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

/// Options for attaching.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Number of keys in the maps.
    pub room: Room,
    /// For tests: hide one in this number of wake-ups from the programs; 0: none.
    pub hide_one_in: u32,
}

/// Attached programs.
pub struct Waits {
    sleeps: WindowSums<ex_sleep_key, ex_sleep>,
    queues: WindowSums<ex_queue_key, ex_queue>,
    others: WindowSums<ex_other_key, ex_other>,
    /// Sleeps that were open at the end of the last window, with the part that was counted.
    open: OpenSleeps,
    programs: Attached<WaitsSkelBuilder>,
}

impl Waits {
    /// Attaches the programs for these processes and begins the first window; with no `pids`, for
    /// all.
    ///
    /// # Errors
    /// [`SourceError::Unavailable`] with the reason and what to do.
    pub fn open_with(pids: &[u32], options: &Options) -> Result<Waits, SourceError> {
        let programs =
            Attached::<WaitsSkelBuilder>::open(pids, options.room, |open| set_up(open, options))?;
        let open = iterator::records(&programs.skel.progs.open_waits)?;
        Ok(Waits {
            sleeps: WindowSums::default(),
            queues: WindowSums::default(),
            others: WindowSums::default(),
            open: OpenSleeps::new(&open),
            programs: programs.begins_now(),
        })
    }
}

impl Counts for Waits {
    type Window = WaitWindow;
    const NEEDED_BY: &'static str = "exactop waits, and the page of a process";

    fn open(choice: &Choice) -> Result<Waits, SourceError> {
        Waits::open_with(&choice.pids, &Options::default())
    }

    fn try_to_load() -> Result<(), SourceError> {
        load::<WaitsSkelBuilder>(&[], Room::default(), |open| set_up(open, &Options::default()))
            .map(drop)
    }

    fn began_ns(&self) -> u64 {
        self.programs.began_ns()
    }

    fn window(&mut self) -> Result<WaitWindow, SourceError> {
        let ended = self.programs.end_window();
        let skel = &self.programs.skel;
        let open = iterator::records(&skel.progs.open_waits)?;
        let (maps, gone) = (&skel.maps, ExitedTasks::default());
        let sleeps =
            self.sleeps.window([&maps.sleeps, &maps.sleeps_more], |k| gone.has(k.tgid, k.tid))?;
        let queues =
            self.queues.window([&maps.queues, &maps.queues_more], |k| gone.has(k.tgid, k.tid))?;
        let others =
            self.others.window([&maps.others, &maps.others_more], |k| gone.has(k.tgid, k.tid))?;
        let mut rows = Rows::new(ended);
        rows.sleeps(&sleeps, &self.open);
        rows.queues(&queues);
        rows.others(&others);
        rows.open(&open, &self.open);
        self.open = OpenSleeps::new(&open);
        let losses = self.programs.losses();
        Ok(WaitWindow { t0_ns: ended.t0_ns, t1_ns: ended.t1_ns, rows: rows.finish(), losses })
    }
}

fn set_up(open: &mut Open<WaitsSkelBuilder>, options: &Options) -> libbpf_rs::Result<()> {
    let Some(rodata) = open.maps.rodata_data.as_mut() else {
        return Err(std::io::Error::other("cannot find .rodata in the BPF object").into());
    };
    rodata.hide_one_in = options.hide_one_in;
    open.maps.pasts.set_max_entries(libbpf_rs::num_possible_cpus()? as u32)
}
