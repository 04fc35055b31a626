//! Capabilities (capabilities(7)): kept, kept for when someone asks, and given up for good.

use super::Measure;
use exactop_sources::own_rights;
use rustix::thread::{capabilities, set_capabilities, CapabilitySet as Caps, CapabilitySets};

/// Gives up everything but `kept`, which stays in force, and `asked`, which does not.
///
/// It is this thread that gives up: call it before there are others, or let those give up by
/// themselves.
pub fn keep(kept: Caps, asked: Caps) -> Measure {
    match own_rights::keep(kept, asked) {
        Ok(()) => Measure::On("only those of docs/explanation/security.md are left".into()),
        Err(errno) => Measure::Off(format!("they cannot be given up: {errno}")),
    }
}

/// Does what the person at the terminal asked for with the capabilities it takes, which are
/// permitted but not in force otherwise. Who was never permitted them tries without.
pub fn asked<T>(caps: Caps, deed: impl FnOnce() -> T) -> T {
    let before = capabilities(None);
    if let Ok(sets) = before {
        let effective = sets.effective | (sets.permitted & caps);
        // Refused, the deed says what it may not do.
        let _ = set_capabilities(None, CapabilitySets { effective, ..sets });
    }
    let done = deed();
    if let Ok(sets) = before {
        // Giving up what one has is always allowed.
        let _ = set_capabilities(None, sets);
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a thread of its own, which is all that it changes.
    fn apart<T: Send>(test: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| scope.spawn(test).join().expect("no panic"))
    }

    #[test]
    fn what_is_given_up_is_gone_and_what_is_asked_for_comes_and_goes() {
        let had = capabilities(None).expect("capget").permitted;
        let (kept, wanted) = (Caps::BPF | Caps::PERFMON, Caps::KILL);
        apart(|| {
            assert!(matches!(keep(kept, wanted), Measure::On(_)));
            let now = || capabilities(None).expect("capget");
            assert_eq!(now().permitted, had & (kept | wanted));
            assert_eq!(now().effective, had & kept);
            let during = asked(wanted | Caps::SYS_ADMIN, || now().effective);
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
