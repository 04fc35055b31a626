//! Completion scripts: the command line as it is shown to people, with the words that a value may be.

use super::manual;
use crate::options::preset;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, Command, ValueHint};
use clap_complete::Shell;
use exactop_model::columns::COLUMNS;

/// A script for a shell.
pub fn script(shell: Shell, command: Command) -> Vec<u8> {
    let pages = manual::names(command.clone());
    let words = Words { shell, pages: pages.lines().map(String::from).collect() };
    let mut script = Vec::new();
    let mut shown = words.shown(&command);
    clap_complete::generate(shell, &mut shown, "exactop", &mut script);
    match shell {
        Shell::Fish => script.extend(fish_positionals(&shown).into_bytes()),
        Shell::Bash => script = bash::with_asked(&script),
        _ => {}
    }
    script
}

/// For fish the generator writes no values of what has no option's name.
fn fish_positionals(command: &Command) -> String {
    let mut lines = String::new();
    for below in command.get_subcommands() {
        let when = format!("__fish_exactop_using_subcommand {}", below.get_name());
        lines += &fish_values(below, &when);
        for last in below.get_subcommands() {
            let name = last.get_name();
            lines += &fish_values(last, &format!("{when}; and __fish_seen_subcommand_from {name}"));
        }
    }
    lines
}

fn fish_values(command: &Command, when: &str) -> String {
    let mut values: Vec<PossibleValue> = Vec::new();
    for arg in command.get_arguments().filter(|arg| arg.is_positional()) {
        values.extend(arg.get_possible_values());
    }
    // Names of columns, presets, pages, experiments and calls: none has a quote in it.
    let words: Vec<String> = values.iter().map(|value| value.get_name().to_string()).collect();
    match words.is_empty() {
        true => String::new(),
        false => format!("complete -c exactop -n \"{when}\" -f -a \"{}\"\n", words.join(" ")),
    }
}

/// Words that are not in the command line's definition.
struct Words {
    shell: Shell,
    /// The names of manual pages.
    pages: Vec<String>,
}

impl Words {
    /// A command and those below, without options that help does not tell of.
    fn shown(&self, command: &Command) -> Command {
        let name = command.get_name().to_string();
        let args = command.get_arguments().filter(|arg| !arg.is_hide_set());
        let args: Vec<Arg> = args.map(|arg| self.with_values(&name, arg.clone())).collect();
        let below = command.get_subcommands().filter(|below| !below.is_hide_set());
        let mut shown = Command::new(name)
            .disable_help_flag(command.is_disable_help_flag_set())
            .args(args)
            .subcommands(below.map(|below| self.shown(below)));
        if let Some(about) = command.get_about() {
            shown = shown.about(about.clone());
        }
        if let Some(version) = command.get_version() {
            shown = shown.version(version.to_string());
        }
        shown
    }

    fn with_values(&self, command: &str, arg: Arg) -> Arg {
        let id = arg.get_id().as_str().to_string();
        if let Some(asked) = Asked::of(&arg) {
            if let Some(arg) = self.asked(asked, &arg) {
                return arg;
            }
        }
        let plain = |name: &str| PossibleValue::new(name.to_string());
        let values: Vec<PossibleValue> = match (command, id.as_str()) {
            (_, "sort" | "columns") => COLUMNS
                .iter()
                .map(|column| PossibleValue::new(column.name).help(column.help))
                .collect(),
            (_, "preset") => preset::built_in().map(plain).collect(),
            ("man", "of") => {
                let short = |page: &String| plain(page.trim_start_matches("exactop-"));
                self.pages.iter().map(short).collect()
            }
            #[cfg(feature = "bpf")]
            ("show" | "run", "name" | "names") => {
                let all = exactop_lab::built_in::all();
                let names = all.iter().map(|experiment| plain(&experiment.name));
                let every = (command == "run").then(|| plain("all"));
                names.chain(every).collect()
            }
            #[cfg(feature = "bpf")]
            ("syscalls", "words") => exactop_model::SyscallNr::names().map(plain).collect(),
            ("run", "command") => return arg.value_hint(ValueHint::CommandWithArguments),
            _ => return arg,
        };
        arg.value_parser(PossibleValuesParser::new(values))
    }

    /// With what has to be asked of the machine when it is completed, or is no file at least; `None`: as
    /// any other.
    fn asked(&self, asked: Asked, arg: &Arg) -> Option<Arg> {
        let arg = arg.clone();
        match (self.shell, asked) {
            (Shell::Bash, asked) => {
                let mark = PossibleValue::new(asked.mark());
                // The mark is no value that it may be left at.
                let nothing = None::<&'static str>;
                let arg = arg.default_value(nothing).default_missing_value(nothing);
                Some(arg.value_parser(PossibleValuesParser::new([mark])))
            }
            (_, Asked::Users) => Some(arg.value_hint(ValueHint::Username)),
            (_, Asked::Pids | Asked::Number) => Some(arg.value_hint(ValueHint::Other)),
            (_, Asked::Columns | Asked::Filter) => None,
        }
    }
}

/// Values that are not a word of a few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// Processes there are, with commas between.
    Pids,
    /// Users there are, with commas between.
    Users,
    /// Columns, with commas between.
    Columns,
    /// A column, and what its value is held against.
    Filter,
    /// A number: nothing to offer, and no file.
    Number,
}

impl Asked {
    const ALL: [Asked; 5] =
        [Asked::Pids, Asked::Users, Asked::Columns, Asked::Filter, Asked::Number];

    fn of(arg: &Arg) -> Option<Asked> {
        /// What help calls values that are numbers.
        const NUMBERS: [&str; 8] =
            ["N", "SECONDS", "PCT", "TIME", "SIZE", "MICROSECONDS", "COLUMNS", "CPULIST"];
        if arg.is_positional() || !arg.get_action().takes_values() {
            return None;
        }
        let is_number = arg
            .get_value_names()
            .is_some_and(|names| names.iter().any(|name| NUMBERS.contains(&name.as_str())));
        match arg.get_id().as_str() {
            "pid" | "pids" => Some(Asked::Pids),
            "user" | "effective" | "real" => Some(Asked::Users),
            "columns" => Some(Asked::Columns),
            "filter" | "filters" => Some(Asked::Filter),
            _ if is_number && arg.get_possible_values().is_empty() => Some(Asked::Number),
            _ => None,
        }
    }

    /// What the generator for bash writes for it, to be replaced: no word is written so.
    fn mark(self) -> &'static str {
        match self {
            Asked::Pids => "@pids",
            Asked::Users => "@users",
            Asked::Columns => "@columns",
            Asked::Filter => "@filter",
            Asked::Number => "@number",
        }
    }
}

/// What the generator for bash cannot: lists, and what has to be asked of the machine.
mod bash {
    use super::{Asked, COLUMNS};

    /// The generated script with what takes the place of marks.
    pub fn with_asked(script: &[u8]) -> Vec<u8> {
        let mut script = String::from_utf8_lossy(script).into_owned();
        for asked in Asked::ALL {
            let marked = format!("COMPREPLY=($(compgen -W \"{}\" -- \"${{cur}}\"))", asked.mark());
            script = script.replace(&marked, call(asked));
        }
        let ids: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
        let titles: Vec<&str> = COLUMNS.iter().map(|column| column.title).collect();
        let columns =
            FUNCTIONS.replace("@ids", &ids.join(" ")).replace("@titles", &titles.join(" "));
        (columns + &script).into_bytes()
    }

    fn call(asked: Asked) -> &'static str {
        match asked {
            Asked::Pids => {
                "_exactop_no_file; COMPREPLY=($(_exactop_list \"$(cd /proc && echo [0-9]*)\" \"${cur}\"))"
            }
            Asked::Users => {
                "_exactop_no_file; COMPREPLY=($(_exactop_list \"$(compgen -u)\" \"${cur}\"))"
            }
            Asked::Columns => "_exactop_no_file; COMPREPLY=($(_exactop_columns \"${cur}\"))",
            Asked::Filter => "_exactop_no_file; COMPREPLY=($(_exactop_filter \"${cur}\"))",
            Asked::Number => "_exactop_no_file; COMPREPLY=()",
        }
    }

    /// Names of columns are letters, digits and `_`; headings have `%`, `+` and `/`, too.
    const FUNCTIONS: &str = r#"# Who completes a value that is no file gets none, and a list or a condition goes on without a blank.
_exactop_no_file() {
    compopt +o default +o bashdefault -o nospace 2>/dev/null
}

# What a list may go on with after its last comma: each word once.
_exactop_list() {
    local head="" word
    [[ $2 == *,* ]] && head="${2%,*},"
    [[ $2 == '!'* && -z $head ]] && head='!'
    local rest="${2:${#head}}"
    for word in $(compgen -W "$1" -- "$rest"); do
        [[ ",$head" == *",$word,"* ]] || printf '%s
' "$head$word"
    done
}

# Columns by name or, as help writes them, by heading.
_exactop_columns() {
    local found="$(_exactop_list "@ids" "$1")"
    [[ -n $found ]] || found="$(_exactop_list "@titles" "$1")"
    printf '%s
' "$found"
}

# The column of a condition; what it is held against is anybody's.
_exactop_filter() {
    [[ $1 == *[=\<\>,]* ]] || _exactop_columns "$1"
}

"#;
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use std::io::Write;
    use std::process::{Command as Program, Stdio};

    /// What bash would offer for the last of these words.
    fn offered(words: &[&str]) -> Vec<String> {
        let script = script(Shell::Bash, crate::cli::Cli::command());
        let script = String::from_utf8(script).expect("text");
        let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let last = words.len() - 1;
        let asked = format!(
            "{script}\nCOMP_WORDS=({})\nCOMP_CWORD={last}\n_exactop exactop '{}' '{}'\n\
             printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
            quoted.join(" "),
            words[last],
            words[last - 1]
        );
        let mut bash = Program::new("bash");
        bash.args(["--norc", "-s"])
            .env("LC_ALL", "C")
            .env_remove("BASH_ENV")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut bash = bash.stderr(Stdio::piped()).spawn().expect("bash");
        let mut stdin = bash.stdin.take().expect("a pipe");
        stdin.write_all(asked.as_bytes()).expect("read");
        drop(stdin);
        let done = bash.wait_with_output().expect("an end");
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(told, "", "{words:?}");
        let words = String::from_utf8(done.stdout).expect("text");
        words.lines().filter(|word| !word.is_empty()).map(String::from).collect()
    }

    #[test]
    fn bash_completes_lists_after_their_last_comma() {
        let all = offered(&["exactop", "--columns", ""]);
        assert_eq!(all.len(), COLUMNS.len());
        let second = offered(&["exactop", "--columns", "pid,comm"]);
        assert_eq!(second, ["pid,comm", "pid,command"]);
        let third = offered(&["exactop", "--columns", "pid,comm,comm"]);
        assert_eq!(third, ["pid,comm,command"], "each once");
        assert_eq!(offered(&["exactop", "ptop", "--columns", "x"]), [""; 0]);
        assert_eq!(offered(&["exactop", "--columns", "pid,%CP"]), ["pid,%CPU"]);
    }

    #[test]
    fn bash_completes_conditions_users_and_processes_and_no_files_for_numbers() {
        assert_eq!(offered(&["exactop", "-b", "--filter", "%CP"]), ["%CPU"]);
        assert_eq!(offered(&["exactop", "-b", "--filter", "!comman"]), ["!command"]);
        assert_eq!(offered(&["exactop", "-b", "--filter", "comm="]), [""; 0]);
        // Other users' names may begin like that.
        assert!(offered(&["exactop", "-u", "roo"]).contains(&"root".to_string()));
        assert!(offered(&["exactop", "prstat", "-u", "nobody,roo"])
            .contains(&"nobody,root".to_string()));
        let me = std::process::id().to_string();
        assert!(offered(&["exactop", "-p", &me]).contains(&me));
        let both = format!("1,{me}");
        assert!(offered(&["exactop", "waits", "--pid", &both]).contains(&both));
        assert_eq!(offered(&["exactop", "-n", ""]), [""; 0]);
        // In `run` that letter is an option of its own, which takes nothing.
        assert!(!offered(&["exactop", "run", "-p", ""]).contains(&me));
    }
}
