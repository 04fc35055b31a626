#!/usr/bin/env bash
# Makes Debian packages from built files, into target/deb.
#
#   deb.sh [VERSION]    the version of the packages; that of the workspace unless it is given
#
# The command and the library are target/dist/exactop and libexactop.{so,a}; BUILT names another
# directory, DEBS another place for the packages.
set -euo pipefail
cd "$(dirname "$0")/.."
source=$PWD
built=$(realpath "${BUILT:-${CARGO_TARGET_DIR:-target}/dist}")
debs=${DEBS:-${CARGO_TARGET_DIR:-target}/deb}
version=${1:-$(scripts/version.sh)}
# Debian sorts 1.0~rc.1 before 1.0, and has no '-' in the version of a native package.
version=$(tr - '~' <<<"$version")

for file in exactop libexactop.so libexactop.a; do
    [[ -e $built/$file ]] || {
        echo "exactop: $built/$file is not built: run make dist" >&2
        exit 1
    }
done

# The same packages for the same commit; sources from a tarball have the time of their change log.
if [[ -z ${SOURCE_DATE_EPOCH:-} ]]; then
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)
fi
export SOURCE_DATE_EPOCH

# A new directory each time, so that no file of earlier packages is in these.
tree=$debs/exactop-$version
rm -rf "$tree" "$debs"/*.{deb,changes,buildinfo}
mkdir -p "$tree"
cp -r packaging/debian "$tree/debian"
mkdir "$tree/deploy"
cp -r README.md CHANGELOG.md docs "$tree/"
cp -r deploy/prometheus "$tree/deploy/"
scripts/copyright.py >"$tree/debian/copyright"
cat >"$tree/debian/changelog" <<END
exactop ($version) unstable; urgency=medium

  * CHANGELOG.md lists the changes.

 -- The exactop authors <exactop@packages.invalid>  $(date -uR -d "@$SOURCE_DATE_EPOCH")
END

cd "$tree"
log=../build.log
if ! EXACTOP_SOURCE=$source EXACTOP_BUILT=$built dpkg-buildpackage -b -us -uc >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "exactop: the packages could not be made: all of it is in $debs/build.log" >&2
    exit 1
fi
cd "$source"
rm -rf "$tree"
ls "$debs"/*.deb
