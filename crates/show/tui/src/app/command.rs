//! Text of the COMMAND column: the program's name, apart from its path and its arguments.

use exactop_model::{columns, Row, RowKind};

/// A command, escaped for the terminal.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CommandText {
    /// The directories in front of the program's name.
    pub(crate) path: String,
    /// The program's name. A kernel thread is in brackets, a thread in braces.
    pub(crate) name: String,
    /// The arguments; for a thread the command line of its process.
    pub(crate) rest: String,
}

impl CommandText {
    /// The command of a living row; with `command_line` the command line, if it was read.
    pub(crate) fn from_row(row: &Row, command_line: bool) -> CommandText {
        let text = columns::command(row, command_line);
        let has_line =
            command_line && row.detail.cmdline.as_ref().is_ok_and(|line| !line.is_empty());
        let whole = |name| CommandText { path: String::new(), name, rest: String::new() };
        if row.ident.kthread {
            return whole(if text.starts_with('[') { text } else { format!("[{text}]") });
        }
        if row.kind == RowKind::Task && !row.key.is_leader() {
            let rest = if has_line { format!(" {text}") } else { String::new() };
            return CommandText { rest, ..whole(format!("{{{}}}", row.ident.comm)) };
        }
        // A process may call itself `[kworker/0:9]`, so its own bracket is escaped.
        let text = if text.starts_with(['[', '{']) { format!("\\{text}") } else { text };
        match has_line {
            true => split(&text),
            false => whole(text),
        }
    }

    /// The whole text.
    pub(crate) fn text(&self) -> String {
        format!("{}{}{}", self.path, self.name, self.rest)
    }
}

/// Finds the program's name: the end of the first word, without the colon of a process title
/// (`postgres: writer`).
fn split(line: &str) -> CommandText {
    let word = &line[..line.find(' ').unwrap_or(line.len())];
    let at = word.rfind('/').map_or(0, |at| at + 1);
    let name = word[at..].trim_end_matches(':');
    let (path, rest) = (&line[..at], &line[at + name.len()..]);
    CommandText { path: path.into(), name: name.into(), rest: rest.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_found_in_any_line() {
        for (line, path, name, rest) in [
            ("sh -c while :; do /bin/true; done", "", "sh", " -c while :; do /bin/true; done"),
            ("/usr/bin/python3 -u /srv/a.py", "/usr/bin/", "python3", " -u /srv/a.py"),
            ("postgres: walwriter", "", "postgres", ": walwriter"),
            ("-bash", "", "-bash", ""),
            ("/ x", "/", "", " x"),
            ("日本/語 é", "日本/", "語", " é"),
            (" /a", "", "", " /a"),
            ("::", "", "", "::"),
        ] {
            let found = split(line);
            assert_eq!(
                (found.path.as_str(), found.name.as_str(), found.rest.as_str()),
                (path, name, rest)
            );
            assert_eq!(found.text(), line);
        }
    }
}
