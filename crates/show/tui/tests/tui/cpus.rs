//! CPUs one by one: bars where they fit, one character each for many CPUs.

use crate::view::{cells, text};
use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use exactop_model::{CpuRow, Frame};
use exactop_testkit::{arranged, details};
use exactop_tui::draw::theme::Theme;
use exactop_tui::{Action, App, AutoSwitch, Settings};

fn app(width: u16, height: u16, cpus: u32) -> App {
    let mut app = App::new(Settings::default()).unwrap();
    app.resize(width, height);
    show(&mut app, cpus);
    app
}

fn show(app: &mut App, cpus: u32) {
    let mut frame = arranged(&app.ask(), 0);
    many(&mut frame, cpus);
    app.accept(frame, &mut details);
    app.look(&mut details);
}

/// A frame with this number of CPUs: each a little busier than the one before, the first 16 idle,
/// the last one offline.
fn many(frame: &mut Frame, cpus: u32) {
    let length = frame.length_ns();
    let row = |cpu: u32| -> CpuRow {
        let mut row = frame.cpus[0];
        let time = &mut row.account.time;
        let used = u64::from(cpu.saturating_sub(16)) * length / u64::from(cpus);
        (time.cpu, time.unnamed_ns, time.offline_ns) = (cpu, 0, 0);
        (time.irq_ns, time.steal_ns) = (Some(0), Some(0));
        (time.task_ns, time.idle_ns) = (used, length - used);
        match cpu % 32 {
            // One CPU whose time the hypervisor takes.
            20 => (time.task_ns, time.steal_ns) = (0, Some(used)),
            _ if cpu + 1 == cpus => (time.task_ns, time.idle_ns, time.offline_ns) = (0, 0, length),
            _ => {}
        }
        row
    };
    frame.cpus = (0..cpus).map(row).collect();
}

fn press(app: &mut App, code: KeyCode, cpus: u32) {
    let action = app.on_event(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    if matches!(action, Action::Rearrange | Action::Refresh) {
        show(app, cpus);
    }
    app.look(&mut details);
}

fn lines_of_cpus(app: &App) -> Vec<String> {
    let is_of_cpus = |line: &&str| line.starts_with("cpu");
    text(&cells(app, Theme::MONO)).lines().filter(is_of_cpus).map(String::from).collect()
}

#[test]
fn a_small_screen_shows_128_cpus() {
    insta::assert_snapshot!(text(&cells(&app(80, 24, 128), Theme::FULL)));
    let ascii = text(&cells(&app(80, 24, 128), Theme::MONO.in_ascii()));
    let line = ascii.lines().find(|line| line.starts_with("cpu64-127 ")).expect("a strip");
    assert!(line.is_ascii() && line.contains("***."), "{line}");
}

#[test]
fn every_cpu_has_its_character_up_to_many() {
    for (cpus, width, lines) in [(32, 80, 1), (48, 80, 1), (96, 80, 2), (128, 160, 1), (128, 60, 4)]
    {
        let of_cpus = lines_of_cpus(&app(width, 40, cpus));
        let marks = of_cpus.iter().flat_map(|line| {
            let marks = line.split_once(' ').expect("a name").1.trim_start();
            marks.chars().take_while(|c| !c.is_ascii()).collect::<Vec<_>>()
        });
        assert_eq!((marks.count(), of_cpus.len()), (cpus as usize, lines), "{cpus}: {of_cpus:#?}");
    }
    // CPUs beyond the room share a character.
    let of_cpus = lines_of_cpus(&app(80, 24, 1024));
    assert!(of_cpus.len() <= 3 && of_cpus.last().unwrap().contains("-1023 "), "{of_cpus:#?}");
}

/// Every second CPU of 256 is offline.
#[test]
fn cpus_with_large_numbers_stand_below_each_other() {
    let mut app = app(80, 24, 0);
    let mut frame = arranged(&app.ask(), 0);
    many(&mut frame, 128);
    frame.cpus.iter_mut().for_each(|cpu| cpu.account.time.cpu *= 2);
    app.accept(frame, &mut details);
    app.look(&mut details);
    let of_cpus = lines_of_cpus(&app);
    let begins = |line: &String| line.find(|c: char| !c.is_ascii());
    assert_eq!(of_cpus.len(), 2, "{of_cpus:#?}");
    assert!(of_cpus[0].starts_with("cpu0-126 ") && of_cpus[1].starts_with("cpu128-254 "));
    assert_eq!(begins(&of_cpus[0]), begins(&of_cpus[1]), "{of_cpus:#?}");
}

#[test]
fn fewer_have_bars_where_these_take_few_lines() {
    let bars = |width, height, cpus| {
        let lines = lines_of_cpus(&app(width, height, cpus));
        (lines.len(), lines.iter().any(|line| line.contains('-')))
    };
    assert_eq!(bars(80, 24, 2), (1, false), "a line of bars");
    assert_eq!(bars(80, 24, 8), (3, false));
    assert_eq!(bars(80, 24, 16), (1, true), "too many for so few lines: a strip");
    assert_eq!(bars(200, 50, 16), (2, false));
    assert_eq!(bars(80, 16, 2), (0, false), "a low screen is for rows");
}

#[test]
fn the_key_hides_and_shows_cpus() {
    let one = KeyCode::Char('C');
    let through = |width, height, cpus: u32| {
        let mut app = app(width, height, cpus);
        let mut seen = vec![(app.settings().per_cpu, lines_of_cpus(&app).len())];
        for _ in 0..3 {
            press(&mut app, one, cpus);
            seen.push((app.settings().per_cpu, lines_of_cpus(&app).len()));
        }
        seen
    };
    use AutoSwitch::{Always, Auto, Never};
    assert_eq!(through(80, 24, 2), [(Auto, 1), (Never, 0), (Auto, 1), (Never, 0)]);
    assert_eq!(through(80, 16, 2), [(Auto, 0), (Always, 1), (Auto, 0), (Always, 1)]);
    assert_eq!(through(80, 24, 128), [(Auto, 2), (Never, 0), (Auto, 2), (Never, 0)]);
    // With room for a bar per CPU, the key also passes through bars.
    let bars = [(Auto, 1), (Always, 16), (Never, 0), (Auto, 1)];
    assert_eq!(through(200, 50, 128), bars);
}

#[test]
fn full_pages_show_cpus_on_request() {
    let mut app = app(80, 24, 2);
    press(&mut app, KeyCode::Down, 2);
    press(&mut app, KeyCode::Enter, 2);
    assert_eq!(lines_of_cpus(&app).len(), 0, "{}", text(&cells(&app, Theme::MONO)));
    press(&mut app, KeyCode::Char('C'), 2);
    assert_eq!(lines_of_cpus(&app).len(), 1, "{}", text(&cells(&app, Theme::MONO)));
}
