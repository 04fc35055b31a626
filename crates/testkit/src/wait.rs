//! Waiting for a state, never for a time: a busy machine takes longer, and fails nothing. Who waits says what for,
//! and a wait that is given up says it.

use std::time::{Duration, Instant};

/// What has not come by then does not come, however busy the machine is.
pub const LIMIT: Duration = Duration::from_secs(120);

/// Between two looks; the first ones follow each other faster.
const PAUSE: Duration = Duration::from_millis(10);

/// Waits until it is so.
///
/// # Panics
/// If it is not within [`LIMIT`].
#[track_caller]
pub fn until(what: &str, is_so: impl FnMut() -> bool) {
    until_within(LIMIT, what, is_so);
}

/// The same, for what takes longer by itself.
///
/// # Panics
/// If it is not so within the limit.
#[track_caller]
pub fn until_within(limit: Duration, what: &str, mut is_so: impl FnMut() -> bool) {
    if found_within(limit, || is_so().then_some(())).is_none() {
        given_up(limit, what, "");
    }
}

/// Waits until there is something.
///
/// # Panics
/// If there is nothing within [`LIMIT`].
#[track_caller]
pub fn find<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    match found_within(LIMIT, look) {
        Some(found) => found,
        None => given_up(LIMIT, what, ""),
    }
}

/// The same; what there is instead is said when it is given up.
///
/// # Panics
/// If there is nothing within [`LIMIT`].
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

/// What a look finds; `None`: nothing within the limit. The last look is after it.
fn found_within<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let (begun, mut pause) = (Instant::now(), PAUSE / 10);
    loop {
        let is_last = begun.elapsed() >= limit;
        let found = look();
        if found.is_some() || is_last {
            return found;
        }
        std::thread::sleep(pause);
        pause = (2 * pause).min(PAUSE);
    }
}

#[track_caller]
fn given_up(limit: Duration, what: &str, instead: &str) -> ! {
    let joint = if instead.is_empty() { "" } else { "; " };
    panic!("waited {} s in vain for: {what}{joint}{instead}", limit.as_secs_f64());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::catch_unwind;

    /// What a panic says.
    fn words(of: impl FnOnce() + std::panic::UnwindSafe) -> String {
        let said = catch_unwind(of).expect_err("it gives up");
        *said.downcast::<String>().expect("words")
    }

    #[test]
    fn what_is_so_is_looked_at_once() {
        let mut looks = 0;
        until("something", || {
            looks += 1;
            true
        });
        assert_eq!((looks, find("a number", || Some(7))), (1, 7));
    }

    #[test]
    fn what_comes_later_is_waited_for() {
        let mut looks = 0;
        until("the fifth look", || {
            looks += 1;
            looks == 5
        });
        let mut more = [None, None, Some("it")].into_iter();
        assert_eq!(find_or_say("the third", || more.next().flatten(), String::new), "it");
    }

    #[test]
    fn who_gives_up_says_what_they_waited_for() {
        let limit = Duration::from_millis(20);
        let said = words(|| until_within(limit, "a rising sun", || false));
        assert_eq!(said, "waited 0.02 s in vain for: a rising sun");
        let said = words(|| given_up(LIMIT, "a screen", "there is: snow"));
        assert_eq!(said, "waited 120 s in vain for: a screen; there is: snow");
    }

    /// Who was kept from looking for longer than the limit looks once more.
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
