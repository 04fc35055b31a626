//! The manual page: options from the command line's definition, columns from the registry.

use clap_mangen::Man;
use exactop_model::columns::COLUMNS;
use exactop_tui::keys::{HelpSection, BINDINGS};
use exactop_views::reference;
use std::fmt::Write;

/// The whole page, in roff.
pub fn page(command: clap::Command) -> Vec<u8> {
    let subcommands = subcommands(&command);
    let man = Man::new(command).section("1").manual("User Commands");
    let mut page = Vec::new();
    // Writing to memory does not fail.
    let _ = man.render_title(&mut page);
    let _ = man.render_name_section(&mut page);
    page.extend(SYNOPSIS.bytes());
    let _ = man.render_description_section(&mut page);
    let _ = man.render_options_section(&mut page);
    let mut page = without_repeated_preamble(&page);
    page.extend(subcommands.bytes());
    page.extend(keys().bytes());
    page.extend(columns().bytes());
    page.extend(CLOSING.bytes());
    page
}

/// The generator begins every section as if it were a page of its own.
fn without_repeated_preamble(page: &[u8]) -> Vec<u8> {
    let page = String::from_utf8_lossy(page);
    let preamble = |line: &str| line.starts_with(".ie ") || line.starts_with(".el ");
    let lines = page.lines().enumerate();
    let kept = lines.filter(|&(at, line)| at < 2 || !preamble(line));
    kept.flat_map(|(_, line)| [line.as_bytes(), b"\n"].concat()).collect()
}

fn subcommands(command: &clap::Command) -> String {
    let mut out = String::from(".SH COMMANDS\n");
    for sub in command.get_subcommands() {
        let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(out, ".TP\n\\fB{}\\fR\n{}.", sub.get_name(), roff(&about));
        for arg in sub.get_arguments().filter(|arg| !arg.is_hide_set()) {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let long = arg.get_long().map(|long| format!("--{long}"));
            let short = arg.get_short().map(|short| format!("-{short}"));
            let name = long.or(short).unwrap_or(arg.get_id().to_string());
            let _ = writeln!(out, ".RS\n.TP\n\\fB{}\\fR\n{}.\n.RE", roff(&name), roff(&help));
        }
    }
    out
}

fn keys() -> String {
    let mut out = String::from(".SH KEYS\n");
    for group in HelpSection::ALL {
        let _ = writeln!(out, ".SS {}", roff(group.title()));
        for key in BINDINGS.iter().filter(|b| b.group == group) {
            let _ = writeln!(out, ".TP\n\\fB{}\\fR\n{}.", roff(&key.names()), roff(key.help));
        }
    }
    out
}

fn columns() -> String {
    let mut out = String::from(
        ".SH COLUMNS\n\
         The first name is for \\fB\\-\\-columns\\fR, \\fB\\-o\\fR, \\fB\\-\\-filter\\fR, JSON and \
         CSV; the second is the heading, which works there too.\n",
    );
    for c in COLUMNS {
        let unit = reference::unit(c.unit);
        let (id, title, help, source) = (roff(c.name), roff(c.title), roff(c.help), roff(c.source));
        let _ = writeln!(out, ".TP\n\\fB{id}\\fR {title} ({unit})\n{help}\nFrom {source}.");
    }
    out
}

/// A line of text: no escapes, no requests.
fn roff(text: &str) -> String {
    const SPECIAL: &[(char, &str)] = &[
        ('\\', "\\e"),
        ('-', "\\-"),
        ('\n', " "),
        ('^', "\\(ha"),
        ('~', "\\(ti"),
        ('↑', "\\(ua"),
        ('↓', "\\(da"),
        ('←', "\\(<-"),
        ('→', "\\(->"),
    ];
    let special = |c: char| SPECIAL.iter().find(|(s, _)| *s == c).map(|(_, roff)| *roff);
    let text: String = text.chars().map(|c| special(c).map_or(c.to_string(), Into::into)).collect();
    match text.chars().next() {
        Some('.' | '\'') => format!("\\&{text}"),
        _ => text,
    }
}

const SYNOPSIS: &str = r#".SH SYNOPSIS
.B exactop
[\fIOPTION\fR ...]
.br
.B exactop
\fICOMMAND\fR [\fIOPTION\fR ...]
"#;

const CLOSING: &str = r#".SH "EXIT STATUS"
.TP
\fB0\fR
Done, also when the reader of the output went away.
.TP
\fB1\fR
Something failed; one line on standard error says what. \fBexactop doctor\fR: the exact ledger cannot be opened.
.TP
\fB2\fR
Wrong use: options, configuration file, or no terminal for the live view.
.TP
\fB128+N\fR
Ended by signal N, after everything was put back in order.
.SH FILES
.TP
\fI$XDG_CONFIG_HOME/exactop/config.toml\fR
Settings of the live view, written by its key \fBW\fR. Where XDG_CONFIG_HOME is not set, \fI~/.config/exactop/config.toml\fR.
.SH ENVIRONMENT
.TP
\fBCOLUMNS\fR
Width of text lines when \fB\-w\fR has no number.
.TP
\fBNO_COLOR\fR
The live view uses no colours.
.SH "SEE ALSO"
.BR top (1),
.BR sched (7),
.BR proc (5),
.BR cgroups (7)
"#;
