#!/usr/bin/env bash
# Release a version: set it (scripts/version.sh), date its section of CHANGELOG.md, commit, build the packages,
# and make the annotated tag vVERSION.
#
#   release.sh VERSION [--dry-run] [--packages | --no-packages]
#
#   --dry-run       print what a release would do; the repository gets neither a commit nor a tag
#   --packages      build packages in a dry run, too
#   --no-packages   build no packages
#
# All of it happens in a scratch clone, target/release-tree. The repository takes the commit and the tag from
# there at the end, so a release that fails leaves no trace. Packages and their SHA256SUMS are in
# target/release-VERSION. The script pushes nothing. MAKE names another make.
#
# Exit code: 0 if it is done, 1 if it is refused or a step fails, 2 for wrong arguments.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
make=${MAKE:-make}

refuse() { # WORDS [CODE]
    echo "exactop: release.sh: $1" >&2
    exit "${2:-1}"
}

version='' dry=no packages=''
for word; do
    case $word in
    --dry-run) dry=yes ;;
    --packages) packages=yes ;;
    --no-packages) packages=no ;;
    -*) refuse "unknown option '$word': give --dry-run, --packages or --no-packages" 2 ;;
    *)
        [[ -z $version ]] || refuse "two versions, '$version' and '$word': give one" 2
        version=$word
        ;;
    esac
done
[[ -n $version ]] || refuse "no version: run scripts/release.sh VERSION, such as $(scripts/version.sh)" 2
if [[ -z $packages ]]; then
    [[ $dry == yes ]] && packages=no || packages=yes
fi

# SemVer 2.0.0 without build metadata: tags of images have no '+'.
number='(0|[1-9][0-9]*)' word='(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)'
[[ $version =~ ^$number\.$number\.$number(-$word(\.$word)*)?$ ]] ||
    refuse "'$version' is no version: give MAJOR.MINOR.PATCH or MAJOR.MINOR.PATCH-PRERELEASE (SemVer)" 2
tag=v$version

git rev-parse --git-dir >/dev/null 2>&1 || refuse "$root is no Git repository: run this in a clone"
mapfile -t changed < <(git status --porcelain)
((${#changed[@]} == 0)) ||
    refuse "the tree is dirty, '${changed[0]}' and $((${#changed[@]} - 1)) more: commit or stash them"
! commit=$(git rev-parse -q --verify "refs/tags/$tag^{commit}") ||
    refuse "the tag $tag exists, at ${commit:0:12}: give another version, or run git tag -d $tag"
git var GIT_COMMITTER_IDENT >/dev/null 2>&1 ||
    refuse "Git has no name and address for you: set user.name and user.email with git config"

# The open section of CHANGELOG.md must be the newest, and say something.
open="## $version, not released yet"
first=$(grep -m 1 '^## ' CHANGELOG.md || true)
[[ $first == "$open" ]] ||
    refuse "CHANGELOG.md begins with the section '${first:-none}': write '$open' as its first section"
section=$(awk -v open="$open" '/^## / { here = $0 == open; next } here' CHANGELOG.md)
grep -q '^- ' <<<"$section" || refuse "CHANGELOG.md has no change below '$open': write one line for each change"

tree=$root/target/release-tree out=$root/target/release-$version log=$root/target/release-$version.log
rm -rf "$tree"
mkdir -p "$root/target"
trap 'rm -rf "$tree"' EXIT
base=$(git rev-parse HEAD)
git clone -q --shared --no-tags "$root" "$tree"
# Compiled crates are shared with this clone.
ln -s "$root/target" "$tree/target"
in_tree() { git -C "$tree" "$@"; }
# A name and an address that only this clone has.
for key in user.name user.email user.signingkey commit.gpgsign tag.gpgsign gpg.format; do
    ! value=$(git config "$key") || in_tree config "$key" "$value"
done

"$tree/scripts/version.sh" set "$version"
found=$("$tree/scripts/version.sh" check 2>&1) || refuse "$(head -n 1 <<<"${found#exactop: }")"
today=$(date -u +%F)
sed -i "0,/^## /s/^## .*/## $version, $today/" "$tree/CHANGELOG.md"
in_tree commit -q -a -m "release: set version $version" -m "CHANGELOG.md has the changes."
in_tree tag -a "$tag" --cleanup=whitespace -m "exactop $version" -m "$section"

[[ $dry == no ]] || echo "A dry run: this repository gets neither the commit nor the tag."
echo "version    $(git show "$base:./Cargo.toml" | awk -F '"' '/^\[/ { here = $0 == "[workspace.package]" } here && /^version = / { print $2 }') -> $version"
echo "changelog  ## $version, $today: $(grep -c '^- ' <<<"$section") changes"
echo "commit     $(in_tree log -1 --format=%s), on ${base:0:12}"
in_tree show --stat=72 --format= HEAD | sed 's/^/          /'
echo "tag        $tag, annotated with the section of CHANGELOG.md"

if [[ $packages == no ]]; then
    echo "packages   none; --packages builds them with $make deb static image, into target/release-$version"
else
    machine=$(uname -m)
    echo "packages   $make deb static image; the log is target/release-$version.log"
    # Nothing that was built before may get among them.
    rm -rf "$out" "$root"/target/{deb,static,image}
    (cd "$tree" && "$make" deb static image) >"$log" 2>&1 </dev/null ||
        refuse "$make deb static image failed, '$(tail -n 1 "$log")': see target/release-$version.log, correct it, and run this again"
    dirty=$(in_tree status --porcelain)
    [[ -z $dirty ]] ||
        refuse "$make changed '${dirty%%$'\n'*}' in the tree it builds: commit that file first"
    mkdir -p "$out"
    cp "$root"/target/deb/*.deb "$out"
    cp "$root/target/image/exactop.oci.tar" "$out/exactop-$version-$machine.oci.tar"
    # The static file goes with the licenses of the crates in it.
    tar --create --directory "$root/target/static" --sort=name --mtime="@$(in_tree log -1 --format=%ct)" \
        --owner=0 --group=0 --numeric-owner exactop copyright |
        gzip -n >"$out/exactop-$version-$machine-static.tar.gz"
    (cd "$out" && sha256sum -- * >"$root/target/SHA256SUMS" && mv "$root/target/SHA256SUMS" .)
    sed 's/^/           /' "$out/SHA256SUMS"
fi

if [[ $dry == no ]]; then
    # Someone may have gone on working while packages were built.
    [[ $(git rev-parse HEAD) == "$base" && -z $(git status --porcelain) ]] ||
        refuse "the tree changed during the release, HEAD is $(git rev-parse --short=12 HEAD): run this again"
    git fetch -q "$tree" HEAD
    git merge -q --ff-only FETCH_HEAD
    git fetch -q "$tree" "refs/tags/$tag:refs/tags/$tag"
    echo "done       $(git log -1 --format='%h %s'), $tag"
fi
echo "not checked here: run .ci/run and make test-long on this commit; then git push --follow-tags"
