//! Findings on a window: the line below the balance, the page, and the pages that Enter opens.

use crate::view::{app, picture, show};
use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use exactop_model::findings::{Finding, FindingKind, ShortLived, Throttled, Waited};
use exactop_model::owner::Grouping;
use exactop_model::{Comm, Frame};
use exactop_testkit::details;
use exactop_tui::app::Page;
use exactop_tui::{Action, App, AutoSwitch, Settings};

fn take(app: &mut App, code: KeyCode) -> Action {
    app.on_event(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE)))
}

/// Findings of three kinds: a group held back, programs that waited, short lives.
fn findings(frame: &mut Frame) {
    let comm = |name: &str| Comm::new(name.as_bytes());
    let key = frame.rows[0].key;
    let length_ns = frame.length_ns();
    let part = |pct: u64| length_ns * pct / 100;
    let throttled = FindingKind::Throttled(Throttled {
        cgroup_id: 7,
        path: Some(b"/we\x1bb".to_vec()),
        groups_below: 0,
        allowed_cpus: Some(0.4),
        worst: Some(key),
        comm: comm("serve"),
        run_ns: part(40),
        lat_ns: 0,
        throttle_ns: part(60),
    });
    let waited = FindingKind::Waited(Waited {
        comm: comm("d\x07d"),
        processes: 3,
        worst: Some(key),
        run_ns: part(1),
        lat_ns: part(33),
        throttle_ns: 0,
        culprits: Vec::new(),
    });
    let short = FindingKind::ShortLived(ShortLived {
        all_ns: part(30),
        used_ns: part(75),
        comm: comm("true"),
        under: Some(comm("sh")),
        processes: 2_238,
        run_ns: part(30),
        mean_life_ns: 1_800_000,
    });
    let all = [(throttled, 60), (waited, 33), (short, 30)];
    frame.findings =
        all.map(|(what, pct)| Finding { what, about_ns: part(pct), sampled: false }).into();
}

#[test]
fn findings_at_80x24_and_160x24() {
    for width in [80, 160] {
        let mut app = app(width, 24, Settings::default());
        show(&mut app, findings);
        insta::assert_snapshot!(format!("findings_at_{width}x24"), picture(&app));
        take(&mut app, KeyCode::Char('!'));
        show(&mut app, findings);
        take(&mut app, KeyCode::Down);
        app.look(&mut details);
        insta::assert_snapshot!(format!("page_of_findings_at_{width}x24"), picture(&app));
    }
}

#[test]
fn a_finding_leads_to_the_page_with_its_details() {
    let follow = |down: usize| {
        let mut app = app(100, 30, Settings::default());
        take(&mut app, KeyCode::Char('!'));
        show(&mut app, findings);
        for key in [vec![KeyCode::Down; down], vec![KeyCode::Enter]].concat() {
            take(&mut app, key);
        }
        app
    };
    let mut groups = follow(0);
    show(&mut groups, |frame| {
        let all = frame.groups.as_mut().expect("groups").as_mut().expect("they were read");
        all.rows.last_mut().expect("a group").sample.id = Some(7);
    });
    let Page::Groups(page) = groups.page() else { panic!("another page") };
    assert_eq!(page.selected.as_ref().expect("a group").id, Some(7));
    let mut process = follow(1);
    assert!(matches!(process.page(), Page::Process(_)));
    // Esc leads back to the findings, with the same one selected, and then to the table.
    take(&mut process, KeyCode::Esc);
    show(&mut process, findings);
    let second = process.frame().expect("a frame").findings[1].subject();
    let Page::Findings(page) = process.page() else { panic!("another page") };
    assert_eq!(page.selected, Some(second));
    take(&mut process, KeyCode::Esc);
    assert_eq!(process.page(), &Page::Table);
    let mut totals = follow(2);
    assert_eq!(totals.ask().options.by, Some(Grouping::Command));
    show(&mut totals, |_| {});
    let Page::Sums(page) = totals.page() else { panic!("another page") };
    assert_eq!(page.selected.as_deref(), Some("true"));
    // Enter there opens the processes of the selected row.
    take(&mut totals, KeyCode::Enter);
    assert!(picture(&totals).contains("true"), "{}", picture(&totals));
}

/// Per-CPU lines show what the hypervisor took from which CPU, also where they were hidden.
#[test]
fn stolen_time_leads_to_the_cpus() {
    let settings = Settings { per_cpu: AutoSwitch::Never, ..Settings::default() };
    let mut app = app(120, 30, settings);
    let steal = FindingKind::Stolen { steal_ns: 240_000_000, busy_ns: 2_000_000_000 };
    let stolen = |frame: &mut Frame| {
        frame.findings =
            vec![Finding { what: steal.clone(), about_ns: 240_000_000, sampled: false }];
    };
    show(&mut app, stolen);
    let without = picture(&app);
    take(&mut app, KeyCode::Char('!'));
    show(&mut app, stolen);
    assert!(picture(&app).contains("Enter: each CPU"), "{}", picture(&app));
    take(&mut app, KeyCode::Enter);
    show(&mut app, stolen);
    assert_eq!(app.page(), &Page::Table);
    assert_ne!(picture(&app), without, "each CPU has a place now");
    assert_eq!(app.settings().per_cpu, AutoSwitch::Always);
}

#[test]
fn without_findings_or_with_the_setting_off_there_is_no_line() {
    let quiet = Settings { findings: false, ..Settings::default() };
    let mut app = app(80, 24, quiet);
    assert!(!app.ask().options.findings && !picture(&app).contains("(!"));
    take(&mut app, KeyCode::Char('!'));
    assert!(app.ask().options.findings, "the page needs them");
    show(&mut app, |frame| frame.findings.clear());
    assert!(picture(&app).contains("no figure of this window"), "{}", picture(&app));
    take(&mut app, KeyCode::Char('!'));
    assert_eq!(*app.page(), Page::Table);
}
