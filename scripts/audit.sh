#!/usr/bin/env bash
# Checks the crates of exactop against deny.toml: licenses, sources, banned crates, and known
# vulnerabilities (RustSec advisories).
#
#   scripts/audit.sh             all of it; advisories need the network
#   scripts/audit.sh --offline   advisories only if their database is there already
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.20.2

offline=0
case "${1-}" in
    "") ;;
    --offline) offline=1 ;;
    *)
        echo "audit: '$1': write --offline or nothing" >&2
        exit 2
        ;;
esac

if ! command -v cargo-deny >/dev/null; then
    echo "audit: no cargo-deny: installing $version (some minutes, once)"
    # Without optimization: it builds in half the time and runs for two seconds.
    cargo install --quiet --locked --debug --version "$version" cargo-deny
    PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin"
fi

deny() { cargo-deny --all-features -L error "$@"; }

deny check bans licenses sources

if ((!offline)) && ! timeout 120 cargo-deny --all-features -L error fetch db; then
    echo "audit: the database of advisories cannot be fetched: is there a network?" >&2
    exit 1
fi
if compgen -G "${CARGO_HOME:-$HOME/.cargo}/advisory-db*/*" >/dev/null; then
    deny check --disable-fetch advisories
else
    echo "audit: NOT CHECKED: advisories; their database is not here, and fetching it needs the network"
fi
