#!/usr/bin/env bash
# The quick tests of crates that changed since these tests last passed, and of all crates that depend
# on them. All of them after any other change than in Rust files and snapshots of crates: documents,
# fixtures, BPF, Cargo.toml, the compiler.
#
#   check.sh [--all] TARGETS...    TARGETS: cargo's options for the targets with such tests
#
# The state that passed is kept in target/checked.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
kept=$target/checked

# The files as they are, as a tree of git: also those that are new or changed. Nothing outside a git
# checkout.
tree() {
    local index=$target/checked.index
    rm -f "$index"
    cp "$(git rev-parse --git-path index 2>/dev/null)" "$index" 2>/dev/null || return 0
    GIT_INDEX_FILE=$index git add --all . && GIT_INDEX_FILE=$index git write-tree
    rm -f "$index"
}

# The crate of a Rust file or snapshot; fails for any other file.
crate_of() {
    [[ $1 == */src/*.rs || $1 == */tests/*.rs || $1 == *.snap ]] || return 1
    local dir=$1
    while [[ $dir == */* ]]; do
        dir=${dir%/*}
        [[ ! -f $dir/Cargo.toml ]] || { sed -n '/^\[package\]/,/^\[[^p]/s/^name = "\(.*\)"/\1/p' "$dir/Cargo.toml"; return; }
    done
    return 1
}

# Prints a filter of nextest for what changed; `all` if everything may have.
changed() {
    local crates=() file crate
    while IFS= read -r -d '' file; do
        crate=$(crate_of "$file") || { echo all; return; }
        crates+=("rdeps(=$crate)")
    done < <(git diff-tree -r -z --name-only --no-renames "$1" "$2")
    ((${#crates[@]})) || { echo 'none()'; return; }
    printf '%s\n' "${crates[@]}" | sort -u | paste -sd'|'
}

mkdir -p "$target"
state="$(tree) $("${CARGO:-cargo}" -V)"
filter=all
if [[ ${1:-} == --all ]]; then
    shift
elif [[ -f $kept && ${state%% *} && $(<"$kept") == *" ${state#* }" ]]; then
    before=$(<"$kept")
    # The tree may be lost: git deletes what nothing refers to.
    git cat-file -e "${before%% *}" 2>/dev/null && filter=$(changed "${before%% *}" "${state%% *}")
fi
case $filter in
all) scripts/test.sh --profile check "$@" ;;
'none()') echo "no crate changed since its quick tests passed: check.sh --all runs them again" ;;
*) echo "quick tests of what changed: $filter" && scripts/test.sh --profile check "$@" -E "$filter" ;;
esac
[[ -z ${state%% *} ]] || echo "$state" >"$kept"
