//! Every object of BPF programs, loaded for real and let go again: only the kernel itself can say
//! whether it takes them.

#[cfg(feature = "bpf")]
use crate::{ledger, on_demand, snapshot_source};

/// An object of BPF programs that the kernel was asked to load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its name, as the file below bpf/ has it.
    pub name: &'static str,
    /// What cannot be had without it.
    pub needed_by: &'static str,
    /// Why the kernel does not take it, with what would help; `None`: it does.
    pub refused: Option<String>,
}

/// What the objects are for, and how to load them.
#[cfg(feature = "bpf")]
fn all() -> impl Iterator<Item = on_demand::Object> {
    let first: [on_demand::Object; 2] = [
        ("ledger", "the ledger", || ledger::load::load(&ledger::Options::default()).map(drop)),
        ("snapshot", "the source snapshot", || snapshot_source::load().map(drop)),
    ];
    let names = "names of containers that are gone before they are looked for";
    let last: [on_demand::Object; 2] = [
        ("switchlog", "exactop trace", on_demand::switchlog::try_to_load),
        ("births", names, on_demand::births::try_to_load),
    ];
    first.into_iter().chain(on_demand::OBJECTS.iter().copied()).chain(last)
}

/// Loads each object of BPF programs and lets it go again; none in a build without BPF.
pub fn objects() -> Vec<Object> {
    #[cfg(feature = "bpf")]
    let tried = all().map(|(name, needed_by, load)| Object {
        name,
        needed_by,
        refused: load().err().map(|error| error.to_string()),
    });
    #[cfg(not(feature = "bpf"))]
    let tried = std::iter::empty();
    tried.collect()
}
