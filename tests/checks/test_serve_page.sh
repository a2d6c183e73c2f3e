#!/bin/sh
# The page of `liana serve` in a browser.
#   test_serve_page.sh BUILD_FOLDER
set -eu
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
. tests/checks/needs.sh
need_browser
. tests/checks/beside.sh
sh tests/checks/serve_models.sh "$build" "$folder"
"$build/liana" serve "$folder/models" --port 0 >"$folder/served" 2>&1 &
beside=$!
address=$(wait_for_line 'listening at ' "$folder/served")
node tests/browser/serve.js "$address" "$folder/photo.jpg"
echo "pictures are predicted in a browser"
