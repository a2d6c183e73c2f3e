#!/bin/sh
# make demo: from a fresh machine to a trained classifier. Installs missing packages, builds, draws a labelled data set
# of flowers, trains on it, and draws the classifier's answers for flowers that it has never seen.
set -eu
cd "$(dirname "$0")/.."

scripts/install-packages.sh
make --no-print-directory
liana=build/liana

# The same options draw the same flowers, so a data set that is whole need not be drawn again.
data=runs/demo-flowers
options="classes=10 images=8000 image_size=64 validation=0.1 test=0.05 seed=1"
if [ "$(cat "$data/drawn-with" 2>/dev/null)" != "$options" ]; then
    rm -rf "$data"
    # shellcheck disable=SC2086  # words are meant
    "$liana" synth flowers $options --out "$data"
    echo "$options" >"$data/drawn-with"
fi

rm -rf runs/demo
"$liana" train examples/demo.yaml
"$liana" report runs/demo
echo "Look at runs/demo/predictions.png: flowers that the classifier has never seen, and what it says they are."
