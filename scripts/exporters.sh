#!/usr/bin/env bash
# Unpacks Debian's node_exporter and process-exporter into a directory; installing them would start
# them as services.
set -euo pipefail

to=${1:?directory}
packages=(prometheus-node-exporter prometheus-process-exporter)
mkdir -p "$to"
cd "$to"
for package in "${packages[@]}"; do
    [[ -x $package ]] && continue
    apt-get download -q -o APT::Sandbox::User=root "$package" ||
        { echo "exactop: cannot fetch $package: run as root: apt-get update" >&2; exit 1; }
    dpkg -x "$package"_*.deb unpacked
    cp "unpacked/usr/bin/$package" .
done
rm -rf unpacked ./*.deb
