//! The blame book: waits equal their pairs in every window, whatever the tasks do, and pairs are
//! those of a replay of all switches.

mod kinds;
mod many;
mod perf;
mod replayed;
mod sizes;

use crate::books::Books;
use crate::identity::Shell;
use crate::microstates::QuotaGroup;
use crate::moved::Group;
use crate::moves::bind;
use exactop_model::blame::rows::{Blamed, CulpritKind, VictimRow, KEYS};
use exactop_model::blame::size_rows::SizedWaits;
use exactop_model::blame::{Blame, Culprit};
use exactop_model::ledger::window::Window;
use exactop_model::owner::{charge, Grouping, Owner};
use exactop_model::Counter;
use exactop_sources::ledger::{BlameOptions, LateEnd, Options, WaitSizesOptions};
use exactop_testkit::wait;
use exactop_workloads::workloads::{ForkStorm, PipePingPong, Spin};
use rustix::thread::{sched_setaffinity, CpuSet, Pid};
use std::collections::BTreeMap;
use std::time::Duration;

const WINDOW: Duration = Duration::from_millis(500);

fn keeping(blame: BlameOptions) -> Options {
    let wait_sizes = Some(WaitSizesOptions::default());
    Options { blame: Some(blame), wait_sizes, ..Options::default() }
}

pub fn open() -> Books {
    Books::open(&keeping(BlameOptions::default()))
}

/// A process that spins in a group, on one CPU. It ends before its group is removed.
struct Spinner {
    spin: Spin,
    group: Group,
}

impl Spinner {
    /// `None` if no group can be made.
    fn start(name: &str, cpu: usize, weight: u32) -> Option<Spinner> {
        let group = Group::new(name)?;
        let spin = Spin::start(1, None).expect("a worker");
        place(&spin, &group, cpu);
        // cpu.shares is v1's, in which weight 100 is 1024.
        let shares = group.cpu.join("cpu.shares");
        let _ = match shares.exists() {
            true => std::fs::write(shares, (weight * 1024 / 100).to_string()),
            false => std::fs::write(group.cpu.join("cpu.weight"), weight.to_string()),
        };
        Some(Spinner { spin, group })
    }

    fn tid(&self) -> u32 {
        self.spin.threads()[0]
    }
}

/// Moves a worker into a group and binds it to a CPU, in this order: a group with the cpuset
/// controller gives its own CPUs to a process that comes, on kernels such as 6.1.
fn place(spin: &Spin, group: &Group, cpu: usize) {
    group.take(spin.pid());
    spin.threads().into_iter().for_each(|tid| bind(tid, &[cpu]));
}

fn spinners<const N: usize>(of: [(&str, usize, u32); N]) -> Option<[Spinner; N]> {
    let started = of.map(|(name, cpu, weight)| Spinner::start(name, cpu, weight));
    if started.iter().any(Option::is_none) {
        eprintln!("left out: no control group can be made here");
        return None;
    }
    Some(started.map(|one| one.expect("started")))
}

/// What the frame's own charge has of each control group's waits, ns.
fn charged(window: &Window, books: &Books) -> BTreeMap<u64, i64> {
    let mut waits = BTreeMap::new();
    charge(window, &books.book, Grouping::Cgroup, &mut |owner, charge| {
        let Owner::Group(Some(id)) = owner else { return };
        let known = |counter| charge.counters.get(counter).unwrap_or(0) as i64;
        *waits.entry(id).or_default() += known(Counter::LatNs) + known(Counter::ThrottleNs);
    });
    waits.retain(|_, ns| *ns != 0);
    waits
}

/// Parties whose waits differ from their pairs.
fn open_parties(blame: &Blame) -> Vec<String> {
    let mut open = Vec::new();
    for (party, waits) in &blame.waits {
        let theirs = blame.pairs.iter().filter(|((victim, _), _)| victim == party);
        let booked: i64 = theirs.map(|(_, booked)| booked.ns as i64).sum();
        if waits.lat_ns != waits.in_flight_delta_ns + booked {
            open.push(format!("{party:?} {waits:?} booked {booked}"));
        }
    }
    open
}

/// The book of a window, which closes: as a whole, under each key, and with the frame's waits.
pub fn closed(books: &Books, window: &Window) -> Blame {
    let blame = window.blame.clone().expect("a book");
    assert_eq!(
        blame.residual_ns(),
        0,
        "{:?} {:#?}",
        window.errors.nonzero().collect::<Vec<_>>(),
        open_parties(&blame)
    );
    let mut by_group: BTreeMap<u64, i64> = BTreeMap::new();
    for (party, waits) in &blame.waits {
        *by_group.entry(party.map_or(0, |party| party.cgroup_id)).or_default() += waits.lat_ns;
    }
    by_group.retain(|_, ns| *ns != 0);
    assert_eq!(by_group, charged(window, books));
    let sums = KEYS.map(|by| {
        let rows = under(&blame, by).rows;
        for row in &rows {
            let sum = row.booked_ns() as i64 + row.waits.in_flight_delta_ns;
            assert_eq!(row.waits.lat_ns, sum, "{by} {row:?}");
        }
        rows.iter().map(|row| row.waits.lat_ns).sum::<i64>()
    });
    assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:?}");
    sizes::close(&blame);
    blame
}

fn under(blame: &Blame, by: Grouping) -> Blamed {
    Blamed::new(blame, (0, 1), by, &(), &mut |_| None)
}

fn under_sizes(blame: &Blame, by: Grouping) -> SizedWaits {
    SizedWaits::new(blame, (0, 1), by, &(), &mut |_| None)
}

/// What was booked of a group's waits, by the culprit's group; 0 for everything else.
fn pairs_of(blame: &Blame, group: &Group) -> BTreeMap<u64, u64> {
    let mut pairs = BTreeMap::new();
    for ((victim, culprit), booked) in &blame.pairs {
        if victim.is_some_and(|victim| victim.cgroup_id == group.id()) {
            let by = if let Culprit::Task(party) = culprit { party.cgroup_id } else { 0 };
            *pairs.entry(by).or_default() += booked.ns;
        }
    }
    pairs
}

fn booked(blame: &Blame, is: impl Fn(&Culprit) -> bool) -> u64 {
    blame.pairs.iter().filter(|((_, c), _)| is(c)).map(|(_, booked)| booked.ns).sum()
}

/// Stretches of time in which the planted culprit must be named.
const STRETCHES: usize = 20;

/// A storm of forks on CPU 0, in a group of its own.
struct Storm {
    _forks: ForkStorm,
    _group: Group,
}

impl Storm {
    fn start() -> Option<Storm> {
        let group = Group::new("storm")?;
        let forks = ForkStorm::start(1).expect("a storm");
        for pid in forks.pids() {
            group.take(pid);
            bind(pid, &[0]);
        }
        Some(Storm { _forks: forks, _group: group })
    }
}

/// The group that kept another one off the CPU longest, of all groups with a task there.
fn worst(blame: &Blame, victim: &Group) -> Option<u64> {
    let mut pairs = pairs_of(blame, victim);
    pairs.remove(&0);
    pairs.into_iter().max_by_key(|(_, ns)| *ns).map(|(group, _)| group)
}

/// A planted culprit: three groups and a storm of forks share a CPU. Most of each one's wait is for
/// the heaviest, in each of twenty stretches.
#[test]
fn a_heavy_neighbour_is_named_first_beside_a_storm_of_forks() {
    let Some(_machine) = crate::machine() else { return };
    let weights = [("light", 0, 20), ("middle", 0, 100), ("heavy", 0, 2_000)];
    let Some([light, middle, heavy]) = spinners(weights) else { return };
    let Some(_storm) = Storm::start() else { return };
    let mut books = open();
    for stretch in 0..STRETCHES {
        let mut sums = Blame::default();
        wait::until("both to wait long enough", || {
            let window = books.window(WINDOW);
            sums.add(&closed(&books, &window));
            let waited = |one: &Spinner| pairs_of(&sums, &one.group).values().sum::<u64>();
            waited(&light) > 100_000_000 && waited(&middle) > 100_000_000
        });
        for victim in [&light, &middle] {
            let pairs = pairs_of(&sums, &victim.group);
            assert_eq!(worst(&sums, &victim.group), Some(heavy.group.id()), "{stretch}: {pairs:?}");
        }
    }
}

/// What a group's own quota denies is never a neighbour's fault, also on a busy machine: what is
/// blamed on others is the time in which it was not throttled.
#[test]
fn a_quota_is_no_neighbours_fault() {
    let Some(_machine) = crate::machine() else { return };
    let Some(group) = QuotaGroup::new() else {
        return eprintln!("left out: no group with a quota can be made here");
    };
    let spin = Spin::start(2, None).expect("a worker");
    group.add(spin.pid());
    let mut books = open();
    let (mut blame, mut throttled, mut lat) = (Blame::default(), 0, 0);
    let id = std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(&group.0).expect("a group"));
    let is_mine = |owner| owner == Owner::Group(Some(id));
    wait::until("it to be throttled for a second", || {
        let window = books.window(WINDOW);
        blame.add(&closed(&books, &window));
        charge(&window, &books.book, Grouping::Cgroup, &mut |owner, charge| {
            if is_mine(owner) {
                throttled += charge.counters.get(Counter::ThrottleNs).unwrap_or(0);
                lat += charge.counters.get(Counter::LatNs).unwrap_or(0);
            }
        });
        throttled > 1_000_000_000
    });
    drop(spin);
    let of = |is: fn(&Culprit) -> bool| {
        let mine = blame.pairs.iter().filter(|((victim, culprit), _)| {
            victim.is_some_and(|victim| victim.cgroup_id == id) && is(culprit)
        });
        mine.map(|(_, booked)| booked.ns).sum::<u64>()
    };
    let own = of(|culprit| *culprit == Culprit::Throttled);
    let others = of(|culprit| *culprit != Culprit::Throttled);
    let mine = blame.waits.iter().filter(|(party, _)| party.is_some_and(|p| p.cgroup_id == id));
    let in_flight: i64 = mine.map(|(_, waits)| waits.in_flight_delta_ns).sum();
    println!("throttled {throttled}, booked {own}; waited {lat}, booked {others}; {in_flight}");
    assert_eq!((own + others) as i64 + in_flight, (throttled + lat) as i64);
    // The rest has not ended yet. The begin and the end of a quota are seen at switches: what lies
    // between them is booked as a wait for others, 1 ms in 1.5 s, and 28 ms on a busy machine.
    let [own, others, throttled, lat] = [own, others, throttled, lat].map(|ns| ns as i64);
    let beside = throttled / 10;
    // What waited as the books opened has ended since: the change in flight may be negative.
    let (began, ended) = (in_flight.max(0), in_flight.min(0));
    let agree = |booked, ns| booked + ended <= ns + beside && booked + began + beside >= ns;
    assert!(agree(own, throttled) && agree(others, lat), "{own} {throttled}, {others} {lat}");
}

#[test]
fn a_missing_booking_is_a_residual() {
    let Some(_machine) = crate::machine() else { return };
    let _spin = Spin::start(3, Some(&[0])).expect("a worker");
    let broken = BlameOptions { unbooked_one_in: 3, ..BlameOptions::default() };
    let mut books = Books::open(&keeping(broken));
    books.find("a residual", |_, window| {
        (window.blame.expect("a book").residual_ns() > 0).then_some(())
    });
    drop(books);
    let mut books = open();
    let window = books.window(WINDOW);
    closed(&books, &window);
}

/// A first window with a late beginning is opened again. What was booked until then is not in it.
#[test]
fn a_late_beginning_leaves_nothing_booked() {
    let Some(_machine) = crate::machine() else { return };
    let _pipes = PipePingPong::start(if crate::emulated() { 8 } else { 40 }).expect("ping-pong");
    let late = Some(LateEnd { window: 0, by_ns: 20_000_000 });
    let mut books = Books::open(&Options { late, ..keeping(BlameOptions::default()) });
    let window = books.window(WINDOW);
    closed(&books, &window);
}

/// Waits whose task moves between CPUs are booked on both.
#[test]
fn a_task_that_moves_while_it_waits_blames_both_cpus() {
    let Some(_machine) = crate::machine() else { return };
    if std::thread::available_parallelism().expect("CPUs").get() < 2 {
        return eprintln!("left out: one CPU");
    }
    let Some([mover, first, second]) =
        spinners([("mover", 0, 2), ("first", 0, 100), ("second", 1, 100)])
    else {
        return;
    };
    let mut books = open();
    let mut sums = Blame::default();
    let mut cpu = 0;
    let tid = Pid::from_raw(mover.tid() as i32);
    wait::until("it to have waited for both", || {
        for _ in 0..50 {
            cpu ^= 1;
            let mut set = CpuSet::new();
            set.set(cpu);
            sched_setaffinity(tid, &set).expect("allowed");
            std::thread::sleep(Duration::from_millis(2));
        }
        let window = books.window(Duration::from_millis(1));
        sums.add(&closed(&books, &window));
        let pairs = pairs_of(&sums, &mover.group);
        let of = |spinner: &Spinner| pairs.get(&spinner.group.id()).copied().unwrap_or(0);
        of(&first) > 2_000_000 && of(&second) > 2_000_000
    });
}

/// Tasks that change their group while they wait: the book follows the frame to the nanosecond.
#[test]
fn a_task_that_changes_its_group_while_it_waits() {
    let Some(_machine) = crate::machine() else { return };
    let Some([mover, other]) = spinners([("from", 0, 2), ("to", 0, 100)]) else { return };
    let mut books = open();
    let mut moved = 0;
    wait::until("moves in both directions", || {
        for _ in 0..10 {
            other.group.take(mover.spin.pid());
            std::thread::sleep(Duration::from_millis(3));
            mover.group.take(mover.spin.pid());
            std::thread::sleep(Duration::from_millis(3));
        }
        let window = books.window(Duration::from_millis(1));
        closed(&books, &window);
        moved +=
            window.moves.iter().filter(|moved| moved.used.get(Counter::LatNs) > Some(0)).count();
        moved > 10
    });
}

/// Tasks that are killed while they wait, born and ended in masses, and a parent that renames itself.
#[test]
fn killed_tasks_leave_nothing_unbooked() {
    let Some(_machine) = crate::machine() else { return };
    let _busy = Spin::start(1, Some(&[0])).expect("a worker");
    let _storm = ForkStorm::start(1).expect("a storm");
    let mut books = open();
    for _ in 0..4 {
        let waiting: Vec<Spin> =
            (0..8).map(|_| Spin::start(1, Some(&[0])).expect("a worker")).collect();
        let window = books.window(Duration::from_millis(100));
        closed(&books, &window);
        // Dropping one kills it.
        drop(waiting);
        let window = books.window(Duration::from_millis(100));
        closed(&books, &window);
    }
}

/// Windows that end while a task is half of its party before an exec and half of that after it.
#[test]
fn a_window_that_ends_within_an_exec_closes() {
    let Some(_machine) = crate::machine() else { return };
    let mut storm = Shell::new();
    storm.line("while :; do /bin/true; done");
    let slow = BlameOptions { half_another_ns: 100_000, ..BlameOptions::default() };
    let mut books = Books::open(&keeping(slow));
    for _ in 0..200 {
        let window = books.window(Duration::from_millis(5));
        closed(&books, &window);
    }
}

/// Full tables: waits are booked to nobody, and the book closes still.
#[test]
fn full_tables_close_too() {
    let Some(_machine) = crate::machine() else { return };
    let _spin = Spin::start(2, Some(&[0])).expect("a worker");
    let _storm = ForkStorm::start(1).expect("a storm");
    let small = BlameOptions { places: 2, parties: 3, ..BlameOptions::default() };
    let mut books = Books::open(&keeping(small));
    books.find("waits without a place", |_, window| {
        let blame = window.blame.expect("a book");
        assert_eq!(blame.residual_ns(), 0);
        assert!(blame.waits.len() <= 4, "{}", blame.waits.len());
        sizes::close(&blame);
        (booked(&blame, |culprit| *culprit == Culprit::Other) > 0).then_some(())
    });
}

/// Waits of a group's threads for each other are for the own group.
#[test]
fn own_threads_are_told_from_others() {
    let Some(_machine) = crate::machine() else { return };
    let Some([pair]) = spinners([("pair", 0, 100)]) else { return };
    let second = Spin::start(1, None).expect("a worker");
    place(&second, &pair.group, 0);
    let mut books = open();
    books.find("a wait for the own group", |books, window| {
        let blame = closed(books, &window);
        let mut pairs = blame.clone();
        pairs.pairs.retain(|(victim, _), _| {
            victim.is_some_and(|victim| victim.cgroup_id == pair.group.id())
        });
        let rows = under(&pairs, Grouping::Cgroup).rows;
        let own =
            |row: &VictimRow| row.culprits.iter().any(|culprit| culprit.kind == CulpritKind::Own);
        rows.iter().any(own).then_some(())
    });
}
