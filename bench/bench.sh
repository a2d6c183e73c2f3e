#!/bin/sh
# liana and its peers on the same machine, turn by turn: `make bench`. Nothing else should run.
#
#   bench/bench.sh [BUILD]     what is measured is BUILD/liana and BUILD/bench_step (default: build)
#   ROUNDS=1                   turns that each program takes; the median of the turns counts, of ratios too (training
#                              from files takes every other turn)
#   KEEP=no                    yes: the records of BUILD/bench stay and these are added, so that a long measurement can be
#                              taken in parts. FIRST_ROUND=2 takes a part's turns from the second on
#   PEERS="..."                of: pytorch1 (Debian's 1.13), pytorch2, jax, tensorflow; default: all; none: liana alone
#   SETTINGS=likely            of each peer those that may be its best; all: every one, which takes several times as long
#   LIMIT=600                  seconds that one measurement of a peer may take, compilation included
#   STEPS=2 SECONDS_EACH=1.5   a measurement lasts at least so many steps and seconds (of inference, half)
#   THREADS=                   threads of all (default: the cores of this process)
#   WORKLOADS="..."            patterns of: train-NET infer32-NET infer1-NET (NET: MobileNetV2, ResNet50, ResNet50V2,
#                              EfficientNetB0, DenseNet121, Xception, InceptionV3, InceptionResNetV2, VGG16),
#                              flowers-step flowers-jpeg flowers-cached mnist-step mnist-converged mnist-files mlp-step
#                              start-mnist start-flowers start-mnist-fast, layers-LAYER avx2-LAYER (LAYER: lstm, gru,
#                              transformer, conv1d, conv3d, decoder, layer_norm_mlp); default: all but flowers-cached
#   PYTHON=/usr/bin/python3    the Python that has PyTorch 1.13
#   LIANA_PEERS=~/.cache/liana-peers    where scripts/install-peers.sh put today's peers
#   LIANA_TEST_DATA=           where flowers192/ and mnist/ are (default: ../shared/data beside the source tree)
#   DOCS=yes                   also writes the table into docs/performance.md and the picture into docs/images
#
# On two cores a round of everything takes about two hours, and one to two more the first time, when PyTorch 2 and JAX
# compile what later runs find in LIANA_PEERS/cache. WORKLOADS='mnist* mlp*' PEERS=pytorch2 takes two minutes.
#
# train, infer and -step work on one batch that is always there: at 192 x 192 with 104 classes, batch 32 in shards of
# 16, with Adam. layers and avx2 are such steps of networks that have one family of layers each, in float32 alone; for
# avx2 liana and its peers are told to use no instructions beyond AVX2. -converged is such a step late in training (bench_step.c). The others train from files: flowers-jpeg
# decodes in every epoch, flowers-cached keeps decoded images in memory (liana's second epoch; the peers decode before
# the first step). start-NAME is a whole process that trains one step, from its start to its end.
#
# Peers are measured in precisions, memory layouts and ways to compile that their users choose from; in further rounds
# only in what came out best. bench_peers.sh has them. Of PyTorch 1.13 'tuned' is what experts do on top: malloc keeps
# its pages (as jemalloc does in PyTorch's tuning guide), and inference goes through torch.jit; today's are all tuned
# so. Reports: BUILD/bench/records.jsonl, table.txt, table.json, plot.png, plot.svg. Missing parts are left out, and
# named.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-build}
rounds=${ROUNDS:-1}
first_round=${FIRST_ROUND:-1}
steps=${STEPS:-2}
seconds=${SECONDS_EACH:-1.5}
threads=${THREADS:-$(nproc)}
settings=${SETTINGS:-likely}
limit=${LIMIT:-600}
data=${LIANA_TEST_DATA:-$here/../../shared/data}
out=$build/bench
export LIANA_THREADS="$threads"

layers="lstm gru transformer conv1d conv3d decoder layer_norm_mlp"
nets="MobileNetV2 ResNet50 ResNet50V2 EfficientNetB0 DenseNet121 Xception InceptionV3 InceptionResNetV2 VGG16"
known=
for mode in train infer32 infer1; do
    for net in $nets; do known="$known $mode-$net"; done
done
for mode in layers avx2; do
    for layer in $layers; do known="$known $mode-$layer"; done
done
known="$known flowers-step flowers-jpeg flowers-cached mnist-step mnist-converged mnist-files mlp-step start-mnist"
known="$known start-flowers start-mnist-fast"

workloads=
set -f
for pattern in ${WORKLOADS:-train-* infer* layers-* avx2-* flowers-step flowers-jpeg m* start-*}; do
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
[ "${KEEP:-no}" = yes ] || rm -rf "$out"
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

. "$here/bench_peers.sh"
if [ "${PEERS:-}" != none ]; then
    # shellcheck disable=SC2086
    find_peers ${PEERS:-$known_peers}
fi
precisions="float32 mixed_bfloat16"

# half SECONDS
half() {
    awk "BEGIN { print $1 / 2 }"
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

# mnist_runs CONFIG OVERRIDES...
mnist_runs() {
    config=$1
    shift
    own_runs "$config" "data.train.images=$data/mnist/train-images-idx3-ubyte.gz" \
        "data.train.labels=$data/mnist/train-labels-idx1-ubyte.gz" "$@"
}

# convnet_runs OVERRIDES...: the network and batch that bench_step and the peers have.
convnet_runs() {
    first="Conv2D: {filters: 32, kernel_size: 3, activation: relu}, MaxPooling2D"
    second="Conv2D: {filters: 64, kernel_size: 3, activation: relu}, MaxPooling2D"
    last="Flatten, Dropout: {rate: 0.5}, Dense: {units: 10, activation: softmax}"
    mnist_runs mnist.yaml "model.layers=[$first, $second, $last]" train.batch_size=128 \
        train.optimizer.learning_rate=1e-3 "$@"
}

# have_data FOLDER
have_data() {
    [ -d "$data/$1" ] && return 0
    skip "what needs $1, $data/$1 is not there"
    return 1
}

run_workload() {
    workload=$1
    net=${1#*-}
    case $1 in
    *-jpeg | *-cached | *-files) [ "$((round % 2))" -eq 1 ] || return 0 ;;
    esac
    case $1 in
    layers-*)
        own float32 - "$build/bench_step" "$net" --steps "$steps" --warmup 2 --seconds "$seconds"
        peers_layers "$net"
        ;;
    avx2-*)
        cap="$avx2_cap"
        LIANA_MAX_ISA=avx2 own float32 - "$build/bench_step" "$net" --steps "$steps" --warmup 2 --seconds "$seconds"
        peers_layers "$net"
        cap=
        ;;
    train-*)
        own_steps "$net"
        # Once: it takes long, and steps are all alike.
        if [ "$round" -eq 1 ]; then
            LIANA_MAX_ISA=avx2 own "float32 avx2" - "$build/bench_step" "$net" --steps "$steps" --warmup 1 \
                --seconds "$seconds"
        fi
        peers_steps "$net"
        ;;
    infer32-*)
        own_steps "$net" --infer
        peers_steps "$net" --infer
        ;;
    infer1-*)
        own_steps "$net" --infer --batch 1 --microbatch 1
        peers_steps "$net" --infer --batch 1
        ;;
    flowers-step)
        own_steps flowers
        peers_flowers
        ;;
    flowers-jpeg)
        have_data flowers192 || return 0
        flowers_runs data.cache=false train.epochs=2
        peers_files --input "$data/flowers192/train/*.tfrec"
        ;;
    flowers-cached)
        have_data flowers192 || return 0
        flowers_runs train.epochs=2
        peers_files --input "$data/flowers192/train/*.tfrec" --cache
        ;;
    mnist-step)
        own_steps mnist
        peers_steps mnist
        ;;
    mnist-converged)
        own_steps mnist --converged
        choose_steps
        new_pytorch mnist --converged
        peer pytorch2 "fp32 eager, flushed" mnist --converged --flush-denormal --steps "$count" --warmup 1 \
            --seconds "$least"
        ;;
    mlp-step)
        own_steps mlp
        peers_steps mlp
        ;;
    mnist-files)
        have_data mnist || return 0
        convnet_runs train.epochs=2
        peers_steps mnist --input "$data/mnist"
        ;;
    start-mnist)
        have_data mnist || return 0
        convnet_runs train.epochs=1 train.steps_per_epoch=1 data.repeat=true
        peers_start mnist "$data/mnist"
        ;;
    start-flowers)
        have_data flowers192 || return 0
        flowers_runs train.epochs=1 train.steps_per_epoch=1 data.repeat=true
        peers_start flowers "$data/flowers192/train/*.tfrec"
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
round=$first_round
while [ "$round" -le "$rounds" ]; do
    for workload in $workloads; do
        echo "round $round of $rounds, $(($(date +%s) - started)) s: $workload" >&2
        run_workload "$workload"
    done
    round=$((round + 1))
done

cpu=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)
caption="${cpu:-unknown processor}, $threads threads, $("$build/liana" version | head -n 1), $(date -u +%Y-%m-%d)"
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
            print "![The same as bars: liana and its peers on one machine](../docs/images/bench.png)"
            inside = 1
        }
        /^<!-- bench: end -->$/ { inside = 0 }
        !inside || /^<!-- bench: end -->$/ { if (!/^<!-- bench: begin -->$/) print }' "$here/peers.md" \
        >"$out/peers.md"
    cp "$out/peers.md" "$here/peers.md"
    cp "$out/plot.png" "$docs/images/bench.png"
    cp "$out/plot.svg" "$docs/images/bench.svg"
fi
exit "$failed"
