//! What threads wait for, timed while this source lives (bpf/on_demand/waits.bpf.c).

/// Generated from bpf/on_demand/waits.bpf.c by the build script.
#[allow(clippy::all, missing_docs, dead_code, unsafe_op_in_unsafe_fn)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/waits.skel.rs"));
}
mod rows;

use crate::bpf::sums::Tally;
use crate::bpf::{interrupts, iterator, on_demand};
use crate::clock;
use crate::error::SourceError;
use exactop_model::on_demand::waits::WaitWindow;
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{Link, OpenObject};
use rows::{OpenSleeps, Rows};
use skel::types;
use skel::{WaitsSkel, WaitsSkelBuilder};
use std::mem::MaybeUninit;

/// The programs, attached.
pub struct WaitTimes {
    sleeps: Tally<types::ex_sleep_key, types::ex_sleep>,
    queues: Tally<types::ex_queue_key, types::ex_queue>,
    others: Tally<types::ex_other_key, types::ex_other>,
    /// Sleeps that had not ended when the window before did: what of them is counted already.
    open: OpenSleeps,
    t0_ns: u64,
    lost: u64,
    _links: Vec<Link>,
    skel: WaitsSkel<'static>,
}

impl WaitTimes {
    /// Attaches the programs for these processes, for all if there are none; the first window
    /// begins.
    ///
    /// # Errors
    /// [`SourceError::Unavailable`] with the reason and what would help.
    pub fn open(pids: &[u32]) -> Result<WaitTimes, SourceError> {
        let skel = loaded(pids)?;
        on_demand::choose_processes(&skel.maps.chosen, pids)?;
        let links = on_demand::attach(skel.object().progs_mut())?;
        let open = iterator::records::<types::ex_open_wait>(&skel.progs.open_waits)?;
        Ok(WaitTimes {
            sleeps: Tally::default(),
            queues: Tally::default(),
            others: Tally::default(),
            open: OpenSleeps::new(&open),
            t0_ns: clock::now_ns(),
            lost: 0,
            _links: links,
            skel,
        })
    }

    /// Ends the window; the next begins.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn window(&mut self) -> Result<WaitWindow, SourceError> {
        let epoch = self.next_epoch();
        let (t0_ns, t1_ns) = (self.t0_ns, clock::now_ns());
        self.t0_ns = t1_ns;
        let maps = &self.skel.maps;
        let open = iterator::records::<types::ex_open_wait>(&self.skel.progs.open_waits)?;
        let sleeps = self.sleeps.window(&maps.sleeps, |k| on_demand::is_gone(k.tgid, k.tid))?;
        let queues = self.queues.window(&maps.queues, |k| on_demand::is_gone(k.tgid, k.tid))?;
        let others = self.others.window(&maps.others, |k| on_demand::is_gone(k.tgid, k.tid))?;
        let mut rows = Rows::new(epoch, t1_ns - t0_ns);
        rows.sleeps(&sleeps, &self.open);
        rows.queues(&queues);
        rows.others(&others);
        let still_open = OpenSleeps::new(&open);
        rows.open(&open, &self.open);
        self.open = still_open;
        let lost = self.lost_so_far();
        let lost_now = lost - std::mem::replace(&mut self.lost, lost);
        Ok(WaitWindow { t0_ns, t1_ns, rows: rows.finish(), lost: lost_now })
    }

    fn next_epoch(&mut self) -> u32 {
        let Some(bss) = self.skel.maps.bss_data.as_mut() else { return 0 };
        let epoch = bss.window_epoch;
        // SAFETY: a word that the programs only read.
        unsafe { std::ptr::write_volatile(&raw mut bss.window_epoch, epoch.wrapping_add(1)) };
        epoch
    }

    fn lost_so_far(&self) -> u64 {
        let bss = self.skel.maps.bss_data.as_deref().expect("the object has globals");
        // SAFETY: plain data that is always mapped.
        unsafe { std::ptr::read_volatile(&raw const bss.lost) }
    }
}

/// The programs, not attached yet.
pub(crate) fn loaded(pids: &[u32]) -> Result<WaitsSkel<'static>, SourceError> {
    on_demand::load_either("the waits'", |old| load(pids, old))
}

fn load(pids: &[u32], old_switch: bool) -> libbpf_rs::Result<WaitsSkel<'static>> {
    let storage: &'static mut MaybeUninit<OpenObject> = Box::leak(Box::new(MaybeUninit::uninit()));
    let mut open = WaitsSkelBuilder::default().open(storage)?;
    let here = interrupts::here();
    for mut program in open.open_object_mut().progs_mut() {
        on_demand::choose(&mut program, &here, old_switch);
    }
    let Some(rodata) = open.maps.rodata_data.as_mut() else {
        return Err(std::io::Error::other("the object has no .rodata").into());
    };
    rodata.all_processes = pids.is_empty();
    open.maps.chosen.set_max_entries((pids.len() as u32).max(1))?;
    open.maps.pasts.set_max_entries(libbpf_rs::num_possible_cpus()? as u32)?;
    open.load()
}
