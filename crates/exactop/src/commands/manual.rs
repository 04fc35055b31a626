//! The manual pages: options from the command line's definition, columns from the registry. The
//! main page lists everything in short; each command has a page of its own.

use crate::failure::Failure;
use clap::ArgAction;
use clap_mangen::Man;
use exactop_model::columns::COLUMNS;
use exactop_model::text::did_you_mean::nearest;
use exactop_tui::keys::{HelpSection, BINDINGS};
use exactop_views::reference;
use std::fmt::Write;

/// Names of all pages, one per line: `exactop`, `exactop-run`, `exactop-lab-run` ...
pub fn names(command: clap::Command) -> String {
    all(command).iter().map(|one| format!("{}\n", name(one))).collect()
}

/// A page by its name, with or without the prefix `exactop-`.
///
/// # Errors
/// No page has that name.
pub fn page(command: clap::Command, title: Option<&str>) -> Result<Vec<u8>, Failure> {
    let Some(title) = title.filter(|title| *title != command.get_name()) else {
        return Ok(whole(command));
    };
    let all = all(command);
    let short = |one: &clap::Command| name(one).trim_start_matches("exactop-").to_string();
    let found = all.iter().find(|one| name(one) == title || short(one) == title);
    found.map(one).ok_or_else(|| {
        let names: Vec<String> = all.iter().map(short).collect();
        let near = nearest(title, names.iter().map(String::as_str));
        let near = near.map(|near| format!(" (did you mean '{near}'?)")).unwrap_or_default();
        Failure::usage(format!("no manual page '{title}'{near}: see exactop man --list"))
    })
}

/// The command and all subcommands that are not hidden.
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

/// The page of a subcommand.
fn one(command: &clap::Command) -> Vec<u8> {
    let man = Man::new(command.clone()).title(name(command)).section("1").manual("User Commands");
    let man = man.source(concat!("exactop ", env!("CARGO_PKG_VERSION")));
    let mut page = Vec::new();
    // Writing to memory cannot fail.
    let _ = man.render_title(&mut page);
    let _ = man.render_name_section(&mut page);
    page.extend(synopsis(command).bytes());
    let _ = man.render_description_section(&mut page);
    let _ = man.render_options_section(&mut page);
    if command.has_subcommands() {
        let _ = man.render_subcommands_section(&mut page);
    }
    let mut page = without_repeated_preamble(&page);
    if let Some(notes) = command.get_after_long_help().or(command.get_after_help()) {
        page.extend(notes_section(&notes.to_string()).bytes());
    }
    page.extend(b".SH \"SEE ALSO\"\n.BR exactop (1)\n");
    with_documents(page)
}

/// Adds where the named documents are installed.
fn with_documents(mut page: Vec<u8>) -> Vec<u8> {
    if String::from_utf8_lossy(&page).contains("docs/") {
        page.extend(DOCUMENTS.bytes());
    }
    page
}

/// The synopsis: each option stays on one line with its value.
fn synopsis(command: &clap::Command) -> String {
    let written = command.get_bin_name().unwrap_or(command.get_name());
    let mut out = format!(".SH SYNOPSIS\n.ad l\n.nh\n.B {}\n", roff(written));
    let is_its_own = |arg: &&clap::Arg| {
        !arg.is_hide_set()
            && !matches!(
                arg.get_action(),
                ArgAction::Help | ArgAction::Version | ArgAction::HelpLong
            )
    };
    let (last, options): (Vec<&clap::Arg>, Vec<&clap::Arg>) =
        command.get_arguments().filter(is_its_own).partition(|arg| arg.is_positional());
    for arg in options.into_iter().chain(last) {
        let several = arg.get_num_args().is_some_and(|n| n.max_values() > 1);
        let more = if several && arg.is_positional() { " ..." } else { "" };
        let one = written_as(arg, "|").replace(' ', "\\ ") + more;
        let one = if arg.is_required_set() { one } else { format!("[{one}]") };
        // A roff request begins with a dot; no option does.
        let _ = writeln!(out, "{one}");
    }
    if command.has_subcommands() {
        let which = if command.is_subcommand_required_set() {
            "\\fICOMMAND\\fR ..."
        } else {
            "[\\fICOMMAND\\fR ...]"
        };
        let _ = writeln!(out, "{which}");
    }
    out + ".hy\n.ad b\n"
}

/// The notes of `--help` as roff: paragraphs and lists, as wide as the reader's terminal.
fn notes_section(notes: &str) -> String {
    let mut out = String::from(".SH NOTES\n.ad l\n");
    let (mut in_list, mut is_whole) = (false, true);
    for line in notes.lines() {
        let item = line.strip_prefix("  ").map(str::trim_start);
        match item {
            None if line.is_empty() => out += ".PP\n",
            None => {
                if in_list {
                    out += ".PP\n";
                }
                let _ = writeln!(out, "{}", roff(line));
            }
            Some(item) if is_command(item) || item.contains("  ") => {
                let (what, meaning) = item.split_once("  ").unwrap_or((item, ""));
                match meaning.trim() {
                    "" => out += &format!(".PP\n\\fB{}\\fR\n", roff(what)),
                    meaning => {
                        out += &format!(".TP\n\\fB{}\\fR\n{}\n", roff(what), roff(meaning));
                    }
                }
            }
            // Sentences, each an item that may continue on further lines.
            Some(item) => {
                if is_whole {
                    out += ".IP \\(bu 2\n";
                }
                let _ = writeln!(out, "{}", roff(item));
            }
        }
        in_list = item.is_some();
        is_whole = !in_list || line.ends_with('.');
    }
    out + ".ad b\n"
}

fn is_command(item: &str) -> bool {
    ["exactop ", "duckdb "].iter().any(|command| item.starts_with(command))
}

/// The main page, in roff.
fn whole(command: clap::Command) -> Vec<u8> {
    let subcommands = subcommands(&command);
    let man = Man::new(command).section("1").manual("User Commands");
    let mut page = Vec::new();
    // Writing to memory cannot fail.
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
    with_documents(page)
}

/// Removes the page header that the generator repeats for every section.
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

/// An option as the synopsis shows it: `-n, --iterations N`.
fn written(arg: &clap::Arg) -> String {
    written_as(arg, ", ")
}

/// An option with another separator between its names.
fn written_as(arg: &clap::Arg, or: &str) -> String {
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
    [names.join(or)]
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

/// Text with roff escapes, so that it holds no requests.
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
Ended by signal N, after exactop restored the terminal and closed its files.
.SH FILES
.TP
\fI$XDG_CONFIG_HOME/exactop/config.toml\fR
Settings of the live view, written by its key \fBW\fR. Where XDG_CONFIG_HOME is not set, \fI~/.config/exactop/config.toml\fR. Each of its keys is in docs/reference/configuration.md.
.SH ENVIRONMENT
.TP
\fBCOLUMNS\fR
Width of text lines when \fB\-w\fR has no number.
.TP
\fBEXACTOP_HOST\fR
Name of this host in recordings, metrics and pages; it goes before \fB\-\-host\fR and the daemon's setting.
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

/// packaging/debian/exactop.docs installs both files there.
const DOCUMENTS: &str = "\
.PP
Documents that are called docs/NAME.md here are in /usr/share/doc/exactop where a package brought this page, else with the source.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_names_a_document_says_where_it_is_installed() {
        let documents = include_str!("../../../../packaging/debian/exactop.docs");
        assert!(documents.lines().any(|line| line == "docs"), "{documents}");
        let command = <crate::cli::Cli as clap::CommandFactory>::command;
        let names = names(command());
        let mut sent = 0;
        for name in names.lines() {
            let page = page(command(), Some(name)).expect("a page");
            let page = String::from_utf8(page).expect("UTF-8");
            let names_one = page.replace("docs/NAME.md", "").contains("docs/");
            assert_eq!(names_one, page.contains("/usr/share/doc/exactop"), "{name}");
            sent += usize::from(names_one);
        }
        assert!(sent > 2, "{sent} pages of {names}");
    }

    #[test]
    fn a_synopsis_shows_option_values() {
        let mut command = clap::Command::new("exactop").subcommand(
            clap::Command::new("moves")
                .arg(clap::arg!(-p --pid <PID> "Whose"))
                .arg(clap::arg!(--json "As JSON"))
                .arg(clap::arg!(--hidden <X> "Not told").hide(true))
                .arg(clap::arg!([words] ... "Words").value_name("COUNT")),
        );
        command.build();
        let moves = command.find_subcommand("moves").expect("it");
        let written = [
            ".SH SYNOPSIS\n.ad l\n.nh\n.B exactop moves\n",
            "[\\fB\\-p\\fR|\\fB\\-\\-pid\\fR\\ \\fIPID\\fR]\n[\\fB\\-\\-json\\fR]\n",
            "[\\fICOUNT\\fR ...]\n.hy\n.ad b\n",
        ];
        assert_eq!(synopsis(moves), written.concat());
    }

    #[test]
    fn notes_are_paragraphs_and_lists() {
        let notes = "One\nline.\n\nExamples:\n  exactop x -y    what it does\n  exactop z\n\n  \
                     A sentence that\n  goes on.\n  Another.\nEnd.";
        let expected =
            ".SH NOTES\n.ad l\nOne\nline.\n.PP\nExamples:\n.TP\n\\fBexactop x \\-y\\fR\n\
                        what it does\n.PP\n\\fBexactop z\\fR\n.PP\n.IP \\(bu 2\nA sentence that\n\
                        goes on.\n.IP \\(bu 2\nAnother.\n.PP\nEnd.\n.ad b\n";
        assert_eq!(notes_section(notes), expected);
    }
}
