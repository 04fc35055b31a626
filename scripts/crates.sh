#!/usr/bin/env bash
# Checks that the manifests of the crates are complete and true.
#
#   crates.sh            every crate of the workspace has a description, a license and a rust-version,
#                        and is not published; no locked package needs a newer Rust than ours
#                        (rust-version in Cargo.toml). Where rustup has that Rust, everything is
#                        checked with it, too.
#   crates.sh build      only the last, which then is not left out: without that Rust it fails
#   crates.sh version    prints our rust-version, for `rustup toolchain install`
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
target=${CARGO_TARGET_DIR:-target}
ours=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
[[ -n $ours ]] || { echo "exactop: Cargo.toml has no rust-version" >&2; exit 1; }

manifests() {
    local host told
    command -v python3 >/dev/null || {
        echo "exactop: no python3, which reads what cargo says: apt-get install python3" >&2
        return 1
    }
    # Only packages for this host; those for other systems are not downloaded.
    host=$("${RUSTC:-rustc}" -vV | sed -n 's/^host: //p')
    told=$(mktemp)
    "$cargo" metadata --locked --format-version 1 --filter-platform "$host" >"$told" &&
        python3 - "$told" "$ours" <<'END' || { rm "$told"; return 1; }
import json, sys

told = json.load(open(sys.argv[1], encoding="utf-8"))
members = set(told["workspace_members"])
# Crates that only tests use.
tests_own = {"exactop-testkit", "exactop-fuzzing"}
number = lambda version: tuple(map(int, (version + ".0.0").split(".")[:3]))
ours = sys.argv[2]
wrong = []
highest = (number("0"), "no package")
for package in told["packages"]:
    name = f"{package['name']} {package['version']}"
    rust = package["rust_version"]
    if package["id"] in members:
        lacking = [key for key in ("description", "license", "rust_version") if not package[key]]
        wrong += [f"{name} has no {key.replace('_', '-')} in its manifest" for key in lacking]
        built = {need["name"] for need in package["dependencies"] if need["kind"] is None}
        if package["name"] not in tests_own:
            wrong += [f"{name} is built with {kit}: make it a dev-dependency" for kit in sorted(built & tests_own)]
        if package["publish"] != []:
            wrong.append(f"{name} could be published: it lacks publish.workspace = true")
        if rust and number(rust) != number(ours):
            wrong.append(f"{name} says rust-version {rust}, the workspace {ours}")
    elif rust:
        highest = max(highest, (number(rust), name))
        if number(rust) > number(ours):
            wrong.append(f"{name} needs Rust {rust}, and rust-version is {ours}")
for line in sorted(wrong):
    print(f"exactop: {line}", file=sys.stderr)
if wrong:
    sys.exit(1)
needed = ".".join(map(str, highest[0]))
print(f"{len(members)} crates are described; their rust-version is {ours}, "
      f"and {highest[1]} needs the newest Rust, {needed}")
END
    rm "$told"
}

# Never downloads a toolchain.
has_rust() {
    command -v rustup >/dev/null &&
        RUSTUP_AUTO_INSTALL=0 rustup run "$ours" cargo --version >/dev/null 2>&1
}

# In a directory of its own, so that the builds of the usual Rust stay.
build() {
    rustup run "$ours" cargo check --workspace --all-targets --locked --target-dir "$target/rust-$ours"
}

case ${1-} in
"")
    manifests
    if has_rust; then
        build
    else
        echo "not built with Rust $ours, which rustup does not have: rustup toolchain install $ours"
    fi
    ;;
build)
    has_rust || {
        echo "exactop: no Rust $ours to build with: rustup toolchain install $ours" >&2
        exit 1
    }
    build
    ;;
version) echo "$ours" ;;
*)
    echo "exactop: crates.sh: '$1': write build, version or nothing" >&2
    exit 2
    ;;
esac
