//! Waiting for what must come, however busy the machine is. A test that sleeps until something has surely
//! happened fails where it has not; one that waits for the state itself takes no longer than that state.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long anything may take.
const LIMIT: Duration = Duration::from_secs(120);

/// How often somebody looks.
const POLL: Duration = Duration::from_millis(10);

/// Waits until it is so.
///
/// # Panics
/// If it is not so after two minutes.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    find(what, || is_so().then_some(()));
}

/// Waits until there is something to be found.
///
/// # Panics
/// If nothing is found in two minutes.
#[track_caller]
pub fn find<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < LIMIT, "waited {} s in vain for: {what}", LIMIT.as_secs());
        sleep(POLL);
    }
}
