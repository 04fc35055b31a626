//! Every object of BPF programs, loaded for real and let go again: only the kernel itself can say
//! whether it takes them.

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

#[cfg(feature = "bpf")]
type Try = fn() -> Result<(), crate::SourceError>;

/// What the objects are for, and how to load them.
#[cfg(feature = "bpf")]
const OBJECTS: [(&str, &str, Try); 8] = {
    use crate::on_demand::{births, moves, switchlog, syscalls, waits, wakeups};
    use crate::{ledger, snapshot_source};

    [
        ("ledger", "the ledger", || ledger::load::load(&ledger::Options::default()).map(drop)),
        ("snapshot", "the source snapshot", || snapshot_source::load().map(drop)),
        ("waits", "exactop waits, and the page of a process", waits::try_to_load),
        ("wakeups", "exactop wakeups", wakeups::try_to_load),
        ("syscalls", "exactop syscalls", syscalls::try_to_load),
        ("moves", "exactop moves", moves::try_to_load),
        ("switchlog", "exactop trace", switchlog::try_to_load),
        (
            "births",
            "names of containers that are gone before they are looked for",
            births::try_to_load,
        ),
    ]
};

/// Loads each object of BPF programs and lets it go again; none in a build without BPF.
pub fn objects() -> Vec<Object> {
    #[cfg(feature = "bpf")]
    let tried = OBJECTS.iter().map(|(name, needed_by, load)| Object {
        name,
        needed_by,
        refused: load().err().map(|error| error.to_string()),
    });
    #[cfg(not(feature = "bpf"))]
    let tried = std::iter::empty();
    tried.collect()
}
