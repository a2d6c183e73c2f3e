#!/bin/sh
# Writes the sources as a release has them into a new folder: the files that git tracks, as they are now. VERSION there is
# the whole version, and all files have the time of the last commit. Prints that time, for SOURCE_DATE_EPOCH.
#   scripts/source_tree.sh FOLDER
# Without git (in a source archive) the folder is a copy of this tree, with the time of its VERSION.
set -eu
target=$1
root=$(cd "$(dirname "$0")/.." && pwd)
[ ! -e "$target" ] || { echo "source_tree.sh: $target is there already" >&2; exit 1; }
mkdir -p "$target"
target=$(cd "$target" && pwd)
cd "$root"

version=$(cmake -P cmake/version.cmake)
if [ "$(git rev-parse --show-toplevel 2>/dev/null || true)" = "$root" ]; then
    # What is changed and not committed is a commit of its own, which no branch has.
    tree=$(git -c user.name=liana -c user.email=liana stash create)
    [ -z "$tree" ] || version="$version.changed"
    case $version in
    *+*) ;;
    *) version=$(echo "$version" | sed 's/\.changed$/+changed/') ;;
    esac
    git archive "${tree:-HEAD}" | tar -x -f - -C "$target" --no-same-permissions
    time=$(git log -1 --format=%ct)
else
    tar -c -f - --exclude='./build*' --exclude=./runs --exclude=./.git . | tar -x -f - -C "$target"
    time=$(date -r VERSION +%s)
fi
echo "$version" >"$target/VERSION"
find "$target" -exec touch -h -d "@$time" {} +
echo "$time"
