//! Every object of BPF programs, loaded for real and let go again: only the kernel itself can say
//! whether it takes them.

use crate::error::SourceError;
use crate::on_demand::{switchlog, syscalls, waits, wakeups};
use crate::probe::Object;
use crate::{ledger, snapshot_source};

type Try = fn() -> Result<(), SourceError>;

/// Bytes of the switch log's buffer while it is only tried.
const LEAST_BUFFER: u32 = 1 << 16;

/// What the objects are for, and how to load them.
const OBJECTS: [(&str, &str, Try); 6] = [
    ("ledger", "the ledger", || ledger::load::load(&ledger::Options::default()).map(drop)),
    ("snapshot", "the source snapshot", || snapshot_source::load_either().map(drop)),
    ("waits", "exactop waits, and the page of a process", || waits::loaded(&[]).map(drop)),
    ("wakeups", "exactop wakeups", || wakeups::loaded(&wakeups::Options::default()).map(drop)),
    ("syscalls", "exactop syscalls", || syscalls::loaded(&syscalls::Options::default()).map(drop)),
    ("switchlog", "exactop trace", || switchlog::loaded(LEAST_BUFFER).map(drop)),
];

/// Loads each of them; nothing is attached.
pub(crate) fn try_all() -> Vec<Object> {
    let tried = OBJECTS.iter().map(|(name, needed_by, load)| Object {
        name,
        needed_by,
        refused: load().err().map(|error| error.to_string()),
    });
    tried.collect()
}
