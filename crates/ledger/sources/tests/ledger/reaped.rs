//! A program that knows how many children it reaped, and the tree that counts who exited
//! (`exactop run`).

use crate::books::Books;
use exactop_model::{ErrorKind, Window};
use exactop_sources::ledger::{Loss, LostEvent, Options};
use exactop_sources::tree::Tree;
use exactop_testkit::wait;
use std::process::{Child, Command, Stdio};

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

fn start(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).spawn().expect("a program that reaps")
}

/// The number that a program which has ended printed.
fn number_said(program: Child) -> u64 {
    let said = program.wait_with_output().expect("what it said").stdout;
    String::from_utf8_lossy(&said).trim().parse().expect("a number")
}

#[test]
fn everyone_who_was_reaped_is_counted_as_exited() {
    let Some(_machine) = crate::machine() else { return };
    let mut tree = Tree::open(false, None).unwrap_or_else(|error| {
        panic!("{error} (EXACTOP_NO_LEDGER_TESTS=1 leaves the ledger's tests out)")
    });
    let mut shell = start(Command::new("sh").args(["-c", SCRIPT]));
    wait::until("the shell's end", || {
        tree.advance().expect("a window");
        shell.try_wait().expect("a status").is_some()
    });
    let reaped = A_TURN * number_said(shell) + 1;
    // Who was reaped may have the last switch still ahead.
    wait::until("the last of them", || {
        tree.advance().expect("a window");
        tree.totals().processes() >= reaped
    });
    let totals = tree.totals();
    println!("{reaped} reaped; {:?}", totals.errors.nonzero().collect::<Vec<_>>());
    assert_eq!((totals.processes(), totals.living), (reaped, 0), "{:?}", totals.exited);
}

/// How many processes of the followed tree exited in a window.
fn exited(window: &Window) -> u64 {
    let of_tree = window.exited.iter().filter(|group| group.sample.tree != 0);
    of_tree.map(|group| group.processes).sum()
}

/// Of all tasks on the machine the kernel hides both the exit and the last switch.
#[test]
fn an_exit_whose_last_switch_is_hidden_too_is_counted_once() {
    let Some(_machine) = crate::machine() else { return };
    let lose = Some(Loss { event: LostEvent::End, one_in: 1, in_a_row: 1 });
    let mut books = Books::open(&Options { lose, ..Options::default() });
    books.ledger.follow_children();
    let mut shell = start(Command::new("sh").args(["-c", SCRIPT]));
    let (mut counted, mut unseen) = (0, 0);
    let mut add = |window: &Window| {
        counted += exited(window);
        unseen += window.errors.get(ErrorKind::UnseenExit);
        counted
    };
    books.find("the shell's end", |_, window| {
        add(&window);
        shell.try_wait().expect("a status")
    });
    let reaped = A_TURN * number_said(shell) + 1;
    books.find("every exit", |_, window| (add(&window) >= reaped).then_some(()));
    let lost = books.ledger.lost_on_purpose();
    // All that were hidden have told by now, or tell here, and none of them twice.
    for _ in 0..10 {
        std::thread::sleep(std::time::Duration::from_millis(50));
        add(&books.close().expect("a window is open"));
    }
    println!("{reaped} reaped, {counted} counted; {lost} ends hidden, {unseen} noticed");
    assert_eq!(counted, reaped);
    // But those that this kernel hid before.
    assert!(lost > reaped / 2, "{lost} were hidden");
    assert!(unseen > reaped / 2, "{unseen} of {lost} hidden ends were noticed");
}
