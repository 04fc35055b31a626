//! Additions to zsh completions that clap's generator lacks: lists, and values read from the
//! machine.

use super::{CompletionValue, COLUMNS};
use exactop_model::columns::Column;

/// The generated script, with each mark replaced by code that asks the machine.
pub fn with_system_values(script: &str) -> String {
    let mut script = script.to_owned();
    for asked in CompletionValue::ALL {
        script = script.replace(&format!("({})", asked.mark()), call(asked));
    }
    let described: String = COLUMNS.iter().map(|column| described(column) + "\n").collect();
    let titles: Vec<String> = COLUMNS.iter().map(|column| quoted(column.title)).collect();
    let functions =
        FUNCTIONS.replace("@columns\n", &described).replace("@titles", &titles.join(" "));
    // The first line names the command and must stay the first.
    match script.split_once('\n') {
        Some((first, rest)) => format!("{first}\n\n{functions}{rest}"),
        None => script,
    }
}

fn call(asked: CompletionValue) -> &'static str {
    match asked {
        CompletionValue::Pids => "_exactop_pids",
        CompletionValue::Users => "_exactop_users",
        CompletionValue::Columns => "_exactop_columns",
        CompletionValue::Filter => "_exactop_filter",
        CompletionValue::Number => "",
    }
}

/// A column's name, a colon and its meaning.
fn described(column: &Column) -> String {
    format!("        {}", quoted(&format!("{}:{}", column.name, column.help)))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', r"'\''"))
}

/// Each function puts the list up to its last comma into `taken` and completes what follows.
const FUNCTIONS: &str = r#"_exactop_list() {
    compset -P '(\\|)!'
    taken=()
    [[ $PREFIX == *,* ]] && taken=("${(@s:,:)PREFIX%,*}")
    compset -P '*,'
    # Keep the changes of compset for the caller.
    compstate[restore]=
}

_exactop_pids() {
    local -a taken pids
    pids=(/proc/<->(N:t))
    _exactop_list
    compadd "$@" -S '' -F taken -a pids
}

_exactop_users() {
    local -a taken
    _exactop_list
    _users "$@" -S '' -F taken
}

# Columns by name; if none matches, by heading, as help writes them.
_exactop_columns() {
    local -a taken columns titles
    columns=(
@columns
    )
    titles=(@titles)
    _exactop_list
    _describe -t columns column columns "$@" -S '' -F taken ||
        compadd "$@" -S '' -F taken -a titles
}

# The column of a condition; its value is not completed.
_exactop_filter() {
    [[ $PREFIX != *[=\<\>,]* ]] && _exactop_columns "$@"
}

"#;
