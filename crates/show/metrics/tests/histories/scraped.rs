//! At every scrape of every history: accounts are CPUs x time, groups are tasks + exited, waits and
//! exits are those of all tasks, no counter decreases, and a new group has stood at 0.

use crate::events::{event, happens, Event};
use crate::machine::{Machine, CPUS};
use crate::page::Page;
use exactop_metrics::{Clock, Format, Metrics, Settings};
use exactop_model::ledger::joined::Joined;
use exactop_model::ledger::merged::Merged;
use exactop_model::owner::{Grouping, NoNames};
use exactop_model::{Book, Counter, Frame, FrameOptions, IdleRows, Window};
use proptest::prelude::*;

/// Numbers of places: more than there are names, fewer, and none.
const PLACES: [usize; 4] = [100, 2, 1, 0];

/// Kinds of waits, and their counters.
const WAITS: [(&str, Counter); 4] = [
    ("runqueue", Counter::LatNs),
    ("throttled", Counter::ThrottleNs),
    ("lock", Counter::LockNs),
    ("block", Counter::BlockNs),
];

/// Sums of all events so far, from frames of all tasks.
#[derive(Default)]
struct Truth {
    length_ns: u64,
    run_ns: u64,
    waits_ns: [u64; 4],
    exited: u64,
}

impl Truth {
    fn add(&mut self, window: &Window, book: &Book) {
        let options =
            FrameOptions { threads: true, still: IdleRows::All, ..FrameOptions::default() };
        let frame = Frame::new(window, book, &options);
        self.length_ns += window.length_ns();
        for row in frame.rows.iter().chain(&frame.exited) {
            let of = |counter| row.delta.get(counter).expect("the made-up machine knows all");
            self.run_ns += of(Counter::RunNs);
            for (sum, (_, counter)) in self.waits_ns.iter_mut().zip(WAITS) {
                *sum += of(counter);
            }
            self.exited += row.exited_processes;
        }
    }
}

/// Counters, and the page of the previous scrape.
struct Scraped {
    metrics: Metrics,
    truth: Truth,
    before: Option<Page>,
}

impl Scraped {
    fn new(groups: usize, by: Vec<Grouping>) -> Scraped {
        let settings = Settings { by, groups, ..Settings::default() };
        let metrics = Metrics::new(settings, Clock::new(1_700_000_000_000_000_000));
        Scraped { metrics, truth: Truth::default(), before: None }
    }

    fn advance(&mut self, window: &Window, book: &Book) {
        self.metrics.advance(window, book, &NoNames);
        self.truth.add(window, book);
    }

    fn scrape(&mut self, groups: usize) {
        let page = Page::read(&self.metrics.scrape(Format::OpenMetrics));
        let truth = &self.truth;
        let sum = |family: &str, words: &[&str]| page.sum(family, words);
        assert_eq!(
            sum("exactop_cpu_seconds_total", &[]),
            CPUS as i128 * i128::from(truth.length_ns)
        );
        let named = sum("exactop_cpu_seconds_total", &["\"tasks\""])
            + sum("exactop_cpu_seconds_total", &["\"exited\""]);
        assert_eq!(named, truth.run_ns.into());
        assert_eq!(sum("exactop_group_cpu_seconds_total", &[]), named);
        assert_eq!(sum("exactop_residual_seconds", &[]), 0);
        for ((word, _), ns) in WAITS.iter().zip(truth.waits_ns) {
            let word = format!("wait=\"{word}\"");
            assert_eq!(sum("exactop_group_wait_seconds_total", &[&word]), ns.into(), "{word}");
        }
        assert_eq!(sum("exactop_group_exited_processes_total", &[]), truth.exited.into());
        let series =
            page.values.keys().filter(|n| n.starts_with("exactop_group_cpu_seconds_total"));
        assert!(series.count() <= groups + 2);
        self.against_before(&page);
        self.before = Some(page);
    }

    /// Checks that no counter decreased unless it started again, and that a new one stands at 0.
    /// Interrupts begin with the first window that measured them.
    fn against_before(&self, page: &Page) {
        let Some(before) = &self.before else { return };
        for (name, created) in &page.created {
            let value = page.values[name];
            match before.created.get(name) {
                Some(then) if then == created => {
                    assert!(value >= before.values[name], "{name} ran backwards");
                }
                then => {
                    assert!(then.is_none_or(|then| then < created), "{name} began earlier");
                    let is_irq = then.is_none() && name.contains("account=\"irq\"");
                    assert!(value == 0 || is_irq, "{name} is new: {value}");
                }
            }
        }
    }
}

/// Runs a history; a window is scraped where `looks` says so.
fn history(events: &[Event], looks: &[bool], groups: usize, by: &[Grouping]) {
    let (mut machine, mut book) = (Machine::new(), Book::new());
    let mut scraped = Scraped::new(groups, by.to_vec());
    // Two counters that count only when they are scraped. One gets merged windows,
    let mut joined = Joined::default();
    let mut at_times = Scraped::new(groups, by.to_vec());
    // the other gets windows of merged snapshots.
    let (mut merged, mut merged_book) = (Merged::new(), Book::new());
    let mut seldom = Scraped::new(groups, by.to_vec());
    let mut looks = looks.iter().cycle();
    book.advance(machine.close().complete);
    merged.add(book.whole().expect("it is open"));
    merged_book.advance(merged.take().expect("one was added"));
    for event in events.iter().chain([&Event::Close]) {
        let Event::Close = event else {
            happens(&mut machine, event);
            continue;
        };
        machine.now += 1;
        let changes = machine.close().changes;
        merged.add(changes.clone());
        joined.before(&changes, &book);
        let window = book.advance(changes).expect("the book is open");
        joined.add(window.clone(), &book);
        scraped.advance(&window, &book);
        if *looks.next().expect("cycled") {
            scraped.scrape(groups);
            let window = std::mem::take(&mut joined).window().expect("one was added");
            at_times.advance(&window, &book);
            at_times.scrape(groups);
            let window = merged_book.advance(merged.take().expect("one was added"));
            seldom.advance(&window.expect("the book is open"), &merged_book);
            seldom.scrape(groups);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_scrape_of_any_history_sums_up(
        events in prop::collection::vec(event(), 1..250),
        looks in prop::collection::vec(any::<bool>(), 1..9),
        by_user: bool,
    ) {
        let by = if by_user { vec![Grouping::Unit, Grouping::User] } else { vec![Grouping::Command] };
        for groups in PLACES {
            history(&events, &looks, groups, &by);
        }
    }
}
