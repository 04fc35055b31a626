#!/usr/bin/env bash
# Caches compiled third-party crates, once per machine, outside the clone.
#
#   third-party.sh take    put them into this clone's target directory, if it has none yet
#   third-party.sh keep    keep what this clone has compiled of them
#
# The cache is in the directory of cache.sh, keyed by its inputs: the locked versions, the manifests'
# lines in any order, the compiler. If these have changed, `take` takes the newest set, for cargo itself
# decides what is fresh. Without a directory outside the clone nothing is cached, and cargo compiles.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C
target=${CARGO_TARGET_DIR:-target}/debug
cache=$(scripts/cache.sh crates)
# Most sets of crates in the cache; older ones are removed.
most=2

key=$({ cat Cargo.lock .cargo/config.toml && rustc -vV &&
    git ls-files -z '*Cargo.toml' | xargs -0 cat | sed '/^ *#/d' | sort -u; } | sha256sum | cut -c1-32)
kept=$cache/$key

# A cache inside the clone is as new as the clone, so it is not used.
[[ $cache != "$(pwd -P)"/* ]] || exit 0

# Names of third-party crates as files in a target directory begin with them: those that the lock
# file has from a registry.
others() {
    awk '/^name = / { name = $3 } /^source = / { gsub(/"/, "", name); print name }' Cargo.lock |
        sed 'p; s/-/_/g; p; s/^/lib/' | sort -u
}

case ${1:-} in
take)
    [[ -d $kept ]] || kept=$(find "$cache" -mindepth 1 -maxdepth 1 -type d ! -name 'new.*' -printf '%T@ %p\n' |
        sort -rn | sed -n '1s/^[^ ]* //p')
    [[ ! -e $target && -d $kept ]] || exit 0
    # With cargo's permissions, not the cache's: tests run programs in it as other users.
    mkdir -p "$target.new"
    cp -a "$kept"/{deps,build,.fingerprint} "$target.new"
    mv -T "$target.new" "$target"
    touch -c "$kept"
    echo "third-party: took $(ls "$target/.fingerprint" | wc -l) compiled units from $cache"
    ;;
keep)
    [[ -d $target && ! -e $kept ]] || exit 0
    new=$(mktemp -d "$cache/new.XXXXXX")
    trap 'rm -rf "$new"' EXIT
    for part in deps build .fingerprint; do
        mkdir "$new/$part"
        # NAME-HASH or NAME-HASH.EXTENSION
        find "$target/$part" -mindepth 1 -maxdepth 1 -printf '%f\n' |
            sed -nE 's/^(.*)(-[0-9a-f]{16}(\..*)?)$/\1 \2/p' | sort -k1,1 | join - <(others) | tr -d ' ' |
            (cd "$target/$part" && xargs -r -d '\n' cp -a -t "$new/$part")
    done
    mv -T "$new" "$kept" 2>/dev/null || exit 0
    find "$cache" -mindepth 1 -maxdepth 1 -type d -printf '%T@ %p\n' | sort -rn | tail -n +$((most + 1)) |
        cut -d' ' -f2- | xargs -r -d '\n' rm -rf
    echo "third-party: kept $(ls "$kept/.fingerprint" | wc -l) compiled units in $cache"
    ;;
*)
    echo "exactop: third-party.sh: '${1:-}': write take or keep" >&2
    exit 2
    ;;
esac
