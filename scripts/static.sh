#!/usr/bin/env bash
# Builds one file without any library, loadable at any address (static-pie): target/static/exactop,
# with the licenses of its parts beside it (copyright). For this machine's architecture, and within
# glibc's limits for static programs: nothing in it asks NSS or loads anything.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
target=${CARGO_TARGET_DIR:-target}
host=$("${RUSTC:-rustc}" -vV | sed -n 's/^host: //p')

# With --target, build scripts and macros are built as usual: they cannot be static.
RUSTFLAGS="${RUSTFLAGS:-} -C target-feature=+crt-static" \
    "$cargo" build --profile dist -p exactop --features static --target "$host"
install -D -m 755 "$target/$host/dist/exactop" "$target/static/exactop"
# The licenses must go with the file.
CARGO=$cargo scripts/copyright.py --static >"$target/static/copyright"
