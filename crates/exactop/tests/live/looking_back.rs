//! Back through the last windows of a live machine, in a real terminal.

use crate::helpers::terminal::Terminal;
use crate::screen::table;

/// The window on the time line: `2026-11-22 14:03:10 + 1.100 s`. The line shows whole seconds, so
/// windows of more than a second have different ones.
fn window(screen: &str) -> Option<String> {
    let (window, _) = screen.lines().nth(1)?.split_once(" s ")?;
    window.contains(" + ").then(|| window.to_string())
}

#[test]
fn windows_that_are_over_can_be_gone_back_to() {
    let terminal = Terminal::live(120, 30, "-d 1.1 --source procfs");
    // Two bars: at least two windows have ended.
    terminal.shows("busy ");
    terminal.keys(&["["]);
    terminal.shows("earlier · Esc: present");
    let first = terminal.wait("a window", |t| window(&t.screen()));
    terminal.passes(|screen| table(&terminal, screen));
    terminal.keys(&["k"]);
    terminal.shows("this window is over");
    terminal.keys(&["]"]);
    let next = terminal.wait("another", |t| window(&t.screen()).filter(|other| *other != first));
    terminal.keys(&["["]);
    terminal.wait("the first", |t| window(&t.screen()).filter(|other| *other == first));
    assert_ne!(next, first);
    // Windows go on ending meanwhile, and none of them is long.
    let mut seen = vec![first, next];
    while seen.len() < 6 {
        let later = terminal.wait("a window that ended meanwhile", |t| {
            t.keys(&["]"]);
            window(&t.screen()).filter(|window| !seen.contains(window))
        });
        seen.push(later);
    }
    terminal.escape();
    terminal.wait("now", |t| window(&t.screen()).is_none().then_some(()));
    terminal.passes(|screen| table(&terminal, screen));
}
