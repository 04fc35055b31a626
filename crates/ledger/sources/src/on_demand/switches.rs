//! Counts context switches by reason (bpf/on_demand/switches.bpf.c).

use crate::bpf::plain::plain;
use crate::bpf::skeleton::Open;
use crate::bpf::sums::{sums, WindowSums};
use crate::bpf::task;
use crate::error::SourceError;
use crate::on_demand::attached::{load, object, Attached, ExitedTasks, Room};
use crate::on_demand::Counts;
use exactop_model::on_demand::switches::{SwitchRow, SwitchWindow};
use exactop_model::on_demand::Choice;
use skel::types::{ex_switch_key, ex_switches};
use skel::SwitchesSkelBuilder;

object!("switches", "the switches'", SwitchesSkelBuilder);
plain! { ex_switch_key }
sums! {
    ex_switches: preempted blocked yielded exited;
}

/// Attached programs.
pub struct Switches {
    sums: WindowSums<ex_switch_key, ex_switches>,
    programs: Attached<SwitchesSkelBuilder>,
}

impl Switches {
    /// Attaches the programs for these processes and begins the first window; with no `pids`, for
    /// all. For tests, `hide_one_in` hides one in this number of switches; 0: none.
    ///
    /// # Errors
    /// [`SourceError::Unavailable`] with the reason and what to do.
    pub fn open_with(pids: &[u32], hide_one_in: u32) -> Result<Switches, SourceError> {
        let programs = Attached::open(pids, Room::default(), |open| set_up(open, hide_one_in))?;
        Ok(Switches { sums: WindowSums::default(), programs })
    }
}

impl Counts for Switches {
    type Window = SwitchWindow;
    const NEEDED_BY: &'static str = "exactop switches";

    fn open(choice: &Choice) -> Result<Switches, SourceError> {
        Switches::open_with(&choice.pids, 0)
    }

    fn try_to_load() -> Result<(), SourceError> {
        load::<SwitchesSkelBuilder>(&[], Room::default(), |open| set_up(open, 0)).map(drop)
    }

    fn began_ns(&self) -> u64 {
        self.programs.began_ns()
    }

    fn window(&mut self) -> Result<SwitchWindow, SourceError> {
        let ended = self.programs.end_window();
        let (maps, gone) = (&self.programs.skel.maps, ExitedTasks::default());
        let maps = [&maps.switches, &maps.switches_more];
        let sums = self.sums.window(maps, |key| gone.has(key.tgid, key.tid))?;
        let row = |(key, sum): &(ex_switch_key, ex_switches)| SwitchRow {
            who: task::thread!(key.tgid, key.tid, sum.names),
            preempted: sum.preempted,
            blocked: sum.blocked,
            yielded: sum.yielded,
            exited: sum.exited,
        };
        Ok(SwitchWindow {
            t0_ns: ended.t0_ns,
            t1_ns: ended.t1_ns,
            rows: sums.iter().map(row).collect(),
            losses: self.programs.losses(),
        })
    }
}

fn set_up(open: &mut Open<SwitchesSkelBuilder>, hide_one_in: u32) -> libbpf_rs::Result<()> {
    let Some(rodata) = open.maps.rodata_data.as_mut() else {
        return Err(std::io::Error::other("cannot find .rodata in the BPF object").into());
    };
    rodata.hide_one_in = hide_one_in;
    Ok(())
}
