#!/bin/sh
# The page of `liana serve` in a browser.
#   test_serve_page.sh BUILD_FOLDER
set -eu
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
. tests/checks/needs.sh
need_browser
folder=$(mktemp -d)
server=
end() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    wait
    rm -rf "$folder"
}
trap end EXIT
sh tests/checks/serve_models.sh "$build" "$folder"
"$build/liana" serve "$folder/models" --port 0 >"$folder/served" 2>&1 &
server=$!
tries=0
until grep -q '^listening at' "$folder/served"; do
    tries=$((tries + 1))
    if [ $tries -gt 300 ] || ! kill -0 "$server" 2>/dev/null; then cat "$folder/served" >&2; exit 1; fi
    sleep 0.1
done
node tests/browser/serve.js "$(sed -n 's/^listening at //p' "$folder/served")" "$folder/photo.jpg"
echo "pictures are predicted in a browser"
