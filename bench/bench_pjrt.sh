#!/bin/sh
# What an update through liana costs on the PJRT plugin for CPUs, beside the same plugin running the StableHLO that JAX
# exports for the equivalent update, and beside JAX itself. Each is measured in turn, ROUNDS times; the best counts.
#   bench/bench_pjrt.sh [MODEL ...]     default MobileNetV2 ResNet50, at 96 pixels, batches of 8
# BUILD=build  SIZE=96  BATCH=8  SECONDS_EACH=10  ROUNDS=2
set -eu
here=$(dirname "$0")
build=${BUILD:-$here/../build}
size=${SIZE:-96}
batch=${BATCH:-8}
seconds=${SECONDS_EACH:-10}
rounds=${ROUNDS:-2}
[ $# -gt 0 ] || set -- MobileNetV2 ResNet50
packages=${JAXLIB_DIR:-${XDG_DATA_HOME:-$HOME/.local/share}/liana/jaxlib}/packages
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONPATH="$packages${PYTHONPATH:+:$PYTHONPATH}"

# The number behind a key of a JSON line.
number() {
    sed -n "s/.*\"$1\": \\([0-9.]*\\).*/\\1/p"
}
least() {
    awk -v a="$1" -v b="$2" 'BEGIN { print (a == "" || b < a) ? b : a }'
}

for model; do
    options="--image-size $size --batch $batch --seconds $seconds"
    # shellcheck disable=SC2086
    python3 "$here/jax_peer.py" "$model" $options --export "$work/update.mlir"
    ours= theirs= jax=
    round=0
    while [ "$round" -lt "$rounds" ]; do
        # shellcheck disable=SC2086
        rate=$("$build/bench_step" "$model" $options --microbatch "$batch" --device 'pjrt:cpu?cpu_device_count=1' \
            2>/dev/null | number images_per_second_median)
        ours=$(least "$ours" "$(awk -v n="$batch" -v r="$rate" 'BEGIN { print n / r }')")
        theirs=$(least "$theirs" "$("$build/bench_stablehlo" "$work/update.mlir" 'pjrt:cpu?cpu_device_count=1' "$seconds" \
            2>/dev/null | number seconds_median)")
        # shellcheck disable=SC2086
        rate=$(python3 "$here/jax_peer.py" "$model" $options 2>/dev/null | number images_per_second_median)
        jax=$(least "$jax" "$(awk -v n="$batch" -v r="$rate" 'BEGIN { print n / r }')")
        round=$((round + 1))
    done
    awk -v model="$model" -v a="$ours" -v b="$theirs" -v c="$jax" 'BEGIN {
        printf "%s: liana %.3f s, JAX'\''s StableHLO on the same plugin %.3f s (%.3f times), JAX itself %.3f s\n", \
            model, a, b, a / b, c }'
done
