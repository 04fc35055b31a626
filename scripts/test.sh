#!/usr/bin/env bash
# All tests; arguments are those of cargo-nextest: test.sh -p exactop-model, test.sh -E 'test(books)'.
# How they run, and which of them alone, is in .config/nextest.toml. None is tried twice.
set -euo pipefail
# A shell that starts this in the background may ignore these signals, and so would all tests.
if [[ ${1:-} == signals-are-default ]]; then
    shift
else
    exec env --default-signal=HUP,INT,QUIT,TERM bash "$0" signals-are-default "$@"
fi
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
scripts/tools.sh nextest

# cargo-nextest leaves the examples in the documentation to cargo.
if (($# == 0)); then
    "$cargo" test --quiet --workspace --doc
fi
# Cargo builds the whole workspace beside a package that is named, where both are said.
scope=(--workspace)
for word; do
    [[ $word == -p?* || $word == -p || $word == --package* ]] && scope=()
done
exec "$cargo" nextest run "${scope[@]}" "$@"
