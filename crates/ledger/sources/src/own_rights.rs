//! Gives up rights of this process's own threads for good: capabilities (capabilities(7)), from the
//! bounding set too, and files (landlock(7)).

use landlock::{
    path_beneath_rules, Access, AccessFs, AccessNet, BitFlags, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope, ABI,
};
use rustix::io::Errno;
use rustix::thread::{
    capabilities, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities, CapabilitySet as Caps, CapabilitySets,
};

/// Drops all capabilities but `kept`, which stay in force, and `asked`, which stay permitted.
///
/// Capabilities belong to a thread: this drops those of the calling thread. Call it before other
/// threads start, or let each thread call it.
///
/// # Errors
/// A container's seccomp filter refuses it; the thread then keeps the capabilities of the process.
pub fn keep(kept: Caps, asked: Caps) -> rustix::io::Result<()> {
    bounded(kept | asked)?;
    let had = capabilities(None)?;
    // The ambient set must be empty first: it may not hold capabilities that are not permitted.
    match clear_ambient_capability_set() {
        Ok(()) | Err(Errno::INVAL) => {}
        Err(errno) => return Err(errno),
    }
    let permitted = had.permitted & (kept | asked);
    let effective = permitted & kept;
    set_capabilities(None, CapabilitySets { effective, permitted, inheritable: Caps::empty() })
}

/// Version of landlock that limits all that exactop can limit; an older kernel applies what it knows.
pub const WANTED: ABI = ABI::V6;

/// Reading files and directories.
pub fn reading() -> BitFlags<AccessFs> {
    AccessFs::ReadFile | AccessFs::ReadDir
}

/// A ruleset that allows no file, no TCP port and no abstract socket. Open files stay open.
///
/// # Errors
/// [`RulesetError`]: the kernel or a container's filter refuses it.
pub fn no_files() -> Result<RulesetCreated, RulesetError> {
    Ruleset::default()
        .handle_access(AccessFs::from_all(WANTED))?
        .handle_access(AccessNet::from_all(WANTED))?
        .scope(Scope::AbstractUnixSocket)?
        .create()
}

/// Gives up all rights of the calling thread but the capabilities `kept`: the thread uses only what
/// is open. For a thread that starts before its process gives up rights, which binds only the thread
/// that does it. A measure that the kernel lacks or a container's filter refuses is skipped.
pub fn give_up_all_but(kept: Caps) {
    let _ = keep(kept, Caps::empty());
    let _ = no_files().and_then(RulesetCreated::restrict_self);
}

/// The same without capabilities, but the thread reads files that its user may read. It may not look
/// at processes: where /proc hides them, it would see none.
pub fn give_up_all_but_reading() {
    let _ = keep(Caps::empty(), Caps::empty());
    let everywhere = path_beneath_rules(["/"], reading());
    let _ = no_files()
        .and_then(|none| none.add_rules(everywhere))
        .and_then(RulesetCreated::restrict_self);
}

/// Prevents started programs from getting other capabilities. This needs CAP_SETPCAP; other
/// processes have no_new_privs.
fn bounded(kept: Caps) -> rustix::io::Result<()> {
    if !capabilities(None)?.effective.contains(Caps::SETPCAP) {
        return Ok(());
    }
    // All bits, also those of capabilities newer than these names.
    for bit in (0..u64::BITS).map(|bit| Caps::from_bits_retain(1 << bit)) {
        if kept.contains(bit) {
            continue;
        }
        match remove_capability_from_bounding_set(bit) {
            Ok(()) => {}
            // The kernel has no more capabilities.
            Err(Errno::INVAL) => break,
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use landlock::RulesetStatus;
    use std::fs::{read, write, File};
    use std::io::{ErrorKind::PermissionDenied, Read};

    /// Runs in a thread of its own, so that only this thread gives up rights.
    fn alone<T: Send>(test: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| scope.spawn(test).join().expect("no panic"))
    }

    /// The same; `None`: the kernel has no landlock.
    fn apart<T: Send>(test: impl FnOnce() -> T + Send) -> Option<T> {
        let fenced = alone(|| no_files().and_then(RulesetCreated::restrict_self).expect("rules"));
        let has_it = fenced.ruleset != RulesetStatus::NotEnforced;
        if !has_it {
            eprintln!("left out: this kernel has no landlock");
        }
        has_it.then(|| alone(test))
    }

    #[test]
    fn a_thread_without_rights_uses_only_what_is_open() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        write(&file, "text").expect("written");
        let mut open = File::open(&file).expect("open");
        let told = apart(|| {
            give_up_all_but(Caps::empty());
            let mut text = String::new();
            open.read_to_string(&mut text).expect("readable");
            let again = read(&file).map_err(|error| error.kind());
            (text, again, rustix::thread::capabilities(None).expect("its own").permitted)
        });
        if let Some(told) = told {
            assert_eq!(told, ("text".into(), Err(PermissionDenied), Caps::empty()));
        }
        assert_eq!(read(&file).expect("readable by others"), b"text");
    }

    #[test]
    fn a_thread_that_reads_writes_nothing() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        write(&file, "text").expect("written");
        let told = apart(|| {
            give_up_all_but_reading();
            let written = write(&file, "other").map_err(|error| error.kind());
            (read(&file).map_err(|error| error.kind()), written)
        });
        if let Some(told) = told {
            assert_eq!(told, (Ok(b"text".to_vec()), Err(PermissionDenied)));
        }
    }
}
