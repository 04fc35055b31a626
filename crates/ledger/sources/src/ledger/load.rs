//! Loads the ledger's programs, or explains the failure in one line.

use super::skel::{LedgerSkelBuilder, OpenLedgerSkel};
use super::{footprint, growth, growth::FirstChunks, Options, OPENING_EPOCH};
use crate::bpf::loading::{self, InKernel};
use crate::error::SourceError;
use crate::kernel_programs::Attach;
use crate::source::MeasurePolicy;
use exactop_cgroups::cpu_controller_is_v1;
use libbpf_rs::skel::OpenSkel;

/// The object's name.
pub const OBJECT: &str = "ledger";

/// The ledger's programs and maps in the kernel, with the first chunks of its growing tables.
pub type Loaded = InKernel<LedgerSkelBuilder, Result<FirstChunks, SourceError>>;

/// Loads the programs that these options may need; attaches none.
pub fn load(options: &Options) -> Result<Loaded, SourceError> {
    let of_v1 = cpu_controller_is_v1()?;
    let split = options.split;
    loading::load_those::<LedgerSkelBuilder, _>(
        OBJECT,
        "the ledger's",
        |attach| match attach {
            Attach::Split => split.split != MeasurePolicy::Never,
            Attach::Interrupts => split.irq != MeasurePolicy::Never,
            Attach::Blame => options.blame.is_some(),
            _ => true,
        },
        |open| set_up(open, options, of_v1),
        |open| footprint::check(open.open_object(), growth::first_chunks()),
        |maps| FirstChunks::make(maps, options),
    )
}

/// Sets globals and map sizes. `of_v1`: use the groups of v1's cpu controller.
fn set_up(
    open: &mut OpenLedgerSkel<'static>,
    options: &Options,
    of_v1: bool,
) -> libbpf_rs::Result<()> {
    let cpus = libbpf_rs::num_possible_cpus()? as u32;
    open.maps.cpus.set_max_entries(cpus)?;
    match options.blame {
        Some(_) => open.maps.books.set_max_entries(cpus)?,
        // The buckets alone take 1.5 MiB.
        None => {
            open.maps.parties.set_max_entries(1)?;
            open.maps.party_sums.set_max_entries(1)?;
        }
    }
    match options.wait_sizes {
        Some(sizes) => open.maps.wait_sizes.set_max_entries(sizes.of_the_machine(cpus))?,
        None => open.maps.unplaced.set_max_entries(1)?,
    }
    let sees_unthrottle = open.progs.on_unthrottle.autoload();
    let Some(rodata) = open.maps.rodata_data.as_mut() else {
        return Err(std::io::Error::other("cannot find .rodata in the BPF object").into());
    };
    rodata.max_slots = options.slots;
    rodata.max_groups = options.groups;
    rodata.possible_cpus = cpus;
    rodata.cgroup_of_cpu_controller = of_v1;
    rodata.sees_unthrottle = sees_unthrottle;
    if let Some(book) = options.blame {
        rodata.blame = true;
        rodata.blame_floor_ns = book.floor_ns;
        rodata.blame_places = book.places;
        rodata.blame_parties = book.parties;
        rodata.unbooked_one_in = book.unbooked_one_in;
        rodata.half_another_ns = book.half_another_ns;
    }
    if let Some(sizes) = options.wait_sizes {
        rodata.sizes_waits = true;
        rodata.wait_places = sizes.places;
        rodata.unsized_one_in = sizes.unsized_one_in;
    }
    if let Some(loss) = options.lose {
        rodata.lose_kind = loss.event as u32;
        rodata.lose_one_in = loss.one_in;
        rodata.lose_in_a_row = loss.in_a_row;
    }
    if let Some(late) = options.late {
        rodata.late_epoch = OPENING_EPOCH + late.window;
        rodata.late_by_ns = late.by_ns;
    }
    Ok(())
}
