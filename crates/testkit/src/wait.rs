//! Waits for a state, never for a time: on a busy machine a test takes longer, but does not fail. A
//! wait that fails prints the state that it waited for.

use std::time::{Duration, Instant};

/// Longest wait. It is long enough for every state, even on a busy machine.
pub const LIMIT: Duration = Duration::from_secs(120);

/// Shortest and longest pause between two checks of the condition. Between them a pause is a tenth
/// of the wait so far: the checks of a long wait, some of which start a program, cost little.
const PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(50)];

/// Waits until the condition holds.
///
/// # Panics
/// The condition does not hold within [`LIMIT`].
#[track_caller]
pub fn until(what: &str, is_so: impl FnMut() -> bool) {
    until_within(LIMIT, what, is_so);
}

/// Same, for a condition that takes longer by itself.
///
/// # Panics
/// The condition does not hold within the limit.
#[track_caller]
pub fn until_within(limit: Duration, what: &str, mut is_so: impl FnMut() -> bool) {
    if found_within(limit, || is_so().then_some(())).is_none() {
        given_up(limit, what, "");
    }
}

/// Waits until `look` finds something.
///
/// # Panics
/// Nothing is found within [`LIMIT`].
#[track_caller]
pub fn find<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    match found_within(LIMIT, look) {
        Some(found) => found,
        None => given_up(LIMIT, what, ""),
    }
}

/// Same; a failure also prints the current value.
///
/// # Panics
/// Nothing is found within [`LIMIT`].
#[track_caller]
pub fn find_or_say<T>(
    what: &str,
    look: impl FnMut() -> Option<T>,
    instead: impl FnOnce() -> String,
) -> T {
    match found_within(LIMIT, look) {
        Some(found) => found,
        None => given_up(LIMIT, what, &instead()),
    }
}

/// The result of a check; `None`: nothing within the limit. The last check is after the limit.
fn found_within<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    loop {
        let elapsed = begun.elapsed();
        let is_last = elapsed >= limit;
        let found = look();
        if found.is_some() || is_last {
            return found;
        }
        std::thread::sleep((elapsed / 10).clamp(PAUSES[0], PAUSES[1]));
    }
}

#[track_caller]
fn given_up(limit: Duration, what: &str, instead: &str) -> ! {
    let joint = if instead.is_empty() { "" } else { "; " };
    panic!("waited {} s without success for: {what}{joint}{instead}", limit.as_secs_f64());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::catch_unwind;

    /// The message of a panic.
    fn words(of: impl FnOnce() + std::panic::UnwindSafe) -> String {
        let said = catch_unwind(of).expect_err("it gives up");
        *said.downcast::<String>().expect("words")
    }

    #[test]
    fn a_true_condition_is_checked_once() {
        let mut looks = 0;
        until("something", || {
            looks += 1;
            true
        });
        assert_eq!((looks, find("a number", || Some(7))), (1, 7));
    }

    #[test]
    fn a_later_state_is_waited_for() {
        let mut looks = 0;
        until("the fifth look", || {
            looks += 1;
            looks == 5
        });
        let mut more = [None, None, Some("it")].into_iter();
        assert_eq!(find_or_say("the third", || more.next().flatten(), String::new), "it");
    }

    #[test]
    fn a_failed_wait_names_its_state() {
        let limit = Duration::from_millis(20);
        let said = words(|| until_within(limit, "a rising sun", || false));
        assert_eq!(said, "waited 0.02 s without success for: a rising sun");
        let said = words(|| given_up(LIMIT, "a screen", "there is: snow"));
        assert_eq!(said, "waited 120 s without success for: a screen; there is: snow");
    }

    /// If the waiter had no CPU until after the limit, it checks once more.
    #[test]
    fn nothing_is_given_up_without_a_look_after_the_limit() {
        let limit = Duration::from_millis(20);
        let mut looks = 0;
        let found = found_within(limit, || {
            looks += 1;
            std::thread::sleep(2 * limit);
            (looks == 2).then_some(looks)
        });
        assert_eq!(found, Some(2));
    }
}
