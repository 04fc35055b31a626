#!/usr/bin/env bash
# Makes an OCI image of one static file and the licenses of its parts (`copyright` beside it),
# without a container engine: a layer, a configuration and a manifest, each named by its checksum.
# The same file gives the same image.
#
#   image.sh FILE [OUT]    target/image is OUT unless it is given: the layout, and exactop.oci.tar
set -euo pipefail
cd "$(dirname "$0")/.."
file=${1:?exactop: image.sh FILE [OUT]}
out=${2:-${CARGO_TARGET_DIR:-target}/image}
layout=$out/exactop
version=$(scripts/version.sh)
when=@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)}
created=$(date -u -d "$when" +%Y-%m-%dT%H:%M:%SZ)

case $(uname -m) in
x86_64) architecture=amd64 ;;
aarch64) architecture=arm64 ;;
*)
    echo "exactop: no name for the architecture $(uname -m) in images: add it to scripts/image.sh" >&2
    exit 1
    ;;
esac
copyright=$(dirname "$file")/copyright
[[ -s $copyright ]] || {
    echo "exactop: $copyright is not there, and licenses want to go along: run make static" >&2
    exit 1
}
if readelf -lW "$file" | grep -q INTERP; then
    echo "exactop: $file needs a loader, which an empty image lacks: run make static" >&2
    exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -rf "$layout"
mkdir -p "$layout/blobs/sha256"

# Only the program, its licenses, and directories to mount on or to write to.
root=$work/root
install -D -m 755 "$file" "$root/usr/bin/exactop"
install -D -m 644 "$copyright" "$root/usr/share/doc/exactop/copyright"
install -d "$root"/{etc/exactop,proc,run/exactop,sys,tmp,var/log}
install -d -m 700 "$root/var/log/exactop"
chmod 1777 "$root/tmp"
archive() { # DIRECTORY NAME...
    tar --create --directory "$1" --format=ustar --sort=name --mtime="$when" \
        --owner=0 --group=0 --numeric-owner "${@:2}"
}
archive "$root" . >"$work/layer.tar"
gzip -n <"$work/layer.tar" >"$work/layer.tar.gz"

sum() { sha256sum <"$1" | cut -d' ' -f1; }
keep() { cp "$1" "$layout/blobs/sha256/$(sum "$1")"; }
descriptor() { # TYPE FILE
    printf '{"mediaType":"application/vnd.oci.image.%s","digest":"sha256:%s","size":%d}' \
        "$1" "$(sum "$2")" "$(stat -c %s "$2")"
}

cat >"$work/config" <<END
{"created":"$created","architecture":"$architecture","os":"linux",
"config":{"Entrypoint":["/usr/bin/exactop"],"Env":["PATH=/usr/bin"],"WorkingDir":"/",
"Labels":{"org.opencontainers.image.title":"exactop","org.opencontainers.image.version":"$version",
"org.opencontainers.image.licenses":"Apache-2.0 OR MIT"}},
"rootfs":{"type":"layers","diff_ids":["sha256:$(sum "$work/layer.tar")"]},
"history":[{"created":"$created","created_by":"scripts/image.sh"}]}
END
cat >"$work/manifest" <<END
{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",
"config":$(descriptor config.v1+json "$work/config"),
"layers":[$(descriptor layer.v1.tar+gzip "$work/layer.tar.gz")]}
END
keep "$work/layer.tar.gz"
keep "$work/config"
keep "$work/manifest"
manifest=$(descriptor manifest.v1+json "$work/manifest")
cat >"$layout/index.json" <<END
{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[
${manifest%\}},"annotations":{"org.opencontainers.image.ref.name":"$version"}}]}
END
printf '{"imageLayoutVersion":"1.0.0"}\n' >"$layout/oci-layout"
archive "$layout" blobs index.json oci-layout >"$out/exactop.oci.tar"
echo "$layout:$version"
