//! Folding branches of the tree: hidden rows, the folded row's figures, and the rows that stay.

use crate::view::{app, picture, press_all};
use crossterm::event::KeyCode;
use exactop_tui::app::arrange::Fold;
use exactop_tui::{App, Settings};

/// (PID, CPU+ in tenths, fold) of each line.
fn lines(app: &App) -> Vec<(u32, Option<i64>, Fold)> {
    let of = |e: exactop_tui::app::arrange::Entry<'_>| {
        (e.row.key.tid, e.line.cpu_plus_tenths, e.line.fold)
    };
    app.entries().map(of).collect()
}

#[test]
fn a_folded_row_has_its_branch_and_says_so() {
    let mut app = app(100, 40, Settings { tree: true, ..Settings::default() });
    let open = lines(&app);
    assert_eq!(open[0].2, Fold::Open);
    press_all(&mut app, &[KeyCode::Home, KeyCode::Char('-')]);
    let folded = lines(&app);
    let hidden = open.len() - folded.len();
    assert_eq!(folded[0], (open[0].0, open[0].1, Fold::Folded(hidden)));
    assert!(hidden > 5 && picture(&app).contains(&format!("[+{hidden}] ")), "{}", picture(&app));
    let pids = |lines: &[(u32, Option<i64>, Fold)]| -> Vec<u32> {
        lines.iter().skip(1).map(|line| line.0).collect()
    };
    assert_eq!(pids(&folded), pids(&open)[hidden..], "nobody of it comes up elsewhere");
    press_all(&mut app, &[KeyCode::Char('-')]);
    assert_eq!(lines(&app), folded, "it is folded already");
    press_all(&mut app, &[KeyCode::Char('+')]);
    assert_eq!(lines(&app), open);
    press_all(&mut app, &[KeyCode::Char('v'), KeyCode::Char('v')]);
    assert_eq!(lines(&app), open);
}

#[test]
fn a_branch_folded_in_a_folded_one_stays_so() {
    let mut app = app(100, 40, Settings { tree: true, ..Settings::default() });
    let open = lines(&app);
    press_all(&mut app, &[KeyCode::Home, KeyCode::Down, KeyCode::Char('v')]);
    let inner = lines(&app);
    assert!(inner.len() < open.len() && matches!(inner[1].2, Fold::Folded(_)), "{inner:?}");
    press_all(&mut app, &[KeyCode::Home, KeyCode::Char('v')]);
    assert_eq!(lines(&app)[0].2, Fold::Folded(open.len() - lines(&app).len()));
    press_all(&mut app, &[KeyCode::Char('v')]);
    assert_eq!(lines(&app), inner);
}

#[test]
fn a_row_without_a_branch_says_why_it_does_not_fold() {
    let mut list = app(100, 40, Settings { tree: false, ..Settings::default() });
    let before = lines(&list);
    press_all(&mut list, &[KeyCode::Char('v')]);
    assert!(picture(&list).contains("V shows the tree") && lines(&list) == before);
    let mut tree = app(100, 40, Settings { tree: true, ..Settings::default() });
    let leaf = lines(&tree).iter().position(|line| line.2 == Fold::Leaf && line.0 != 0).unwrap();
    press_all(&mut tree, &[KeyCode::Home]);
    press_all(&mut tree, &vec![KeyCode::Down; leaf]);
    press_all(&mut tree, &[KeyCode::Char('-')]);
    assert!(picture(&tree).contains("it has no rows below"), "{}", picture(&tree));
}
