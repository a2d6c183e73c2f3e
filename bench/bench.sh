#!/bin/sh
# Training speed of liana and of PyTorch on the same machine, turn by turn: `make bench`. Nothing else should run.
#
#   bench/bench.sh [BUILD]     what is measured is BUILD/liana and BUILD/bench_steps (default: build)
#   ROUNDS=3                   turns that each program takes; the median counts
#   STEPS=25                   steps that the peer is measured for (ten times as many for MNIST)
#   THREADS=                   threads of both (default: the cores of this process)
#   WORKLOADS="..."            some of: flowers-step flowers-jpeg flowers-cached mnist-step mnist-files
#   PYTHON=/usr/bin/python3    the Python that has torch
#   LIANA_TEST_DATA=           where flowers192/ and mnist/ are (default: ../shared/data beside the source tree)
#
# A step is an update on one batch that is always there. The others train from files: flowers-jpeg decodes in every
# epoch, flowers-cached keeps decoded images in memory (liana's second epoch; the peer decodes before the first step).
# PyTorch is measured in the memory layouts and paddings that its users choose from, and its best is compared.
# Reports: BUILD/bench/WORKLOAD.PROGRAM.ROUND.json and BUILD/bench/table.txt. What is not there is left out, and said.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-build}
rounds=${ROUNDS:-3}
steps=${STEPS:-25}
threads=${THREADS:-$(nproc)}
workloads=${WORKLOADS:-flowers-step flowers-jpeg flowers-cached mnist-step mnist-files}
python=${PYTHON:-/usr/bin/python3}
data=${LIANA_TEST_DATA:-$here/../../shared/data}
out=$build/bench
export LIANA_THREADS="$threads"

for program in liana bench_steps; do
    if [ ! -x "$build/$program" ]; then
        echo "bench.sh: $build/$program is missing; 'make bench' builds it" >&2
        exit 1
    fi
done
rm -rf "$out"
mkdir -p "$out"

failed=0
skipped=
# skip TEXT: said once.
skip() {
    case $skipped in *"[$1]"*) return ;; esac
    skipped="${skipped}[$1]"
    echo "skipped: $1" >&2
}

have_peer=yes
status=0
"$python" "$here/pytorch_peer.py" --help >/dev/null 2>&1 || status=$?
if [ "$status" -ne 0 ]; then
    skip "the peer, $python cannot import torch, numpy and PIL (scripts/install-packages.sh --bench installs them)"
    have_peer=no
fi

# peer WORKLOAD VARIANT OPTIONS...
peer() {
    [ "$have_peer" = yes ] || return 0
    report=$out/$1.pytorch-$2.$round.json
    shift 2
    "$python" "$here/pytorch_peer.py" "$@" --threads "$threads" --out "$report" >/dev/null
}

# liana_steps WORKLOAD MODEL STEPS
liana_steps() {
    "$build/bench_steps" "$2" "$3" 3 >"$out/$1.liana.$round.json"
}

# liana_train WORKLOAD CONFIG OVERRIDES...: two epochs, of which the second counts.
liana_train() {
    workload=$1
    config=$here/../examples/$2
    shift 2
    rm -rf "$out/run"
    if "$build/liana" train "$config" train.epochs=2 data.validation=null data.test=null "$@" --out "$out/run" --json \
        >"$out/$workload.liana.$round.log"; then
        cp "$out/run/timing.json" "$out/$workload.liana.$round.json"
    else
        failed=1
    fi
    rm -rf "$out/run"
}

# train_flowers WORKLOAD OVERRIDES...
train_flowers() {
    workload=$1
    shift
    weights=$(find "$data/weights" -name 'mobilenet_v2_*_0.35_*_no_top.h5' 2>/dev/null | head -n 1)
    liana_train "$workload" flowers.yaml "data.train=$data/flowers192/train/*.tfrec" \
        "data.class_names=$data/flowers192/classes.txt" "model.weights=${weights:-null}" "$@"
}

# have_data FOLDER
have_data() {
    [ -d "$data/$1" ] && return 0
    skip "what needs $1, $data/$1 is not there"
    return 1
}

run_workload() {
    case $1 in
    flowers-step)
        liana_steps "$1" flowers "$steps"
        for layout in channels_last contiguous; do
            for padding in keras symmetric; do
                peer "$1" "$layout-$padding" flowers --layout "$layout" --padding "$padding" --steps "$steps"
            done
        done
        ;;
    flowers-jpeg)
        have_data flowers192 || return 0
        train_flowers "$1" data.cache=false
        for padding in keras symmetric; do
            peer "$1" "channels_last-$padding" flowers --input "$data/flowers192/train/*.tfrec" --padding "$padding" \
                --steps "$steps"
        done
        ;;
    flowers-cached)
        have_data flowers192 || return 0
        train_flowers "$1"
        for padding in keras symmetric; do
            peer "$1" "channels_last-$padding" flowers --input "$data/flowers192/train/*.tfrec" --padding "$padding" \
                --cache --steps "$steps"
        done
        ;;
    mnist-step)
        liana_steps "$1" mnist "$((steps * 10))"
        for layout in channels_last contiguous; do
            peer "$1" "$layout" mnist --layout "$layout" --steps "$((steps * 10))"
        done
        ;;
    mnist-files)
        have_data mnist || return 0
        liana_train "$1" mnist.yaml "data.train.images=$data/mnist/train-images-idx3-ubyte.gz" \
            "data.train.labels=$data/mnist/train-labels-idx1-ubyte.gz"
        for layout in channels_last contiguous; do
            peer "$1" "$layout" mnist --input "$data/mnist" --layout "$layout" --steps "$((steps * 10))"
        done
        ;;
    *)
        echo "bench.sh: there is no workload '$1'" >&2
        exit 2
        ;;
    esac
}

# rate WORKLOAD FILE: images per second. Single steps are all alike, so their median counts; where batches are made
# ahead the mean does; of liana's epochs the last.
rate() {
    key=images_per_second
    case $1 in *-step) key=images_per_second_median ;; esac
    grep -o "\"$key\": *[0-9.eE+-]*" "$2" | tail -n 1 | sed 's/.*: *//'
}

# middle: the median of the numbers on standard input.
middle() {
    sort -g | awk '{ x[NR] = $1 } END { if (NR) printf "%.1f", (x[int((NR + 1) / 2)] + x[int(NR / 2) + 1]) / 2 }'
}

# rates WORKLOAD PROGRAM: of all rounds, one in a line.
rates() {
    for report in "$out/$1.$2".[0-9]*.json; do
        if [ -f "$report" ]; then rate "$1" "$report"; fi
    done
}

# best_peer WORKLOAD: "rate variant" of the fastest variant.
best_peer() {
    for report in "$out/$1".pytorch-*.1.json; do
        [ -f "$report" ] || continue
        program=${report#"$out/$1."}
        program=${program%.1.json}
        echo "$(rates "$1" "$program" | middle) $program"
    done | sort -g | tail -n 1
}

# range: "lowest to highest" of the numbers on standard input.
range() {
    sort -g | awk 'NR == 1 { low = $1 } { high = $1 } END { if (NR) printf "%.1f to %.1f", low, high }'
}

print_row() {
    own=$(rates "$1" liana | middle)
    [ -n "$own" ] || return 0
    other=- ratio=- best=$(best_peer "$1")
    if [ -n "$best" ]; then
        program=${best#* }
        other=${best%% *}
        ratio=$(awk "BEGIN { printf \"%.2f\", $own / $other }")
        best="${program#pytorch-} ($(rates "$1" "$program" | range))"
    fi
    printf '%-16s %9s %22s %9s %6s  %s\n' "$1" "$own" "($(rates "$1" liana | range))" "$other" "$ratio" "$best"
}

print_table() {
    cpu=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)
    echo "$cpu, $threads threads, $("$build/liana" version | head -n 1)"
    echo "images per second of training, median of $rounds rounds (lowest to highest)"
    echo
    printf '%-16s %9s %22s %9s %6s  %s\n' workload liana '' PyTorch ratio 'by PyTorch'"'"'s best variant'
    for workload in $workloads; do
        print_row "$workload"
    done
}

round=1
while [ "$round" -le "$rounds" ]; do
    for workload in $workloads; do
        echo "round $round of $rounds: $workload" >&2
        run_workload "$workload"
    done
    round=$((round + 1))
done
print_table | tee "$out/table.txt"
exit "$failed"
