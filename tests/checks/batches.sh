#!/bin/sh
# Runs all subcommands that make batches, with sizes of batches of the training, the validation and the predictions that
# all differ, with last batches that are not full, with one example, and with none: images, tables and sequences. It is
# meant for a build with sanitizers (`make check-batches`): a finding, or another end than an error with a message, fails.
#   batches.sh BUILD_FOLDER [KIND]      KIND: images, tables or sequences; without it all of them
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
kinds=${2:-images tables sequences}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export LSAN_OPTIONS="suppressions=$root/tests/harness/lsan.supp:print_suppressions=0" LIANA_THREADS=2
runs=0

# batch, validation batch (0: the same), prediction batch (0: the same), shard (0: chosen), and examples of each part
sizes='64 37 5 0 101 50 23
16 300 7 0 100 90 11
5 64 128 3 23 77 1
1 2 3 0 1 1 1
7 3 200 2 15 1 130
300 1 2 0 20 3 4
8 0 40 4 17 9 81
4 9 0 0 9 19 40'

fail() {
    echo "batches.sh: $*" >&2
    cat out err >&2
    exit 1
}

# allow "CODES" COMMAND...: it ends with one of the codes, and no sanitizer has found anything.
allow() {
    codes=$1
    shift
    runs=$((runs + 1))
    code=0
    timeout 300 "$build/liana" "$@" >out 2>err || code=$?
    if grep -qE 'Sanitizer|runtime error:' out err; then fail "a finding of a sanitizer: liana $*"; fi
    case " $codes " in *" $code "*) ;; *) fail "liana $*: exit code $code, expected one of: $codes" ;; esac
    [ $code = 0 ] || [ -s err ] || [ -s out ] || fail "liana $*: exit code $code without a word"
}
run() { allow 0 "$@"; }

byte() { printf "\\$(printf %03o "$1")"; }
big() { byte $(($1 / 16777216 % 256)) && byte $(($1 / 65536 % 256)) && byte $(($1 / 256 % 256)) && byte $(($1 % 256)); }

# images PART COUNT: IDX files of COUNT images of 6 x 6 and their labels, 0 to 2.
make_images() {
    { printf '\000\000\010\003' && big "$2" && big 6 && big 6 && seq 1 100000 | head -c $(($2 * 36)); } >"$1-images"
    { printf '\000\000\010\001' && big "$2" && yes 012 | tr -d '\n' | tr 012 '\000\001\002' | head -c "$2"; } >"$1-labels"
}
# Numbers, a category, a weight; a class, a number and a list of 0s and 1s to predict.
make_tables() {
    awk -v n="$2" 'BEGIN {
        print "a,b,city,weight,kind,price,red,round"
        for (i = 0; i < n; i++) print i % 7 / 7 "," i % 5 "," (i % 2 ? "Rome" : "Oslo") "," 1 + i % 3 "," i % 3 "," i % 11 / 11 "," i % 2 "," (i % 4 == 1)
    }' >"$1.csv"
}
# 1 to 6 ids, a class for each of them, and one for all.
make_sequences() {
    awk -v n="$2" 'BEGIN {
        print "words,tags,answer"
        for (i = 0; i < n; i++) {
            words = tags = ""
            for (k = 0; k <= i % 6; k++) { words = words (k ? " " : "") 1 + (i + k) % 8; tags = tags (k ? " " : "") (i + k) % 3 }
            print words "," tags "," i % 2
        }
    }' >"$1.csv"
}

config_images() {
    cat <<'END'
data:
  train: {images: train-images, labels: train-labels}
  validation: {images: val-images, labels: val-labels}
  test: {images: test-images}
  num_classes: 3
  augment: [mixup]
model:
  layers:
    - Conv2D: {filters: 4, kernel_size: 3, activation: relu}
    - BatchNormalization
    - Flatten
    - Dropout: {rate: 0.25}
    - Dense: {units: 3, activation: softmax}
train:
  class_weights: balanced
  metrics: [accuracy, confusion_matrix]
  callbacks: [ConfusionMatrixLogger, PredictionsLogger: {training: true}, CSVLogger]
END
}
config_tables() {
    cat <<'END'
data:
  train: {paths: train.csv, kind: table}
  validation: {paths: val.csv, kind: table}
  test: {paths: test.csv, kind: table}
  columns:
    numbers: [a, b]
    city: {category: true, vocabulary: [Oslo, Rome]}
    weight: weight
    kind: kind
    price: price
    tags: [red, round]
  inputs: {numbers: numbers, city: city}
  targets: {kind: kind, price: price, tags: tags}
  example_weight: weight
model:
  layers:
    - InputLayer: {name: numbers, shape: [2]}
    - InputLayer: {name: city, shape: [], dtype: int32}
    - Embedding: {name: place, input_dim: 2, output_dim: 3, inputs: city}
    - Concatenate: {name: both, inputs: [numbers, place]}
    - Dense: {name: kind, units: 3, activation: softmax, inputs: both}
    - Dense: {name: price, units: 1, inputs: both}
    - Dense: {name: tags, units: 2, activation: sigmoid, inputs: both}
  outputs: [kind, price, tags]
train:
  loss: {kind: sparse_categorical_crossentropy, price: mse, tags: binary_crossentropy}
  callbacks: [PredictionsLogger: {training: true}]
END
}
config_sequences() {
    cat <<'END'
data:
  train: {paths: train.csv, kind: table}
  validation: {paths: val.csv, kind: table}
  test: {paths: test.csv, kind: table}
  columns:
    words: {length: 6, padding: 0}
    tags: {length: 6, padding: 0}
    answer: answer
  inputs: {words: words}
  targets: {tag: tags, answer: answer}
model:
  layers:
    - InputLayer: {name: words, shape: [6], dtype: int32}
    - Embedding: {name: words_in, input_dim: 9, output_dim: 4, mask_zero: true, inputs: words}
    - Dense: {name: tag, units: 3, activation: softmax, inputs: words_in}
    - GlobalAveragePooling1D: {name: mean, inputs: words_in}
    - Dense: {name: answer, units: 1, activation: sigmoid, inputs: mean}
  outputs: [tag, answer]
train:
  loss: {tag: sparse_categorical_crossentropy, answer: binary_crossentropy}
  callbacks: [PredictionsLogger: {training: true}]
END
}

# subcommands KIND: everything once, with the files of the parts and the sizes as they are.
subcommands() {
    run train c.yaml train.epochs=1
    run train c.yaml train.epochs=2 --resume
    run train c.yaml train.epochs=1 train.steps_per_execution=3 train.validation_steps=1 output=short
    run evaluate run
    allow '0 2' evaluate run --by-class
    run evaluate run "train.validation_batch_size=$((prediction + 1))" "train.batch_size=$((batch + 3))"
    case $1 in images) data=test-images ;; *) data=test.csv ;; esac
    run predict run $data --out predicted.csv
    run predict run $data --out predicted.csv "train.prediction_batch_size=$((batch + 2))"
    run report run --out pictures
    run report run --out pictures "train.validation_batch_size=$((batch + validation + 1))"
    allow '0 1' find-lr c.yaml --updates 10
    allow '0 1 2' profile c.yaml --steps 2 --warmup 1
    allow '0 1' compare-devices c.yaml --devices cpu,reference --updates 2
    allow '0 2' plan c.yaml --seconds 0.01 --workers 3
    if [ $1 = images ]; then run data c.yaml --out pictures; fi
    if [ $1 = images ]; then run bench data c.yaml --seconds 0.05; fi
    allow '0 1' check c.yaml
    run summary c.yaml
    run compare run short
    run plot run short
    cat >sweep.yaml <<END
base: c.yaml
output: swept
set: {train.epochs: 1}
settings:
  - {name: one}
  - {name: other, set: {train.batch_size: $((batch + 1))}}
END
    rm -rf swept
    run sweep sweep.yaml --jobs 1
    # Numbers that are not finite leave a bundle.
    rm -rf bad
    allow '0 1' train c.yaml train.epochs=3 'train.optimizer={name: SGD, learning_rate: 1.0e+37}' output=bad
    for bundle in bad/bad-numbers-*; do
        if [ -d "$bundle" ]; then allow '0 1' replay "$bundle"; fi
    done
}

for kind in $kinds; do
    echo "$sizes" | while read -r batch validation prediction shard train val test; do
        echo "$kind: batches of $batch, $validation, $prediction, shards of $shard; $train, $val, $test examples"
        rm -rf "$kind" && mkdir "$kind" && cd "$kind"
        "make_$kind" train "$train" && "make_$kind" val "$val" && "make_$kind" test "$test"
        "config_$kind" >c.yaml
        cat >>c.yaml <<END
  batch_size: $batch
  validation_batch_size: $validation
  prediction_batch_size: $prediction
  microbatch: $shard
  seed: 3
output: run
END
        subcommands "$kind"
        # In two processes, and in four replicas.
        run launch -n 2 c.yaml train.epochs=1 output=two
        run train c.yaml train.epochs=1 'train.strategy={name: mirrored, replicas: 2}' output=mirrored
        # A part without an example.
        "make_$kind" none 0
        sed 's/val\(\.csv\|-images\|-labels\)/none\1/g' c.yaml >none.yaml
        allow '1 2' train none.yaml output=none
        sed 's/test\(\.csv\|-images\)/none\1/g' c.yaml >none.yaml
        allow '0 1 2' train none.yaml train.epochs=1 output=none
        sed 's/train\(\.csv\|-images\|-labels\)/none\1/g' c.yaml >none.yaml
        allow '1 2' train none.yaml output=none2
        echo "$runs runs"
        cd ..
    done
done
