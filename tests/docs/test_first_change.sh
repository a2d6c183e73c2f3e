#!/bin/sh
# Follows docs/guides/first-change.md literally: runs its blocks in a copy of the tree, builds what they changed, runs the
# new tests, and asks the command for the new parts. Then it breaks both formulas, and the tests must fail.
#
# Only files that changed are compiled, by the commands of BUILD with the copy's paths, and linked with the other objects of
# BUILD: a whole build would take minutes. `make check-docs-long` makes the whole build.
#   test_first_change.sh BUILD
set -eu
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/../.." && pwd)
fail() {
    echo "test_first_change.sh: $*" >&2
    exit 1
}
[ -e "$build/build.ninja" ] || {
    echo "skipped: $build was not made with Ninja"
    exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
copy=$folder/liana
mkdir "$copy" "$folder/objects"
tar -C "$source" -cf - --exclude='./build*' --exclude=./runs --exclude=./.git . | tar -C "$copy" -xf -

# The blocks without a mark, in order; those with "test: long" build and run, which is done below.
awk -v folder="$folder" '
    /^```/ && inside { inside = 0; close(file); next }
    inside { print > file }
    /^```sh$/ { inside = 1; file = mark ~ /^<!-- test: / ? "/dev/null" : sprintf("%s/block-%05d", folder, NR) }
    { mark = $0 }' "$source/docs/guides/first-change.md"
[ -e "$(ls "$folder"/block-* | head -n 1)" ] || fail "the tutorial has no blocks"
for block in "$folder"/block-*; do
    (cd "$copy" && sh -eu "$block") >"$folder/output" 2>&1 || {
        cat "$block" "$folder/output"
        fail "the block of line $(basename "$block" | sed 's/block-0*//') fails"
    }
done

command_of() { ninja -C "$build" -t commands "$1" | tail -n 1; }
# compile FILE TARGET [LIKE]: into objects/NAME.o, by the command of FILE (of LIKE, if FILE is new) in BUILD
compile() {
    command=$(command_of "CMakeFiles/$2.dir/${3:-$1}.o" | sed -E "s#-I$source/#-I$copy/#g; s# -M[DTF][^ ]*( CMakeFiles[^ ]*)?##g;
        s# -o [^ ]* -c .*# -o $folder/objects/$(basename "$1").o -c $copy/$1#; s#^ccache ##")
    (cd "$build" && sh -c "$command -Werror") || fail "$1 does not compile"
}
for file in src/layers/activations.c src/layers/layers.c; do compile $file liana_objects; done
compile src/layers/core/clip.c liana_objects src/layers/core/identity.c
compile tests/layers/test_layers.c test_layers
compile tests/layers/test_clip.c test_layers tests/layers/test_layers.c

# The library with these objects in place of its own.
command=$(command_of libliana-internal.so | sed -E "s#CMakeFiles/liana_objects.dir/src/layers/(activations|layers)\.c\.o#$folder/objects/\1.c.o#g;
    s#-o libliana-internal.so#-o $folder/libliana-internal.so $folder/objects/clip.c.o#")
(cd "$build" && sh -c "$command") || fail "the library is not linked"
link() { # NAME: a test
    command=$(command_of test_layers | sed -E "s#CMakeFiles/test_layers.dir/tests/layers/test_layers.c.o -o test_layers#$folder/objects/$1.c.o -o $folder/$1#;
        s#-rpath,$build#-rpath,$folder#; s# libliana-internal.so # $folder/libliana-internal.so #")
    (cd "$build" && sh -c "$command") || fail "$1 is not linked"
}
for test in test_layers test_clip; do
    link $test
    "$folder/$test" >"$folder/output" 2>&1 || {
        cat "$folder/output"
        fail "$test fails"
    }
    grep -q 'PASSED' "$folder/output" || fail "$test ran nothing"
done

command=$(command_of liana | sed -E "s#-o liana #-o $folder/liana-command #; s#-rpath,$build:?#-rpath,$folder#; s# libliana\.so[.0-9]*# $folder/libliana-internal.so#")
(cd "$build" && sh -c "$command") || fail "the command is not linked"
"$folder/liana-command" list activations lisht | grep -qF 'x tanh(x)' || fail "liana list does not know lisht"
"$folder/liana-command" list layers Clip | grep -qF 'larger numbers become this' || fail "liana list does not know Clip"
cd "$folder"
./liana-command synth flowers classes=3 images=60 image_size=32 --out flowers >/dev/null
./liana-command train data.train='flowers/train/*.tfrec' train.epochs=1 --out run \
    'model.layers=[Conv2D: {filters: 4, kernel_size: 3, activation: lisht}, Clip: {maximum: 6}, GlobalAveragePooling2D, Dense: {units: 3, activation: softmax}]' \
    >output 2>&1 || fail "a network with both does not train: $(cat output)"

# The tests can fail: x sin(x) is expected, and other limits.
sed -i 's/return x \* tanh(x);/return x * sin(x);/' "$copy/tests/layers/test_layers.c"
sed -i 's/fmaxf(x\[i\], -1)/fmaxf(x[i], -1.5F)/' "$copy/tests/layers/test_clip.c"
compile tests/layers/test_layers.c test_layers
compile tests/layers/test_clip.c test_layers tests/layers/test_layers.c
for test in test_layers test_clip; do
    link $test
    ! "$folder/$test" >output 2>&1 || fail "$test passes with a wrong formula"
done
echo "the tutorial's activation and layer are built, tested and trained"
