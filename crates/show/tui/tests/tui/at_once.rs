//! Figures that are shown before the first window is measured give way to it.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use exactop_model::findings::{Finding, FindingKind, Waited};
use exactop_model::frame::holdings::{Environment, Files, Holdings, HoldingsRequest, Part};
use exactop_model::ledger::system::{DiskRate, Pressure};
use exactop_model::on_demand::losses::Losses;
use exactop_model::on_demand::owed::OwedWindow;
use exactop_model::on_demand::syscalls::SyscallWindow;
use exactop_model::on_demand::waits::WaitWindow;
use exactop_model::on_demand::Subject;
use exactop_model::{Ask, Feed, Frame, Needs, Row, SourceKind};
use exactop_testkit::{arranged, Made};
use exactop_tui::app::placement::Placement;
use exactop_tui::app::target::{Limit, ProcessAction, Target};
use exactop_tui::canvas::Canvas;
use exactop_tui::desk::Desk;
use exactop_tui::draw::{draw, theme::Theme};
use exactop_tui::{App, AutoSwitch, Host, Settings, TuiError};

/// A feed with figures at once, whose source may fail to open.
struct Slow {
    made: Made,
    opens: bool,
}

impl Feed for Slow {
    fn inner(&mut self) -> Option<&mut dyn Feed> {
        Some(&mut self.made)
    }

    fn at_once(&mut self, ask: &Ask) -> Option<Frame> {
        let mut frame = arranged(ask, 0);
        frame.t0_ns = 0;
        Some(frame)
    }

    fn next_frame(&mut self, ask: &Ask) -> Result<Option<Frame>, String> {
        match self.opens {
            true => self.made.next_frame(ask),
            false => Err("no source".into()),
        }
    }
}

/// A host that does nothing.
struct Nobody;

impl Host for Nobody {
    fn identify(&mut self, pid: u32, _: ProcessAction) -> Result<Target, String> {
        Err(format!("no process {pid}"))
    }

    fn has_exited(&mut self, _: exactop_model::TaskKey) -> bool {
        false
    }

    fn look_into(&mut self, wanted: HoldingsRequest) -> Result<Holdings, String> {
        let variables = vec![b"A=1".to_vec()];
        Ok(match wanted.part {
            Part::Environment => Holdings::Environment(Environment { variables, is_cut: false }),
            Part::Files => Holdings::Files(Files::default()),
        })
    }

    fn signal(&mut self, _: &Target, _: i32) -> Result<(), String> {
        Err("not permitted".into())
    }

    fn renice(&mut self, _: &Target, _: i32) -> Result<(), String> {
        Err("not permitted".into())
    }

    fn place(&mut self, _: &Target, _: &Placement) -> Result<(), String> {
        Err("not permitted".into())
    }

    fn limit(&mut self, _: &Limit) -> Result<String, String> {
        Err("not permitted".into())
    }

    fn save(&mut self, _: &Settings) -> Result<String, String> {
        Err("not permitted".into())
    }

    fn user_id(&mut self, _: &str) -> Option<u32> {
        None
    }

    fn point_in_time(&mut self, _: &str, _: i128) -> Result<i128, String> {
        Err("no recording".into())
    }

    fn local_time(&mut self, wall_ns: i128) -> String {
        wall_ns.to_string()
    }
}

/// Start of the window on the screen.
fn begins(desk: &Desk<'_>) -> Option<u64> {
    desk.app().frame().map(|frame| frame.t0_ns)
}

#[test]
fn figures_since_boot_stay_until_a_window_is_measured() {
    let (mut feed, mut host) = (Slow { made: Made::default(), opens: true }, Nobody);
    let app = App::new(Settings::default()).expect("settings");
    let mut desk = Desk::new(app, &mut feed, &mut host);
    desk.resize(100, 30);
    assert!(desk.at_once());
    assert_eq!(begins(&desk), Some(0));
    assert!(!desk.open().expect("an open window"), "nothing is measured yet");
    assert_eq!(begins(&desk), Some(0));
    assert!(desk.next_frame().expect("a frame"));
    assert!(begins(&desk) > Some(0));
}

/// While programs attach, a new page shows known figures, and its first window is short.
#[test]
fn an_opened_page_shows_known_figures_and_its_first_window_is_short() {
    let (mut feed, mut host) = (Slow { made: Made::default(), opens: true }, Nobody);
    let app = App::new(Settings::default()).expect("settings");
    let mut desk = Desk::new(app, &mut feed, &mut host);
    desk.resize(100, 30);
    assert!(!desk.open().expect("an open window") && desk.next_frame().expect("a frame"));
    desk.look();
    let is_known = |frame: &Frame, key| match key {
        KeyCode::Char('y') => frame.subjects.get::<SyscallWindow>().is_some(),
        KeyCode::Enter => frame.subjects.get::<WaitWindow>().is_some(),
        _ => frame.groups.is_some(),
    };
    for key in [KeyCode::Char('y'), KeyCode::Enter, KeyCode::Char('g')] {
        let mut press = |code| desk.take(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
        press(key);
        let frame = desk.app().frame().expect("the same window");
        assert!(is_known(frame, key), "{key:?}: what is known");
        assert!(desk.wants_frame() && desk.takes_short(), "{key:?}: there is more soon");
        assert!(!desk.takes_short(), "{key:?}: once");
        for _ in 0..2 {
            desk.take(&Event::Key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE)));
        }
        desk.wants_frame();
        desk.takes_short();
        desk.look();
    }
}

#[test]
fn a_source_that_does_not_open_ends_the_view() {
    let (mut feed, mut host) = (Slow { made: Made::default(), opens: false }, Nobody);
    let app = App::new(Settings::default()).expect("settings");
    let mut desk = Desk::new(app, &mut feed, &mut host);
    desk.resize(100, 30);
    assert!(desk.at_once());
    assert!(matches!(desk.open(), Err(TuiError::Feed(why)) if why == "no source"));
}

/// A feed whose figures on request are those of a session: a window has what was asked for when it
/// began.
#[derive(Default)]
struct FromNow {
    beat: u64,
    /// The request with which the last window began, and the one of the open window.
    began: [Ask; 2],
}

impl FromNow {
    /// What the last window measured of a request.
    fn measured(&self, ask: &Ask) -> Ask {
        let began = &self.began[0];
        let watch = ask.watch.filter(|_| ask.watch == began.watch);
        let groups = ask.groups && began.groups;
        Ask { options: ask.options.clone(), needs: began.needs, watch, groups, interval_ns: None }
    }
}

impl Feed for FromNow {
    fn next_frame(&mut self, ask: &Ask) -> Result<Option<Frame>, String> {
        self.beat += 1;
        self.began.swap(0, 1);
        self.began[1] = ask.clone();
        Ok(self.same_frame(ask))
    }

    fn same_frame(&mut self, ask: &Ask) -> Option<Frame> {
        if self.beat < 2 {
            return None;
        }
        let ask = self.measured(ask);
        let mut frame = arranged(&ask, self.beat - 2);
        if ask.needs.has(Needs::PRESSURE) {
            frame.system.pressure = Some(Pressure { cpu: Some(1.5), io: None, memory: None });
            frame.system.disk = Some(DiskRate { read: 1e6, written: 0.0 });
        }
        if ask.needs.has(Needs::subject(Subject::Owed)) {
            let (t0_ns, t1_ns, idle_ns, owed_ns) = (0, frame.t1_ns, 1_900_000_000, 62_000_000);
            let losses = Losses::default();
            let owed = OwedWindow { t0_ns, t1_ns, idle_ns, owed_ns, rows: Vec::new(), losses };
            frame.subjects.tell(Subject::Owed, Some(Ok(owed.into())));
        }
        let worst = frame.rows.first();
        let waited = |row: &Row| {
            FindingKind::Waited(Waited {
                comm: row.ident.comm,
                processes: 1,
                worst: Some(row.key),
                run_ns: 1,
                lat_ns: frame.length_ns() / 3,
                throttle_ns: 0,
                culprits: Vec::new(),
            })
        };
        let found = |row| Finding { what: waited(row), about_ns: 1, sampled: false };
        frame.findings = worst.map(found).into_iter().collect();
        Some(frame)
    }

    fn details(&mut self, rows: &mut [&mut Row], needs: Needs) {
        exactop_testkit::details(rows, needs);
    }
}

/// Words in place of figures that a later window will have.
const LATER: [&str; 4] = ["from the next window", "next window begins", "(owed -)", "Disk - "];

/// When a panel has its figures after its first opening.
#[derive(Clone, Copy, Debug, PartialEq)]
enum First {
    /// In the frame in which it opens.
    AtOnce,
    /// After a short window.
    Soon,
}
use First::{AtOnce, Soon};

/// Keys that open a panel from the table; words that its figures have; when it has them.
#[rustfmt::skip]
const PANELS: &[(&[KeyCode], &[&str], First)] = &[
    (&[KeyCode::Char('H')], &["PID"], AtOnce),
    (&[KeyCode::Char('V')], &["CPU+"], AtOnce),
    (&[KeyCode::Char('S')], &[" USR "], AtOnce),
    (&[KeyCode::Char('C')], &["cpu0"], AtOnce),
    (&[KeyCode::Char('m')], &["PID"], AtOnce),
    (&[KeyCode::Char('1')], &["PID"], AtOnce),
    (&[KeyCode::Char('2')], &["PID"], AtOnce),
    (&[KeyCode::Char('3')], &["LAT%"], Soon),
    (&[KeyCode::Char('4')], &["THR%"], Soon),
    (&[KeyCode::Char('5')], &["PID"], AtOnce),
    (&[KeyCode::Char('6')], &["PID"], AtOnce),
    (&[KeyCode::Char('b')], &["PSI cpu 1.5", "Disk 977K/s read"], Soon),
    (&[KeyCode::Char('a')], &["(owed "], Soon),
    (&[KeyCode::Char('g')], &["GROUP"], Soon),
    (&[KeyCode::Char('K')], &["COMMAND"], AtOnce),
    (&[KeyCode::Char('!')], &["waited"], AtOnce),
    (&[KeyCode::Char('!'), KeyCode::Enter], &["ran on   cpu", "waits in"], Soon),
    (&[KeyCode::Char('G')], &["the last "], AtOnce),
    (&[KeyCode::Char('G'), KeyCode::Enter], &["ran on   cpu", "waits in"], Soon),
    (&[KeyCode::Enter], &["ran on   cpu", "waits in"], Soon),
    (&[KeyCode::Enter, KeyCode::Char('y')], &["CALLS/s"], Soon),
    (&[KeyCode::Char('y')], &["CALLS/s"], Soon),
    (&[KeyCode::Char('e')], &["A=1"], AtOnce),
    (&[KeyCode::Char('l')], &["files"], AtOnce),
];

fn screen(desk: &mut Desk<'_>) -> String {
    let (width, height) = desk.app().size();
    let mut canvas = Canvas::new(width, height);
    desk.look();
    draw(desk.app(), Theme::MONO, &mut canvas);
    canvas.cells().content.iter().map(|cell| cell.symbol()).collect()
}

/// True if the screen has the words of figures, and none that stand for later ones.
fn has_figures(screen: &str, words: &[&str]) -> bool {
    words.iter().all(|words| screen.contains(words)) && !LATER.iter().any(|w| screen.contains(w))
}

/// Presses the keys, as the loop does before it closes a window.
fn open(desk: &mut Desk<'_>, keys: &[KeyCode]) -> String {
    for &code in keys {
        desk.take(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
        desk.look();
    }
    screen(desk)
}

/// No interval passes here: a window closes when the view asks for it, and then a short one.
#[test]
fn every_panel_opens_with_figures() {
    for (keys, words, first) in PANELS {
        let (mut feed, mut host) = (FromNow::default(), Nobody);
        let settings = Settings { per_cpu: AutoSwitch::Never, ..Settings::default() };
        let mut desk = Desk::new(App::new(settings).expect("settings"), &mut feed, &mut host);
        desk.resize(96, 40);
        assert!(!desk.open().expect("an open window") && desk.next_frame().expect("a frame"));
        desk.look();
        let opened = open(&mut desk, keys);
        if *first == AtOnce {
            assert!(has_figures(&opened, words), "{keys:?} at once: {opened}");
        } else {
            assert!(desk.wants_frame(), "{keys:?}: its figures count from now on");
            assert!(desk.next_frame().expect("a frame"));
            assert!(desk.takes_short(), "{keys:?}: they are there soon");
            assert!(desk.next_frame().expect("a frame"));
            let soon = screen(&mut desk);
            assert!(has_figures(&soon, words), "{keys:?} soon: {soon}");
        }
    }
}

/// A feed of a source that reads either processes or their threads.
struct Samples;

impl Feed for Samples {
    fn next_frame(&mut self, ask: &Ask) -> Result<Option<Frame>, String> {
        Ok(self.same_frame(ask))
    }

    fn same_frame(&mut self, ask: &Ask) -> Option<Frame> {
        Some(exactop_testkit::frame(SourceKind::Procfs, ask.options.threads))
    }
}

#[test]
fn threads_of_a_sampling_source_have_figures_after_a_short_window() {
    let mut host = Nobody;
    let (mut feed, app) = (Samples, App::new(Settings::default()).expect("settings"));
    let mut desk = Desk::new(app, &mut feed, &mut host);
    desk.resize(96, 40);
    assert!(desk.next_frame().expect("a frame"));
    for _ in 0..2 {
        desk.look();
        open(&mut desk, &[KeyCode::Char('H')]);
        assert!(desk.wants_frame() && desk.next_frame().expect("a frame"));
        assert!(desk.takes_short(), "its rows begin with this window");
    }
}

/// Waits and system calls of an earlier opening stay in the session, and CPUs in the view.
#[test]
fn a_page_that_opens_again_has_the_cpus_of_its_last_window() {
    let (mut feed, mut host) = (FromNow::default(), Nobody);
    let app = App::new(Settings::default()).expect("settings");
    let mut desk = Desk::new(app, &mut feed, &mut host);
    desk.resize(100, 40);
    let next = |desk: &mut Desk<'_>| {
        desk.next_frame().expect("a frame");
        screen(desk)
    };
    (0..3).for_each(|_| drop(next(&mut desk)));
    assert!(open(&mut desk, &[KeyCode::Enter]).contains("ran on   shown from"), "never watched");
    next(&mut desk);
    let ran_on = |screen: &str| {
        let (_, line) = screen.split_once("ran on   ").expect("its line");
        line.split("  ").next().map(String::from)
    };
    let watched = ran_on(&next(&mut desk));
    assert!(watched.as_ref().is_some_and(|line| line.starts_with("cpu")), "{watched:?}");
    open(&mut desk, &[KeyCode::Esc]);
    (0..2).for_each(|_| drop(next(&mut desk)));
    let again = open(&mut desk, &[KeyCode::Enter]);
    assert_eq!(ran_on(&again), watched);
    assert!(again.contains("(812 times)  4.00s old"), "{again}");
    // Another process does not have them.
    open(&mut desk, &[KeyCode::Esc, KeyCode::End]);
    assert!(open(&mut desk, &[KeyCode::Enter]).contains("ran on   shown from"));
}
