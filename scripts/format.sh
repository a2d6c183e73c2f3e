#!/bin/sh
# Formats every C file with clang-format 14, in place; with --check only says which lines differ.
# (Other versions of clang-format break lines elsewhere, so that they would fight with each other.)
set -eu
cd "$(dirname "$0")/.."

formatter=
for candidate in clang-format-14 clang-format; do
    if "$candidate" --version 2>/dev/null | grep -q ' version 14\.'; then
        formatter=$candidate
        break
    fi
done
if [ -z "$formatter" ]; then
    echo "skipped: clang-format 14 is missing (scripts/install-packages.sh --tests)" >&2
    # ctest counts 77 as skipped; where everything must be installed a skip would hide a failure.
    [ -n "${CI:-}" ] && exit 1
    exit 77
fi

folders=
for folder in include src tests bench examples tools; do
    if [ -d "$folder" ]; then folders="$folders $folder"; fi
done
case ${1:-} in
--check) set -- --dry-run -Werror --ferror-limit=20 ;;
"") set -- -i ;;
*)
    echo "scripts/format.sh: unknown option '$1', expected --check or nothing" >&2
    exit 2
    ;;
esac
find $folders -name '*.[ch]' -print0 | xargs -0 -r "$formatter" "$@"
