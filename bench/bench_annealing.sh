#!/bin/sh
# Shows what train.control: annealing recovers where the learning rate is far too high. For each seed a dense network is
# trained on MNIST (Keras's names for the options): with a good rate, with one 30 times as high, and with that and
# annealing. Writes a table (Markdown) of the final val_accuracy, and the medians, to standard output.
#   bench/bench_annealing.sh LIANA MNIST_FOLDER OUT [SEEDS] [EPOCHS] [more configuration: key=value ...]
# A run that is there already is not trained again, so an interrupted bench goes on.
set -eu
[ $# -ge 3 ] || { sed -n '2,6p' "$0" >&2; exit 2; }
liana=$1 data=$(cd "$2" && pwd) out=$3 seeds=${4:-5} epochs=${5:-5}
shift 3
[ $# -gt 0 ] && shift
[ $# -gt 0 ] && shift
mkdir -p "$out"
cat >"$out/config.yaml" <<EOF
data:
  train: {images: $data/train-images-idx3-ubyte.gz, labels: $data/train-labels-idx1-ubyte.gz}
  validation: {images: $data/t10k-images-idx3-ubyte.gz, labels: $data/t10k-labels-idx1-ubyte.gz}
model:
  layers:
    - Flatten
    - Dense: {units: 128, activation: relu}
    - Dense: {units: 128, activation: relu}
    - Dense: {units: 10}
train:
  batch_size: 128
  epochs: $epochs
  loss: {name: sparse_categorical_crossentropy, from_logits: true}
  metrics: [accuracy]
EOF

good='{name: SGD, learning_rate: 0.1, momentum: 0.9}'
high='{name: SGD, learning_rate: 3.0, momentum: 0.9}'
control='{name: annealing, monitor: val_loss, every_steps: 25, energy: 0.01}'

# run NAME OPTIMIZER SEED [key=value ...]: prints the last val_accuracy; "diverged" where there is none.
run() {
    name=$1-$3 optimizer=$2 seed=$3
    shift 3
    if [ ! -f "$out/$name/done" ]; then
        if "$liana" train "$out/config.yaml" --out "$out/$name" --resume "train.optimizer=$optimizer" \
            "train.seed=$seed" "$@" >"$out/$name.log" 2>&1; then
            touch "$out/$name/done"
        elif ! grep -q "training has diverged" "$out/$name.log"; then
            tail -n 2 "$out/$name.log" >&2
            exit 1
        fi
    fi
    if [ -f "$out/$name/done" ]; then
        sed -n 's/.*"val_accuracy": \([0-9.]*\).*/\1/p' "$out/$name/history.json" | tail -1
    else
        echo diverged
    fi
}

# The median of numbers on standard input, one a line; "diverged" counts as 0.
median() {
    sed 's/diverged/0/' | sort -n | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'
}

rm -f "$out"/column-*
echo "| seed | good rate | 30 times as high | the same with annealing |"
echo "|---|---|---|---|"
for seed in $(seq 1 "$seeds"); do
    first=$(run good "$good" "$seed" "$@")
    second=$(run high "$high" "$seed" "$@")
    third=$(run annealed "$high" "$seed" "train.control=$control" "$@")
    echo "$first" >>"$out/column-good"
    echo "$second" >>"$out/column-high"
    echo "$third" >>"$out/column-annealed"
    echo "| $seed | $first | $second | $third |"
done
echo "| median | $(median <"$out/column-good") | $(median <"$out/column-high") | $(median <"$out/column-annealed") |"
