//! A program that counts its reaped children, compared with the tree's count of exits (`exactop
//! run`).

use crate::books::Books;
use exactop_model::{ErrorKind, Window};
use exactop_sources::ledger::{Loss, LostEvent, Options};
use exactop_sources::tree::Tree;
use exactop_testkit::wait;
use std::process::{Child, Command, Stdio};

/// Seven processes in each round: a program, a subshell, a process killed by a signal, both sides
/// of a pipe, and a shell with a child of its own. It prints the number of rounds.
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

/// The number that an ended program printed.
fn number_said(program: Child) -> u64 {
    let said = program.wait_with_output().expect("what it said").stdout;
    String::from_utf8_lossy(&said).trim().parse().expect("a number")
}

#[test]
fn every_reaped_child_counts_as_exited() {
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
    // A reaped process may still have its last switch ahead.
    wait::until("the last of them", || {
        tree.advance().expect("a window");
        tree.totals().processes() >= reaped
    });
    let totals = tree.totals();
    println!("{reaped} reaped; {:?}", totals.errors.nonzero().collect::<Vec<_>>());
    assert_eq!((totals.processes(), totals.living), (reaped, 0), "{:?}", totals.exited);
}

/// Number of exited processes of the followed tree in a window.
fn exited(window: &Window) -> u64 {
    let of_tree = window.exited.iter().filter(|group| group.sample.tree != 0);
    of_tree.map(|group| group.processes).sum()
}

/// Every reaped child counts once if events are lost so. Returns the number of reaped ones, of lost
/// events, and of ends noticed late.
fn counted_once(lose: Loss) -> [u64; 3] {
    let mut books = Books::open(&Options { lose: Some(lose), ..Options::default() });
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
    // All hidden exits have been noticed by now, or are noticed here, each once.
    for _ in 0..10 {
        std::thread::sleep(std::time::Duration::from_millis(50));
        add(&books.close().expect("a window is open"));
    }
    println!("{reaped} reaped, {counted} counted; {lost} ends hidden, {unseen} noticed");
    assert_eq!(counted, reaped);
    [reaped, lost, unseen]
}

/// The exits and last switches of these tasks are hidden; this kernel hides some releases itself.
#[test]
fn an_exit_whose_last_switch_is_hidden_too_is_counted_once() {
    let Some(_machine) = crate::machine() else { return };
    for one_in in [1, 3] {
        let [reaped, lost, unseen] =
            counted_once(Loss { event: LostEvent::End, one_in, in_a_row: 1 });
        // Except exits that this kernel itself hid.
        let few = reaped / u64::from(one_in) / 2;
        assert!(lost > few, "{lost} were hidden");
        assert!(unseen > few, "{unseen} of {lost} hidden ends were noticed");
    }
}

/// The releases of all tasks are hidden too.
#[test]
fn an_exit_whose_release_is_hidden_too_is_counted_once() {
    let Some(_machine) = crate::machine() else { return };
    for one_in in [1, 3] {
        let event = LostEvent::EndAndRelease;
        let [reaped, lost, unseen] = counted_once(Loss { event, one_in, in_a_row: 1 });
        let few = reaped / u64::from(one_in) / 2;
        assert!(lost > few, "{lost} were hidden");
        assert!(unseen > few, "{unseen} of {lost} hidden ends were noticed");
    }
}
