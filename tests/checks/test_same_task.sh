#!/bin/sh
# The programs of docs/start/from-keras.md and docs/start/from-pytorch.md run, and reach liana's test accuracy on the same
# task: examples/digits.yaml. Each draws other first weights. Over liana's seeds accuracies lie between 0.981 and 0.985, so two
# programs may differ by a percent.
#   test_same_task.sh BUILD keras|pytorch
set -eu
build=$(cd "$1" && pwd)
which=$2
source=$(cd "$(dirname "$0")/../.." && pwd)
. "$source/tests/checks/needs.sh"
data=${LIANA_TEST_DATA:-$source/../shared/data}
[ -d "$data/mnist" ] || {
    echo "skipped: no data (looked for $data/mnist)"
    exit 77
}
peer=torch
[ "$which" = pytorch ] || peer=tensorflow
need_peer "$peer"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
accuracy() { sed -n "s/.*$1 \([01]\.[0-9]*\).*/\1/p" "$2" | tail -n 1; }
export CUDA_VISIBLE_DEVICES='' TF_CPP_MIN_LOG_LEVEL=3
"$peers/$peer/bin/python" -B -W ignore "$source/tests/docs/run_program.py" "$source/tests/docs/programs/mnist_$which.py" \
    "$data" >peer.txt
"$build/liana" train "$source/examples/digits.yaml" --out "$folder/run" >liana.txt \
    "data.train.images=$data/mnist/train-images-idx3-ubyte.gz" "data.validation.images=$data/mnist/t10k-images-idx3-ubyte.gz"
theirs=$(accuracy 'test accuracy' peer.txt)
ours=$(accuracy val_accuracy liana.txt)
echo "test accuracy: $which $theirs, liana $ours"
awk -v a="$theirs" -v b="$ours" 'BEGIN { exit !(a > 0.975 && b > 0.975 && a - b < 0.01 && b - a < 0.01) }'
if [ "$which" = keras ]; then
    # liana reads the file that Keras saved, and has Keras's accuracy.
    "$build/liana" evaluate --model digits.keras --data "$data/mnist/t10k-images-idx3-ubyte.gz" data.scale=0..1 >evaluated.txt
    again=$(accuracy accuracy evaluated.txt)
    echo "test accuracy of Keras's file in liana: $again"
    [ "$again" = "$theirs" ]
fi
