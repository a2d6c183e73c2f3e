#!/bin/sh
# `make docs`: the site is built without a word; every link and anchor in its HTML leads somewhere, as another program reads
# it; nothing is fetched from elsewhere; wrong links end the build with their place.
#   test_site.sh
set -eu
cd "$(dirname "$0")/../.."
. tests/checks/needs.sh
has_program cmark-gfm || exit 77
has_program python3 || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "test_site.sh: $*" >&2
    exit 1
}
python3 -B scripts/site/site.py . "$folder/site" >"$folder/said" 2>&1 || fail "the site is not built: $(cat "$folder/said")"
python3 -B tests/docs/check_site.py "$folder/site"

# A wrong link is caught.
mkdir -p "$folder/tree/docs/guides"
printf '# A\n\n[b](guides/b.md#a-place)\n' >"$folder/tree/docs/index.md"
printf '# B\n\n## A place\n\nWords.\n' >"$folder/tree/docs/guides/b.md"
python3 -B scripts/site/site.py "$folder/tree" "$folder/small" >/dev/null || fail "a good tree is refused"
python3 -B tests/docs/check_site.py "$folder/small" --few
for link in guides/c.md guides/b.md#another-place '#none'; do
    printf '# A\n\n[b](%s)\n' "$link" >"$folder/tree/docs/index.md"
    if python3 -B scripts/site/site.py "$folder/tree" "$folder/small" >"$folder/said" 2>&1; then fail "not caught: $link"; fi
    grep -q '^docs/index.md: ' "$folder/said" || fail "the place of $link is not said: $(cat "$folder/said")"
done
# Text of a document is no markup of the page.
printf '# <script>alert(1)</script> & "q"\n\n```\n<b>\n```\n' >"$folder/tree/docs/index.md"
python3 -B scripts/site/site.py "$folder/tree" "$folder/small" >/dev/null
grep -q '<title>.*<script' "$folder/small/docs/index.html" && fail "a title is markup"
echo "the site's links lead somewhere, and wrong ones are caught"
