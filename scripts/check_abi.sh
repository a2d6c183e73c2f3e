#!/bin/sh
# Compares the interface of a library with that of the last release (libabigail), and fails on a change that breaks
# programs: a function that is gone or takes other arguments, a struct or an enumerator with another layout or value. New
# functions are allowed. With another SONAME everything is.
#   scripts/check_abi.sh LIBRARY.so [--baseline FILE] [--headers FOLDER]
#   scripts/check_abi.sh LIBRARY.so --write FILE
# The library has debugging lines (make abi-check builds one). Without --baseline the library of the newest tag that HEAD has
# is built beside it, with the options of cmake in ABI_OPTIONS; before the first tag there is nothing to compare with.
# --write writes a baseline.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
library=$1
shift
baseline=
write=
headers=$root/include
while [ $# -gt 0 ]; do
    case $1 in
    --baseline) baseline=$2 ;;
    --write) write=$2 ;;
    --headers) headers=$2 ;;
    *)
        echo "check_abi.sh: found '$1', expected --baseline, --write or --headers" >&2
        exit 2
        ;;
    esac
    shift 2
done
for program in abidw abidiff; do
    command -v $program >/dev/null ||
        { echo "check_abi.sh: no $program; scripts/install-packages.sh --packages installs it" >&2; exit 1; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Public types alone, without places: an edit of a line changes nothing.
abidw --headers-dir "$headers" --drop-private-types --no-corpus-path --no-comp-dir-path --no-show-locs --no-parameter-names \
    --type-id-style hash --out-file "$folder/now.abi" "$library"
grep -q '<function-decl ' "$folder/now.abi" ||
    { echo "check_abi.sh: no types of functions in $library: it has no debugging lines (-g)" >&2; exit 1; }
if [ -n "$write" ]; then
    cp "$folder/now.abi" "$write"
    exit 0
fi
if [ -z "$baseline" ]; then
    words=$(git -C "$root" describe --tags --abbrev=0 --match 'v[0-9]*.[0-9]*.[0-9]*' 2>/dev/null || true)
    if [ -z "$words" ]; then
        echo "no tag of a release yet: there is no interface to compare with"
        exit 0
    fi
    mkdir "$folder/source"
    git -C "$root" archive "$words" | tar -C "$folder/source" -xf -
    # shellcheck disable=SC2086 # words are meant
    { cmake -S "$folder/source" -B "$folder/build" ${ABI_OPTIONS:-} &&
        cmake --build "$folder/build" --parallel "${JOBS:-$(nproc)}" --target liana_shared; } >"$folder/log" 2>&1 ||
        { tail -n 20 "$folder/log" >&2; echo "check_abi.sh: the library of $words cannot be built" >&2; exit 1; }
    baseline=$folder/tag.abi
    "$0" "$folder/build/libliana.so" --headers "$folder/source/include" --write "$baseline"
else
    words=$baseline
fi
soname() {
    sed -n "s/.*soname='\([^']*\)'.*/\1/p" "$1" | head -n 1
}
if [ "$(soname "$baseline")" != "$(soname "$folder/now.abi")" ]; then
    echo "another SONAME than $words: $(soname "$baseline") became $(soname "$folder/now.abi"), so that any change is allowed"
    exit 0
fi
status=0
abidiff --no-added-syms "$baseline" "$folder/now.abi" >"$folder/report" 2>&1 || status=$?
if [ $status -ne 0 ]; then
    cat "$folder/report" >&2
    echo "check_abi.sh: programs that were linked with $words may break: see above. Undo the change, or add a new function" \
        "or struct beside the old one, or make it a new major version (docs/guides/releasing.md)" >&2
    exit 1
fi
echo "the interface is that of $words, or more"
