#!/usr/bin/env bash
# Installs cargo programs that testing needs, once per machine.
#
#   tools.sh nextest    cargo-nextest, which runs the tests
set -euo pipefail
cargo=${CARGO:-cargo}

nextest=0.9.151

case ${1:-nextest} in
nextest)
    "$cargo" nextest --version >/dev/null 2>&1 && exit 0
    echo "exactop: no cargo-nextest: installing $nextest (some minutes, once)"
    # With little optimization: it builds in half the time and mostly waits for tests.
    export CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_LTO=false
    export CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=false
    # Outside the workspace, whose toolchain and settings are not for it.
    cd /
    "$cargo" install --quiet --locked --no-default-features --version "$nextest" cargo-nextest
    ;;
*)
    echo "exactop: tools.sh: '$1': write nextest" >&2
    exit 2
    ;;
esac
