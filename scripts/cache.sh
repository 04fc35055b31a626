#!/usr/bin/env bash
# Prints the directory of downloads and files made from them, outside the clone, and makes it.
#
#   cache.sh PART    PART of ${EXACTOP_CACHE:-${XDG_CACHE_HOME:-~/.cache}/exactop}; or of target/cache, which
#                    a notice, if that one cannot be made or another user can write there
#
# A cached file is named by its inputs. A writer writes it under another name, and renames it: two
# runs at once find a complete file or none.
#
# Root unpacks and boots these files, so no other user may write to the directory or replace it. It
# belongs to us, with mode 0700. Every directory above it belongs to root or to us, and no other
# user may write to it (or it is like /tmp, where users rename only their own files).
set -euo pipefail
part=${1:?exactop: cache.sh PART}
[[ $part =~ ^[a-z]+$ ]] || { echo "exactop: cache.sh: '$part' is no name of a part" >&2; exit 2; }

# Prints why a directory cannot be trusted; nothing if it can.
distrusted() {
    local above owner mode rights
    read -r owner mode < <(stat -c '%u %a' "$1")
    ((owner == EUID)) || { echo "it belongs to uid $owner"; return; }
    [[ $mode == 700 ]] || { echo "its mode is $mode, not 700"; return; }
    above=$1
    while [[ $above != / ]]; do
        above=$(dirname "$above")
        read -r owner mode < <(stat -c '%u %a' "$above")
        rights=$((8#$mode))
        ((owner == EUID || owner == 0)) || { echo "$above belongs to uid $owner"; return; }
        (((rights & 8#022) == 0 || (rights & 8#1000) != 0)) ||
            { echo "others may write to $above"; return; }
    done
}

# Makes a directory and prints it without links, or prints why not.
made() {
    local real why
    # Two runs may make it at once.
    (umask 077 && mkdir -p "$(dirname "$1")" 2>/dev/null) || true
    mkdir -m 700 "$1" 2>/dev/null || true
    [[ ! -L $1 ]] || { echo "it is a link" >&2; return 1; }
    real=$(cd "$1" 2>/dev/null && pwd -P) || { echo "it cannot be made" >&2; return 1; }
    why=$(distrusted "$real")
    [[ -z $why ]] || { echo "$why" >&2; return 1; }
    [[ -w $real ]] || { echo "it cannot be written to" >&2; return 1; }
    echo "$real"
}

wanted=${EXACTOP_CACHE:-${XDG_CACHE_HOME:-${HOME:-nowhere}/.cache}/exactop}
why="it is not an absolute path"
if [[ $wanted != /* ]] || ! { why=$(made "$wanted" 2>&1) && wanted=$why; }; then
    echo "exactop: $wanted keeps nothing: $why: target/cache does" >&2
    wanted=${CARGO_TARGET_DIR:-$(dirname "$0")/../target}/cache
    mkdir -p "$wanted"
    wanted=$(cd "$wanted" && pwd -P)
fi
# Only ours, like its parent.
mkdir -p "$wanted/$part"
echo "$wanted/$part"
