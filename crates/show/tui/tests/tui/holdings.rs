//! The pages of a process's environment and open files: their content, their process, and how long
//! the view keeps them.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use exactop_model::frame::holdings::{
    Environment, File, Files, Holdings, HoldingsRequest, OpenFileKind, Part,
};
use exactop_model::{Ask, Feed, Frame, Needs, Row, TaskKey};
use exactop_testkit::{arranged, details};
use exactop_tui::app::placement::Placement;
use exactop_tui::app::target::Limit;
use exactop_tui::canvas::Canvas;
use exactop_tui::desk::Desk;
use exactop_tui::draw::{draw, theme::Theme};
use exactop_tui::{App, Host, ProcessAction, Settings, Target};

/// The busiest process of the made-up machine.
const PID: u32 = 22_417;

struct MadeUp;

impl Feed for MadeUp {
    fn next_frame(&mut self, ask: &Ask) -> Result<Option<Frame>, String> {
        Ok(Some(arranged(ask, 0)))
    }

    fn same_frame(&mut self, ask: &Ask) -> Option<Frame> {
        Some(arranged(ask, 0))
    }

    fn details(&mut self, rows: &mut [&mut Row], needs: Needs) {
        details(rows, needs);
    }
}

/// A host that returns these holdings, and notes the process.
struct Tells {
    told: fn(Part) -> Result<Holdings, String>,
    asked: Vec<HoldingsRequest>,
}

impl Host for Tells {
    fn look_into(&mut self, wanted: HoldingsRequest) -> Result<Holdings, String> {
        self.asked.push(wanted);
        (self.told)(wanted.part)
    }

    fn identify(&mut self, pid: u32, _: ProcessAction) -> Result<Target, String> {
        Err(format!("no process {pid}"))
    }

    fn has_exited(&mut self, _: TaskKey) -> bool {
        false
    }

    fn signal(&mut self, target: &Target, _: i32) -> Result<(), String> {
        Err(target.gone())
    }

    fn renice(&mut self, target: &Target, _: i32) -> Result<(), String> {
        Err(target.gone())
    }

    fn place(&mut self, target: &Target, _: &Placement) -> Result<(), String> {
        Err(target.gone())
    }

    fn limit(&mut self, limit: &Limit) -> Result<String, String> {
        Err(limit.in_words())
    }

    fn save(&mut self, _: &Settings) -> Result<String, String> {
        Err("nowhere to keep them".into())
    }

    fn user_id(&mut self, _: &str) -> Option<u32> {
        None
    }

    fn point_in_time(&mut self, text: &str, _: i128) -> Result<i128, String> {
        Err(text.into())
    }

    fn local_time(&mut self, wall_ns: i128) -> String {
        wall_ns.to_string()
    }
}

fn holdings_of(part: Part) -> Result<Holdings, String> {
    let file = |number, kind, name: &[u8], size, position| File {
        number,
        kind,
        name: name.to_vec(),
        size,
        position: Some(position),
        flags: Some(0o2_001),
    };
    Ok(match part {
        Part::Environment => {
            let long = format!("PATH=/{}", "bin:/usr/bin:/".repeat(9));
            let hostile = b"EVIL=\x1b[2J\xe2\x80\xae\xff\n0 running".to_vec();
            let variables = vec![hostile, b"HOME=/root".to_vec(), long.into_bytes()];
            Holdings::Environment(Environment { variables, is_cut: false })
        }
        Part::Files => {
            let files = vec![
                file(0, OpenFileKind::CharacterDevice, b"/dev/pts/0", None, 0),
                file(3, OpenFileKind::Regular, b"/var/log/a\x1b[2Jb.log", Some(3 << 20), 1_048_576),
                file(12, OpenFileKind::Socket, b"socket:[4711]", None, 0),
            ];
            Holdings::Files(Files { files, left_out: 2 })
        }
    })
}

fn refused(_: Part) -> Result<Holdings, String> {
    Err("no luck: \u{1b}[2J the kernel does not let this user look".into())
}

/// The screen after these keys.
fn screen(desk: &mut Desk, width: u16, keys: &[KeyCode]) -> String {
    desk.resize(width, 24);
    desk.next_frame().expect("a frame");
    for &key in keys {
        desk.look();
        desk.take(&Event::Key(KeyEvent::new(key, KeyModifiers::NONE)));
    }
    desk.look();
    let mut canvas = Canvas::new(width, 24);
    draw(desk.app(), Theme::MONO, &mut canvas);
    let cells = &canvas.cells().content;
    let line =
        |cells: &[ratatui_core::buffer::Cell]| cells.iter().map(|cell| cell.symbol()).collect();
    let lines: Vec<String> = cells.chunks(usize::from(width)).map(line).collect();
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
}

/// The screen on a new desk, and the processes that were read.
fn shown(
    told: fn(Part) -> Result<Holdings, String>,
    width: u16,
    keys: &[KeyCode],
) -> (String, Vec<HoldingsRequest>) {
    let (mut feed, mut host) = (MadeUp, Tells { told, asked: Vec::new() });
    let app = App::new(Settings::default()).expect("settings");
    let screen = screen(&mut Desk::new(app, &mut feed, &mut host), width, keys);
    (screen, host.asked)
}

const ENVIRONMENT: KeyCode = KeyCode::Char('e');
const FILES: KeyCode = KeyCode::Char('l');

#[test]
fn an_environment_at_80x24() {
    let (screen, asked) = shown(holdings_of, 80, &[ENVIRONMENT]);
    insta::assert_snapshot!("environment_at_80x24", screen);
    assert!(!screen.contains('\u{1b}') && !screen.contains('\u{202e}'));
    let path: String = screen.split_whitespace().collect();
    assert!(path.contains(&"bin:/usr/bin:/".repeat(9)), "nothing of it is left out");
    assert!(asked.iter().all(|wanted| wanted.part == Part::Environment && wanted.key.tgid == PID));
    assert!(!asked.is_empty() && asked.iter().all(|wanted| wanted.key == asked[0].key));
}

#[test]
fn open_files_at_80x24_and_40x24() {
    insta::assert_snapshot!("open_files_at_80x24", shown(holdings_of, 80, &[FILES]).0);
    insta::assert_snapshot!("open_files_at_40x24", shown(holdings_of, 40, &[FILES]).0);
}

#[test]
fn a_refusal_is_shown_and_escaped() {
    for key in [ENVIRONMENT, FILES] {
        let (screen, _) = shown(refused, 80, &[key]);
        assert!(screen.contains("no luck: ") && !screen.contains('\u{1b}'), "{screen}");
        assert!(!screen.contains("HOME"), "{screen}");
    }
}

#[test]
fn only_the_open_pages_process_is_read() {
    use KeyCode::{Char, Enter, Esc};
    let (_, asked) = shown(holdings_of, 80, &[Enter, Char('y'), Esc, Esc, Char('H')]);
    assert_eq!(asked, []);
    let parts =
        |keys| shown(holdings_of, 80, keys).1.into_iter().map(|w| w.part).collect::<Vec<_>>();
    let mut both = parts(&[Enter, ENVIRONMENT, FILES, FILES, Esc]);
    both.dedup();
    assert_eq!(both, [Part::Environment, Part::Files]);
}

/// The view keeps holdings only while the page shows them, and shows them on no other page.
#[test]
fn holdings_are_dropped_with_their_page() {
    let (mut feed, mut host) = (MadeUp, Tells { told: holdings_of, asked: Vec::new() });
    let app = App::new(Settings::default()).expect("settings");
    let mut desk = Desk::new(app, &mut feed, &mut host);
    assert!(screen(&mut desk, 80, &[ENVIRONMENT]).contains("HOME=/root"));
    assert!(format!("{:?}", desk.app()).contains("HoldingsAnswer"));
    let files = screen(&mut desk, 80, &[FILES]);
    assert!(files.contains("socket:[4711]") && !files.contains("HOME=/root"), "{files}");
    screen(&mut desk, 80, &[KeyCode::Esc, KeyCode::Esc]);
    assert!(!format!("{:?}", desk.app()).contains("HoldingsAnswer"), "it is forgotten");
}
