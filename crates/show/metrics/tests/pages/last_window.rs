//! Pages of the last closed window, at any rate of scrapes and with a slow next window.

use crate::made::{ran, Cgroups, Made, WALL};
use exactop_metrics::otlp::{request, Host};
use exactop_metrics::{Clock, Format, LastWindow, Metrics, Settings};
use exactop_model::{Book, Window};
use exactop_testkit::wait;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock};

fn metrics() -> Metrics {
    Metrics::new(Settings::default(), Clock::new(WALL))
}

fn close(last: &LastWindow, window: &Window) {
    last.close(window, &Book::new(), &Cgroups::default(), (None, None));
}

fn boundary(last: &LastWindow) -> Option<String> {
    let page = last.page(Format::Prometheus)?;
    let page = String::from_utf8(page.to_vec()).expect("UTF-8");
    let line = page.lines().find_map(|line| line.strip_prefix("exactop_boundary_seconds "));
    line.map(str::to_string)
}

#[test]
fn a_page_is_of_the_last_window_while_the_next_one_does_not_come() {
    let asked = Arc::new(AtomicU32::new(0));
    let asks = Arc::clone(&asked);
    // Made-up windows ended long ago, so each page requests a newer one, which never closes.
    let last = LastWindow::new(metrics(), 0, move || {
        asks.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(boundary(&last), None, "there is none before the first window");
    let mut made = Made::new(Settings::default(), Cgroups::default());
    close(&last, &made.told_otherwise(&[ran("a", 5)], |_| ()));
    let before = asked.load(Ordering::Relaxed);
    for _ in 0..1000 {
        assert_eq!(boundary(&last).as_deref(), Some("101.000000000"));
    }
    assert_eq!(asked.load(Ordering::Relaxed), before + 1, "it was asked for already");
    close(&last, &made.told_otherwise(&[ran("a", 5)], |_| ()));
    assert_eq!(boundary(&last).as_deref(), Some("102.000000000"));
    assert_eq!(asked.load(Ordering::Relaxed), before + 2);
}

#[test]
fn a_window_that_closes_when_it_is_asked_for_is_on_the_page() {
    let made = Mutex::new(Made::new(Settings::default(), Cgroups::default()));
    let place: Arc<OnceLock<Arc<LastWindow>>> = Arc::default();
    let (sender, receiver) = channel();
    let last = Arc::new(LastWindow::new(metrics(), 0, move || {
        // The thread has closed all its windows.
        let _ = sender.send(());
    }));
    assert!(place.set(Arc::clone(&last)).is_ok());
    let closing = Arc::clone(&last);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for () in receiver.iter().take(3) {
                let window = made.lock().expect("whole").told_otherwise(&[ran("a", 5)], |_| ());
                close(&closing, &window);
            }
        });
        let all: Vec<_> = (0..3).map(|_| boundary(&last)).collect();
        let last = last.last_report(|metrics| metrics.boundary_ns()).flatten();
        assert!(all.windows(2).all(|pair| pair[0] <= pair[1]), "{all:?}");
        assert!(last <= Some(103_000_000_000), "{last:?}");
    });
}

#[test]
fn requests_for_the_same_page_share_its_bytes() {
    let last = LastWindow::new(metrics(), 0, || ());
    let mut made = Made::new(Settings::default(), Cgroups::default());
    close(&last, &made.told_otherwise(&[ran("a", 5)], |_| ()));
    let page = |format| last.page(format).expect("a window closed");
    let (one, other) = (page(Format::Prometheus), page(Format::Prometheus));
    assert_eq!(one.as_ptr(), other.as_ptr());
    assert_ne!(one, page(Format::OpenMetrics));
    close(&last, &made.told_otherwise(&[ran("a", 5)], |_| ()));
    assert_ne!(one, page(Format::Prometheus));
}

#[test]
fn a_page_exists_while_counters_restart() {
    let last = LastWindow::new(metrics(), 0, || ());
    let mut made = Made::new(Settings::default(), Cgroups::default());
    close(&last, &made.told_otherwise(&[ran("a", 5)], |_| ()));
    last.begin_anew(metrics());
    assert_eq!(boundary(&last).as_deref(), Some("101.000000000"), "of the window before");
    close(&last, &made.told_otherwise(&[ran("a", 7)], |_| ()));
    let page = last.page(Format::Prometheus).expect("a page");
    let page = String::from_utf8(page.to_vec()).expect("UTF-8");
    let exited = page.lines().find(|line| line.contains("account=\"exited\"")).expect("an account");
    assert!(exited.ends_with(" 0.000000007"), "of the new window alone: {exited}");
}

/// A report stands for a slow encoder: it holds its figures until the test has its pages.
#[test]
fn windows_close_and_pages_are_made_while_a_report_is_made() {
    let last = Arc::new(LastWindow::new(metrics(), 0, || ()));
    let mut made = Made::new(Settings::default(), Cgroups::default());
    close(&last, &made.told_otherwise(&[ran("a", 5)], |_| ()));
    let before = last.last_report(|metrics| request(metrics, &Host::default()));
    let ((begins, begun), (goes_on, goes)) = (channel(), channel::<()>());
    let reporting = Arc::clone(&last);
    let report = std::thread::spawn(move || {
        reporting.report(|metrics| {
            begins.send(()).expect("the test waits");
            // An error: the test has failed.
            let _ = goes.recv();
            (metrics.boundary_ns(), request(metrics, &Host::default()))
        })
    });
    begun.recv().expect("the report begins");
    let next = made.told_otherwise(&[ran("a", 5)], |_| ());
    let (tells, told) = channel();
    let closing = Arc::clone(&last);
    std::thread::spawn(move || {
        close(&closing, &next);
        let second = closing.last_report(|metrics| metrics.boundary_ns()).flatten();
        tells.send((boundary(&closing), second)).expect("the test waits");
    });
    let told = told.recv_timeout(wait::LIMIT).expect("a page during the report");
    assert_eq!(told, (Some("102.000000000".into()), Some(102_000_000_000)));
    goes_on.send(()).expect("the report waits");
    let (at, bytes) = report.join().expect("no panic").expect("a window has closed");
    assert_eq!((at, Some(bytes)), (Some(101_000_000_000), before), "all of the window before");
}
