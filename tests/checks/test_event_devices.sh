#!/bin/sh
# Event files on every device: a run of several processes writes what one process writes, a device behind PJRT nearly so,
# also with several updates in one launch; and the weights have the same bits with and without them.
#   test_event_devices.sh BUILD_FOLDER [--plugin]      with the PJRT plugin for CPUs, else clusters
set -eu
liana=$(cd "$1" && pwd)/liana
cd "$(dirname "$0")/../.."
. tests/checks/needs.sh
if [ "${2-}" = --plugin ]; then
    need_peer plugin
    LIANA_PLUGIN_PATH=$peers/plugin
    export LIANA_PLUGIN_PATH
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "test_event_devices.sh: $*" >&2
    exit 1
}
"$liana" synth flowers classes=3 images=240 image_size=24 --out "$folder/beds" >/dev/null
cat >"$folder/beds.yaml" <<'CONFIG'
data: {train: beds/train/*.tfrec, validation: beds/val/*.tfrec, class_names: beds/classes.txt}
model:
  layers:
    - Conv2D: {filters: 8, kernel_size: 5, strides: 2, activation: relu}
    - BatchNormalization: {momentum: 0.9}
    - GlobalAveragePooling2D
    - Dropout: {rate: 0.2}
    - Dense: {units: 3, activation: softmax}
train: {epochs: 3, batch_size: 16, microbatch: 4, seed: 3, optimizer: {name: Adam, learning_rate: 5.0e-3}}
output: one
CONFIG
# run NAME PROCESSES [key=value ...]: with event files and without, whose weights are the same.
run() {
    name=$1 processes=$2
    shift 2
    for with in 'summaries={every_steps: 5}' summaries=null; do
        out=$folder/$name
        [ "$with" != summaries=null ] || out=$folder/$name-plain
        begin=train
        [ "$processes" -eq 1 ] || begin="launch -n $processes"
        # shellcheck disable=SC2086 # words are meant
        "$liana" $begin "$folder/beds.yaml" "$with" --out "$out" "$@" >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
    done
    for out in "$name" "$name-plain"; do
        cp "$(ls -d "$folder/$out"/checkpoints/step-* | tail -n 1)/variables.safetensors" "$folder/$out.safetensors"
    done
    cmp "$folder/$name.safetensors" "$folder/$name-plain.safetensors" || fail "$name: event files change the weights"
    [ "$(ls "$folder/$name/summaries/train" | wc -l)" -eq 1 ] || fail "$name: not one process writes"
    for part in train validation; do
        "$liana" inspect "$folder/$name/summaries/$part"/events* |
            awk '/^tags/ { inside = 1; next } inside && $1 != "tag" && $1 !~ /^(speed|examples|mistakes)/ { print }' >"$folder/$name-$part.txt"
    done
    for tag in batch/loss norm/gradient norm/weights norm/update gradients/dense/kernel weights/conv2d/kernel activations/dense; do
        grep -q " $tag " "$folder/$name-train.txt" || fail "$name: there is no $tag"
    done
    for tag in loss accuracy confusion_matrix; do
        grep -q " $tag " "$folder/$name-validation.txt" || fail "$name: the validation has no $tag"
    done
}
# same A B SHARE: the same tags and steps, and last values that differ by at most this share.
same() {
    for part in train validation; do
        paste -d '|' "$folder/$1-$part.txt" "$folder/$2-$part.txt" | awk -F '|' -v share="$3" -v what="$1 and $2, $part" '
            {
                count = split($1, a, " ")
                if (split($2, b, " ") != count) bad = 1
                for (i = 1; i < 6; i++) if (a[i] != b[i]) bad = 1
                difference = a[6] - b[6]
                if (difference < 0) difference = -difference
                if (count > 5 && difference > share * (a[6] < 0 ? -a[6] : a[6]) + 1e-9) bad = 1
                if (bad) { print "test_event_devices.sh: " what ": " $1 " | " $2 > "/dev/stderr"; exit 1 }
            }'
    done
}
run one 1
if [ "${2-}" = --plugin ]; then
    run pjrt 1 train.device=pjrt:cpu --allow-plugins
    same one pjrt 0.02
    run group 1 train.device=pjrt:cpu train.steps_per_execution=4 --allow-plugins
else
    run three 3
    same one three 0
fi
echo "event files are the same on every device"
