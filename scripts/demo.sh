#!/bin/sh
# make demo: from a fresh machine to a trained classifier. Installs what is missing, builds, draws a labelled data set
# of flowers, trains on it, and draws what the classifier says about flowers that it never saw.
set -eu
cd "$(dirname "$0")/.."

scripts/install-packages.sh
make --no-print-directory
liana=build/liana

# Drawing is repeatable: a folder that is there already was drawn by the same options.
data=runs/demo-flowers
if [ ! -e "$data/complete" ]; then
    rm -rf "$data"
    "$liana" synth flowers --out "$data" classes=5 images=4600 image_size=64 test=0.1 seed=1
    : >"$data/complete"
fi
rm -rf runs/demo
"$liana" train examples/demo.yaml
"$liana" report runs/demo --grid runs/demo/predictions.png
echo "Look at runs/demo/predictions.png: flowers the classifier never saw, and what it says they are."
