#!/bin/sh
# The command on processors that are not here, emulated by qemu: one with AVX2 but without AVX-512, and one without AVX.
# A few steps of training must give this processor's results under the same instruction set.
#   test_small_processors.sh BUILD_FOLDER
set -eu
unset LIANA_MAX_ISA # each run says which
liana=$(cd "$1" && pwd)/liana
. "$(dirname "$0")/needs.sh"
if [ "$(uname -m)" != x86_64 ]; then
    echo "skipped: this is no x86-64"
    exit 77
fi
has_program qemu-x86_64 || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
fail() {
    echo "test_small_processors.sh: $1" >&2
    exit 1
}

"$liana" synth flowers classes=3 images=48 image_size=32 --out flowers >/dev/null
# Odd numbers of channels, every kind of convolution, pooling; two shards of four and a last batch of two and one.
cat >tiny.yaml <<'YAML'
data: {train: flowers/train/*.tfrec, validation: flowers/val/*.tfrec, class_names: flowers/classes.txt}
model:
  layers:
    - Conv2D: {filters: 8, kernel_size: 3, strides: 2, padding: same, use_bias: false}
    - BatchNormalization
    - ReLU: {max_value: 6.0}
    - DepthwiseConv2D: {kernel_size: 3, padding: same, use_bias: false}
    - BatchNormalization
    - ReLU
    - Conv2D: {filters: 13, kernel_size: 1, activation: relu}
    - MaxPooling2D
    - Conv2D: {filters: 11, kernel_size: 3, activation: swish}
    - GlobalAveragePooling2D
    - Dropout: {rate: 0.2}
    - Dense: {units: 3, activation: softmax}
train: {epochs: 1, batch_size: 8, microbatch: 4, seed: 3}
YAML

# compare CPU ISA PRECISION
compare() {
    rm -rf "native-$2" "emulated-$2"
    LIANA_MAX_ISA=$2 "$liana" train tiny.yaml "train.precision=$3" --out "native-$2" --json >"native-$2.log" 2>&1 ||
        fail "held to $2: $(cat "native-$2.log")"
    emulate "$1" "$liana" version >version.log || fail "$1: liana version: $(cat version.log qemu.err)"
    emulate "$1" "$liana" list ops >/dev/null || fail "$1: liana list: $(cat qemu.err)"
    emulate "$1" env LIANA_LOG=dispatch "$liana" train tiny.yaml "train.precision=$3" --out "emulated-$2" --json \
        >"emulated-$2.log" ||
        fail "$1: liana train: $(cat "emulated-$2.log" qemu.err)"
    grep -q "instruction set $2: " qemu.err || fail "$1 is not taken for $2: $(grep 'instruction set' qemu.err)"
    # Emulated arithmetic is IEEE's, so equal bits are the rule. (oneDNN asks for the sizes of caches, which another
    # processor may have: then the loss must agree to five digits.)
    if ! cmp -s "native-$2/history.json" "emulated-$2/history.json"; then
        echo "$1: other bits than here" >&2
        for run in native emulated; do
            grep -o '"loss": [0-9.]*' "$run-$2/history.json" | sed 's/.*: //' >"$run.losses"
        done
        paste native.losses emulated.losses | awk '
            { difference = ($1 - $2) / $1; if (difference * difference > 1e-10) failed = 1 }
            END { exit failed || NR == 0 }' ||
            fail "$1: losses $(paste native.losses emulated.losses), here and there"
    fi
}

# emulate CPU COMMAND...: qemu says which features of the CPU it lacks; no part of liana uses those.
emulate() {
    cpu=$1
    shift
    case $1 in env) shift; assignment=$1; shift ;; *) assignment=LIANA_LOG= ;; esac
    env "$assignment" LIANA_THREADS=2 qemu-x86_64 -cpu "$cpu" "$@" 2>qemu.err
}

# bf16 is emulated there, since neither has instructions for it; auto must not choose it.
compare Haswell avx2 auto
grep -q 'precision: float32 (auto: this CPU has no instructions for bf16)' emulated-avx2.log ||
    fail "what auto says: $(cat emulated-avx2.log)"
compare Haswell avx2 mixed_bfloat16
compare Nehalem baseline float32
compare Nehalem baseline mixed_bfloat16
# F16C is part of liana's AVX2.
emulate Haswell,-f16c env LIANA_LOG=dispatch "$liana" train tiny.yaml --out no-f16c --json >no-f16c.log ||
    fail "without F16C: $(cat no-f16c.log qemu.err)"
grep -q "instruction set baseline: " qemu.err || fail "without F16C the kernels for AVX2 must not run"
