//! Figures that are shown before the first window is measured give way to it.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use exactop_model::frame::holdings::{Holdings, HoldingsRequest};
use exactop_model::on_demand::syscalls::SyscallWindow;
use exactop_model::on_demand::waits::WaitWindow;
use exactop_model::{Ask, Feed, Frame};
use exactop_testkit::{arranged, Made};
use exactop_tui::app::target::{Limit, ProcessAction, Target};
use exactop_tui::desk::Desk;
use exactop_tui::{App, Host, Settings, TuiError};

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
        Err(format!("{} holds nothing", wanted.key.tgid))
    }

    fn signal(&mut self, _: &Target, _: i32) -> Result<(), String> {
        Err("not permitted".into())
    }

    fn renice(&mut self, _: &Target, _: i32) -> Result<(), String> {
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
