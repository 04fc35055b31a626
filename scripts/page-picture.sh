#!/usr/bin/env bash
# Takes pictures of the page of a recording, in Debian's Chromium. Run as root, on an otherwise idle
# machine:
#
#   scripts/page-picture.sh target/release/exactop          docs/assets/page.png
#   scripts/page-picture.sh target/release/exactop DIR      as on a phone, a tablet and a desk, light
#                                                           and dark, into DIR
#
# Twelve seconds: gzip again and again, then also a fork storm, then dd and xz, which share the CPUs
# with it.
set -euo pipefail
cd "$(dirname "$0")/.."
exactop=$(realpath "$1")
pictures=${2:+$(realpath "$2")}
[[ -z $pictures ]] || mkdir -p "$pictures"
dir=$(mktemp -d)
loads=()
end() {
    ((${#loads[@]} == 0)) || kill "${loads[@]}" 2>/dev/null || true
    rm -rf "$dir"
}
trap end EXIT
# Each load ends by itself.
load() {
    timeout "$1" sh -c "$2" >/dev/null 2>&1 &
    loads+=($!)
}

"$exactop" record --dir "$dir/kept" -d 0.25 --source ledger --sync none 2>"$dir/said" &
recording=$!
loads+=("$recording")
# Its programs are attached once it has a first window.
for _ in $(seq 100); do
    [[ -z $(find "$dir/kept" -type f -size +0 2>/dev/null) ]] || break
    sleep 0.1
done
sleep 2
load 8 'while :; do head -c 20000000 /dev/zero | gzip >/dev/null; done'
sleep 2
load 4 'while :; do /bin/true; done'
sleep 3
load 4 'dd if=/dev/zero of=/dev/null bs=4k'
load 4 'xz -9 </dev/zero'
sleep 5
kill "$recording"
wait "$recording" || (($? > 128)) || { cat "$dir/said" >&2; exit 1; }
"$exactop" replay "$dir/kept" --html "$dir/page.html"
# Takes a picture of a size, such as 1080,1130, with more options of Chromium.
take() {
    local picture=$1 size=$2
    shift 2
    chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$dir/profile" \
        --window-size="$size" --screenshot="$picture" "$@" "file://$dir/page.html" >"$dir/said" 2>&1 ||
        { cat "$dir/said" >&2; exit 1; }
    echo "$picture"
}

if [[ -n $pictures ]]; then
    # The height shows the table's beginning at each width.
    for size in 390,2600 768,2000 1440,1600; do
        take "$pictures/page-${size%,*}-light.png" "$size"
        take "$pictures/page-${size%,*}-dark.png" "$size" --blink-settings=preferredColorScheme=0
    done
    exit
fi
picture=$PWD/docs/assets/page.png
take "$picture" 1080,1130
# A third of the size with the same look, if pngquant is installed.
! command -v pngquant >/dev/null || pngquant --force --speed 1 --output "$picture" 256 "$picture"
