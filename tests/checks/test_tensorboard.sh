#!/bin/sh
# TensorBoard shows what liana wrote, by value and of every kind; and liana's callback TensorBoard writes what Keras's does
# in the same fit.
#   tests/checks/test_tensorboard.sh BUILD
set -eu
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
. tests/checks/needs.sh
need_peer tensorflow tensorboard
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
liana() {
    "$build/liana" "$@" >"$folder/said" 2>&1 || { cat "$folder/said" >&2; exit 1; }
}
# TensorFlow's peer has no TensorBoard, without which Keras's callback writes nothing.
packages=$("$peers/tensorboard/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
PYTHONPATH=$packages "$peers/tensorflow/bin/python" -B -W ignore tests/checks/ask_tensorboard.py make "$folder" 2>"$folder/said" ||
    { cat "$folder/said" >&2; exit 1; }
cat >"$folder/config.yaml" <<CONFIG
data:
  train: {images: train-images, labels: train-labels}
  validation: {images: validation-images, labels: validation-labels}
  shuffle: false
model: {file: model.keras}
train:
  epochs: 3
  batch_size: 8
  optimizer: {name: SGD, learning_rate: 0.5}
  loss: sparse_categorical_crossentropy
  metrics: [accuracy]
  precision: float32
CONFIG
liana train "$folder/config.yaml" "output=$folder/with-callback" "train.callbacks=[TensorBoard: {log_dir: \
$folder/logs/callback, histogram_freq: 2, write_images: true, write_steps_per_second: true, update_freq: 2}]"
liana train "$folder/config.yaml" "output=$folder/logs/run" 'summaries={folder: ., every_steps: 2}'
cat >"$folder/sweep.yaml" <<SWEEP
base: config.yaml
output: logs/sweep
seeds: [1, 2]
set: {train.epochs: 2, summaries: true}
grid:
  train.optimizer.learning_rate: [0.5, 0.05]
  train.batch_size: [8, 16]
SWEEP
liana sweep "$folder/sweep.yaml"
"$peers/tensorboard/bin/python" -B -W ignore tests/checks/ask_tensorboard.py ask "$folder"
echo "TensorBoard shows what liana wrote"
