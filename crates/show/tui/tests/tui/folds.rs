//! Folding branches of the tree: hidden rows, the folded row's figures, and the rows that stay.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use exactop_testkit::{arranged, details};
use exactop_tui::app::arrange::Fold;
use exactop_tui::canvas::Canvas;
use exactop_tui::draw::{draw, theme::Theme};
use exactop_tui::{Action, App, Settings};

fn app(tree: bool) -> App {
    let mut app = App::new(Settings { tree, ..Settings::default() }).unwrap();
    app.resize(100, 40);
    app.accept(arranged(&app.ask(), 0), &mut details);
    app.look(&mut details);
    app
}

fn press(app: &mut App, keys: &[KeyCode]) {
    for &code in keys {
        let event = Event::Key(KeyEvent::new(code, KeyModifiers::NONE));
        if matches!(app.on_event(&event), Action::Rearrange | Action::Refresh) {
            app.accept(arranged(&app.ask(), 0), &mut details);
        }
        app.look(&mut details);
    }
}

fn screen(app: &App) -> String {
    let (width, height) = app.size();
    let mut canvas = Canvas::new(width, height);
    draw(app, Theme::MONO, &mut canvas);
    let cells = canvas.cells();
    let line = |y| (0..width).map(|x| cells[(x, y)].symbol()).collect::<String>() + "\n";
    (0..height).map(line).collect()
}

/// (PID, CPU+ in tenths, fold) of each line.
fn lines(app: &App) -> Vec<(u32, Option<i64>, Fold)> {
    let of = |e: exactop_tui::app::arrange::Entry<'_>| {
        (e.row.key.tid, e.line.cpu_plus_tenths, e.line.fold)
    };
    app.entries().map(of).collect()
}

#[test]
fn a_folded_row_has_its_branch_and_says_so() {
    let mut app = app(true);
    let open = lines(&app);
    assert_eq!(open[0].2, Fold::Open);
    press(&mut app, &[KeyCode::Home, KeyCode::Char('-')]);
    let folded = lines(&app);
    let hidden = open.len() - folded.len();
    assert_eq!(folded[0], (open[0].0, open[0].1, Fold::Folded(hidden)));
    assert!(hidden > 5 && screen(&app).contains(&format!("[+{hidden}] ")), "{}", screen(&app));
    let pids = |lines: &[(u32, Option<i64>, Fold)]| -> Vec<u32> {
        lines.iter().skip(1).map(|line| line.0).collect()
    };
    assert_eq!(pids(&folded), pids(&open)[hidden..], "nobody of it comes up elsewhere");
    press(&mut app, &[KeyCode::Char('-')]);
    assert_eq!(lines(&app), folded, "it is folded already");
    press(&mut app, &[KeyCode::Char('+')]);
    assert_eq!(lines(&app), open);
    press(&mut app, &[KeyCode::Char('v'), KeyCode::Char('v')]);
    assert_eq!(lines(&app), open);
}

#[test]
fn a_branch_folded_in_a_folded_one_stays_so() {
    let mut app = app(true);
    let open = lines(&app);
    press(&mut app, &[KeyCode::Home, KeyCode::Down, KeyCode::Char('v')]);
    let inner = lines(&app);
    assert!(inner.len() < open.len() && matches!(inner[1].2, Fold::Folded(_)), "{inner:?}");
    press(&mut app, &[KeyCode::Home, KeyCode::Char('v')]);
    assert_eq!(lines(&app)[0].2, Fold::Folded(open.len() - lines(&app).len()));
    press(&mut app, &[KeyCode::Char('v')]);
    assert_eq!(lines(&app), inner);
}

#[test]
fn a_row_without_a_branch_says_why_it_does_not_fold() {
    let mut list = app(false);
    let before = lines(&list);
    press(&mut list, &[KeyCode::Char('v')]);
    assert!(screen(&list).contains("V shows the tree") && lines(&list) == before);
    let mut tree = app(true);
    let leaf = lines(&tree).iter().position(|line| line.2 == Fold::Leaf && line.0 != 0).unwrap();
    press(&mut tree, &[KeyCode::Home]);
    press(&mut tree, &vec![KeyCode::Down; leaf]);
    press(&mut tree, &[KeyCode::Char('-')]);
    assert!(screen(&tree).contains("it has no rows below"), "{}", screen(&tree));
}
