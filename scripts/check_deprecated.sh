#!/bin/sh
# Checks the public headers and CHANGELOG.md against the rules of docs/guides/releasing.md:
#   - LIANA_DEPRECATED("since 1.2: use liana_name") says since when, and what to use instead: a name of the headers;
#   - what was deprecated in an earlier major version is removed in this one;
#   - CHANGELOG.md names what is deprecated, below '### Deprecated';
#   - CHANGELOG.md has the form of keepachangelog.com: [Unreleased] first, then versions with dates, newest first.
#   scripts/check_deprecated.sh [ROOT]
set -eu
cd "${1:-$(dirname "$0")/..}"
number=$(sed 's/[-+].*//' VERSION)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# One line for each use: file, the text, the name that is declared. A declaration may have several lines.
find include -name '*.h' | sort | while read -r header; do
    # Without comments and the macro itself.
    sed '/^#define/d' "$header" | tr '\n' ' ' | sed -E 's|/\*[^*]*\*+([^/*][^*]*\*+)*/||g' | grep -oE '[^#]LIANA_DEPRECATED\([^)]*\)[^;]*;' | sed "s|^.|$header	|" || true
done >"$folder/uses"
cat $(find include -name '*.h') | sed 's/LIANA_DEPRECATED([^)]*)//' >"$folder/headers"
awk '/^### / { on = $2 == "Deprecated" } on' CHANGELOG.md >"$folder/told"

bad=0
fail() {
    echo "$*" >&2
    bad=1
}
while IFS='	' read -r header use; do
    text=$(echo "$use" | sed -n 's/^LIANA_DEPRECATED("\([^"]*\)").*/\1/p')
    name=$(echo "$use" | sed 's/^LIANA_DEPRECATED([^)]*)//' | grep -oE '\bliana_[a-z0-9_]+\(' | head -n 1 | tr -d '(')
    since=$(echo "$text" | sed -n 's/^since \([0-9]*\.[0-9]*\): use liana_[a-z0-9_]*.*/\1/p')
    instead=$(echo "$text" | sed -n 's/^since [0-9.]*: use \(liana_[a-z0-9_]*\).*/\1/p')
    if [ -z "$since" ]; then
        fail "$header: ${name:-?}: found LIANA_DEPRECATED(\"$text\"), expected \"since MAJOR.MINOR: use liana_NAME\""
        continue
    fi
    grep -qE "\b$instead\b" "$folder/headers" || fail "$header: $name: the headers have no $instead, which is to be used instead"
    [ "${since%%.*}" = "${number%%.*}" ] || fail "$header: $name is deprecated since $since: remove it, as this is $number"
    grep -qF "$name" "$folder/told" || fail "$header: $name: CHANGELOG.md does not name it below '### Deprecated'"
done <"$folder/uses"

awk -v number="$number" '
    function fail(text) { print "CHANGELOG.md:" NR ": " text > "/dev/stderr"; bad = 1 }
    function key(version,    parts) { split(version, parts, "."); return parts[1] * 1e6 + parts[2] * 1e3 + parts[3] }
    /^## / {
        versions++
        before = $0 == "## Before 1.0.0"
        if (versions == 1 && $0 != "## [Unreleased]") fail("found \"" $0 "\", expected \"## [Unreleased]\" first")
        if (versions > 1 && !before) {
            if ($0 !~ /^## \[[0-9]+\.[0-9]+\.[0-9]+\] - [0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]$/) {
                fail("found \"" $0 "\", expected \"## [1.2.3] - 2026-12-31\"")
            } else {
                version = substr($2, 2, length($2) - 2)
                if (last != "" && key(version) >= key(last)) fail(version " stands below " last)
                if (key(version) > key(number)) fail(version " is newer than VERSION, " number)
                last = version
            }
        }
    }
    /^### / && !before && !/^### (Added|Changed|Deprecated|Removed|Fixed|Security)$/ {
        fail("found \"" $0 "\", expected Added, Changed, Deprecated, Removed, Fixed or Security")
    }
    END { if (!versions) fail("there is no version"); exit bad }' CHANGELOG.md || bad=1
[ $bad = 0 ] || exit 1
echo "$(wc -l <"$folder/uses") deprecated functions; CHANGELOG.md has its form"
