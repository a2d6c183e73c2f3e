#!/bin/sh
# LIANA_DEPRECATED makes compilers warn, in C and C++, unless a program forbids it; scripts/check_deprecated.sh finds each
# violation of the rules in docs/guides/releasing.md.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/checks/needs.sh"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "test_deprecated.sh: $*" >&2
    exit 1
}

cat >"$folder/old.h" <<'TEXT'
#include <liana/status.h>
#ifdef __cplusplus
extern "C" {
#endif
LIANA_API LIANA_DEPRECATED("since 1.0: use liana_status_text") const char *liana_old(void);
#ifdef __cplusplus
}
#endif
TEXT
printf '#include "old.h"\nconst char *use(void);\nconst char *use(void) { return liana_old(); }\n' >"$folder/use.c"
cp "$folder/use.c" "$folder/use.cc"
for compiler in 'gcc use.c' 'clang-14 use.c' 'g++ use.cc' 'clang++-14 use.cc'; do
    program=${compiler% *}
    has_program "$program" || continue
    flags="-I$root/include -I$folder -Wall -Wextra -fsyntax-only $folder/${compiler#* }"
    $program $flags 2>"$folder/log" || fail "$program: $(cat "$folder/log")"
    grep -q 'since 1.0: use liana_status_text' "$folder/log" || fail "$program does not warn: $(cat "$folder/log")"
    if $program -Werror $flags 2>/dev/null; then fail "$program -Werror accepts a deprecated function"; fi
    $program -Werror -DLIANA_NO_DEPRECATION_WARNINGS $flags || fail "$program warns although the program forbids it"
done

# A small tree that keeps the rules, and what breaks each.
house() {
    rm -rf "$folder/house"
    mkdir -p "$folder/house/include/liana"
    echo 1.3.0 >"$folder/house/VERSION"
    cp "$root/include/liana/status.h" "$folder/house/include/liana"
    cat >"$folder/house/include/liana/some.h" <<'TEXT'
LIANA_API LIANA_DEPRECATED("since 1.2: use liana_new_name")
    liana_status liana_old_name(int first,
                                int second);
LIANA_API liana_status liana_new_name(int first, int second);
TEXT
    printf '# Changelog\n\n## [Unreleased]\n\n### Added\n\n- x\n\n## [1.2.0] - 2026-12-01\n\n### Deprecated\n\n- liana_old_name: use liana_new_name\n\n## [1.1.10] - 2026-11-30\n\n## Before 1.0.0\n\n### Anything\n' \
        >"$folder/house/CHANGELOG.md"
}
accepted() {
    "$root/scripts/check_deprecated.sh" "$folder/house" >"$folder/log" 2>&1
}
# broken FILE SED_SCRIPT WORDS
broken() {
    house
    sed -i "$2" "$folder/house/$1"
    if accepted; then fail "accepted: $2"; fi
    grep -qF -e "$3" "$folder/log" || fail "$2: another message: $(cat "$folder/log")"
}
house
accepted || fail "refused: $(cat "$folder/log")"
grep -q '^1 deprecated' "$folder/log" || fail "the deprecated function is not seen: $(cat "$folder/log")"
broken include/liana/some.h 's/since 1.2: //' 'expected "since MAJOR.MINOR: use liana_NAME"'
broken include/liana/some.h 's/use liana_new_name"/use liana_no_name"/' 'no liana_no_name'
broken VERSION 's/.*/2.0.0/' 'remove it, as this is 2.0.0'
broken CHANGELOG.md '/liana_old_name/d' "does not name it below '### Deprecated'"
broken CHANGELOG.md 's/Unreleased/Next/' 'expected "## [Unreleased]" first'
broken CHANGELOG.md 's/ - 2026-12-01//' 'expected "## [1.2.3] - 2026-12-31"'
broken CHANGELOG.md 's/1\.1\.10/1.2.10/' '1.2.10 stands below 1.2.0'
broken CHANGELOG.md 's/1\.2\.0/1.4.0/' '1.4.0 is newer than VERSION, 1.3.0'
broken CHANGELOG.md 's/### Added/### News/' 'expected Added, Changed, Deprecated'
"$root/scripts/check_deprecated.sh" >"$folder/log" 2>&1 || fail "the tree: $(cat "$folder/log")"
cat "$folder/log"
