//! Clicks on the rows of pages mark them; what Enter does stays with the key.

use crate::view::{app, cells, show};
use crossterm::event::{
    Event, KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use exactop_model::findings::{Finding, FindingKind};
use exactop_model::SourceKind;
use exactop_tui::app::Page;
use exactop_tui::draw::theme::Theme;
use exactop_tui::{App, Settings};
use ratatui_core::style::Modifier;

fn click(app: &mut App, row: u16) {
    click_at(app, 3, row);
}

fn click_at(app: &mut App, column: u16, row: u16) {
    let kind = MouseEventKind::Down(MouseButton::Left);
    let mouse = MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE };
    app.on_event(&Event::Mouse(mouse));
}

/// The page of a key, with its figures.
fn page(key: char, height: u16) -> App {
    let mut app = app(100, height, Settings::default());
    app.on_event(&Event::Key(KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE)));
    show(&mut app, |frame| {
        let stolen = FindingKind::Stolen { steal_ns: 240_000_000, busy_ns: 2_000_000_000 };
        let (unnamed_ns, used_ns) = (200_000_000, 900_000_000);
        let source = SourceKind::Ledger;
        let unnamed = FindingKind::Unnamed { unnamed_ns, used_ns, source };
        let finding = |what| Finding { what, about_ns: 240_000_000, sampled: false };
        frame.findings = [stolen, unnamed].map(finding).into();
    });
    app
}

/// The lines of the screen, and whether each is that of the marked row.
fn lines(app: &App) -> Vec<(String, bool)> {
    let cells = cells(app, Theme::MONO);
    let line = |y| {
        let text: String = (0..cells.area.width).map(|x| cells[(x, y)].symbol()).collect();
        (text.trim_end().to_string(), cells[(0, y)].modifier.contains(Modifier::REVERSED))
    };
    (0..cells.area.height).map(line).collect()
}

#[test]
fn a_click_marks_the_row_of_a_page_and_opens_nothing() {
    for (key, rows) in [('g', 3), ('K', 3), ('!', 2)] {
        for height in [30, 14] {
            let mut marked = 0;
            for y in 1..height {
                let mut app = page(key, height);
                if lines(&app)[usize::from(y)].0.contains('▾') {
                    continue; // a heading
                }
                let (before, page) = (lines(&app), std::mem::discriminant(app.page()));
                click(&mut app, y);
                assert_eq!(std::mem::discriminant(app.page()), page, "{key}: line {y}");
                let after = lines(&app);
                // The heading is reversed, too.
                let at = |lines: &[(String, bool)]| lines.iter().rposition(|(_, marked)| *marked);
                // The rows may scroll under the click, but the text stays the marked one.
                let text = |lines: &[(String, bool)]| at(lines).map(|at| lines[at].0.clone());
                if text(&after) == text(&before) && at(&before) != Some(usize::from(y)) {
                    continue;
                }
                // The figures of a finding belong to the sentence above them.
                let clicked = before[..=usize::from(y)]
                    .iter()
                    .rfind(|(line, _)| key != '!' || !line.starts_with("    "));
                assert_eq!(text(&after), clicked.map(|(line, _)| line.clone()), "{key}: {y}");
                marked += 1;
            }
            assert!(marked >= rows, "{key}: {marked} of {rows} rows at {height} lines");
        }
    }
}

#[test]
fn a_click_on_a_heading_sorts_and_again_reverses() {
    for (key, title) in [('g', "%USR"), ('g', "GROUP"), ('K', "PROCS"), ('K', "COMMAND")] {
        let mut app = page(key, 30);
        let heading = |app: &App| {
            let lines = lines(app).into_iter().enumerate();
            let mut headings = lines.filter(|(_, (line, _))| line.contains("%CPU "));
            headings.next().map(|(y, (line, _))| (y as u16, line)).expect("headings")
        };
        let column = |line: &str| {
            let at = line.find(title).expect("the title");
            line[..at].chars().count() as u16 + 1
        };
        let (y, line) = heading(&app);
        let sorted = |app: &App, mark: char| {
            let (_, line) = heading(app);
            assert!(
                line.contains(&format!("{mark}{title}"))
                    || line.contains(&format!("{title}{mark}")),
                "{line}"
            );
        };
        let (first, again) = if key == 'g' && title == "GROUP" || title == "COMMAND" {
            ('▴', '▾')
        } else {
            ('▾', '▴')
        };
        click_at(&mut app, column(&line), y);
        sorted(&app, first);
        let told = app.message().map(|told| told.text.clone());
        assert_eq!(told, Some(format!("sorted by {title}")));
        let (y, line) = heading(&app);
        click_at(&mut app, column(&line), y);
        sorted(&app, again);
    }
}

#[test]
fn a_click_below_the_rows_or_beside_a_page_changes_nothing() {
    for key in ['g', 'K', '!'] {
        let mut app = page(key, 30);
        let before = app.page().clone();
        for y in [0, 1, 2, 29] {
            click(&mut app, y);
            assert_eq!(app.page(), &before, "{key}: line {y}");
        }
    }
    let mut graph = app(100, 30, Settings::default());
    graph.on_event(&Event::Key(KeyEvent::new(KeyCode::Down, KeyModifiers::NONE)));
    graph.on_event(&Event::Key(KeyEvent::new(KeyCode::Char('G'), KeyModifiers::NONE)));
    click(&mut graph, 12);
    assert!(matches!(graph.page(), Page::Graph(_)));
}
