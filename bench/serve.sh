#!/bin/sh
# `liana serve` with MobileNetV2 at 224 pixels, asked with JPEGs over 1 and 16 connections, and onnxruntime's run in Python
# with batches of 1 and 16 of the same model, without any HTTP. In turns, since machines are not equally fast all the time.
# Nothing else should run.
#
#   bench/serve.sh [BUILD]             what serves is BUILD/liana (default: build)
#   SECONDS_EACH=5 TURNS=3 THREADS=2   how long each part of a turn takes; turns; compute threads of both
#   LIANA_PEERS=~/.cache/liana-peers   where scripts/install-peers.sh onnx has put onnxruntime
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:-build}" && pwd)
cd "$here/.."
. tests/checks/needs.sh
need_peer onnx
. tests/checks/beside.sh
seconds=${SECONDS_EACH:-5}
threads=${THREADS:-2}
"$build/liana" synth flowers --out "$folder/data" images=12 classes=3 image_size=224 >/dev/null
"$build/liana" train "data.train=$folder/data/train/*.tfrec" "data.validation=$folder/data/val/*.tfrec" \
    model.base=MobileNetV2 train.epochs=1 train.batch_size=4 train.precision=float32 --out "$folder/run" \
    >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
"$build/liana" convert-model "$folder/run" "$folder/model.onnx" >/dev/null
python3 - "$folder" <<'PY'
import glob
import sys
records = open(sorted(glob.glob(sys.argv[1] + '/data/train/*.tfrec'))[0], 'rb').read()
start = records.index(b'\xff\xd8\xff')
open(sys.argv[1] + '/photo.jpg', 'wb').write(records[start:records.index(b'\xff\xd9', start) + 2])
PY
"$build/liana" serve "model=$folder/run" --port 0 --threads "$threads" --quiet >"$folder/served" 2>&1 &
beside=$!
port=$(wait_for_line 'listening at ' "$folder/served" | sed 's/.*:\([0-9]*\)\/$/\1/')
turn=0
while [ $turn -lt "${TURNS:-3}" ]; do
    turn=$((turn + 1))
    for count in 1 16; do
        printf 'liana serve, %s connections: ' $count
        "$build/bench_serve_load" "$port" /v1/models/model:classify "$folder/photo.jpg" $count "$seconds"
        printf 'onnxruntime, batches of %s:  ' $count
        "$peers/onnx/bin/python" bench/serve_peer.py "$folder/model.onnx" $count "$seconds" "$threads"
    done
done
curl -s "http://127.0.0.1:$port/metrics" | grep -E 'batch_examples_(sum|count)' || true
