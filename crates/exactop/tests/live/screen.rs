//! Invariants of every screen of the live view.

use crate::helpers::terminal::Terminal;

/// Checks a screen with the table: header, books that add up, heading, harmless text.
pub fn table(terminal: &Terminal, screen: &str) -> Result<(), String> {
    harmless(terminal, screen)?;
    let lines: Vec<&str> = screen.lines().collect();
    if !lines[0].starts_with("exactop ") {
        return Err("the first line is not the header".into());
    }
    let heading = lines.iter().position(|l| is_heading(l));
    let heading = heading.ok_or("there is no table heading")?;
    let of = books(screen)?;
    if of == 0 {
        return Err("the books are of nothing".into());
    }
    if !lines[..heading].iter().any(|l| l.contains(": ") && l.contains("running")) {
        return Err("nothing says how many tasks there are".into());
    }
    rows(&lines[heading + 1..])
}

/// True for the line of keys at the bottom.
pub fn is_footer(line: &str) -> bool {
    line.starts_with("? help  ")
}

/// True for the line of column headings, which always has these two.
pub fn is_heading(line: &str) -> bool {
    line.contains("PID ") && line.contains("COMMAND")
}

/// Every row begins with a number, or is of exited tasks: in words, or with the letter X.
fn rows(lines: &[&str]) -> Result<(), String> {
    let lines =
        lines.split_last().map_or(lines, |(last, rest)| if is_footer(last) { rest } else { lines });
    let odd = lines.iter().find(|line| {
        let first = line.split_whitespace().next().unwrap_or("0");
        let is_number = first.bytes().all(|b| b.is_ascii_digit());
        !is_number && first != "X" && !line.contains("exited") && !line.contains('×')
    });
    odd.map_or(Ok(()), |line| Err(format!("not a row: {line:?}")))
}

/// Checks the size of the screen, and that it holds no unhandled escape sequence.
pub fn harmless(terminal: &Terminal, screen: &str) -> Result<(), String> {
    let widest = screen.lines().map(|l| l.chars().count()).max().unwrap_or(0);
    if widest > terminal.width {
        return Err(format!("a line of {widest} characters on {} columns", terminal.width));
    }
    if screen.lines().count() != terminal.height {
        return Err(format!("not {} lines", terminal.height));
    }
    if let Some(odd) = screen.chars().find(|c| c.is_control() && *c != '\n') {
        return Err(format!("a control character: {odd:?}"));
    }
    // Rests of an escape sequence whose beginning was lost.
    for stray in ["[38;", "[48;", "[0m", "[?10", "[?25", "[1;1H"] {
        if screen.contains(stray) {
            return Err(format!("a piece of an escape sequence: {stray:?}"));
        }
    }
    Ok(())
}

/// The total of the books in hundredths, if the rest of the line adds up to it.
pub fn books(screen: &str) -> Result<i64, String> {
    let is_books = |l: &&str| l.starts_with("CPU ") || l.contains("=busy ");
    let line = screen.lines().find(is_books).ok_or("there are no books")?;
    let sum = line.split("  (").next().unwrap_or(line);
    let sum = sum.split("~us").next().unwrap_or(sum);
    let (total, parts) = sum.split_once('=').ok_or("the books have no sum")?;
    let total = total.split_whitespace().find_map(hundredths).ok_or("the books have no total")?;
    let mut added = 0;
    let mut sign = 1;
    for word in parts.replace('+', " + ").replace('-', " - ").split_whitespace() {
        match (word, hundredths(word)) {
            ("+", _) => sign = 1,
            ("-", _) => sign = -1,
            (_, Some(figure)) => added += sign * figure,
            _ => {}
        }
    }
    match added == total {
        true => Ok(total),
        false => Err(format!("{added} is not {total}: {line}")),
    }
}

/// A figure with or without decimals, in hundredths.
fn hundredths(text: &str) -> Option<i64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "00"));
    if decimals.len() != 2 {
        return None;
    }
    Some(whole.parse::<i64>().ok()? * 100 + decimals.parse::<i64>().ok()?)
}

#[test]
fn books_are_checked() {
    let of = |line: &str| books(line).map_err(|_| ());
    assert_eq!(
        of("CPU 200.00 % = tasks 150.00 + exited 49.00 + idle 1.00  (irq in tasks)"),
        Ok(20_000)
    );
    assert_eq!(of("CPU 200.00=tasks 110.83+unnamed 91.04+idle 0.00-residual 1.87"), Ok(20_000));
    assert_eq!(of("CPU 200 %=tasks 110.83+idle 91.04-residual 1.87"), Ok(20_000));
    assert_eq!(of("CPU 200 % = tasks 110.83 + idle 89.17"), Ok(20_000));
    assert_eq!(of("200.00=busy 201.87+idle 0.00-resid 1.87"), Ok(20_000));
    assert_eq!(of("CPU 100.00 % = tasks 1.00 + idle 98.99"), Err(()));
    assert_eq!(of("CPU 200.00 % = busy 196.40 + idle 1.98 +"), Err(()));
}
