#!/usr/bin/env bash
# Runs all tests; arguments are those of cargo-nextest: test.sh -p exactop-model, test.sh -E
# 'test(books)'. .config/nextest.toml says how they run, and which of them alone. None is retried.
set -euo pipefail
# A shell that starts this in the background may ignore these signals, and the tests would inherit
# that.
if [[ ${1:-} == signals-are-default ]]; then
    shift
else
    exec env --default-signal=HUP,INT,QUIT,TERM bash "$0" signals-are-default "$@"
fi
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
scripts/tools.sh nextest

# cargo-nextest does not run the examples in the documentation; cargo does.
if (($# == 0)); then
    "$cargo" test --quiet --workspace --doc
fi
# If both a package and the workspace are named, cargo builds the whole workspace.
scope=(--workspace)
for word; do
    [[ $word == -p?* || $word == -p || $word == --package* ]] && scope=()
done

# Linux 6.18 lets two tasks that wake each other in one session keep the CPU from other sessions for
# tens of seconds, and each tmux of the tests is a session. So tests run without autogroups
# (sched(7)), where root may turn them off.
autogroup=/proc/sys/kernel/sched_autogroup_enabled
if [[ -w $autogroup && $(<"$autogroup") == 1 ]]; then
    trap 'echo 1 >"$autogroup"' EXIT
    echo 0 >"$autogroup"
fi
"$cargo" nextest run "${scope[@]}" "$@"
