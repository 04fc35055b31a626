//! The books as a line of the header: every form of it adds up and fits its screen.

use super::theme::{Ink, Theme};
use exactop_model::words::books::{hundredths, round_to_sum, Account, BooksText, SINCE_BOOT};
use exactop_model::Frame;
use ratatui_core::text::{Line, Span};

/// The books with named accounts if there is room; else small accounts are merged. Every form adds
/// up. `owed` stands behind the idle time, unless the room is too small for every form with it.
pub(super) fn line(
    frame: &Frame,
    of_machine: bool,
    owed: &str,
    theme: Theme,
    room: usize,
) -> Line<'static> {
    let Some(books) = BooksText::new(frame, of_machine) else {
        return Line::raw("CPU -");
    };
    let known = known(&books);
    let note = unknown_accounts(&books);
    let small = || merged(&known, Merge::Small);
    let busy = || merged(&known, Merge::Busy);
    let sum =
        |parts: &[Part], form, note| with_owed(sum(books.total, parts, form, note, theme), owed);
    // The first that fits. Most screens have room for one of the first two.
    let form = |n| match n {
        0 => sum(&known, Form::Wide, &note),
        1 => sum(&known, Form::Wide, ""),
        2 => sum(&known, Form::Bare, ""),
        3 => sum(&known, Form::Tight, ""),
        4 => sum(&small(), Form::Wide, ""),
        5 => sum(&small(), Form::Tight, ""),
        6 => sum(&busy(), Form::Wide, ""),
        7 => sum(&busy(), Form::Least, ""),
        8 => with_owed(whole(books.total, &busy(), theme), owed),
        _ => whole(books.total, &busy(), theme),
    };
    (0..9).map(form).find(|line| line.width() <= room).unwrap_or_else(|| form(9))
}

/// Least width of the line with every account of its own.
pub(super) fn least_width(frame: &Frame, of_machine: bool, owed: &str) -> usize {
    BooksText::new(frame, of_machine).map_or(0, |books| {
        let tight = sum(books.total, &known(&books), Form::Tight, "", Theme::MONO);
        with_owed(tight, owed).width()
    })
}

fn known(books: &BooksText) -> Vec<Part> {
    let known = |&(account, n): &(Account, Option<i64>)| Some((account.label(), ink(account), n?));
    books.parts.iter().filter_map(known).collect()
}

/// The sum, with this text behind its idle time.
fn with_owed(mut sum: Line<'static>, owed: &str) -> Line<'static> {
    let name = |span: &Span| span.content.trim_end().ends_with("idle");
    let idle = sum.spans.iter().position(name).filter(|_| !owed.is_empty());
    if let Some(name) = idle {
        sum.spans.insert(name + 2, Span::raw(owed.to_string()));
    }
    sum
}

fn ink(account: Account) -> Ink {
    match account {
        Account::Tasks | Account::Exited => Ink::Strong,
        Account::Irq => Ink::Irq,
        Account::Steal => Ink::Steal,
        Account::Idle | Account::Offline => Ink::Idle,
        Account::Outside | Account::Unnamed => Ink::Strong,
        Account::Residual => Ink::Alarm,
    }
}

/// A summand: name, colour, hundredths of a per cent.
type Part = (&'static str, Ink, i64);

/// Accounts that are merged if there is no room for all.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Merge {
    /// Interrupts, steal and offline CPUs as `other`.
    Small,
    /// All but idle as `busy`.
    Busy,
}

/// Merges accounts; the sum stays the same. The residual stays separate, and so does unnamed time
/// as long as possible.
fn merged(known: &[Part], merge: Merge) -> Vec<Part> {
    let apart = |name: &str| match name {
        "idle" | "residual" => true,
        "tasks" | "exited" | "unnamed" => merge == Merge::Small,
        _ => false,
    };
    let others: i64 = known.iter().filter(|k| !apart(k.0)).map(|k| k.2).sum();
    let mut parts: Vec<_> = known.iter().copied().filter(|k| apart(k.0)).collect();
    let idle = parts.iter().position(|k| k.0 == "idle").unwrap_or(0);
    match merge {
        Merge::Small if others == 0 => {}
        Merge::Small => parts.insert(idle, ("other", Ink::Strong, others)),
        Merge::Busy => parts.insert(0, ("busy", Ink::Strong, others)),
    }
    parts
}

/// Form of the sum.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `CPU 200.00 % = tasks 131.20 + idle 68.80`
    Wide,
    /// `CPU 200 % = tasks 131.20 + idle 68.80`; a total that is not whole has no unit: `CPU 199.50
    /// = tasks 130.70 + idle 68.80`.
    Bare,
    /// `CPU 200 %=tasks 131.20+idle 68.80`, or `CPU 199.50=tasks 130.70+idle 68.80`
    Tight,
    /// `200.00=busy 131.20+idle 60.80+resid 8.00`
    Least,
}

/// The sum in whole per cent, for machines with long figures.
fn whole(total: Option<i64>, parts: &[Part], theme: Theme) -> Line<'static> {
    let exact: Vec<i128> = parts.iter().map(|p| p.2.into()).collect();
    let all = total.unwrap_or_else(|| parts.iter().map(|p| p.2).sum());
    let rounded = round_to_sum(&exact, all / 100);
    let parts: Vec<Part> = parts.iter().zip(rounded).map(|(p, n)| (p.0, p.1, n * 100)).collect();
    let total = total.map(|total| total / 100 * 100);
    let mut line = sum(total, &parts, Form::Least, "", theme);
    for span in &mut line.spans {
        if let Some(figure) = span.content.strip_suffix(".00") {
            span.content = figure.to_string().into();
        }
    }
    line
}

/// The line of the sum; without a total it is the sum of all since boot.
fn sum(total: Option<i64>, parts: &[Part], form: Form, note: &str, theme: Theme) -> Line<'static> {
    let is_whole = total.is_some_and(|total| total % 100 == 0);
    let is_short = is_whole && matches!(form, Form::Bare | Form::Tight);
    let (is, plus, minus) = match form {
        Form::Wide if total.is_some() => (" % = ", " + ", " - "),
        Form::Wide => (" = ", " + ", " - "),
        Form::Bare if is_short => (" % = ", " + ", " - "),
        Form::Bare => (" = ", " + ", " - "),
        Form::Tight if is_short => (" %=", "+", "-"),
        Form::Tight | Form::Least => ("=", "+", "-"),
    };
    let shown = match total {
        Some(total) if is_short => (total / 100).to_string(),
        Some(total) => hundredths(total),
        None => SINCE_BOOT.into(),
    };
    let mut spans = vec![
        Span::raw(if form == Form::Least { "" } else { "CPU " }),
        Span::styled(shown, theme.style(Ink::Strong)),
        Span::raw(is),
    ];
    for (i, (name, ink, figure)) in parts.iter().enumerate() {
        let sign = match (i, *figure < 0) {
            (0, false) => "",
            (_, true) => minus,
            (_, false) => plus,
        };
        let name = if form == Form::Least && *name == "residual" { "resid" } else { name };
        spans.push(Span::raw(format!("{sign}{name} ")));
        spans.push(Span::styled(hundredths(figure.abs()), theme.style(*ink)));
    }
    if !note.is_empty() {
        spans.push(Span::styled(format!("  ({note})"), theme.style(Ink::Dim)));
    }
    Line::from(spans)
}

/// The note on the books, if their line has no room for it.
pub(super) fn lost_note(frame: &Frame, of_machine: bool, shown: &Line) -> Option<String> {
    let note = unknown_accounts(&BooksText::new(frame, of_machine)?);
    let has_note = shown.spans.last().is_some_and(|s| s.content.contains(&note));
    (!note.is_empty() && !has_note).then_some(note)
}

/// The accounts that hold the time which the source cannot separate.
fn unknown_accounts(books: &BooksText) -> String {
    let missing = |a: Account| books.parts.iter().any(|p| p.0 == a && p.1.is_none());
    let in_tasks: Vec<&str> = [(Account::Irq, "irq"), (Account::Steal, "steal")]
        .into_iter()
        .filter(|(account, _)| missing(*account))
        .map(|(_, name)| name)
        .collect();
    let mut notes = Vec::new();
    if !in_tasks.is_empty() {
        notes.push(format!("{} in tasks", in_tasks.join(", ")));
    }
    if missing(Account::Exited) {
        notes.push("exited in unnamed".into());
    }
    notes.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [Part; 6] = [
        ("tasks", Ink::Strong, 11_083),
        ("unnamed", Ink::Strong, 9_099),
        ("irq", Ink::Irq, 3),
        ("steal", Ink::Steal, 2),
        ("idle", Ink::Idle, 0),
        ("residual", Ink::Alarm, -187),
    ];

    #[test]
    fn unnamed_time_and_the_residual_are_kept_longest() {
        let text = |merge, form| {
            sum(Some(20_000), &merged(&KNOWN, merge), form, "", Theme::MONO).to_string()
        };
        assert_eq!(
            text(Merge::Small, Form::Tight),
            "CPU 200 %=tasks 110.83+unnamed 90.99+other 0.05+idle 0.00-residual 1.87"
        );
        assert_eq!(text(Merge::Busy, Form::Least), "200.00=busy 201.87+idle 0.00-resid 1.87");
    }

    #[test]
    fn a_whole_total_keeps_its_unit_where_there_is_little_room() {
        let of = |total, form| sum(Some(total), &KNOWN[..1], form, "", Theme::MONO).to_string();
        assert_eq!(of(20_000, Form::Wide), "CPU 200.00 % = tasks 110.83");
        assert_eq!(of(20_000, Form::Bare), "CPU 200 % = tasks 110.83");
        assert_eq!(of(19_950, Form::Bare), "CPU 199.50 = tasks 110.83");
        assert_eq!(of(20_000, Form::Tight), "CPU 200 %=tasks 110.83");
        assert_eq!(of(19_950, Form::Tight), "CPU 199.50=tasks 110.83");
    }

    #[test]
    fn owed_time_stands_behind_the_idle_time_and_in_no_sum() {
        let line = |owed| with_owed(sum(Some(20_000), &KNOWN, Form::Tight, "", Theme::MONO), owed);
        let plain = line("").to_string();
        let owed = line(" (owed 3.10)").to_string();
        assert_eq!(owed, plain.replace("idle 0.00", "idle 0.00 (owed 3.10)"));
        assert_ne!(owed, plain);
    }

    #[test]
    fn whole_per_cents_add_up_too() {
        let line = whole(
            Some(1_280_050),
            &[
                ("busy", Ink::Strong, 1_270_040),
                ("idle", Ink::Idle, 9_980),
                ("residual", Ink::Alarm, 30),
            ],
            Theme::MONO,
        );
        assert_eq!(line.to_string(), "12800=busy 12700+idle 100+resid 0");
    }
}
