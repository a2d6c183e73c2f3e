#!/bin/sh
# Whether training keeps its speed for hundreds of epochs: `make bench-long`. Nothing else should run.
#
#   bench/bench_long.sh [BUILD]    trains with BUILD/liana (default: build)
#   EPOCHS=175                     how long; the first one, which reads the files, does not count
#   STEPS=468                      steps of an epoch, of 128 images: all 60000
#   CONFIG=examples/mnist.yaml     what is trained, with a constant learning rate
#   LIANA_TEST_DATA=               where mnist/ is (default: ../shared/data beside the source tree)
#
# Late in training most gradients are next to nothing. The optimizer's values for them decay until they are denormal,
# which takes some 80,000 steps of Adam, and processors calculate with denormal numbers many times slower. One line for
# each precision says images/s of the first and of the last ten epochs (medians), and the second as a multiple of the
# first. On two cores that takes about ten minutes. Reports: BUILD/bench-long/PRECISION.json, liana's timing.json.
# `bench_step mnist --converged` has such a state at once.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-build}
epochs=${EPOCHS:-175}
steps=${STEPS:-468}
config=${CONFIG:-$here/../examples/mnist.yaml}
data=${LIANA_TEST_DATA:-$here/../../shared/data}/mnist
out=$build/bench-long

if [ ! -x "$build/liana" ]; then
    echo "bench_long.sh: $build/liana is missing; 'make bench-long' builds it" >&2
    exit 1
fi
if [ ! -d "$data" ]; then
    echo "bench_long.sh: there is no '$data'; LIANA_TEST_DATA says where mnist/ is" >&2
    exit 77
fi
if [ "$epochs" -lt 21 ]; then
    echo "bench_long.sh: EPOCHS is '$epochs', expected 21 at least: ten at either end, and the first" >&2
    exit 2
fi
rm -rf "$out"
mkdir -p "$out"

# median FROM TO < timing.json: images per second of these epochs
median() {
    grep -o '"examples_per_second": *[0-9.eE+-]*' | sed 's/.*: *//' | sed -n "$1,$2p" | sort -g |
        awk '{ rate[NR] = $1 } END { print (rate[int((NR + 1) / 2)] + rate[int(NR / 2) + 1]) / 2 }'
}

for precision in float32 mixed_bfloat16; do
    "$build/liana" train "$config" "data.train.images=$data/train-images-idx3-ubyte.gz" \
        "data.train.labels=$data/train-labels-idx1-ubyte.gz" data.validation=null data.repeat=true \
        train.optimizer.learning_rate=1e-3 train.batch_size=128 "train.steps_per_epoch=$steps" \
        "train.epochs=$epochs" "train.precision=$precision" --out "$out/run" --json >"$out/$precision.log" 2>&1 || {
        echo "bench_long.sh: training failed:" >&2
        tail -n 3 "$out/$precision.log" >&2
        exit 1
    }
    cp "$out/run/timing.json" "$out/$precision.json"
    rm -rf "$out/run"
    first=$(median 2 11 <"$out/$precision.json")
    last=$(median $((epochs - 9)) "$epochs" <"$out/$precision.json")
    awk -v precision="$precision" -v first="$first" -v last="$last" -v epochs="$epochs" 'BEGIN {
        printf "%-15s epochs 2 to 11: %8.0f images/s, %d to %d: %8.0f images/s, %.2f times as fast\n", precision, first,
            epochs - 9, epochs, last, last / first }'
done
