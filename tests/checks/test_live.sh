#!/bin/sh
# `liana train --live` in a browser: values come within epochs and at their ends, pause, go on, checkpoint and stop act.
#   test_live.sh BUILD_FOLDER
set -eu
liana=$(cd "$1" && pwd)/liana
cd "$(dirname "$0")/../.."
. tests/checks/needs.sh
need_browser
. tests/checks/beside.sh
"$liana" synth flowers classes=3 images=1200 image_size=48 --out "$folder/data" >/dev/null
: >"$folder/log"
"$liana" train "data.train=$folder/data/train/*.tfrec" "data.validation=$folder/data/val/*.tfrec" train.epochs=1000 \
    'model.layers=[{Conv2D: {filters: 16, kernel_size: 5, strides: 2}}, GlobalAveragePooling2D, {Dense: {units: 3, activation: softmax}}]' \
    train.batch_size=8 train.threads=1 --out "$folder/run" --live >"$folder/log" 2>&1 &
beside=$!
address=$(wait_for_line 'live: ' "$folder/log")
node tests/browser/live.js "$address" "$folder/run"
status=0
wait "$beside" || status=$?
beside=
grep -q 'stopped on request' "$folder/log" || { cat "$folder/log" >&2; exit 1; }
[ ! -e "$folder/run/live.json" ] || { echo "test_live.sh: live.json is left behind" >&2; exit 1; }
echo "a training is watched and steered in a browser (it ended with $status)"
