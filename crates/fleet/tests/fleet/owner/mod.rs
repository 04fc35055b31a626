//! CPU time by owner, by every route: live rows, joined and merged windows, a replay, a report,
//! both sides of a difference, exported tables, a fleet's books and a page of metrics. All give the
//! same integers, which sum to the ledger's. Windows are random: tasks fork, exec, exit, and move
//! between control groups, back and forth, in chains, several times in a window.

mod machine;
mod roads;

use exactop_model::ledger::snapshot::GroupMove;
use exactop_model::owner::{charge, share, Charge, Grouping, Owner};
use exactop_model::{Book, Books, Counter, Snapshot, Window};
use machine::{event, Event, Machine, NOT_MEASURED};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::collections::BTreeMap;

/// CPU time, run-queue wait and throttled time in ns, exited processes, and dispatches.
pub type Figures = [u64; 5];

/// Figures by name; rows without a name are `(rest)`.
pub type Sums = BTreeMap<String, Figures>;

/// A history of snapshots, and the machine's true sums.
pub struct History {
    pub snapshots: Vec<Snapshot>,
    pub truth: Vec<BTreeMap<Grouping, Sums>>,
}

impl History {
    /// Runs the events; `order` selects the order of moves in snapshots.
    fn of(events: &[Event], order: u64) -> History {
        let mut machine = Machine::new();
        let close = [Event::Close];
        let all = close.iter().chain(events).chain(&close);
        let mut snapshots: Vec<Snapshot> = all.filter_map(|event| machine.happens(event)).collect();
        for snapshot in &mut snapshots {
            shuffle(&mut snapshot.moves, order);
        }
        History { snapshots, truth: machine.truth }
    }

    /// Passes all windows to `each`.
    fn windows(&self, mut each: impl FnMut(&Window, &Book)) {
        let mut book = Book::new();
        for snapshot in &self.snapshots {
            if let Some(window) = book.advance(snapshot.clone()) {
                each(&window, &book);
            }
        }
    }

    /// True sums of some windows together.
    pub fn truth(&self, by: Grouping, windows: std::ops::Range<usize>) -> Sums {
        let mut all = Sums::new();
        for window in &self.truth[windows] {
            window[&by].iter().for_each(|(name, figures)| add(&mut all, name, figures));
        }
        all
    }
}

/// Reorders moves: permutation number `order`.
fn shuffle(moves: &mut Vec<GroupMove>, mut order: u64) {
    let mut drawn = Vec::new();
    while !moves.is_empty() {
        let left = moves.len() as u64;
        drawn.push(moves.remove((order % left) as usize));
        order /= left;
    }
    *moves = drawn;
}

pub fn add(sums: &mut Sums, name: &str, figures: &Figures) {
    if figures.iter().any(|&ns| ns > 0) {
        let sum = sums.entry(name.into()).or_default();
        sum.iter_mut().zip(figures).for_each(|(sum, ns)| *sum += ns);
    }
}

/// A rule that charges a window's time to owners.
type Rule<'a> = &'a dyn Fn(&Window, &Book, Grouping, &mut dyn FnMut(Owner, &Charge<'_>));

/// Sums that a rule charges, over all windows.
fn charged(history: &History, by: Grouping, charge: Rule<'_>) -> Sums {
    let mut sums = Sums::new();
    history.windows(|window, book| {
        charge(window, book, by, &mut |owner, charge| {
            let of = |counter| charge.counters.get(counter).expect("the machine knows it");
            assert_eq!(charge.counters.get(NOT_MEASURED), None, "never measured");
            let counters =
                [Counter::RunNs, Counter::LatNs, Counter::ThrottleNs, Counter::Dispatches];
            let [run, lat, throttle, dispatches] = counters.map(of);
            let figures = [run, lat, throttle, charge.exited, dispatches];
            add(&mut sums, &roads::name(by, owner, book), &figures);
        });
    });
    sums
}

fn rightly(window: &Window, book: &Book, by: Grouping, post: &mut dyn FnMut(Owner, &Charge<'_>)) {
    charge(window, book, by, &mut |owner, charge| post(owner, &charge));
}

/// A broken rule: drops one move of each window.
fn one_move_dropped(
    window: &Window,
    book: &Book,
    by: Grouping,
    post: &mut dyn FnMut(Owner, &Charge<'_>),
) {
    let mut window = window.clone();
    window.moves.pop();
    rightly(&window, book, by, post);
}

/// A broken rule: forgets tasks that waited throughout, without an event.
fn waits_forgotten(
    window: &Window,
    book: &Book,
    by: Grouping,
    post: &mut dyn FnMut(Owner, &Charge<'_>),
) {
    share(window, [], &mut |share| post(share.owner(by, book), &share.charge));
}

/// A broken rule: moves times, but no counts.
fn counts_stay(
    window: &Window,
    book: &Book,
    by: Grouping,
    post: &mut dyn FnMut(Owner, &Charge<'_>),
) {
    let mut window = window.clone();
    window.moves.iter_mut().for_each(|moved| moved.used.forget(Counter::Dispatches));
    rightly(&window, book, by, post);
}

/// A broken rule: settles moves one by one and takes only what is there so far, so later time
/// stays.
fn taken_before_given(
    window: &Window,
    book: &Book,
    by: Grouping,
    post: &mut dyn FnMut(Owner, &Charge<'_>),
) {
    let mut window = window.clone();
    let moves = std::mem::take(&mut window.moves);
    if !by.is_of_group() {
        return rightly(&window, book, by, post);
    }
    let mut sums: BTreeMap<Owner, (exactop_model::Counters, u64)> = BTreeMap::new();
    rightly(&window, book, by, &mut |owner, charge| {
        let nothing = (exactop_model::Counters::zero(), 0);
        let sum = sums.entry(owner).or_insert(nothing);
        sum.0.add(charge.counters);
        sum.0.forget(NOT_MEASURED);
        sum.1 += charge.exited;
    });
    for moved in moves {
        for (counter, ns) in moved.used.known() {
            let mut nothing = (exactop_model::Counters::zero(), 0);
            nothing.0.forget(NOT_MEASURED);
            let to = &mut sums.entry(Owner::Group(Some(moved.to))).or_insert(nothing).0;
            let there = to.get(counter).expect("known");
            let ns = ns.min(there);
            to.set(counter, there - ns);
            let from = &mut sums.entry(Owner::Group(Some(moved.from))).or_insert(nothing).0;
            from.bump(counter, ns);
        }
    }
    for (owner, (counters, exited)) in sums {
        post(owner, &Charge { counters: &counters, tasks: 0, exited });
    }
}

fn events() -> impl Strategy<Value = (Vec<Event>, u64)> {
    (prop::collection::vec(event(), 0..60), any::<u64>())
}

/// A check that a broken rule must not pass.
fn agrees(history: &History, charge: Rule<'_>) -> Result<(), TestCaseError> {
    for by in Grouping::MACHINE {
        let all = 0..history.truth.len();
        prop_assert_eq!(charged(history, by, charge), history.truth(by, all), "by {}", by);
    }
    Ok(())
}

#[test]
fn every_route_gives_the_same_integers_which_sum_to_the_ledger() {
    // Each case is recorded, replayed, exported and read back.
    let mut runner = TestRunner::new(Config { cases: 24, ..Config::default() });
    let tried = runner.run(&events(), |(events, order)| {
        let history = History::of(&events, order);
        agrees(&history, &rightly)?;
        let mut ledger_ns = 0;
        history.windows(|window, book| {
            let books = Books::from_window(window);
            assert_eq!(books.residual_ns, 0);
            ledger_ns += books.tasks_ns + books.exited_ns;
            roads::of_window(window, book);
        });
        let all = 0..history.truth.len();
        for by in Grouping::MACHINE {
            let sums = history.truth(by, all.clone());
            prop_assert_eq!(sums.values().map(|f| f[0]).sum::<u64>(), ledger_ns, "by {}", by);
        }
        roads::all(&history)
    });
    tried.expect("all roads agree");
}

#[test]
fn a_rule_that_drops_a_move_is_refused() {
    let refused = TestRunner::deterministic()
        .run(&events(), |(events, order)| agrees(&History::of(&events, order), &one_move_dropped));
    assert!(refused.is_err(), "the check does not see a move that was dropped");
}

#[test]
fn a_rule_that_forgets_waits_of_whole_windows_is_refused() {
    let refused = TestRunner::deterministic()
        .run(&events(), |(events, order)| agrees(&History::of(&events, order), &waits_forgotten));
    assert!(refused.is_err(), "the check does not see waits that were forgotten");
}

#[test]
fn a_wait_of_whole_windows_is_charged_by_every_route() {
    let events = [Event::Queue { task: 0 }, Event::Close, Event::Close];
    let history = History::of(&events, 0);
    let sums = charged(&history, Grouping::Unit, &rightly);
    assert_eq!(sums["a.service"][1], 3_000, "three windows of 1,000 ns");
    agrees(&history, &rightly).expect("all keys");
    roads::all(&history).expect("all roads");
}

#[test]
fn a_rule_that_leaves_counts_in_the_last_group_is_refused() {
    let refused = TestRunner::deterministic()
        .run(&events(), |(events, order)| agrees(&History::of(&events, order), &counts_stay));
    assert!(refused.is_err(), "the check does not see counts that stay");
}

#[test]
fn a_rule_that_takes_before_it_gives_is_refused() {
    let refused = TestRunner::deterministic().run(&events(), |(events, order)| {
        agrees(&History::of(&events, order), &taken_before_given)
    });
    assert!(refused.is_err(), "the check does not see what is taken before it is given");
}

#[test]
fn a_task_that_moves_between_three_groups_is_charged_where_it_ran() {
    let step = |group, run| {
        let used = [run, run / 2, run / 4, 0, run / 50];
        [Event::Move { task: 0, group }, Event::Use { task: 0, used }]
    };
    // a, b, c, a, b.
    let steps = [(2, 100), (3, 200), (4, 400), (2, 800), (3, 1_600)];
    let events: Vec<Event> = steps.into_iter().flat_map(|(group, run)| step(group, run)).collect();
    // Four moves; a to b occurs twice.
    for order in 0..24 {
        let history = History::of(&events, order);
        let sums = charged(&history, Grouping::Unit, &rightly);
        let of = |name: &str| (sums[name][0], sums[name][4]);
        let got = ["a.service", "b.service", "c.service"].map(of);
        assert_eq!(got, [(900, 18), (1_800, 36), (400, 8)], "order {order}");
        agrees(&history, &rightly).expect("all By");
        if order < 4 {
            roads::all(&history).expect("all roads");
        }
        assert!(agrees(&history, &one_move_dropped).is_err(), "order {order}");
    }
    let refused = |order: &u64| agrees(&History::of(&events, *order), &taken_before_given).is_err();
    assert!((0..24).any(|order| refused(&order)), "the order that was seen in the field");
}
