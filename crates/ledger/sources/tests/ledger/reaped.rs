//! A program that knows how many children it reaped, and the tree that counts who exited
//! (`exactop run`).

use exactop_sources::tree::Tree;
use exactop_testkit::wait;
use std::process::{Command, Stdio};

/// Seven processes a turn: of a program, a subshell, one that a signal ends, both sides of a pipe, and a
/// shell with a child of its own. It says how many turns it took.
const SCRIPT: &str = "n=0
while [ $n -lt 60 ]; do
    sh -c :
    (exit 3)
    sh -c 'kill -9 $$'
    : | :
    sh -c 'sh -c :; :'
    n=$((n + 1))
done 2>/dev/null
echo $n";
const A_TURN: u64 = 7;

#[test]
fn everyone_who_was_reaped_is_counted_as_exited() {
    let Some(_machine) = crate::machine() else { return };
    let mut tree = Tree::open(false, None).unwrap_or_else(|error| {
        panic!("{error} (EXACTOP_NO_LEDGER_TESTS=1 leaves the ledger's tests out)")
    });
    let mut shell = Command::new("sh");
    shell.args(["-c", SCRIPT]).stdout(Stdio::piped());
    let mut shell = shell.spawn().expect("a shell");
    wait::until("the shell's end", || {
        tree.advance().expect("a window");
        shell.try_wait().expect("a status").is_some()
    });
    let said = shell.wait_with_output().expect("what it said").stdout;
    let turns: u64 = String::from_utf8_lossy(&said).trim().parse().expect("a number");
    let reaped = A_TURN * turns + 1;
    // Who was reaped may have the last switch still ahead.
    wait::until("the last of them", || {
        tree.advance().expect("a window");
        tree.totals().processes() >= reaped
    });
    let totals = tree.totals();
    println!("{reaped} reaped; {:?}", totals.errors.nonzero().collect::<Vec<_>>());
    assert_eq!((totals.processes(), totals.living), (reaped, 0), "{:?}", totals.exited);
}
