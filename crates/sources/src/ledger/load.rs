//! Getting the ledger's programs into the kernel, or saying in one line why not.

use super::skel::{LedgerSkel, LedgerSkelBuilder, OpenLedgerSkel};
use super::{footprint, Options};
use crate::bpf::interrupts;
use crate::bpf::refusal::{self, Refusal};
use crate::error::SourceError;
use exactop_cgroups::cpu_controller_is_v1;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::OpenObject;
use std::mem::MaybeUninit;

/// Which of the programs to load: the kernel's version decides, by what it accepts.
#[derive(Clone, Copy)]
struct Variant {
    /// sched_switch tells prev_state (5.18).
    switch_tells_state: bool,
    /// The tracepoints that end a CPU's life and tell page faults are there.
    extras: bool,
    /// The function for the fentry program is there; whether that can be attached is seen later.
    fentry: bool,
}

const VARIANTS: [Variant; 5] = [
    Variant { switch_tells_state: true, extras: true, fentry: true },
    Variant { switch_tells_state: true, extras: true, fentry: false },
    Variant { switch_tells_state: false, extras: true, fentry: false },
    Variant { switch_tells_state: true, extras: false, fentry: false },
    Variant { switch_tells_state: false, extras: false, fentry: false },
];

/// Loads the programs; nothing is attached yet.
pub fn load(options: &Options) -> Result<LedgerSkel<'static>, SourceError> {
    refusal::check_before()?;
    let mut first = None;
    for variant in VARIANTS {
        match try_load(options, variant) {
            Ok(skel) => return Ok(skel),
            Err(NotLoaded::NoRoom(error)) => return Err(error),
            // Some kernels answer so to fentry alone.
            Err(NotLoaded::Refused(_)) if variant.fentry => {}
            Err(NotLoaded::Refused(error)) if error.is_for_want_of_rights() => {
                return Err(refusal::not_permitted(&error));
            }
            Err(NotLoaded::Refused(error)) => first = first.or(Some(error)),
        }
    }
    let error = first.expect("a variant without fentry was tried");
    Err(refusal::refused("the ledger's", &error))
}

/// Why a variant is not in the kernel.
enum NotLoaded {
    /// It was not tried.
    NoRoom(SourceError),
    /// What the kernel said.
    Refused(Refusal),
}

impl From<Refusal> for NotLoaded {
    fn from(error: Refusal) -> NotLoaded {
        NotLoaded::Refused(error)
    }
}

fn try_load(options: &Options, variant: Variant) -> Result<LedgerSkel<'static>, NotLoaded> {
    let open = refusal::attempt(|| prepare(options, variant))?;
    footprint::check(open.open_object()).map_err(NotLoaded::NoRoom)?;
    Ok(refusal::attempt(|| open.load())?)
}

fn prepare(options: &Options, variant: Variant) -> libbpf_rs::Result<OpenLedgerSkel<'static>> {
    // The skeleton borrows its storage; a ledger lives about as long as the process does.
    let storage: &'static mut MaybeUninit<OpenObject> = Box::leak(Box::new(MaybeUninit::uninit()));
    let mut open = LedgerSkelBuilder::default().open(storage)?;
    open.progs.on_switch.set_autoload(variant.switch_tells_state);
    open.progs.on_switch_before_5_18.set_autoload(!variant.switch_tells_state);
    open.progs.on_cpu_dead.set_autoload(variant.extras);
    open.progs.on_page_fault.set_autoload(variant.extras);
    open.progs.on_unthrottle.set_autoload(variant.fentry);
    let here = interrupts::here();
    for mut program in open.open_object_mut().progs_mut() {
        let name = program.name().to_string_lossy().into_owned();
        if let Some(load) = interrupts::wanted(&name, &here) {
            program.set_autoload(load);
        }
    }
    size_maps(&mut open, options)?;
    if let Some(rodata) = open.maps.rodata_data.as_mut() {
        rodata.sees_unthrottle = variant.fentry;
    }
    Ok(open)
}

fn size_maps(open: &mut OpenLedgerSkel<'_>, options: &Options) -> libbpf_rs::Result<()> {
    let cpus = libbpf_rs::num_possible_cpus()? as u32;
    open.maps.cpus.set_max_entries(cpus)?;
    let Some(rodata) = open.maps.rodata_data.as_mut() else {
        return Err(std::io::Error::other("the object has no .rodata").into());
    };
    rodata.max_slots = options.slots;
    rodata.max_groups = options.groups;
    rodata.possible_cpus = cpus;
    rodata.cgroup_of_cpu_controller = cpu_controller_is_v1();
    rodata.drop_charge_every = options.drop_charge_every;
    Ok(())
}
