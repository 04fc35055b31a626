//! Additions to fish completions that clap's generator lacks: lists, values read from the machine,
//! and values without an option name.

use super::{CompletionValue, COLUMNS};
use clap::builder::PossibleValue;
use clap::Command;
use exactop_model::columns::Column;

/// The generated script, with each mark replaced and with the missing values added.
pub fn with_system_values(script: &str, command: &Command) -> String {
    let mut script = script.to_owned();
    for asked in CompletionValue::ALL {
        script = script.replace(&format!(r#""{}\t''""#, asked.mark()), call(asked));
    }
    let described: Vec<String> = COLUMNS.iter().map(described).collect();
    let titles: Vec<String> = COLUMNS.iter().map(|column| quoted(column.title)).collect();
    let functions =
        FUNCTIONS.replace("@columns", &described.join(" ")).replace("@titles", &titles.join(" "));
    functions + &with_values_of_the_first(&script) + &positionals(command)
}

/// Corrects the generated function that reports whether a subcommand is still missing. That
/// function fails while the user types an option's value.
fn with_values_of_the_first(script: &str) -> String {
    let parsed = "argparse -s (__fish_exactop_global_optspecs) -- $cmd";
    let script = script.replacen(parsed, &format!("{parsed} ''"), 1);
    script.replacen("    if set -q argv[1]\n", "    if test -n \"$argv[1]\"\n", 1)
}

fn call(asked: CompletionValue) -> &'static str {
    match asked {
        CompletionValue::Pids => "\"(__exactop_pids)\"",
        CompletionValue::Users => "\"(__exactop_users)\"",
        CompletionValue::Columns => "\"(__exactop_columns)\"",
        CompletionValue::Filter => "\"(__exactop_filter)\"",
        CompletionValue::Number => "\"\"",
    }
}

/// A column's name, a tab and its meaning.
fn described(column: &Column) -> String {
    format!(r"{}\t{}", quoted(column.name), quoted(column.help))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'"))
}

/// Completions of positional values, which clap's generator for fish does not write.
fn positionals(command: &Command) -> String {
    let mut lines = String::new();
    for below in command.get_subcommands() {
        let when = format!("__fish_exactop_using_subcommand {}", below.get_name());
        lines += &values(below, &when);
        for last in below.get_subcommands() {
            let name = last.get_name();
            lines += &values(last, &format!("{when}; and __fish_seen_subcommand_from {name}"));
        }
    }
    lines
}

fn values(command: &Command, when: &str) -> String {
    let mut values: Vec<PossibleValue> = Vec::new();
    for arg in command.get_arguments().filter(|arg| arg.is_positional()) {
        values.extend(arg.get_possible_values());
    }
    // These words are names of columns, presets, pages, experiments and calls; none contains a
    // quote.
    let words: Vec<String> = values.iter().map(|value| value.get_name().to_string()).collect();
    match words.is_empty() {
        true => String::new(),
        false => format!("complete -c exactop -n \"{when}\" -f -a \"{}\"\n", words.join(" ")),
    }
}

const FUNCTIONS: &str = r#"# The value that the user types, without an option before it.
function __exactop_typed
    commandline -ct | string replace -r -- '^(--[a-z-]+=|-[a-zA-Z])' ''
end

# Words of standard input that can follow the last comma of the typed list, without those in it.
function __exactop_list
    set -l typed (__exactop_typed)
    set -l head (string match -r -- '^!?(?:.*,)?' "$typed")
    set -l taken (string split -- , "$head")
    while read -l word
        contains -- (string split -m 1 -- \t $word)[1] $taken
        or printf '%s%s\n' "$head" $word
    end
end

function __exactop_pids
    string replace -rf '^/proc/(\d+)$' '$1' /proc/* | __exactop_list
end

function __exactop_users
    __fish_complete_users | __exactop_list
end

# Columns by name; if none matches, by heading, as help writes them.
function __exactop_columns
    set -l typed (__exactop_typed)
    set -l found (printf '%s\n' @columns | __exactop_list)
    string match -qr -- '^'(string escape --style=regex -- "$typed") $found
    or set found (printf '%s\n' @titles | __exactop_list)
    printf '%s\n' $found
end

# The column of a condition; its value is not completed.
function __exactop_filter
    string match -qr -- '[=<>,]' (__exactop_typed)
    or __exactop_columns
end

"#;
