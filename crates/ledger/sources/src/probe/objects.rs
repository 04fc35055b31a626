//! Loads every object of BPF programs and unloads it again: only the kernel can tell if it accepts
//! them.

#[cfg(feature = "bpf")]
use crate::{ledger, on_demand, snapshot_source};

/// An object of BPF programs and the kernel's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Name of its file below bpf/.
    pub name: &'static str,
    /// What exactop needs it for.
    pub needed_by: &'static str,
    /// Why the kernel refuses it, with what to do; `None` if it accepts it.
    pub refused: Option<String>,
}

/// All objects: what needs them, and how to load them.
#[cfg(feature = "bpf")]
fn all() -> impl Iterator<Item = on_demand::Object> {
    let first: [on_demand::Object; 2] = [
        ("ledger", "the ledger", || ledger::load::load(&ledger::Options::default()).map(drop)),
        ("snapshot", "the source snapshot", || snapshot_source::load().map(drop)),
    ];
    let names = "names of containers that end before they are read";
    let last: [on_demand::Object; 2] = [
        ("switchlog", "exactop trace", on_demand::switchlog::try_to_load),
        ("births", names, on_demand::births::try_to_load),
    ];
    first.into_iter().chain(on_demand::OBJECTS.iter().copied()).chain(last)
}

/// Loads each object of BPF programs and unloads it; empty in a build without BPF.
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
