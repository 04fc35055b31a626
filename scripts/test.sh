#!/usr/bin/env bash
# All tests; arguments are cargo test's.
#
# Some of them hold figures of the whole machine against each other, or do things at a real terminal,
# and what others do on it for a moment can spoil that: such a test that fails is run once more, alone.
# Twice is a failure, and so is any other: identities, damaged recordings, rights, and a program that
# ended without naming a test. What failed once is said at the end.
set -euo pipefail
# Whoever starts this in the background may have these ignored, and so would all that is tested.
if [[ ${1:-} == signals-are-default ]]; then
    shift
else
    exec env --default-signal=HUP,INT,QUIT,TERM bash "$0" signals-are-default "$@"
fi
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}

# Those that may: "PACKAGE TARGET", and the modules of it.
may_be_spoilt='
exactop-sources ledger (attach|audit|beside_schedstat|calls_of_32_bits|cost|crowd|herds|interrupts|io_uring|kept_from_running|lives|lost_events|microstates|moved|moves|page_faults|sources|states|syscalls|teardown|waits|wake_calls|wakeups|witnesses)
exactop-workloads workloads .*
exactop-capi c .*
exactop command (containers|files|groups|limits|live|load|on_demand|poor_machines|run|second_signal|signals|user)
exactop lab .*
exactop live (commands|endings|pages|questions|recording|screen|sizes|sources|typed_ahead)
exactop service .*
exactop shares .*
exactop zombies .*
'

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if "$cargo" test --workspace --no-fail-fast "$@" 2>&1 | tee "$log"; then
    exit 0
fi

# A line for each program that failed: "-p PACKAGE --test NAME:" and its tests that did.
failed=$(awk '
    /^ *(Running|Doc-tests) / { tests = "" }
    /^test .* \.\.\. FAILED$/ { tests = tests " " $2 }
    /^error: .*test failed, to rerun pass `/ { split($0, part, "`"); print part[2] ":" tests }
' "$log")
if [[ -z $failed ]]; then
    echo "exactop: something failed that is no test: see above" >&2
    exit 1
fi
# Of all that failed, a test a line, what is not in the list.
surely=$(awk -v list="$may_be_spoilt" '
    BEGIN {
        n = split(list, lines, "\n")
        for (i = 1; i <= n; i++)
            if (split(lines[i], word, " ") == 3) modules[word[1] " " word[2]] = word[3]
    }
    {
        split($0, part, ": ")
        target = part[1]
        sub(/:$/, "", target)
        count = split(target, word, " ")
        named = count == 4 && word[1] == "-p" && word[3] == "--test"
        tests = split(part[2], test, " ")
        if (!named || !tests) print target
        for (i = 1; named && i <= tests; i++)
            if (!((word[2] " " word[4]) in modules) ||
                test[i] !~ "^(" modules[word[2] " " word[4]] ")(::|$)")
                print target ": " test[i]
    }
' <<<"$failed")
if [[ -n $surely ]]; then
    echo "$surely" >&2
    echo "exactop: this fails, whatever else runs" >&2
    exit 1
fi
while IFS=: read -r target tests; do
    echo "== once more, alone: $target:$tests"
    # With the features of the whole workspace, so that nothing is built anew.
    # shellcheck disable=SC2086 # names without spaces
    "$cargo" test --workspace ${target#-p * } "$@" -- --test-threads=1 --exact $tests </dev/null
done < <(sed 's/: /:/' <<<"$failed")
echo "== failed at first, passed alone:"
echo "$failed"
