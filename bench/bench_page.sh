#!/bin/sh
# How fast the page of augmentations draws a perspective of 512 x 512 pixels in a browser: `make bench`, its last part.
# Nothing else should run.
#
#   bench/bench_page.sh [BUILD]        what is measured is a page of BUILD/liana (default: build)
#   SECONDS_EACH=3                     how long a corner moves
#   LIANA_PEERS=~/.cache/liana-peers   where scripts/install-peers.sh has put the browser's packages
#
# It prints JSON: the median and the slowest tenth of the milliseconds that one picture takes, from the new corner to the
# painted canvas, and the pictures a second while a corner moves in each frame. The browser has no GPU here; one that has
# shows no fewer.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:-build}" && pwd)
cd "$here/.."
. tests/checks/needs.sh
need_browser
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$build/liana" synth flowers --out "$folder/flowers" images=20 classes=2 image_size=512 >/dev/null
cat >"$folder/page.yaml" <<YAML
data: {train: flowers/train/*.tfrec, augment: [random_perspective]}
model: {layers: [GlobalAveragePooling2D, Dense: {units: 2, activation: softmax}]}
train: {epochs: 1, optimizer: SGD}
YAML
if ! "$build/liana" data "$folder/page.yaml" --html "$folder/page.html" >"$folder/said" 2>&1; then
    if grep -q 'without WebAssembly' "$folder/said"; then
        echo "skipped: liana was built without WebAssembly"
        exit 77
    fi
    cat "$folder/said" >&2
    exit 1
fi
node bench/bench_page.js "$folder/page.html" "${SECONDS_EACH:-3}"
