#!/usr/bin/env bash
# Runs the long tests that .ci/run leaves out, each make target once: some hours on two CPUs. A
# failed target does not end the run; the table of all comes at the end.
#
#   test-long.sh             all of them
#   test-long.sh NAME...     only these, by their names in the Makefile
#   test-long.sh --list      their names, a line each
#   test-long.sh --check     that every target of the Makefile that tests is run here or by .ci/run
#
# Exit code: 0 if none failed, 1 if one did, 2 for a name that is none. A target that this machine cannot run
# is left out, and the table says why. What each printed is kept in target/long.
set -euo pipefail
# A shell that starts this in the background may ignore these signals, and the tests would inherit
# that.
if [[ ${1:-} == signals-are-default ]]; then
    shift
else
    exec env --default-signal=HUP,INT,QUIT,TERM bash "$0" signals-are-default "$@"
fi
exec </dev/null
cd "$(dirname "$0")/.."

# A target, further words for make or -, and its prerequisites. The short ones first.
targets='
audit             -                 network
test-web          -                 -
test-fleet        -                 network
test-fleet-demo   -                 network
test-collector    -                 root go network
test-packages     -                 root network
test-regressions  -                 root
test-postgres     -                 root
test-kills        -                 root
test-memory       -                 root
hostile           -                 root
test-prometheus   -                 root network
fuzz              FUZZ_SECONDS=60   -
test-soak         -                 root
test-kernels      KERNELS=all       network
'
names=$(awk 'NF { print $1 }' <<<"$targets")

# Test targets of the Makefile, and those that .ci/run makes.
in_makefile() { sed -nE 's/^(test-[a-z0-9-]+|fuzz|hostile|audit):.*/\1/p' Makefile | grep -vx test-long | sort -u; }
in_ci() { grep -v '^ *#' .ci/run | grep -oE '\bmake [a-z0-9-]+' | sed 's/make //' | sort -u; }

check() {
    local lost unknown
    lost=$(comm -23 <(in_makefile) <(sort -u <(in_ci) <(echo "$names")))
    unknown=$(comm -13 <(in_makefile) <(sort -u <<<"$names"))
    [[ -z $lost ]] ||
        echo "exactop: run by neither scripts/test-long.sh nor .ci/run:" $lost >&2
    [[ -z $unknown ]] ||
        echo "exactop: scripts/test-long.sh names what the Makefile has not:" $unknown >&2
    [[ -z $lost$unknown ]]
}

# Prints the missing prerequisites; nothing if all are there. A missing network shows only when it
# is needed: downloads of earlier runs need none.
lacks() {
    local need
    for need in "$@"; do
        case $need in
        root) ((EUID == 0)) || { echo "needs root"; return; } ;;
        go) command -v go >/dev/null || { echo "needs Go"; return; } ;;
        esac
    done
}

case ${1:-} in
--list) echo "$names"; exit ;;
--check) check; exit ;;
esac
for name in "$@"; do
    grep -qxF -- "$name" <<<"$names" || {
        echo "exactop: test-long.sh: no target is called '$name': --list prints them" >&2
        exit 2
    }
done
wanted=$names
(($# == 0)) || wanted=$(printf '%s\n' "$@")

logs=${CARGO_TARGET_DIR:-target}/long
mkdir -p "$logs"
# An interrupt still prints the table so far.
table=$(mktemp)
tell() { echo "== all targets"; cat "$table"; rm -f "$table"; }
trap tell EXIT
failed=0
while read -r name told needs; do
    grep -qxF -- "$name" <<<"$wanted" || continue
    # shellcheck disable=SC2086 # words
    why=$(lacks $needs)
    if [[ -n $why ]]; then
        printf '%-16s  left out: %s\n' "$name" "$why" >>"$table"
        continue
    fi
    [[ $told != - ]] || told=
    echo
    echo "== make $name $told"
    begin=$SECONDS how=passed
    # shellcheck disable=SC2086 # none or one word
    make "$name" $told 2>&1 </dev/null | tee "$logs/$name.log" || { how=FAILED failed=1; }
    # A test that needs a quiet machine prints this instead of failing.
    but=
    [[ $how == FAILED ]] || ! grep -q 'not measured: ' "$logs/$name.log" ||
        but=', but the machine was too busy for some figures'
    printf '%-16s  %-6s  %6d s%s\n' "$name" "$how" $((SECONDS - begin)) "$but" >>"$table"
done < <(grep . <<<"$targets")
exit $failed
