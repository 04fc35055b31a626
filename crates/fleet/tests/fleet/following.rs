//! The tables of an exporter that follows a log, whatever happens to both: each window is there
//! once, and windows that the log lost are gaps, to the nanosecond.

use crate::growing::{self, balance, known, until, Growing};
use crate::stand_in::{Mood, StandIn};
use exactop_export::clickhouse::{Address, Client, Patience};
use exactop_export::onward::{Destination, Exporter, News, Status};
use exactop_recording::{Options, SENDERS};
use exactop_testkit::{wait, WINDOW};
use std::path::Path;
use std::time::Duration;

fn client(url: &str) -> Client {
    let address = Address::read(url).expect("an address");
    Client::new(address, "exactop", None, None, Patience::ONCE).expect("a client")
}

fn follow(path: &Path, url: &str) -> Exporter {
    growing::follow(path, Destination::Clickhouse(Box::new(client(url))))
}

#[test]
fn an_unreliable_store_has_each_window_once() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut log = Growing::begin(dir.path(), Options::default());
    let kept = dir.path().join("store");
    let store = StandIn::start(&kept, Mood::Away);
    let exporter = follow(&log.path, &store.url);
    log.windows(5);
    until("a failure", &exporter, |status| status.failed > 1);
    let status = exporter.status();
    assert!(status.error.is_some() && status.pending_bytes > 0, "{status:?}");
    assert_eq!(known(&status), 0);
    // Windows of many batches come meanwhile.
    let moods = [Mood::Busy, Mood::Moody, Mood::Well, Mood::Away, Mood::Moody];
    for (mood, recorded) in moods.into_iter().zip((105..).step_by(100)) {
        store.fares(mood);
        let asked = store.requests();
        log.windows(100);
        wait::until("four requests, or nothing left to send", || {
            store.requests() >= asked + 4 || known(&exporter.status()) >= recorded
        });
    }
    store.fares(Mood::Well);
    until("all of it", &exporter, |status| known(status) >= 505 && status.error.is_none());
    let balance = balance(&kept);
    assert!(balance.holds(), "{:?}", balance.hosts);
    assert_eq!(balance.windows(), 505);
    let status = exporter.status();
    assert_eq!((status.losses, status.pending_bytes, status.sent.overlapping), (0, 0, 0));
    let news = exporter.news();
    assert!(matches!(news.first(), Some(News::Away(_))), "{news:?}");
    assert_eq!(news.last(), Some(&News::Again));
    assert_eq!(exporter.news(), []);
    // The last windows are delivered before it ends.
    log.windows(3);
    exporter.finish(wait::LIMIT);
    assert_eq!(store.windows().len(), 508);
}

#[test]
fn an_hour_without_a_store_loses_nothing_that_the_log_keeps() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut log = Growing::begin(dir.path(), Options::default());
    let kept = dir.path().join("store");
    let store = StandIn::start(&kept, Mood::Well);
    let exporter = follow(&log.path, &store.url);
    log.windows(5);
    until("the first windows", &exporter, |status| known(status) == 5);
    store.fares(Mood::Away);
    let failed = exporter.status().failed;
    let hour = 3_600_000_000_000 / WINDOW;
    log.windows(hour);
    until("failures", &exporter, |status| status.failed > failed + 2);
    assert!(exporter.status().pending_bytes > 0);
    store.fares(Mood::Well);
    until("all of it", &exporter, |status| known(status) == 5 + hour);
    let status = exporter.status();
    assert_eq!((status.losses, status.lost_ns), (0, 0), "{status:?}");
    let news = exporter.news();
    assert!(matches!(news[..], [News::Away(_), News::Again]), "{news:?}");
    let balance = balance(&kept);
    assert!(balance.holds(), "{:?}", balance.hosts);
    assert_eq!(balance.windows(), 5 + hour);
}

#[test]
fn windows_lost_before_sending_are_the_reported_gap() {
    let dir = tempfile::tempdir().expect("a directory");
    let options = Options { max_bytes: Some(60_000), ..Options::default() };
    let mut log = Growing::begin(dir.path(), options);
    let kept = dir.path().join("store");
    let store = StandIn::start(&kept, Mood::Well);
    let exporter = follow(&log.path, &store.url);
    for n in 1..=4 {
        // A few at a time, so that the log keeps all undelivered windows.
        log.windows(5);
        until("the first windows", &exporter, |status| known(status) == 5 * n);
    }
    store.fares(Mood::Away);
    let failed = exporter.status().failed;
    log.windows(1);
    until("a failure", &exporter, |status| status.failed > failed);
    log.windows(2000);
    store.fares(Mood::Well);
    let all = |status: &Status| known(status) + status.lost_ns / WINDOW == 2021;
    until("what is left", &exporter, all);
    let status = exporter.status();
    assert!(status.lost_ns > 0 && status.lost_ns.is_multiple_of(WINDOW), "{status:?}");
    let lost = exporter.news().into_iter().filter_map(|news| match news {
        News::Lost { length_ns, from_wall_ns, to_wall_ns } => {
            assert_eq!(Some(to_wall_ns - from_wall_ns), length_ns.map(i128::from));
            length_ns
        }
        _ => None,
    });
    assert_eq!(lost.sum::<u64>(), status.lost_ns);
    let balance = balance(&kept);
    let host = &balance.hosts[0];
    // More than one gap if files were removed while earlier ones were read.
    let told = (status.losses, u128::from(status.lost_ns));
    assert_eq!((host.gaps.count, host.gaps.length_ns), told, "{host:?}");
    assert_eq!(balance.windows(), 2021 - status.lost_ns / WINDOW);
}

#[test]
fn a_restarted_exporter_resumes_where_the_store_ends() {
    let dir = tempfile::tempdir().expect("a directory");
    let options = Options { file_time: Duration::from_nanos(30 * WINDOW), ..Options::default() };
    let mut log = Growing::begin(dir.path(), options);
    let kept = dir.path().join("store");
    let store = StandIn::start(&kept, Mood::Moody);
    let mut recorded = 0;
    for round in 0..12 {
        let exporter = follow(&log.path, &store.url);
        log.windows(50);
        recorded += 50;
        let asked = store.requests();
        // Stop in the middle, each time at another point: it ends after the current batch, or sends
        // the next ones, too.
        wait::until("some of it", || {
            store.requests() > asked + round || (store.windows().len() as u64) >= recorded
        });
        exporter.finish(wait::LIMIT);
        if round == 6 {
            // Without its cursor it asks for all that was sent.
            std::fs::remove_dir_all(log.path.join(SENDERS)).expect("it was there");
        }
    }
    store.fares(Mood::Well);
    let exporter = follow(&log.path, &store.url);
    until("all of it", &exporter, |_| store.windows().len() as u64 >= recorded);
    until("the end", &exporter, |status| status.until_wall_ns.is_some());
    exporter.finish(wait::LIMIT);
    let balance = balance(&kept);
    assert!(balance.holds(), "{:?}", balance.hosts);
    assert_eq!(balance.windows(), recorded);
    // With its cursor it does not ask for what was sent long ago.
    let asked = store.requests();
    let exporter = follow(&log.path, &store.url);
    log.windows(1);
    until("one more", &exporter, |status| known(status) == 1);
    assert!(store.requests() - asked <= 2 * 4, "{}", store.requests() - asked);
}
