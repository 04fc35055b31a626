//! The page's figures on itself: missed events, books that do not close, unknown figures.

use crate::made::{ran, Cgroups, Made, CPUS};
use exactop_metrics::{Format, Settings};
use exactop_model::ledger::exactness::WindowState;
use exactop_model::ErrorKind;

fn has(page: &str, line: &str) -> bool {
    page.lines().any(|other| other == line)
}

#[test]
fn before_the_first_window_there_is_nothing() {
    let mut made = Made::new(Settings::default(), Cgroups::default());
    assert_eq!(made.scrape(Format::Prometheus), "");
    assert_eq!(made.scrape(Format::OpenMetrics), "# EOF\n");
    made.window(&[]);
    assert!(made.scrape(Format::Prometheus).contains("exactop_cpus 4\n"));
}

#[test]
fn books_that_do_not_close_show() {
    let mut made = Made::new(Settings::default(), Cgroups::default());
    made.window(&[ran("a", 5)]);
    let page = made.scrape(Format::Prometheus);
    assert!(has(&page, "exactop_residual_seconds 0.000000000"), "{page}");
    assert!(has(&page, "exactop_inexact_windows_total 0"), "{page}");
    let window = made.told_otherwise(&[ran("a", 5)], |snapshot| {
        snapshot.cpus[0].idle_ns += 7;
        snapshot.errors.add(ErrorKind::NoSlot, 2);
    });
    assert_eq!(window.state(), WindowState::Inexact);
    let page = made.scrape(Format::Prometheus);
    assert!(has(&page, "exactop_residual_seconds -0.000000007"), "{page}");
    assert!(has(&page, "exactop_inexact_windows_total 1"), "{page}");
    assert!(has(&page, "exactop_ledger_events_total{kind=\"no_slot\"} 2"), "{page}");
    assert!(has(&page, "exactop_ledger_events_total{kind=\"torn\"} 0"), "{page}");
}

#[test]
fn an_unmeasured_figure_is_absent_until_measured() {
    let unmeasured = |snapshot: &mut exactop_model::Snapshot| {
        snapshot.cost.bpf_ns = None;
        for cpu in &mut snapshot.cpus {
            (cpu.steal_ns, cpu.steal_idle_ns) = (None, None);
        }
    };
    let mut made = Made::new(Settings::default(), Cgroups::default());
    made.told_otherwise(&[], unmeasured);
    made.told_otherwise(&[], unmeasured);
    let page = made.scrape(Format::OpenMetrics);
    assert!(!page.contains("account=\"steal\"") && !page.contains("part=\"bpf\""), "{page}");
    assert!(page.contains("account=\"irq\""), "{page}");
    // The first measured window has no earlier one to subtract.
    made.window(&[]);
    made.window(&[]);
    let page = made.scrape(Format::OpenMetrics);
    let created = "exactop_cpu_seconds_created{account=\"steal\"} 1700000103.000000000";
    assert!(has(&page, created), "{page}");
    assert!(has(&page, "exactop_cpu_seconds_created{account=\"idle\"} 1700000100.000000000"));
    let idle = format!("exactop_cpu_seconds_total{{account=\"idle\"}} {}.000000000", 4 * CPUS);
    assert!(has(&page, &idle), "{page}");
    assert!(has(&page, "exactop_boundary_seconds 104.000000000"), "{page}");
}
