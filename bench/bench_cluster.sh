#!/bin/sh
# Two processes of one thread against one process of two threads: bench/bench_cluster.sh [BUILD]. Nothing else should
# run.
#
#   NETWORKS="MobileNetV2 flowers ResNet50"   flowers is MobileNetV2 0.35 on JPEGs of 192 x 192; tiny tries the script
#   WAYS="process mirrored mpi zmq unmirrored encrypted one pytorch ddp pytorch_one"
#                     process: one process of two threads, what the others are compared with; mirrored: two devices in a
#                     process; mpi, zmq: two processes, by mpirun, and by liana launch through sockets in a folder;
#                     unmirrored: as zmq, without the second copy of the optimizer's state (cluster.mirrors: false);
#                     encrypted: the same as zmq over TCP with a key; one: one process of one thread; pytorch: Debian's PyTorch in
#                     a process of two threads; ddp: in two processes, DistributedDataParallel over gloo; pytorch_one: in a
#                     process of one thread
#   ROUNDS=3          turns of all ways; the median counts
#   DATA=FOLDER       flowers as TFRecords (train/*.tfrec, classes.txt); default: made by liana synth
#   PORT=29518        where the encrypted processes meet
#   IMAGES=1200       how many images are made
#   START=flowers     whose start is measured; none: nobody's
#   PRECISION=float32 what liana computes in; PyTorch computes in float32
#
# One line for each network and way: images per second, from the lowest to the highest, and the share of `process`,
# which is the median of the rounds' shares. The last lines are the start of four workers, from the command to the end
# of the first step.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=build
if [ $# -gt 0 ] && [ -x "$1/liana" ]; then build=$1; fi
build=$(cd "$build" && pwd)
networks=${NETWORKS:-"MobileNetV2 flowers ResNet50"}
ways=${WAYS:-"process mirrored mpi zmq unmirrored encrypted one pytorch ddp pytorch_one"}
rounds=${ROUNDS:-3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# PyTorch's malloc keeps its pages, as its guide says: that makes it up to twice as fast.
export MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=17179869184

data=${DATA:-}
if [ -z "$data" ]; then
    data=$folder/photos
    "$build/liana" synth flowers classes=5 images="${IMAGES:-1200}" image_size=192 --out "$data" >"$folder/log"
fi
data=$(cd "$data" && pwd)
"$build/liana" cluster keys "$folder/keys" >"$folder/log"

# Batches and shards are even numbers of leaves; the second epoch, whose images are decoded, counts.
configure() {
    case $1 in
    flowers) model='base: MobileNetV2, alpha: 0.35, dropout: 0.05' batch=64 steps=12 ;;
    ResNet50) model="base: $1" batch=32 steps=6 ;;
    tiny) model='layers: [Conv2D: {filters: 4, kernel_size: 5, strides: 4}, GlobalAveragePooling2D, Dense: {units: 5, activation: softmax}]' batch=32 steps=2 ;;
    *) model="base: $1" batch=32 steps=24 ;;
    esac
    cat >"$folder/$1.yaml" <<YAML
data: {train: $data/train/*.tfrec, class_names: $data/classes.txt}
model: {$model}
train: {batch_size: $batch, microbatch: 16, epochs: 2, steps_per_epoch: $steps, precision: ${PRECISION:-float32}}
YAML
}

rate_of() {
    sed -n 's/.*"images_per_second": *\([0-9.]*\).*/\1/p' "$1" | tail -1
}

# train NETWORK WAY: images per second
train() {
    out=$folder/run
    rm -rf "$out"
    config=$folder/$1.yaml
    export LIANA_THREADS=1
    case $2 in
    process) LIANA_THREADS=2 "$build/liana" train "$config" --out "$out" ;;
    one) "$build/liana" train "$config" --out "$out" ;;
    mirrored)
        LIANA_THREADS=2 "$build/liana" train "$config" --out "$out" \
            'train.strategy={name: mirrored, replicas: 2, threads: 1}'
        ;;
    mpi) mpirun -n 2 "$build/liana" train "$config" --out "$out" ;;
    zmq) "$build/liana" launch -n 2 "$config" --out "$out" ;;
    unmirrored) "$build/liana" launch -n 2 "$config" --out "$out" cluster.mirrors=false ;;
    encrypted)
        export LIANA_CLUSTER_KEYS="$folder/keys" WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT="${PORT:-29518}"
        RANK=1 "$build/liana" train "$config" --out "$out" &
        RANK=0 "$build/liana" train "$config" --out "$out"
        wait
        unset LIANA_CLUSTER_KEYS WORLD_SIZE MASTER_ADDR MASTER_PORT
        ;;
    esac >"$folder/log" 2>&1 </dev/null || { cat "$folder/log" >&2; exit 1; }
    rate_of "$out/timing.json"
}

peer() {
    input=
    [ "$1" = flowers ] && input="--input $data/train/*.tfrec"
    processes=1 threads=2
    [ "$2" = ddp ] && processes=2
    [ "$2" = pytorch_one ] && threads=1
    # shellcheck disable=SC2086
    (set -f; /usr/bin/python3 "$here/pytorch_ddp.py" "$1" $input --processes $processes --threads $threads --steps 4 --warmup 2) \
        >"$folder/log" 2>"$folder/why" || { cat "$folder/why" >&2; return 0; }
    rate_of "$folder/log"
}

for round in $(seq "$rounds"); do
    for network in $networks; do
        configure "$network"
        for way in $ways; do
            case $way in
            pytorch | ddp | pytorch_one) peer "$network" "$way" ;;
            *) train "$network" "$way" ;;
            esac >>"$folder/rates.$network.$way"
        done
    done
done

# middle: the median, least and most of the numbers that are read
middle() {
    sort -g | awk '{ v[NR] = $1 } END { if (NR) print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2, v[1], v[NR] }'
}

printf '%-14s %-11s %10s %22s %8s\n' network way images/s "lowest to highest" share
for network in $networks; do
    for way in $ways; do
        rates=$folder/rates.$network.$way base=$folder/rates.$network.process share=
        if [ "$way" != process ] && [ -e "$base" ] && [ "$(wc -l <"$base")" = "$(wc -l <"$rates")" ]; then
            share=$(paste "$base" "$rates" | awk '{ print $2 / $1 }' | middle)
        fi
        middle <"$rates" | awk -v network="$network" -v way="$way" -v share="${share%% *}" '
            { printf "%-14s %-11s %10.1f %22s %8s\n", network, way, $1, sprintf("%.1f to %.1f", $2, $3),
                  share == "" ? "" : sprintf("%.3f", share) }
            END { if (!NR) printf "%-14s %-11s %10s\n", network, way, "-" }'
    done
done

# The start: with as many threads as the machine has cores, shared out.
unset LIANA_THREADS
for network in ${START:-flowers}; do
    [ "$network" != none ] || continue
    configure "$network"
    for count in 1 4; do
        for turn in 1 2 3; do
            rm -rf "$folder/run"
            "$build/liana" launch -n $count "$folder/$network.yaml" --out "$folder/run" --json train.epochs=1 \
                train.steps_per_epoch=1 | awk -v begin="$(date +%s.%N)" '
                    /"event": "(step|epoch)"/ && !done { done = 1; "date +%s.%N" | getline now; printf "%.3f\n", now - begin }'
        done | sort -g | sed -n "2s/^/start of $count of $network, s: /p"
    done
done
