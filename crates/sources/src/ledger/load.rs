//! Getting the ledger's programs into the kernel, or saying in one line why not.

use super::skel::{LedgerSkel, LedgerSkelBuilder, OpenLedgerSkel};
use super::{footprint, growth, Options};
use crate::bpf::loading;
use crate::error::SourceError;
use exactop_cgroups::cpu_controller_is_v1;
use libbpf_rs::skel::OpenSkel;

/// The object's name.
pub const OBJECT: &str = "ledger";

/// Loads the programs; nothing is attached yet.
pub fn load(options: &Options) -> Result<LedgerSkel<'static>, SourceError> {
    loading::load::<LedgerSkelBuilder>(
        OBJECT,
        "the ledger's",
        |open| set_up(open, options),
        |open| footprint::check(open.open_object(), growth::first_chunks()),
    )
}

fn set_up(open: &mut OpenLedgerSkel<'static>, options: &Options) -> libbpf_rs::Result<()> {
    let cpus = libbpf_rs::num_possible_cpus()? as u32;
    open.maps.cpus.set_max_entries(cpus)?;
    let sees_unthrottle = open.progs.on_unthrottle.autoload();
    let Some(rodata) = open.maps.rodata_data.as_mut() else {
        return Err(std::io::Error::other("the object has no .rodata").into());
    };
    rodata.max_slots = options.slots;
    rodata.max_groups = options.groups;
    rodata.possible_cpus = cpus;
    rodata.cgroup_of_cpu_controller = cpu_controller_is_v1();
    rodata.sees_unthrottle = sees_unthrottle;
    if let Some(loss) = options.lose {
        rodata.lose_kind = loss.event as u32;
        rodata.lose_one_in = loss.one_in;
        rodata.lose_in_a_row = loss.in_a_row;
    }
    Ok(())
}
