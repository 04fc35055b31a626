//! GNU time's format letters (time(1), -f).

use exactop_model::run::{End, RunReport};
use exactop_model::text::escape::escape_str;

/// The report in a format of GNU time, with a line break.
///
/// Letters for figures that Linux never counts (%D %K %X %p %t: integral and average sizes; %W
/// swaps, %k signals, %r %s socket messages) are 0, as in GNU time.
///
/// # Errors
/// GNU time does not have the letter.
pub fn text(format: &str, report: &RunReport) -> Result<String, String> {
    let mut out = String::new();
    if let End::Killed(signal) = report.end {
        out += &format!("Command terminated by signal {signal}\n");
    } else if report.end.status() != 0 {
        out += &format!("Command exited with non-zero status {}\n", report.end.status());
    }
    let mut letters = format.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '%' => match letters.next() {
                Some(letter) => out += &figure(letter, report)?,
                None => return Err("a lone % at the end: write %% for a per cent sign".into()),
            },
            '\\' => match letters.next() {
                Some('t') => out.push('\t'),
                Some('n') => out.push('\n'),
                Some('\\') => out.push('\\'),
                Some(other) => {
                    return Err(format!("'\\{other}' has no meaning: write \\t, \\n or \\\\"))
                }
                None => out.push('\\'),
            },
            other => out.push(other),
        }
    }
    out.push('\n');
    Ok(out)
}

fn figure(letter: char, report: &RunReport) -> Result<String, String> {
    let (user, system) = report.user_system_ns();
    let usage = &report.rusage;
    let seconds = |ns: u64| format!("{:.2}", ns as f64 / 1e9);
    Ok(match letter {
        '%' => "%".into(),
        'C' => report.command.iter().map(|word| escape_str(word)).collect::<Vec<_>>().join(" "),
        'E' => clock(report.elapsed_ns),
        'e' => seconds(report.elapsed_ns),
        'U' => seconds(user),
        'S' => seconds(system),
        'P' => format!("{}%", 100 * report.cpu_ns() / report.elapsed_ns.max(1)),
        // Not the memory of exactop itself, which the command starts with.
        'M' => report.max_resident_kib().map_or("-".into(), |kib| kib.to_string()),
        'F' => usage.major_faults.to_string(),
        'R' => usage.minor_faults.to_string(),
        'I' => usage.blocks_in.to_string(),
        'O' => usage.blocks_out.to_string(),
        'c' => usage.icx.to_string(),
        'w' => usage.vcx.to_string(),
        'x' => report.end.status().to_string(),
        'Z' => PAGE_BYTES.to_string(),
        'D' | 'K' | 'X' | 'p' | 't' | 'W' | 'k' | 'r' | 's' => "0".into(),
        other => {
            return Err(format!(
                "'%{other}' is not a letter of GNU time: see time(1) for the letters"
            ))
        }
    })
}

/// Page size of x86-64.
const PAGE_BYTES: u32 = 4096;

/// `[hours:]minutes:seconds`, as GNU time's %E.
fn clock(ns: u64) -> String {
    let hundredths = ns / 10_000_000;
    let seconds = hundredths / 100;
    match seconds / 3600 {
        0 => format!("{}:{:02}.{:02}", seconds / 60, seconds % 60, hundredths % 100),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}
