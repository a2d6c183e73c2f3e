#!/bin/sh
# The input pipeline against bare libjpeg-turbo and PyTorch's DataLoader, in one run: `make bench-data`. Nothing else
# should run.
#
#   bench/bench_data.sh [BUILD]   what is measured is BUILD/bench_data (default: build)
#   ROUNDS=5                      turns that each contender takes; the median counts
#   PYTHON=/usr/bin/python3       the Python that has torch and torchvision; without them the peer is left out
#   LIANA_TEST_DATA=              where flowers192/ is (default: ../shared/data beside the source tree)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-build}
python=${PYTHON:-/usr/bin/python3}
data=${LIANA_TEST_DATA:-$here/../../shared/data}
out=$build/bench-data
if [ ! -x "$build/bench_data" ]; then
    echo "bench_data.sh: $build/bench_data is missing; 'make bench-data' builds it" >&2
    exit 1
fi
if [ ! -d "$data/flowers192" ]; then
    echo "skipped: no data (flowers192 in $data)" >&2
    exit 77
fi
mkdir -p "$out"
records=$out/records.jsonl
"$build/bench_data" "$data/flowers192/train/*.tfrec" "$out" "${ROUNDS:-5}" >"$records"
for augment in "" --augment; do
    # shellcheck disable=SC2086
    "$python" "$here/bench_data_peer.py" "$data/flowers192/train/*.tfrec" $augment >>"$records" ||
        echo "skipped: PyTorch's DataLoader" >&2
done
rm -f "$out"/*.images
cat "$records"
