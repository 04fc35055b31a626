#!/usr/bin/env bash
# One file without any library, at whatever address (static-pie): target/static/exactop; beside it whose
# work is in it (copyright). For this machine's architecture, and linked as glibc allows it: nothing in it
# asks NSS or loads anything.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
target=${CARGO_TARGET_DIR:-target}
host=$("${RUSTC:-rustc}" -vV | sed -n 's/^host: //p')

# With --target, build scripts and macros are built as ever: these cannot be static.
RUSTFLAGS="${RUSTFLAGS:-} -C target-feature=+crt-static" \
    "$cargo" build --profile dist -p exactop --features static --target "$host"
install -D -m 755 "$target/$host/dist/exactop" "$target/static/exactop"
# Goes wherever the file goes.
CARGO=$cargo scripts/copyright.py --static >"$target/static/copyright"
