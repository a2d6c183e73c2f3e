#!/bin/sh
# The cost of an update through liana on the PJRT plugin for CPUs, against the same plugin running the StableHLO that
# JAX exports for the equivalent update, and against JAX itself.
#   bench/bench_pjrt.sh [MODEL ...]     default MobileNetV2 ResNet50, at 96 pixels, batches of 8
# BUILD=build SIZE=96 BATCH=8 SECONDS_EACH=20 ROUNDS=2 The first two run in one process, in turn, so that both have the
# same machine: the ratio is the median over pairs. JAX has a process of its own. Compile times are of the plugin alone;
# the last one is a start from liana's programs on disk.
set -eu
here=$(dirname "$0")
build=${BUILD:-$here/../build}
size=${SIZE:-96}
batch=${BATCH:-8}
seconds=${SECONDS_EACH:-20}
rounds=${ROUNDS:-2}
[ $# -gt 0 ] || set -- MobileNetV2 ResNet50
# Both peers are scripts/install-peers.sh's.
peers=${LIANA_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/liana-peers}
python=$peers/jax/bin/python
export LIANA_PLUGIN_PATH="$peers/plugin"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# number KEY FILE: the numbers behind a key of JSON lines.
number() {
    sed -n "s/.*\"$1\": \\([0-9.]*\\).*/\\1/p" "$2"
}
# middle KEY FILE: their median.
middle() {
    number "$1" "$2" | sort -g | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

for model; do
    options="--image-size $size --batch $batch"
    rm -rf "$work"/*
    # shellcheck disable=SC2086
    "$python" "$here/jax_peer.py" "$model" $options --seconds 1 --export "$work/update.mlir"
    update() {
        # shellcheck disable=SC2086
        "$build/bench_step" "$model" $options --seconds "$1" --microbatch "$batch" --steps "$2" --warmup "$2" \
            --device 'pjrt:cpu?cpu_device_count=1' --against "$work/update.mlir" 2>/dev/null
    }
    round=0
    while [ "$round" -lt "$rounds" ]; do
        LIANA_PROGRAM_CACHE='' update "$seconds" 3 >>"$work/both"
        # shellcheck disable=SC2086
        "$python" "$here/jax_peer.py" "$model" $options --seconds "$seconds" 2>/dev/null >>"$work/jax"
        round=$((round + 1))
    done
    for start in first second; do LIANA_PROGRAM_CACHE=$work/programs update 0 1 >"$work/$start"; done
    jax=$(awk -v n="$batch" -v r="$(middle images_per_second_median "$work/jax")" 'BEGIN { printf "%.3f", n / r }')
    printf '%s: liana %.3f s, JAX'\''s StableHLO on the same plugin %.3f s, ratio %.3f; JAX itself %s s\n' "$model" \
        "$(middle seconds_median "$work/both")" "$(middle against_seconds_median "$work/both")" \
        "$(middle ratio_median "$work/both")" "$jax"
    printf '%s: compiled in %.1f s, JAX'\''s StableHLO in %.1f s; from disk in %.2f s\n' "$model" \
        "$(middle compile_seconds "$work/both")" "$(middle against_compile_seconds "$work/both")" \
        "$(number compile_seconds "$work/second")"
done
