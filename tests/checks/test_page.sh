#!/bin/sh
# The pages of `liana report --html` in a browser: one run, two runs, many, one of a table, and hostile names. Each opens
# without an error and without a network, axe-core finds nothing serious, and a page of 104 classes is below 2 MB.
#   test_page.sh BUILD_FOLDER
set -eu
liana=$(cd "$1" && pwd)/liana
cd "$(dirname "$0")/../.."
. tests/checks/needs.sh
need_browser
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$liana" synth flowers classes=104 images=1300 image_size=32 --out "$folder/many" >/dev/null
"$liana" synth flowers classes=12 images=240 image_size=32 --out "$folder/few" >/dev/null
model='model.layers=[{Conv2D: {filters: 4, kernel_size: 5, strides: 2}}, GlobalAveragePooling2D, {Dense: {units: CLASSES, activation: softmax}}]'
train() { # DATA CLASSES RUN [key=value ...]
    data=$folder/$1 classes=$2 run=$folder/$3
    shift 3
    "$liana" train "data.train=$data/train/*.tfrec" "data.validation=$data/val/*.tfrec" --out "$run" \
        "$(printf %s "$model" | sed "s/CLASSES/$classes/")" "$@" >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
}
train many 104 thirty "data.class_names=$folder/many/classes.txt" train.epochs=30 data.oversample.target_count=20 \
    'data.augment=[{random_flip: {direction: horizontal, probability: 0.5}}]'
hostile='data.class_names=["</script><script>alert(1)</script>", "<b>&amp;", "\"q\" '"'"'q'"'"'", "🌷", "שלום (7)", "花草", "evil\u202egnp.exe", "العربية", i, j, k, l]'
train few 12 one "$hostile" train.epochs=3
train few 12 two "$hostile" train.epochs=5 train.seed=2
i=1
while [ $i -le 48 ]; do
    mkdir "$folder/sweep-$i"
    cp "$folder/two/config.yaml" "$folder/two/history.json" "$folder/two/timing.json" "$folder/sweep-$i/"
    i=$((i + 1))
done
awk 'BEGIN { print "a,b,y"; srand(1); for (i = 0; i < 200; i++) { a = rand(); b = rand(); print a "," b "," 2 * a } }' >"$folder/t.csv"
"$liana" train "data.train=$folder/t.csv" "data.validation=$folder/t.csv" 'data.columns={x: [a, b], y: y}' \
    data.targets=y 'model.layers=[{Dense: {units: 1}}]' train.loss=mean_squared_error train.epochs=2 --out "$folder/table" \
    >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
# Several outputs, one of classes and one of numbers; and several labels of an example.
awk 'BEGIN { print "a,b,size,kind,tags"; srand(4); for (i = 0; i < 300; i++) { a = rand(); b = rand()
    print a "," b "," 2 * a - b "," (a > .6 ? "big" : a > .3 ? "mid" : "small") "," (a > .5 ? "0" : "2") (b > .5 ? " 1" : "") } }' >"$folder/u.csv"
outputs="data.train=$folder/u.csv data.validation=$folder/u.csv train.epochs=2"
# shellcheck disable=SC2086 # words are meant
"$liana" train $outputs 'data.columns={x: [a, b], size: size, kind: {from: kind, vocabulary: [small, mid, big]}}' \
    'data.targets={kind: kind, size: size}' 'model.outputs=[kind, size]' --out "$folder/several" \
    'model.layers=[{InputLayer: {name: x, shape: [2]}}, {Dense: {units: 8, activation: relu, name: h}}, {Dense: {units: 3, activation: softmax, name: kind, inputs: h}}, {Dense: {units: 1, name: size, inputs: h}}]' \
    'train.loss={kind: sparse_categorical_crossentropy, size: mean_squared_error}' >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
# shellcheck disable=SC2086 # words are meant
"$liana" train $outputs 'data.columns={x: [a, b], tags: {from: tags, multi_hot: 3}}' data.targets=tags --out "$folder/labels" \
    'model.layers=[{Dense: {units: 3, activation: sigmoid}}]' 'data.class_names=[red, green, blue]' \
    train.loss=binary_crossentropy >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
for run in thirty one table several labels; do "$liana" report "$folder/$run" --html --out "$folder/$run.html" >/dev/null; done
"$liana" report "$folder/one" "$folder/two" --html --out "$folder/both.html" >/dev/null
"$liana" report "$folder"/sweep-* --html --out "$folder/sweep.html" >/dev/null
size=$(wc -c <"$folder/thirty.html")
if [ "$size" -ge 2000000 ]; then
    echo "test_page.sh: a page of 30 epochs and 104 classes has $size bytes; expected less than 2000000" >&2
    exit 1
fi
node tests/browser/page.js "$folder/thirty.html" "$folder/both.html"
node tests/browser/look.js "$folder/thirty.html" "$folder/one.html" "$folder/both.html" "$folder/table.html" "$folder/sweep.html" \
    "$folder/several.html" "$folder/labels.html"
for word in kind_confusion_matrix kind_roc size_predicted; do
    grep -q "\"$word\"" "$folder/several.html" || { echo "test_page.sh: the page of two outputs has no $word" >&2; exit 1; }
done
grep -q '"roc"' "$folder/labels.html" || { echo "test_page.sh: the page of several labels has no roc" >&2; exit 1; }
echo "pages of one run, of two, of 48 and of a table are as they should be; 104 classes take $size bytes"
