#!/bin/sh
# Runs the examples of docs/start/gallery.md, draws their pictures into docs/images/gallery, and prints how long each of them
# takes: its commands in all, and its training. It needs the data of examples/ (../shared/data) and numpy; nothing else should
# run. scripts/small_png.py keeps each picture below 60 KB.
#   gallery.sh [BUILD_FOLDER]
set -eu
cd "$(dirname "$0")/.."
build=$(cd "${1:-build}" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/liana/runs"
ln -s "$build" "$folder/liana/build"
ln -s "$PWD/include" "$PWD/examples" "$folder/liana"
ln -s "$PWD/../shared" "$folder"
awk -v folder="$folder" '
    /^```/ && inside { inside = 0; close(file) }
    inside { print > file }
    /^```sh$/ { inside = 1; file = sprintf("%s/%02d.sh", folder, ++count) }' docs/start/gallery.md
for block in "$folder"/*.sh; do
    begin=$(date +%s.%N)
    (cd "$folder/liana" && sh -e "$block" >"$block.log" 2>&1) || { cat "$block.log" && exit 1; }
    echo "$begin $(date +%s.%N) $(grep -o 'trained for [0-9.]* s' "$block.log" | tail -n 1)" |
        awk -v name="$(basename "$block" .sh)" '{ printf "%s: %.1f s in all, %s %s %s s\n", name, $2 - $1, $3, $4, $5 }'
    grep -E '^epoch .*val_|mean is like|^\| (low|middle|high)' "$block.log" | tail -n 1
done
pictures=docs/images/gallery
mkdir -p "$pictures"
keep() { # NAME PICTURE
    python3 scripts/small_png.py "$folder/liana/runs/$2" "$pictures/$1.png"
}
keep flowers flowers/predictions.png
keep digits digits/uncertain.png
keep photos photos/predictions.png
keep spirals spirals/confusion_matrix.png
keep houses houses/predicted.png
keep fruit fruit/roc.png
keep reviews reviews/curves.png
keep weather weather/predicted.png
keep sweep rates/rates.png
python3 scripts/small_png.py "$folder/liana/runs/drawings.pgm" "$pictures/gan.png"
ls -l "$pictures"
