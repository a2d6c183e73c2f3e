#!/bin/sh
# A change of structure changes no result: a dozen short runs give the weights, history and predictions that they gave
# before, to the byte. Where results are meant to change, record them anew and say in the commit why.
#   test_same_bytes.sh BUILD_FOLDER COMPILER [--record]
# The hashes hold for one instruction-set level, and for the compiler and the processor (vendor, family, model) that they
# were recorded with: another compiler contracts floating-point expressions differently, and oneDNN cuts its loops by the
# sizes of caches. Those of Intel, recorded first, name the vendor alone. On other machines the test is skipped and says
# so.
set -eu
build=$(cd "$1" && pwd)
liana=$build/liana
compiler=$2
mode=${3-}
cd "$(dirname "$0")/../.."
data=$(cd .. && pwd)/shared/data
kept=$PWD/tests/samples/same_bytes.txt
skip() {
    echo "test_same_bytes.sh: skipped: $1" >&2
    exit 77
}
[ -d "$data" ] || skip "no test data beside the tree"
grep -q avx2 /proc/cpuinfo || skip "the processor has no AVX2"
# word KEY: of the first processor.
word() { awk -F ': *' -v key="$1" '$1 ~ "^" key "[ \t]*$" { print $2; exit }' /proc/cpuinfo; }
kind="$compiler $(word vendor_id) $(word 'cpu family') $(word model)"
vendors="$compiler $(word vendor_id)"
[ -n "$mode" ] || grep -q "^# $kind\$" "$kept" || kind=$vendors
[ -n "$mode" ] || grep -q "^# $kind\$" "$kept" ||
    skip "nothing is recorded for '$kind'; at a commit that is known to be right: $0 BUILD_FOLDER '$compiler' --record"
LIANA_MAX_ISA=avx2
LIANA_THREADS=2
export LIANA_MAX_ISA LIANA_THREADS
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
found=$folder/found.txt

# content FILE: the hashed part of it: of a history all but the global steps, which came after the hashes were recorded
# (tests/train/job/test_global_step.c looks at them). Of weights all but liana's version, which was 0.1.0 then.
content() {
    case $1 in
    */history.json) sed '/^ *"global_step": /d' "$1" ;;
    *.safetensors) LC_ALL=C sed '1s/"liana":"[0-9.]*"/"liana":"0.1.0"/' "$1" ;;
    *) cat "$1" ;;
    esac
}
# note NAME FILE ...: writes down the hashes of files.
note() {
    name=$1
    shift
    for file in "$@"; do
        [ -e "$file" ] || continue
        printf '%s %s %s\n' "$name" "$(basename "$file")" "$(content "$file" | sha256sum | cut -c 1-16)" >>"$found"
    done
}
# hash NAME: notes the files of a run.
hash() {
    weights=$(ls -d "$folder/$1"/checkpoints/step-* | tail -n 1)/variables.safetensors
    note "$1" "$weights" "$folder/$1/history.json" "$folder/$1"/*_predictions.csv
}
# train NAME CONFIG ...: trains into $folder/NAME.
train() {
    name=$1
    shift
    "$liana" train "$@" --out "$folder/$name" >"$folder/said" 2>&1 || {
        cat "$folder/said" >&2
        echo "test_same_bytes.sh: the run '$name' failed" >&2
        exit 1
    }
}
# Prints the layers of a small network with all kinds of layers that keep something.
network() {
    cat <<'YAML'
model:
  layers:
    - Conv2D: {filters: 12, kernel_size: 3, padding: same, use_bias: false}
    - BatchNormalization: {momentum: 0.9}
    - ReLU: {max_value: 6.0}
    - DepthwiseConv2D: {kernel_size: 3, strides: 2, padding: same, use_bias: false}
    - BatchNormalization: {momentum: 0.9}
    - ReLU
    - Conv2D: {filters: 20, kernel_size: 1, activation: swish}
    - MaxPooling2D
    - SeparableConv2D: {filters: 24, kernel_size: 3, activation: relu}
    - Dropout: {rate: 0.3}
    - GlobalAveragePooling2D
    - Dense: {units: 16, activation: tanh}
    - Dense: {units: 5, activation: softmax}
YAML
}

"$liana" synth flowers classes=5 images=150 image_size=40 shards=3 --out "$folder/drawn" >/dev/null
drawn() {
    printf 'data:\n  train: %s/train/*.tfrec\n  validation: %s/val/*.tfrec\n  test: %s/test/*.tfrec\n' \
        "$folder/drawn" "$folder/drawn" "$folder/drawn"
    printf '  class_names: %s/classes.txt\n' "$folder/drawn"
    cat
}

# The examples, shortened.
for example in mnist mnist_fast fashion_mnist; do
    train "$example" "examples/$example.yaml" train.epochs=2 train.steps_per_epoch=9 data.validation.take=700
    hash "$example"
done
train flowers examples/flowers.yaml train.epochs=2 train.steps_per_epoch=2 train.precision=float32 \
    data.validation.take=40 data.test.take=20
hash flowers
train flowers-mixed examples/flowers.yaml train.epochs=1 train.steps_per_epoch=2 train.precision=mixed_bfloat16 \
    train.batch_size=40 data.validation.take=40 data.test.take=20
hash flowers-mixed

# A dense network with momentum, a weight for each class, a last update of fewer examples, and three threads.
cat >"$folder/dense.yaml" <<YAML
data:
  train: {images: $data/mnist/t10k-images-idx3-ubyte.gz, labels: $data/mnist/t10k-labels-idx1-ubyte.gz, take: 3000}
  validation: {images: $data/mnist/t10k-images-idx3-ubyte.gz, labels: $data/mnist/t10k-labels-idx1-ubyte.gz, skip: 9000}
model:
  layers: [Flatten, {Dense: {units: 96, activation: relu}}, {Dropout: {rate: 0.2}}, {Dense: {units: 10, activation: softmax}}]
train:
  epochs: 2
  batch_size: 700
  optimizer: {name: SGD, learning_rate: {name: ExponentialDecay, initial_learning_rate: 0.1, decay_steps: 4, decay_rate: 0.9}, momentum: 0.9, nesterov: true}
  class_weights: {1: 2.0, 2: 0.5, 6: 3.0}
  seed: 3
  threads: 3
YAML
train dense "$folder/dense.yaml"
hash dense

# Augmentation that mixes examples, oversampling, and shards of several sizes.
{
    drawn <<'YAML'
  oversample: {target_count: 30}
  augment:
    - random_flip: {direction: horizontal}
    - random_rotation: {degrees: 20.0}
    - random_perspective: {factor: 0.1}
    - mixup: {alpha: 0.2}
    - cutmix
YAML
    network
    echo 'train: {epochs: 2, batch_size: 22, microbatch: 4, optimizer: {name: Adam, learning_rate: 3.0e-3}, seed: 5}'
} >"$folder/augmented.yaml"
train augmented "$folder/augmented.yaml"
hash augmented

# Stopped after one epoch and resumed, with another number of threads.
{
    echo 'checkpoint: {every_steps: 3, keep: 9}'
    sed 's/batch_size: 22, microbatch: 4/batch_size: 24/' "$folder/augmented.yaml"
} >"$folder/resumed.yaml"
train resumed "$folder/resumed.yaml"
ls -d "$folder"/resumed/checkpoints/step-* | tail -n +2 | xargs rm -r
train resumed "$folder/resumed.yaml" --resume train.threads=1
hash resumed

# Records that cannot be decoded are left out.
cp -r "$folder/drawn" "$folder/damaged"
for file in "$folder"/damaged/train/*.tfrec; do
    printf 'broken' | dd of="$file" bs=1 seek=3000 conv=notrunc 2>/dev/null
done
sed "s|$folder/drawn|$folder/damaged|; s/^data:/data:\n  on_bad_record: skip/" "$folder/augmented.yaml" >"$folder/bad.yaml"
train bad "$folder/bad.yaml" train.batch_size=16
hash bad

# Architectures: from scratch, with part of the forward pass computed again, and with frozen layers.
architecture() {
    name=$1 base=$2
    shift 2
    drawn </dev/null >"$folder/$name.yaml"
    cat >>"$folder/$name.yaml" <<YAML
  image_size: [48, 48]
model: {base: $base}
train: {epochs: 1, steps_per_epoch: 2, batch_size: 20, microbatch: 8, optimizer: Adam, seed: 2}
YAML
    train "$name" "$folder/$name.yaml" "$@"
    hash "$name"
}
architecture efficientnet EfficientNetB0
architecture resnet ResNet50 train.recompute=auto train.memory=700
architecture densenet DenseNet121 train.precision=mixed_bfloat16
architecture trained-from MobileNetV2 model.alpha=0.5 model.trainable_from=block_14_expand

# The programs in C: an epoch on MNIST's test images, and drawn bars.
mkdir "$folder/digits"
for file in train-images-idx3 train-labels-idx1 t10k-images-idx3 t10k-labels-idx1; do
    ln -s "$data/mnist/t10k-${file#*-}-ubyte.gz" "$folder/digits/$file-ubyte.gz"
done
(cd "$folder/digits" && "$build/example_mnist" 1 >/dev/null)
(cd "$folder" && "$build/example_datasets" >datasets.out)
note program-mnist "$folder"/digits/mnist-model/*.safetensors "$folder"/digits/mnist-model/*.h5
note program-datasets "$folder/datasets.out"

if [ -n "$mode" ]; then
    { [ -e "$kept" ] && awk -v kind="# $kind" '/^#/ { own = $0 == kind } !own' "$kept"
        echo "# $kind"
        cat "$found"; } >"$folder/all.txt"
    cp "$folder/all.txt" "$kept"
    exit 0
fi
awk -v kind="# $kind" '/^#/ { own = $0 == kind; next } own' "$kept" >"$folder/expected.txt"
if ! diff "$folder/expected.txt" "$found" >&2; then
    echo "test_same_bytes.sh: results have changed (< recorded, > found)" >&2
    exit 1
fi
echo "$(wc -l <"$found") files of $(cut -d ' ' -f 1 "$found" | sort -u | wc -l) runs are the same to the byte"
