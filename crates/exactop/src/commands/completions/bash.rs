//! Additions to bash completions that clap's generator lacks: lists, and values read from the
//! machine.

use super::{CompletionValue, COLUMNS};

/// The generated script, with each mark replaced by code that asks the machine.
pub fn with_system_values(script: &str) -> String {
    let mut script = script.to_owned();
    for asked in CompletionValue::ALL {
        let marked = format!("COMPREPLY=($(compgen -W \"{}\" -- \"${{cur}}\"))", asked.mark());
        script = script.replace(&marked, call(asked));
    }
    let ids: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
    let titles: Vec<&str> = COLUMNS.iter().map(|column| column.title).collect();
    let columns = FUNCTIONS.replace("@ids", &ids.join(" ")).replace("@titles", &titles.join(" "));
    columns + &script
}

fn call(asked: CompletionValue) -> &'static str {
    match asked {
        CompletionValue::Pids => {
            "_exactop_no_file; COMPREPLY=($(_exactop_list \"$(cd /proc && echo [0-9]*)\" \"${cur}\"))"
        }
        CompletionValue::Users => {
            "_exactop_no_file; COMPREPLY=($(_exactop_list \"$(compgen -u)\" \"${cur}\"))"
        }
        CompletionValue::Columns => "_exactop_no_file; COMPREPLY=($(_exactop_columns \"${cur}\"))",
        CompletionValue::Filter => "_exactop_no_file; COMPREPLY=($(_exactop_filter \"${cur}\"))",
        CompletionValue::Number => "_exactop_no_file; COMPREPLY=()",
    }
}

/// Column names consist of letters, digits and `_`; headings also have `%`, `+` and `/`.
const FUNCTIONS: &str = r#"# A value that is not a file completes to no file. A list or a condition goes on without a blank.
_exactop_no_file() {
    compopt +o default +o bashdefault -o nospace 2>/dev/null
}

# Words ($1) that can follow the last comma of the list $2, without those in it.
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

# Columns by name; if none matches, by heading, as help writes them.
_exactop_columns() {
    local found="$(_exactop_list "@ids" "$1")"
    [[ -n $found ]] || found="$(_exactop_list "@titles" "$1")"
    printf '%s
' "$found"
}

# The column of a condition; its value is not completed.
_exactop_filter() {
    [[ $1 == *[=\<\>,]* ]] || _exactop_columns "$1"
}

"#;
