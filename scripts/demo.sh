#!/bin/sh
# make demo: from a fresh machine to a trained classifier. Installs missing packages, builds, draws a labelled data set
# of flowers, trains on it, and draws the classifier's answers for flowers that it has never seen.
set -eu
cd "$(dirname "$0")/.."

# Where the time goes. step NAME COMMAND...
steps=
step() {
    name=$1
    shift
    begin=$(date +%s%N)
    "$@"
    steps="$steps$(awk -v ns=$(($(date +%s%N) - begin)) -v name="$name" 'BEGIN { printf "%7.1f s  %s", ns / 1e9, name }')
"
}

step "packages" scripts/install-packages.sh
step "build" make --no-print-directory
liana=build/liana

# The same options draw the same flowers, so a data set that is whole need not be drawn again.
data=runs/demo-flowers
options="classes=10 images=8000 image_size=64 validation=0.1 test=0.05 seed=1"
if [ "$(cat "$data/drawn-with" 2>/dev/null)" != "$options" ]; then
    rm -rf "$data"
    # shellcheck disable=SC2086  # words are meant
    step "data" "$liana" synth flowers $options --out "$data"
    echo "$options" >"$data/drawn-with"
fi

rm -rf runs/demo
step "training" "$liana" train examples/demo.yaml
step "pictures and page" eval '"$liana" report runs/demo && "$liana" report runs/demo --html'
printf '%s' "$steps"
echo "Look at runs/demo/report.html, the page of the run, and at runs/demo/predictions.png: flowers that the classifier has"
echo "never seen, and what it says they are."
