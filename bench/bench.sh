#!/bin/sh
# liana and PyTorch on the same machine, turn by turn: `make bench`. Nothing else should run.
#
#   bench/bench.sh [BUILD]     what is measured is BUILD/liana and BUILD/bench_step (default: build)
#   ROUNDS=3                   turns that each program takes; the median counts (inference and training from files take
#                              every other one, so that all of it ends within a quarter of an hour)
#   STEPS=2 SECONDS_EACH=1.5   a measurement lasts at least so many steps and seconds (of inference, half)
#   THREADS=                   threads of both (default: the cores of this process)
#   WORKLOADS="..."            patterns of: train-NET infer32-NET infer1-NET (NET: MobileNetV2, ResNet50,
#                              EfficientNetB0, DenseNet121), flowers-step flowers-jpeg flowers-cached mnist-step
#                              mnist-files mlp-step start-mnist start-flowers start-mnist-fast; default: all but flowers-cached
#   PYTHON=/usr/bin/python3    the Python that has torch
#   LIANA_TEST_DATA=           where flowers192/ and mnist/ are (default: ../shared/data beside the source tree)
#   DOCS=yes                   also writes the table into docs/performance.md and the picture into docs/images
#
# train, infer and -step work on one batch that is always there: at 192 x 192 with 104 classes, batch 32 in shards of
# 16, with Adam. The others train from files: flowers-jpeg decodes in every epoch, flowers-cached keeps decoded images in
# memory (liana's second epoch; the peer decodes before the first step). start-NAME is a whole process that trains one
# step, from its start to its end.
#
# PyTorch is measured in both precisions and memory layouts (and paddings) that its users choose from; its best ones go
# on to the next rounds. 'tuned' is what experts do on top: malloc keeps its pages (as jemalloc does in PyTorch's tuning
# guide), and inference goes through torch.jit.
# Reports: BUILD/bench/records.jsonl, table.txt, table.json, plot.png, plot.svg. What is not there is left out, and said.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-build}
rounds=${ROUNDS:-3}
steps=${STEPS:-2}
seconds=${SECONDS_EACH:-1.5}
threads=${THREADS:-$(nproc)}
python=${PYTHON:-/usr/bin/python3}
data=${LIANA_TEST_DATA:-$here/../../shared/data}
out=$build/bench
export LIANA_THREADS="$threads"

nets="MobileNetV2 ResNet50 EfficientNetB0 DenseNet121"
known=
for mode in train infer32 infer1; do
    for net in $nets; do known="$known $mode-$net"; done
done
known="$known flowers-step flowers-jpeg flowers-cached mnist-step mnist-files mlp-step start-mnist start-flowers"
known="$known start-mnist-fast"

workloads=
set -f
for pattern in ${WORKLOADS:-train-* infer* flowers-step flowers-jpeg m* start-*}; do
    found=
    for workload in $known; do
        # shellcheck disable=SC2254
        case $workload in $pattern) workloads="$workloads $workload" found=yes ;; esac
    done
    if [ -z "$found" ]; then
        echo "bench.sh: there is no workload '$pattern', expected patterns of:$known" >&2
        exit 2
    fi
done
set +f

for program in liana bench_step bench_run bench_report; do
    if [ ! -x "$build/$program" ]; then
        echo "bench.sh: $build/$program is missing; 'make bench' builds it" >&2
        exit 1
    fi
done
rm -rf "$out"
mkdir -p "$out"
records=$out/records.jsonl

failed=0
skipped=
# skip TEXT: said once.
skip() {
    case $skipped in *"[$1]"*) return ;; esac
    skipped="${skipped}[$1]"
    echo "skipped: $1" >&2
}

have_peer=yes
"$python" "$here/pytorch_peer.py" --help >/dev/null 2>&1 || {
    skip "the peer, $python cannot import torch and numpy (scripts/install-packages.sh --bench installs them)"
    have_peer=no
}
precisions="float32 mixed_bfloat16"

# peer VARIANT OPTIONS...: in the first round every variant, later those that were its best of their kind.
peer() {
    [ "$have_peer" = yes ] || return 0
    variant=$1
    shift
    if [ "$round" -gt 1 ] && ! "$build/bench_report" best "$records" "$workload" | grep -qxF "$variant"; then return; fi
    set -- "$python" "$here/pytorch_peer.py" "$@" --threads "$threads"
    case $variant in tuned*) set -- env MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=17179869184 "$@" ;; esac
    # What it cannot do is part of the result.
    "$build/bench_run" "$records" "$workload" PyTorch "$variant" "$round" - "$@" || true
}

# half SECONDS
half() {
    awk "BEGIN { print $1 / 2 }"
}

# peer_steps MODEL OPTIONS...: one batch, in each precision and layout.
peer_steps() {
    # The first round only chooses: where a step takes long, one is enough.
    count=$steps least=$seconds
    case $workload in infer*) least=$(half "$seconds") ;; esac
    if [ "$round" -eq 1 ] && [ "$rounds" -gt 1 ]; then count=1 least=1; fi
    for precision in fp32 bf16; do
        for layout in channels_last contiguous; do
            peer "$precision $layout" "$@" --precision "$precision" --layout "$layout" --steps "$count" --warmup 1 \
                --seconds "$least"
        done
        case $workload in infer*) continue ;; esac
        peer "tuned $precision channels_last" "$@" --precision "$precision" --steps "$count" --warmup 1 \
            --seconds "$least"
    done
}

# peer_frozen MODEL OPTIONS...
peer_frozen() {
    # What torch.jit makes is ready after a few calls.
    peer "tuned fp32 contiguous torch.jit" "$@" --frozen --layout contiguous --steps "$count" --warmup 2 \
        --seconds "$least"
    peer "tuned bf16 channels_last torch.jit" "$@" --frozen --precision bf16 --steps "$count" --warmup 2 \
        --seconds "$least"
}

# own VARIANT RESULT COMMAND...
own() {
    variant=$1
    result=$2
    shift 2
    "$build/bench_run" "$records" "$workload" liana "$variant" "$round" "$result" "$@" || failed=1
}

# own_steps MODEL OPTIONS...
own_steps() {
    least=$seconds
    case $workload in infer*) least=$(half "$seconds") ;; esac
    for precision in $precisions; do
        own "$precision" - "$build/bench_step" "$@" --precision "$precision" --steps "$steps" --warmup 1 \
            --seconds "$least"
    done
}

# own_run VARIANT CONFIG OVERRIDES...: `liana train`.
own_run() {
    variant=$1
    config=$here/../examples/$2
    shift 2
    rm -rf "$out/run"
    own "$variant" "$out/run/timing.json" "$build/liana" train "$config" data.validation=null data.test=null "$@" \
        --out "$out/run" --json
    rm -rf "$out/run"
}

# own_runs CONFIG OVERRIDES...: in each precision.
own_runs() {
    for precision in $precisions; do
        own_run "$precision" "$@" "train.precision=$precision"
    done
}

flowers_runs() {
    weights=$(find "$data/weights" -name 'mobilenet_v2_*_0.35_*_no_top.h5' 2>/dev/null | head -n 1)
    own_runs flowers.yaml "data.train=$data/flowers192/train/*.tfrec" \
        "data.class_names=$data/flowers192/classes.txt" "model.weights=${weights:-null}" "$@"
}

mnist_runs() {
    config=$1
    shift
    own_runs "$config" "data.train.images=$data/mnist/train-images-idx3-ubyte.gz" \
        "data.train.labels=$data/mnist/train-labels-idx1-ubyte.gz" "$@"
}

# have_data FOLDER
have_data() {
    [ -d "$data/$1" ] && return 0
    skip "what needs $1, $data/$1 is not there"
    return 1
}

# files_peer OPTIONS...: whole epochs have no first steps to leave out but the ones that start the workers.
files_peer() {
    for precision in fp32 bf16; do
        for padding in keras symmetric; do
            peer "$precision channels_last-$padding" "$@" --precision "$precision" --padding "$padding" --steps 12 \
                --warmup 2 --seconds "$seconds"
        done
    done
}

zoo_peer() {
    peer_steps "$@"
    case $workload in infer*) [ "$have_peer" = no ] || peer_frozen "$@" ;; esac
}

run_workload() {
    workload=$1
    net=${1#*-}
    case $1 in
    infer* | *-jpeg | *-cached | *-files) [ "$((round % 2))" -eq 1 ] || return 0 ;;
    esac
    case $1 in
    train-*)
        own_steps "$net"
        # Once: it takes long, and steps are all alike.
        if [ "$round" -eq 1 ]; then
            LIANA_MAX_ISA=avx2 own "float32 avx2" - "$build/bench_step" "$net" --steps "$steps" --warmup 1 \
                --seconds "$seconds"
        fi
        zoo_peer "$net"
        ;;
    infer32-*)
        own_steps "$net" --infer
        zoo_peer "$net" --infer
        ;;
    infer1-*)
        own_steps "$net" --infer --batch 1 --microbatch 1
        zoo_peer "$net" --infer --batch 1
        ;;
    flowers-step)
        own_steps flowers
        for padding in keras symmetric; do
            peer "fp32 contiguous-$padding" flowers --layout contiguous --padding "$padding"
            for precision in fp32 bf16; do
                peer "$precision channels_last-$padding" flowers --precision "$precision" --padding "$padding"
                peer "tuned $precision channels_last-$padding" flowers --precision "$precision" --padding "$padding"
            done
        done
        ;;
    flowers-jpeg)
        have_data flowers192 || return 0
        flowers_runs data.cache=false train.epochs=2
        files_peer flowers --input "$data/flowers192/train/*.tfrec"
        ;;
    flowers-cached)
        have_data flowers192 || return 0
        flowers_runs train.epochs=2
        files_peer flowers --input "$data/flowers192/train/*.tfrec" --cache
        ;;
    mnist-step)
        own_steps mnist
        peer_steps mnist
        ;;
    mlp-step)
        own_steps mlp
        peer_steps mlp
        ;;
    mnist-files)
        have_data mnist || return 0
        mnist_runs mnist.yaml train.epochs=2
        peer_steps mnist --input "$data/mnist"
        ;;
    start-mnist)
        have_data mnist || return 0
        mnist_runs mnist.yaml train.epochs=1 train.steps_per_epoch=1 data.repeat=true
        peer "fp32 channels_last" mnist --input "$data/mnist" --steps 1 --warmup 0 --seconds 0
        ;;
    start-flowers)
        have_data flowers192 || return 0
        flowers_runs train.epochs=1 train.steps_per_epoch=1 data.repeat=true
        peer "fp32 channels_last" flowers --input "$data/flowers192/train/*.tfrec" --steps 1 --warmup 0 --seconds 0
        ;;
    start-mnist-fast)
        have_data mnist || return 0
        if [ ! -e "$here/../examples/mnist_fast.yaml" ]; then
            skip "start-mnist-fast, there is no examples/mnist_fast.yaml"
            return 0
        fi
        mnist_runs mnist_fast.yaml
        ;;
    esac
}

started=$(date +%s)
round=1
while [ "$round" -le "$rounds" ]; do
    for workload in $workloads; do
        echo "round $round of $rounds, $(($(date +%s) - started)) s: $workload" >&2
        run_workload "$workload"
    done
    round=$((round + 1))
done

cpu=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)
peer_name=
if [ "$have_peer" = yes ]; then
    peer_name=", PyTorch $("$python" -c 'import torch; print(torch.__version__)')"
fi
caption="${cpu:-unknown processor}, $threads threads, $("$build/liana" version | head -n 1)$peer_name, $(date -u +%Y-%m-%d)"
echo >&2
"$build/bench_report" write "$records" "$out" "$caption"
if [ "${DOCS:-no}" = yes ]; then
    docs=$here/../docs
    awk -v table="$out/table.txt" '
        /^<!-- bench: begin -->$/ {
            print
            print "```"
            while ((getline line < table) > 0) print line
            print "```"
            print ""
            print "![The same as bars: liana and PyTorch on one machine](images/bench.png)"
            inside = 1
        }
        /^<!-- bench: end -->$/ { inside = 0 }
        !inside || /^<!-- bench: end -->$/ { if (!/^<!-- bench: begin -->$/) print }' "$docs/performance.md" \
        >"$out/performance.md"
    cp "$out/performance.md" "$docs/performance.md"
    cp "$out/plot.png" "$docs/images/bench.png"
    cp "$out/plot.svg" "$docs/images/bench.svg"
fi
exit "$failed"
