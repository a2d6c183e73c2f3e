#!/bin/sh
# Code that a file names does not run unasked: plugins, and devices pjrt:FILE.so, in a configuration, in a run folder, in
# a sweep, by every subcommand that reads one. A library that leaves a file when it is loaded tells whether it ran.
#   test_code_gate.sh BUILD_FOLDER
set -eu
build=$(cd "$1" && pwd)
liana=$build/liana
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
fail() {
    echo "$*" >&2
    exit 1
}

cat >mark.c <<'C'
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void leave_a_mark(void)
{
    FILE *file = fopen(getenv("MARK"), "w");
    if (file) fclose(file);
}
C
cc -shared -fPIC mark.c -o mark.so
export MARK=$folder/mark
awk 'BEGIN { print "a,b,label"; for (i = 0; i < 60; i++) print sin(i) "," cos(i) "," (sin(i) > 0) }' >table.csv
cat >good.yaml <<'Y'
data: {train: table.csv, columns: {x: [a, b]}, inputs: x}
model: {layers: [Dense: {units: 2, activation: softmax}]}
train: {epochs: 1}
Y
"$liana" train good.yaml --out run >log 2>&1 || { cat log && fail "train"; }

# Must end with a message about the library, and not have run it.
refused() {
    rm -f mark
    if "$@" >log 2>&1; then fail "this was not refused: $*"; fi
    [ ! -e mark ] || fail "this ran the library: $*"
    grep -q "mark.so' is not loaded" log && grep -q -- --allow-plugins log || { cat log && fail "another message: $*"; }
}
# Must have run it, whatever it said then.
ran() {
    rm -f mark
    "$@" >log 2>&1 || true
    [ -e mark ] || { cat log && fail "this did not run the library: $*"; }
}

# Things that a file may say, each as the end of a configuration.
device="s|train: {|train: {device: 'pjrt:$folder/mark.so', |"
named="s|train: {|train: {device: 'pjrt:mark.so', |"
number="s|train: {|train: {device: 'pjrt:$folder/mark.so:1?cpu_device_count=2', |"
strategy="s|train: {|train: {strategy: {name: mirrored, devices: ['pjrt:$folder/mark.so:0', 'pjrt:$folder/mark.so:1']}, |"
plugin="\$a plugins: [mark.so]"

echo "every place of a name"
for change in "$device" "$named" "$number" "$strategy" "$plugin"; do
    sed "$change" good.yaml >bad.yaml
    refused "$liana" train bad.yaml --out none
    [ ! -e none ] || fail "a run folder was made"
    ran "$liana" train bad.yaml --out other --allow-plugins
    rm -rf other
done

echo "every subcommand, with a configuration and with a run folder"
cp run/config.yaml kept.yaml
for change in "s|^  device: cpu|  device: 'pjrt:$folder/mark.so'|" "s|^plugins: .*|plugins: ['$folder/mark.so']|" \
    "s|^  strategy: .*|  strategy: {name: mirrored, devices: ['pjrt:$folder/mark.so:0', 'pjrt:$folder/mark.so:1']}|"; do
    sed "$change" kept.yaml >run/config.yaml
    cmp -s kept.yaml run/config.yaml && fail "the change is not there: $change"
    for command in evaluate report summary; do refused "$liana" "$command" run; done
    refused "$liana" predict run table.csv
    refused "$liana" train run --resume
    refused "$liana" data run/config.yaml --out none
    for command in train profile check plan find-lr; do refused "$liana" "$command" run/config.yaml; done
    refused "$liana" bench data run/config.yaml
    refused "$liana" compare-devices run/config.yaml --devices cpu,reference
    refused "$liana" launch -n 1 train run/config.yaml --out none
    [ ! -e none ] || fail "a run folder was made"
done
cp kept.yaml run/config.yaml

echo "a sweep"
for change in "grid: {train.device: ['pjrt:$folder/mark.so']}" "set: {plugins: [mark.so]}"; do
    printf 'base: good.yaml\noutput: sweep\nseeds: [1]\n%s\n' "$change" >sweep.yaml
    refused "$liana" sweep sweep.yaml
    refused "$liana" sweep sweep.yaml --dry-run
    ran "$liana" sweep sweep.yaml --allow-plugins
done

echo "the user's own word"
ran "$liana" train good.yaml --out none "train.device=pjrt:$folder/mark.so"
ran "$liana" predict run table.csv "train.device=pjrt:$folder/mark.so"
ran "$liana" predict run table.csv "plugins=[$folder/mark.so]"
ran "$liana" train good.yaml --out none \
    "train.strategy={name: mirrored, devices: ['pjrt:$folder/mark.so:0', 'pjrt:$folder/mark.so:1']}"
ran "$liana" devices "pjrt:$folder/mark.so"
ran "$liana" devices pjrt:mark.so
# A plugin that is found in a place of the user's.
mkdir -p places/xla_plugins/xla_cpu_pjrt
cp mark.so places/xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so
sed "s|train: {|train: {device: 'pjrt:cpu', |" good.yaml >found.yaml
LIANA_PLUGIN_PATH=$folder/places ran "$liana" train found.yaml --out none

echo "a file that is called as the command line is"
sed "$device" good.yaml >"command line"
refused "$liana" train "command line" --out none

echo "names that are no paths"
mkdir -p gpu: pjrt:cpu: cpu:
cp mark.so gpu:/x.so
cp mark.so cpu:/x.so
for name in gpu:/x.so "gpu:$folder/mark.so" tpu:./x.so /job:localhost/gpu:/x.so; do
    rm -f mark
    if "$liana" train good.yaml --out none "train.device=$name" >log 2>&1; then fail "'$name' is a device"; fi
    [ ! -e mark ] || fail "'$name' ran a library"
done
