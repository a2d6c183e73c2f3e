#!/bin/sh
# The version comes from git's tags (cmake/version.cmake): a repository of its own, with tags, commits and archives.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v git >/dev/null || { echo "skipped: no git"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE 2>/dev/null || true

fail() {
    echo "test_version.sh: $*" >&2
    exit 1
}
version() {
    cmake -P "$1/cmake/version.cmake" 2>"$folder/error"
}
# is FOLDER VERSION SITUATION
is() {
    found=$(version "$1") || fail "$3: $(cat "$folder/error")"
    [ "$found" = "$2" ] || fail "$3: found '$found', expected '$2'"
}
refused() {
    if version "$1" >/dev/null; then fail "$2 is accepted"; fi
    tr -s '\n ' ' ' <"$folder/error" | grep -q "$3" || fail "$2: another message: $(cat "$folder/error")"
}
house=$folder/house
mkdir -p "$house/cmake"
cp "$root/cmake/version.cmake" "$house/cmake"
echo 1.0.0 >"$house/VERSION"
git init -q "$house"
git() {
    command git -C "$house" -c user.name=somebody -c user.email=somebody@example.org "$@"
}
commit() {
    git add -A
    git commit -q --allow-empty -m "$1"
}
short() {
    git rev-parse HEAD | cut -c 1-8
}

commit first
is "$house" "1.0.0-dev+g$(short)" "before the first tag"
git tag v1.0.0
is "$house" 1.0.0 "a lightweight tag"
git tag -f -a -m "the first release" v1.0.0 >/dev/null
is "$house" 1.0.0 "an annotated tag"
for i in 1 2 3; do commit "change $i"; done
is "$house" "1.0.0+3.g$(short)" "three commits after a tag"
git tag some-other-tag
is "$house" "1.0.0+3.g$(short)" "a tag that is no version"
git tag v1.1.0
refused "$house" "a tag v1.1.0 where VERSION is 1.0.0" "the tag of this commit is v1.1.0, but VERSION is 1.0.0"
git tag -d v1.1.0 >/dev/null
echo 1.1.0 >"$house/VERSION"
commit "begins 1.1"
is "$house" "1.1.0-dev+g$(short)" "VERSION is ahead of the tag"
git tag v1.1.0
is "$house" 1.1.0 "the second release"

# The file is written again only for another version: else nothing is compiled.
write() {
    cmake -DFILE="$folder/version.c" -P "$house/cmake/version.cmake"
}
write
grep -q '^    return "1.1.0";$' "$folder/version.c" || fail "the file is $(cat "$folder/version.c")"
touch -d '2001-01-01' "$folder/version.c"
write
[ "$(date -r "$folder/version.c" +%Y)" = 2001 ] || fail "the file was written again"
commit another
write
grep -q "\"1.1.0+1.g$(short)\"" "$folder/version.c" || fail "a commit left the file as it was"

# Without git: an archive of a release, one of a commit, and one that lies in somebody else's repository.
mkdir -p "$folder/archive/cmake"
cp "$house/cmake/version.cmake" "$folder/archive/cmake"
echo 1.1.0 >"$folder/archive/VERSION"
is "$folder/archive" 1.1.0 "an archive"
echo 1.1.0+1.g12345678 >"$folder/archive/VERSION"
is "$folder/archive" 1.1.0+1.g12345678 "an archive of a commit"
mkdir "$house/inside"
cp -r "$folder/archive/." "$house/inside"
echo 1.1.0 >"$house/inside/VERSION"
is "$house/inside" 1.1.0 "an archive inside another repository"
for text in '' 1.1 v1.1.0 '1.1.0 beta' '1.1.0;x'; do
    echo "$text" >"$folder/archive/VERSION"
    refused "$folder/archive" "VERSION '$text'" "expected a version such as 1.0.0"
done
echo "versions of tags, commits and archives"
