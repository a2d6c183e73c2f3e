#!/bin/sh
# The site of the documents, opened from disk in a browser: the search finds keys, functions and words, by keyboard too; the
# console is clean, nothing is fetched; pages fit a phone, in the dark, and axe-core finds nothing serious.
#   LIANA_SCREENSHOTS=DIR keeps pictures
set -eu
cd "$(dirname "$0")/../.."
. tests/checks/needs.sh
need_browser
has_program cmark-gfm || exit 77
has_program python3 || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -B scripts/site/site.py . "$folder/site" >/dev/null
node tests/browser/site.js "$folder/site"
cd "$folder/site/docs"
node "$OLDPWD/tests/browser/look.js" index.html start/five-minutes.html reference/configuration.html reference/layers.html \
    reference/c/train.html answers.html
echo "the site's pages and its search work in a browser"
