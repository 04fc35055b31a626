//! The live view of a made-up /proc, in a real terminal.

use crate::helpers::processes::{send, TERM};
use crate::helpers::run::program;
use crate::helpers::terminal::Terminal;
use crate::made_up_proc::tree;
use std::path::Path;

/// The live view on a made-up /proc; its exit code stays on the screen.
pub fn live(root: &Path, config: &Path, options: &str) -> Terminal {
    let home = format!("XDG_CONFIG_HOME={}", config.display());
    let terminal = Terminal::new(100, 30, &[&home]);
    let (program, root) = (program(), root.display());
    terminal.line(&format!("clear; {program} --proc-root {root} {options}; echo ended: $?"));
    terminal
}

#[test]
fn it_shows_rows_keeps_settings_and_quits() {
    let (tree, config) = (tree(), tempfile::tempdir().expect("a directory"));
    let terminal = live(tree.path(), config.path(), "-p 1,812 --columns pid,%CPU,comm");
    let screen = terminal.shows("init");
    assert!(screen.contains("procfs"), "{screen}");
    assert!(screen.contains("evil\\x1b[2J") && !screen.contains("(b"), "{screen}");
    terminal.keys(&["W"]);
    terminal.shows("config.toml");
    let kept = std::fs::read_to_string(config.path().join("exactop/config.toml")).expect("a file");
    assert!(kept.contains("columns = [\"pid\", \"cpu_pct\", \"comm\"]"), "{kept}");
    terminal.keys(&["q"]);
    terminal.shows("ended: 0");
}

#[test]
fn saved_settings_apply_at_the_next_start() {
    let (tree, config) = (tree(), tempfile::tempdir().expect("a directory"));
    std::fs::create_dir(config.path().join("exactop")).expect("a directory");
    let file = config.path().join("exactop/config.toml");
    std::fs::write(file, "columns = [\"pid\", \"start_ns\"]\n").expect("a file");
    let terminal = live(tree.path(), config.path(), "-d 60");
    terminal.shows("START");
    terminal.keys(&["q"]);
    terminal.shows("ended: 0");
}

#[test]
fn settings_that_cannot_be_kept_are_no_reason_to_end() {
    let tree = tree();
    let terminal = live(tree.path(), Path::new("/proc/nowhere"), "");
    terminal.shows("init");
    terminal.keys(&["W"]);
    terminal.shows("cannot write");
    terminal.keys(&["q"]);
    terminal.shows("ended: 0");
}

#[test]
fn a_signal_ends_the_view_and_restores_the_terminal() {
    let (tree, config) = (tree(), tempfile::tempdir().expect("a directory"));
    let terminal = live(tree.path(), config.path(), "-d 60");
    terminal.shows("init");
    send(terminal.child(), TERM);
    let screen = terminal.shows("ended: 143");
    assert!(!screen.contains("init"), "the screen from before is back:\n{screen}");
}
