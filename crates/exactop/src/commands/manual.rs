//! The manual pages: options from the command line's definition, columns from the registry. The page
//! of the command itself tells of everything in short, each command has one of its own.

use crate::failure::Failure;
use clap_mangen::Man;
use exactop_model::columns::COLUMNS;
use exactop_model::did_you_mean::nearest;
use exactop_tui::keys::{HelpSection, BINDINGS};
use exactop_views::reference;
use std::fmt::Write;

/// The names of all pages, one a line: `exactop`, `exactop-run`, `exactop-lab-run` ...
pub fn names(command: clap::Command) -> String {
    all(command).iter().map(|one| format!("{}\n", name(one))).collect()
}

/// A page by its name, with or without what all begin with.
///
/// # Errors
/// There is none of that name.
pub fn page(command: clap::Command, wanted: Option<&str>) -> Result<Vec<u8>, Failure> {
    let Some(wanted) = wanted.filter(|wanted| *wanted != command.get_name()) else {
        return Ok(whole(command));
    };
    let all = all(command);
    let short = |one: &clap::Command| name(one).trim_start_matches("exactop-").to_string();
    let found = all.iter().find(|one| name(one) == wanted || short(one) == wanted);
    found.map(one).ok_or_else(|| {
        let names: Vec<String> = all.iter().map(short).collect();
        let near = nearest(wanted, names.iter().map(String::as_str));
        let near = near.map(|near| format!(" (did you mean '{near}'?)")).unwrap_or_default();
        Failure::usage(format!("no manual page '{wanted}'{near}: see exactop man --list"))
    })
}

/// The command and all below it that are not hidden.
fn all(command: clap::Command) -> Vec<clap::Command> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let mut all = vec![command];
    let mut at = 0;
    while let Some(one) = all.get(at) {
        let below = one.get_subcommands().filter(|below| !below.is_hide_set());
        let below: Vec<clap::Command> = below.cloned().collect();
        all.extend(below);
        at += 1;
    }
    all
}

fn name(command: &clap::Command) -> &str {
    command.get_display_name().unwrap_or(command.get_name())
}

/// The page of a command below.
fn one(command: &clap::Command) -> Vec<u8> {
    let man = Man::new(command.clone()).title(name(command)).section("1").manual("User Commands");
    let man = man.source(concat!("exactop ", env!("CARGO_PKG_VERSION")));
    let mut page = Vec::new();
    // Writing to memory does not fail.
    let _ = man.render_title(&mut page);
    let _ = man.render_name_section(&mut page);
    let _ = man.render_synopsis_section(&mut page);
    let _ = man.render_description_section(&mut page);
    let _ = man.render_options_section(&mut page);
    if command.has_subcommands() {
        let _ = man.render_subcommands_section(&mut page);
    }
    let mut page = without_repeated_preamble(&page);
    if let Some(notes) = command.get_after_long_help().or(command.get_after_help()) {
        page.extend(b".SH NOTES\n.nf\n");
        notes.to_string().lines().for_each(|line| page.extend(format!("{}\n", roff(line)).bytes()));
        page.extend(b".fi\n");
    }
    page.extend(b".SH \"SEE ALSO\"\n.BR exactop (1)\n");
    page
}

/// The page of everything, in roff.
fn whole(command: clap::Command) -> Vec<u8> {
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
            let _ = writeln!(out, ".RS\n.TP\n{}\n{}.\n.RE", written(arg), roff(&help));
        }
    }
    out
}

/// As it is written: `-n, --iterations N`.
fn written(arg: &clap::Arg) -> String {
    let names = [
        arg.get_short().map(|short| format!("-{short}")),
        arg.get_long().map(|long| format!("--{long}")),
    ];
    let bold = |name: String| format!("\\fB{}\\fR", roff(&name));
    let names: Vec<String> = names.into_iter().flatten().map(bold).collect();
    let takes_value = arg.is_positional() || arg.get_action().takes_values();
    let value = match arg.get_value_names() {
        _ if !takes_value => None,
        Some(values) => Some(values.join(" ")),
        None => Some(arg.get_id().as_str().to_uppercase()),
    };
    let value = value.map(|value| format!("\\fI{}\\fR", roff(&value)));
    [names.join(", ")]
        .into_iter()
        .filter(|names| !names.is_empty())
        .chain(value)
        .collect::<Vec<_>>()
        .join(" ")
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
Settings of the live view, written by its key \fBW\fR. Where XDG_CONFIG_HOME is not set, \fI~/.config/exactop/config.toml\fR. Each of its keys is in docs/configuration.md.
.SH ENVIRONMENT
.TP
\fBCOLUMNS\fR
Width of text lines when \fB\-w\fR has no number.
.TP
\fBNO_COLOR\fR
The live view uses no colours.
.SH "SEE ALSO"
Each command has a page of its own: \fBexactop\-run\fR(1) and so on.
.PP
.BR top (1),
.BR sched (7),
.BR proc (5),
.BR cgroups (7)
"#;
