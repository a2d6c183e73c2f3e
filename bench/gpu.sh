#!/bin/sh
# liana's speed on an accelerator, against JAX on the same one: bench/gpu.sh [MODEL ...]
#   DEVICE=gpu      as train.device; 'pjrt:cpu?cpu_device_count=1' tries the script without an accelerator
#   BATCH=256  SIZE=224  SECONDS_EACH=10  ROUNDS=3  PRECISION=mixed_bfloat16 (or float32)
#   JAX_PYTHON=     a Python with JAX for this accelerator (default: scripts/install-peers.sh's)
#   TORCH_PYTHON=   a Python with PyTorch 2 for it (default: scripts/install-peers.sh's); without a GPU it is left out
#   FLOWERS=        a configuration whose input is measured (default: examples/flowers.yaml, JPEGs, if its data are there)
#   FLOWERS_MORE=   more settings for it: FLOWERS_MORE=data.train.take=320 is a short one
#   MNIST=          a small network, trained with 1 and with STEPS=16 updates in an execution (default: examples/mnist.yaml);
#   MNIST_MORE=     more settings for it: MNIST_MORE=data.train.take=2000 is a short one
# Models: default ResNet50 EfficientNetB0 MobileNetV2. A line for each: images per second, medians of the rounds, which
# are measured in turn. Then MNIST's images per second in its second epoch, and the share of an epoch of FLOWERS that
# waits for its input. Missing parts are left out, and named.
set -eu
here=$(dirname "$0")
build=${BUILD:-$here/../build}
device=${DEVICE:-gpu}
batch=${BATCH:-256}
size=${SIZE:-224}
seconds=${SECONDS_EACH:-10}
rounds=${ROUNDS:-3}
precision=${PRECISION:-mixed_bfloat16}
peers=${LIANA_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/liana-peers}
jax=${JAX_PYTHON:-$peers/jax/bin/python}
torch=${TORCH_PYTHON:-$peers/torch/bin/python}
flowers=${FLOWERS:-$here/../examples/flowers.yaml}
mnist=${MNIST:-$here/../examples/mnist.yaml}
steps=${STEPS:-16}
[ $# -gt 0 ] || set -- ResNet50 EfficientNetB0 MobileNetV2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

case $precision in
float32) peer_precision=float32 torch_precision=fp32 ;;
*) peer_precision=bfloat16 torch_precision=bf16 ;;
esac

# The number behind a key of a JSON line.
number() {
    sed -n "s/.*\"$1\": \\([0-9.e+-]*\\).*/\\1/p" | tail -1
}
median() {
    sort -g "$1" | awk '{ v[NR] = $1 } END { if (NR) printf "%.1f", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2
        else printf "-" }'
}
ratio() {
    awk -v a="$1" -v b="$2" 'BEGIN { if (a > 0 && b > 0) printf "%.2f", a / b; else printf "-" }'
}
# can NAME COMMAND...: whether a peer can run here; else it is named once.
can() {
    name=$1
    shift
    if "$@" >/dev/null 2>"$work/why"; then
        return 0
    fi
    echo "gpu.sh: $name is left out: $(tail -1 "$work/why")" >&2
    return 1
}
has_jax= has_torch=
can JAX "$jax" "$here/jax_peer.py" --help && has_jax=yes
can "PyTorch 2" "$torch" -c 'import torch; assert torch.cuda.is_available(), "it sees no GPU"' && has_torch=yes

"$build/liana" devices "$device" >&2 || true
printf '%-16s %10s %10s %7s %14s %7s\n' "images/s" liana JAX ratio torch.compile ratio
for model; do
    rm -f "$work"/*.txt
    : >"$work/liana.txt"
    : >"$work/jax.txt"
    : >"$work/torch.txt"
    options="--image-size $size --batch $batch --seconds $seconds"
    for _ in $(seq "$rounds"); do
        # shellcheck disable=SC2086
        "$build/bench_step" "$model" $options --microbatch "$batch" --precision "$precision" --device "$device" \
            2>>"$work/errors" | number images_per_second_median >>"$work/liana.txt"
        # shellcheck disable=SC2086
        [ -z "$has_jax" ] || "$jax" "$here/jax_peer.py" "$model" $options --precision "$peer_precision" \
            2>>"$work/errors" | number images_per_second_median >>"$work/jax.txt"
        # shellcheck disable=SC2086
        [ -z "$has_torch" ] || "$torch" "$here/pytorch_peer.py" "$model" $options --precision "$torch_precision" \
            --layout channels_last --compile --device cuda 2>>"$work/errors" |
            number images_per_second_median >>"$work/torch.txt"
    done
    a=$(median "$work/liana.txt")
    b=$(median "$work/jax.txt")
    c=$(median "$work/torch.txt")
    [ "$a" != - ] || { tail -3 "$work/errors" >&2; exit 1; }
    printf '%-16s %10s %10s %7s %14s %7s\n' "$model" "$a" "$b" "$(ratio "$a" "$b")" "$c" "$(ratio "$a" "$c")"
done

for together in 1 "$steps"; do
    # shellcheck disable=SC2086
    if "$build/liana" train "$mnist" --json --out "$work/mnist-$together" train.device="$device" train.epochs=2 \
        train.steps_per_execution="$together" train.precision="$precision" ${MNIST_MORE:-} >"$work/mnist" 2>"$work/why"; then
        printf '%s, updates in an execution: %s, images/s: %.0f\n' "$(basename "$mnist")" "$together" \
            "$(grep '"event": "epoch"' "$work/mnist" | number images_per_second)"
    else
        echo "gpu.sh: $mnist is left out: $(tail -1 "$work/why")" >&2
    fi
done

# The second epoch: the first one reads files that are not in memory yet.
# shellcheck disable=SC2086
if "$build/liana" train "$flowers" --json --out "$work/flowers" train.device="$device" train.epochs=2 ${FLOWERS_MORE:-} \
    >"$work/epochs" 2>"$work/why"; then
    rate=$(grep '"event": "epoch"' "$work/epochs" | number images_per_second)
    wait=$(grep '"event": "epoch"' "$work/epochs" | number input_wait)
    awk -v r="$rate" -v w="$wait" -v name="$(basename "$flowers")" \
        'BEGIN { printf "%s, images/s: %.0f, %.1f%% of the time waits for input\n", name, r, 100 * w }'
else
    echo "gpu.sh: $flowers is left out: $(tail -1 "$work/why")" >&2
fi
