//! Capabilities (capabilities(7)): those kept, those kept for a user's request, and those given up.

use super::Measure;
use exactop_sources::own_rights;
use rustix::thread::{capabilities, set_capabilities, CapabilitySet as Caps, CapabilitySets};

/// Gives up all capabilities but `kept`, which stay in force, and `asked`, which do not.
///
/// This affects only the calling thread. Call it before other threads start, or let those threads
/// call it themselves.
pub fn keep(kept: Caps, asked: Caps) -> Measure {
    match own_rights::keep(kept, asked) {
        Ok(()) => Measure::On("only those of docs/explanation/security.md are left".into()),
        Err(errno) => Measure::Off(format!("they cannot be dropped: {errno}")),
    }
}

/// Runs an action that the user requested, with the capabilities that it needs. They are permitted
/// but otherwise not in force. Without permission the action runs without them.
pub fn with<T>(caps: Caps, deed: impl FnOnce() -> T) -> T {
    let before = capabilities(None);
    if let Ok(sets) = before {
        let effective = sets.effective | (sets.permitted & caps);
        // If this fails, the action reports the missing right.
        let _ = set_capabilities(None, CapabilitySets { effective, ..sets });
    }
    let done = deed();
    if let Ok(sets) = before {
        // Giving up a right is always allowed.
        let _ = set_capabilities(None, sets);
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs in a thread of its own, because capabilities belong to a thread.
    fn apart<T: Send>(test: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| scope.spawn(test).join().expect("no panic"))
    }

    #[test]
    fn dropped_capabilities_are_gone_and_asked_ones_are_temporary() {
        let had = capabilities(None).expect("capget").permitted;
        let (kept, wanted) = (Caps::BPF | Caps::PERFMON, Caps::KILL);
        apart(|| {
            assert!(matches!(keep(kept, wanted), Measure::On(_)));
            let now = || capabilities(None).expect("capget");
            assert_eq!(now().permitted, had & (kept | wanted));
            assert_eq!(now().effective, had & kept);
            let during = with(wanted | Caps::SYS_ADMIN, || now().effective);
            assert_eq!(during, had & (kept | wanted), "never more than is permitted");
            assert_eq!(now().effective, had & kept);
            let all = CapabilitySets { effective: had, permitted: had, inheritable: had };
            let again = set_capabilities(None, all);
            assert_eq!(again.is_ok(), had == had & (kept | wanted), "{again:?}");
        });
    }

    #[test]
    fn nothing_can_be_kept() {
        apart(|| {
            assert!(matches!(keep(Caps::empty(), Caps::empty()), Measure::On(_)));
            let now = capabilities(None).expect("capget");
            assert!((now.permitted | now.effective | now.inheritable).is_empty());
        });
    }
}
