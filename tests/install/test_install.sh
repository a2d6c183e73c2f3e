#!/bin/sh
# Installs a build into a temporary folder and uses it from there, as another program's author would: through pkg-config
# and through CMake, shared and static; then checks the exports of the libraries.
#   test_install.sh BUILD_FOLDER VERSION
set -eu
build=$1
version=$2
here=$(cd "$(dirname "$0")" && pwd)
whole=$(cmake -P "$here/../../cmake/version.cmake")
. "$here/../checks/needs.sh"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "$*" >&2
    exit 1
}

# `make uninstall` is not to remove the files that this test installs.
if [ -e "$build/install_manifest.txt" ]; then cp "$build/install_manifest.txt" "$folder/manifest"; fi
forget_installation() {
    if [ -e "$folder/manifest" ]; then
        cp "$folder/manifest" "$build/install_manifest.txt"
    else
        rm -f "$build/install_manifest.txt"
    fi
}
trap 'forget_installation; rm -rf "$folder"' EXIT

# Not where the build was told to install to: an installed copy must find itself wherever it lies.
DESTDIR='' cmake --install "$build" --prefix "$folder/there" >"$folder/log" || { cat "$folder/log" && exit 1; }
mv "$folder/there" "$folder/moved"
there=$folder/moved
library=$(dirname "$(dirname "$(find "$there" -name liana.pc)")")
# Of other packages nothing is known: a program needs none of theirs, nor their headers.
export PKG_CONFIG_LIBDIR="$library/pkgconfig" PKG_CONFIG_PATH=
strict="-std=c17 -Wall -Wextra -pedantic -Werror"

[ "$(pkg-config --modversion liana)" = "$version" ] || fail "liana.pc: wrong version $(pkg-config --modversion liana)"

echo "pkg-config, shared"
cc $strict "$here/use_liana.c" -o "$folder/use" $(pkg-config --cflags --libs liana)
LD_LIBRARY_PATH=$library "$folder/use" "$whole"
# The SONAME is what programs are bound to: a later, incompatible version must not be taken for this one.
readelf -d "$folder/use" | grep -q "NEEDED.*\[libliana.so.${version%%.*}\]" || fail "the program is not bound to the SONAME"
[ "$(pkg-config --libs liana | sed 's/-L[^ ]*//g' | tr -d ' ')" = -lliana ] ||
    fail "a shared program is told to link more than liana: $(pkg-config --libs liana)"

# The needs of a program that links the static library: the others' shared ones, gcc and clang alike.
echo "pkg-config, static"
use_static() {
    readelf -d "$folder/use" | grep -q 'NEEDED.*libliana' && fail "the program is not static"
    "$folder/use" "$whole"
}
for compiler in gcc clang-14; do
    has_program "$compiler" || continue
    "$compiler" $strict "$here/use_liana.c" -o "$folder/use" $(pkg-config --cflags liana) \
        $(pkg-config --static --libs liana | sed 's/-lliana/-Wl,-Bstatic -lliana -Wl,-Bdynamic/')
    use_static
done
rm "$library/libliana.so"
cc $strict "$here/use_liana.c" -o "$folder/use" $(pkg-config --cflags --static --libs liana)
use_static
ln -s "libliana.so.${version%%.*}" "$library/libliana.so"

echo "liana export"
"$there/bin/liana" synth flowers classes=3 images=60 image_size=24 --out "$folder/drawn" >/dev/null
cat >"$folder/flowers.yaml" <<'END'
data: {train: drawn/train/*.tfrec, class_names: drawn/classes.txt}
model: {layers: [{Conv2D: {filters: 4, kernel_size: 3}}, GlobalAveragePooling2D, {Dense: {units: 3, activation: softmax}}]}
train: {epochs: 1}
output: flowers-run
END
"$there/bin/liana" train "$folder/flowers.yaml" >"$folder/log" || { cat "$folder/log" && exit 1; }
"$there/bin/liana" export "$folder/flowers-run" --to "$folder/flowers"
(cd "$folder/flowers" && sha256sum --quiet -c SHA256SUMS)

echo "C++"
# The same models in C and in C++: the structs' members have the defaults there, and a list of defaults has them here.
cc $strict -xc "$here/use_builders.cc" -o "$folder/builders" $(pkg-config --cflags --libs liana)
(cd "$folder" && LD_LIBRARY_PATH=$library ./builders of-c)
for compiler in g++ clang++-14; do
    has_program "$compiler" || continue
    for standard in 17 20; do
        "$compiler" -std=c++$standard -Wall -Wextra -Wpedantic -Wshadow -Werror "$here/use_liana.cc" -o "$folder/use" \
            $(pkg-config --cflags --libs liana)
        LD_LIBRARY_PATH=$library "$folder/use" "$whole" "$folder/flowers"
    done
    "$compiler" -std=c++20 -Wall -Wextra -Wpedantic -Wshadow -Werror "$here/use_builders.cc" -o "$folder/builders" \
        $(pkg-config --cflags --libs liana)
    rm -rf "$folder/of-c++"
    (cd "$folder" && LD_LIBRARY_PATH=$library ./builders of-c++)
    [ "$(ls "$folder"/of-c/*/model.json | wc -l)" = "$(grep -c ' save(context, m, ' "$here/use_builders.cc")" ] || fail "use_builders.cc did not save its models"
    for model in "$folder"/of-c/*/model.json; do
        cmp "$model" "$folder/of-c++/${model#"$folder"/of-c/}" || fail "$compiler: other defaults than in C"
    done
done

# The example as its own first lines say, on digits that are noise: 64 to learn from and 64 to test on.
echo "examples/mnist.c"
mkdir "$folder/digits"
for part in train t10k; do
    { printf '\000\000\010\003\000\000\000\100\000\000\000\034\000\000\000\034' && head -c 50176 /dev/urandom; } |
        gzip -1 >"$folder/digits/$part-images-idx3-ubyte.gz"
    { printf '\000\000\010\001\000\000\000\100' &&
        for _ in 1 2 3 4 5 6 7 8; do printf '\000\001\002\003\004\005\006\011'; done; } |
        gzip -1 >"$folder/digits/$part-labels-idx1-ubyte.gz"
done
cc $strict "$here/../../examples/mnist.c" -o "$folder/mnist" $(pkg-config --cflags --libs liana)
(cd "$folder/digits" && LD_LIBRARY_PATH=$library ../mnist 2 >"$folder/log") || { cat "$folder/log" && exit 1; }
grep -q '^epoch 2: loss ' "$folder/log" || fail "examples/mnist.c: no second epoch"
grep -q '^test accuracy 0' "$folder/log" || fail "examples/mnist.c: no test accuracy"
[ -s "$folder/digits/mnist-model/weights.safetensors" ] || fail "examples/mnist.c: nothing was saved"
[ "$(wc -l <"$here/../../examples/mnist.c")" -lt 45 ] || fail "examples/mnist.c: it is to stay below 45 lines"
# Without the files the first error is told, and nothing after it is done.
if (cd "$folder" && LD_LIBRARY_PATH=$library ./mnist 2>"$folder/log"); then fail "examples/mnist.c: no files, no error"; fi
grep -q 'train-images-idx3-ubyte.gz' "$folder/log" || fail "examples/mnist.c: the first error is not told"
[ ! -e "$folder/mnist-model" ] || fail "examples/mnist.c: it saved a model after an error"

# Three frames, of which two are the same; half a frame at the end is none.
echo "examples/embed.c"
cc $strict "$here/../../examples/embed.c" -o "$folder/embed" $(pkg-config --cflags --libs liana)
{ head -c 921600 /dev/zero && head -c 921600 /dev/zero && head -c 1000000 /dev/urandom; } |
    LD_LIBRARY_PATH=$library "$folder/embed" "$folder/flowers" >"$folder/log" || { cat "$folder/log" && exit 1; }
[ "$(wc -l <"$folder/log")" = 3 ] || { cat "$folder/log" && fail "examples/embed.c: there are not three frames"; }
[ "$(head -2 "$folder/log" | uniq | wc -l)" = 1 ] || { cat "$folder/log" && fail "examples/embed.c: one frame has two results"; }
cut -d' ' -f1 "$folder/log" | while read -r name; do grep -qx -- "$name" "$folder/flowers/class_names.txt" || fail "$name is no class"; done
[ "$(sed -n '/^int main/,$p' "$here/../../examples/embed.c" | wc -l)" -le 32 ] || fail "examples/embed.c: it is to stay at 30 lines"
if LD_LIBRARY_PATH=$library "$folder/embed" "$folder/nowhere" </dev/null 2>"$folder/log"; then fail "examples/embed.c: no error"; fi
grep -q nowhere "$folder/log" || fail "examples/embed.c: the error is not told"

echo "examples/datasets.c"
cc $strict "$here/../../examples/datasets.c" -o "$folder/datasets" $(pkg-config --cflags --libs liana)
LD_LIBRARY_PATH=$library "$folder/datasets" >"$folder/log" || { cat "$folder/log" && exit 1; }
[ "$(grep -c '^batch of 3: ' "$folder/log")" = 2 ] || fail "examples/datasets.c: there are not two batches of 3"
grep -q '^batch of 1: lying$' "$folder/log" || fail "examples/datasets.c: the last batch is not that of number 6"
awk '/^test accuracy/ { good = $3 > 0.9 } END { exit !good }' "$folder/log" || fail "examples/datasets.c: nothing was learnt"

# Graphs without a model: the line is that of the numbers, and the saved file is one of another program's format.
echo "examples/line.c, examples/values.c"
cc $strict "$here/../../examples/line.c" -o "$folder/line" $(pkg-config --cflags --libs liana)
(cd "$folder" && LD_LIBRARY_PATH=$library ./line >"$folder/log") || { cat "$folder/log" && exit 1; }
grep -q '^update 400: loss 0\.00250$' "$folder/log" || { cat "$folder/log" && fail "examples/line.c: it did not learn"; }
grep -q '^y = 3\.00 x -1\.00$' "$folder/log" || { cat "$folder/log" && fail "examples/line.c: another line"; }
grep -qa '"slope":{"dtype":"F32","shape":\[\]' "$folder/line.safetensors" || fail "examples/line.c: nothing was saved"
cc $strict "$here/../../examples/values.c" -o "$folder/values" $(pkg-config --cflags --libs liana)
LD_LIBRARY_PATH=$library "$folder/values" >"$folder/log" || { cat "$folder/log" && exit 1; }
grep -qx 'sum of squares 91' "$folder/log" || fail "examples/values.c: the sum of squares"
grep -qx 'x\[::-1, 1:\]: 5 6 2 3' "$folder/log" || fail "examples/values.c: another part of x"
grep -qx 'its slope: 0 4 6 0 10 12' "$folder/log" || fail "examples/values.c: another slope"

# Towers on several devices print the output of one device.
echo "examples/towers.c"
cc $strict "$here/../../examples/towers.c" -o "$folder/towers" $(pkg-config --cflags --libs liana)
LD_LIBRARY_PATH=$library "$folder/towers" >"$folder/log" || { cat "$folder/log" && exit 1; }
grep -q '^update 200: loss 0\.000' "$folder/log" || { cat "$folder/log" && fail "examples/towers.c: it did not learn"; }
LD_LIBRARY_PATH=$library "$folder/towers" cpu:1 cpu:2 -- cpu:0 cpu:1 | cmp - "$folder/log" ||
    fail "examples/towers.c: several devices print something else"

# A loop under a strategy: the same line of digits under each, in several processes too.
echo "examples/replicas.c"
cc $strict "$here/../../examples/replicas.c" -o "$folder/replicas" $(pkg-config --cflags --libs liana)
LD_LIBRARY_PATH=$library "$folder/replicas" >"$folder/log" 2>/dev/null || { cat "$folder/log" && exit 1; }
grep -q '^y = [23]\.[0-9]* a + -[12]\.[0-9]* b' "$folder/log" || { cat "$folder/log" && fail "examples/replicas.c: another line"; }
LD_LIBRARY_PATH=$library "$folder/replicas" mirrored 3 2>/dev/null | cmp - "$folder/log" ||
    fail "examples/replicas.c: three devices print something else"

# The same for a loop whose workers need not be in step, which is one in step here.
echo "examples/free_workers.c"
cc $strict "$here/../../examples/free_workers.c" -o "$folder/free_workers" $(pkg-config --cflags --libs liana)
LD_LIBRARY_PATH=$library "$folder/free_workers" >"$folder/log" || { cat "$folder/log" && exit 1; }
grep -q '^y = 3\.000 a + -2\.000 b + 1\.000$' "$folder/log" || { cat "$folder/log" && fail "examples/free_workers.c: another line"; }
LD_LIBRARY_PATH=$library "$folder/free_workers" '{name: mirrored, replicas: 3}' | cmp - "$folder/log" ||
    fail "examples/free_workers.c: three devices print something else"

# Loops of a program's own, on the same noise; the picture is of the first one's weights.
echo "examples/custom_loop.c, examples/gan.c, examples/class_picture.c"
for example in custom_loop gan class_picture; do
    cc $strict "$here/../../examples/$example.c" -o "$folder/$example" $(pkg-config --cflags --libs liana) -lm
done
(cd "$folder" && LD_LIBRARY_PATH=$library ./custom_loop digits/train-images-idx3-ubyte.gz 6 >"$folder/log") ||
    { cat "$folder/log" && fail "examples/custom_loop.c: it failed"; }
awk '/^epoch 0:/ { first = $6 + 0 } /^epoch 5:/ { last = $6 + 0 } END { exit !(last > 0 && last < first) }' "$folder/log" ||
    { cat "$folder/log" && fail "examples/custom_loop.c: it did not learn"; }
[ -s "$folder/custom-model/weights.safetensors" ] || fail "examples/custom_loop.c: nothing was saved"
for tag in train/loss train/sureness learning_rate; do
    grep -qa "$tag" "$folder"/custom-events/events.out.tfevents.* || fail "examples/custom_loop.c: no $tag in the event file"
done
[ "$(wc -l <"$here/../../examples/custom_loop.c")" -lt 100 ] || fail "examples/custom_loop.c: it is to stay below 100 lines"
(cd "$folder" && LD_LIBRARY_PATH=$library ./gan 300 >"$folder/log" && LD_LIBRARY_PATH=$library ./gan 2 digits >/dev/null) ||
    { cat "$folder/log" && fail "examples/gan.c: it failed"; }
awk '/^the drawings/ { alike = $8 } END { exit !(alike > 0.6) }' "$folder/log" ||
    { cat "$folder/log" && fail "examples/gan.c: it drew something else"; }
[ "$(wc -c <"$folder/drawings.pgm")" = $((15 + 64 * 784)) ] || fail "examples/gan.c: another picture"
(cd "$folder" && LD_LIBRARY_PATH=$library ./class_picture custom-model 3 >"$folder/log") ||
    { cat "$folder/log" && fail "examples/class_picture.c: it failed"; }
awk '/^update 0:/ { first = $7 } /^update 200:/ { last = $7 } END { exit !(first < 0.5 && last > 0.8) }' "$folder/log" ||
    { cat "$folder/log" && fail "examples/class_picture.c: the model is not sure"; }
[ "$(wc -c <"$folder/class.pgm")" = $((13 + 784)) ] || fail "examples/class_picture.c: another picture"

# A model function: it learns the noise, goes on from its checkpoint, and its export runs.
echo "examples/estimator.c"
cc $strict "$here/../../examples/estimator.c" -o "$folder/estimator" $(pkg-config --cflags --libs liana)
(cd "$folder/digits" && LD_LIBRARY_PATH=$library ../estimator 40 >"$folder/log" &&
    LD_LIBRARY_PATH=$library ../estimator 60 >>"$folder/log") || { cat "$folder/log" && fail "examples/estimator.c: it failed"; }
[ "$(grep -c '^step [46]0: loss ' "$folder/log")" = 2 ] || { cat "$folder/log" && fail "examples/estimator.c: other steps"; }
[ "$(grep -c '^the first image is a [0-9]; black is a 1 by 0' "$folder/log")" = 2 ] ||
    { cat "$folder/log" && fail "examples/estimator.c: no prediction"; }
[ -s "$folder/digits/digits-export/graph.liana" ] || fail "examples/estimator.c: nothing was exported"
[ "$(wc -l <"$here/../../examples/estimator.c")" -lt 100 ] || fail "examples/estimator.c: it is to stay below 100 lines"

# Parts of one's own: as a plugin of the installed command, and in a program.
echo "examples/plugin"
mkdir "$folder/plugin"
(cd "$folder/plugin" && awk 'BEGIN {
    for (i = 0; i < 240; i++) {
        a = sin(i)
        b = cos(5 * i)
        print a, b, a * b > (i < 200 ? "train.numbers" : "test.numbers")
    }
}')
cp "$here/../../examples/plugin/my_parts.yaml" "$folder/plugin"
cc $strict -shared -fPIC "$here/../../examples/plugin/my_parts.c" -o "$folder/plugin/my_parts.so" \
    $(pkg-config --cflags --libs liana) -lm
"$there/bin/liana" train "$folder/plugin/my_parts.yaml" --allow-plugins >"$folder/log" 2>&1 || { cat "$folder/log" && fail "a plugin"; }
grep -q '^epoch 20/20: .*root_error' "$folder/log" || fail "examples/plugin: the metric is not told"
cc $strict "$here/../../examples/plugin/use_my_parts.c" "$here/../../examples/plugin/my_parts.c" -o "$folder/use_my_parts" \
    $(pkg-config --cflags --libs liana) -lm
(cd "$folder" && LD_LIBRARY_PATH=$library ./use_my_parts plugin/train.numbers >"$folder/log") ||
    { cat "$folder/log" && fail "examples/plugin/use_my_parts.c: it failed"; }
grep -q '^root_error 0' "$folder/log" || fail "examples/plugin/use_my_parts.c: no result"

echo "find_package"
cmake -S "$here" -B "$folder/project" -DCMAKE_PREFIX_PATH="$there" >"$folder/log" 2>&1 &&
    cmake --build "$folder/project" >>"$folder/log" 2>&1 || { cat "$folder/log" && exit 1; }
"$folder/project/use_liana" "$whole"
"$folder/project/use_static" "$whole"
if readelf -d "$folder/project/use_static" | grep -q 'NEEDED.*libliana'; then fail "liana::static is not static"; fi
readelf -d "$folder/project/use_liana" | grep NEEDED >"$folder/log"
if grep -vE 'lib(liana|c)\.so' "$folder/log"; then fail "liana::liana links more than the shared library"; fi

echo "headers"
for header in "$there"/include/liana/*.h; do
    name=liana/$(basename "$header")
    printf '#include <%s>\n#include <%s>\nint liana_translation_unit_is_not_empty;\n' "$name" "$name" >"$folder/header.c"
    cp "$folder/header.c" "$folder/header.cc"
    gcc $strict -I"$there/include" -fsyntax-only "$folder/header.c"
    for compiler in clang-14 g++; do
        has_program "$compiler" || continue
        case $compiler in
        clang*) "$compiler" $strict -I"$there/include" -fsyntax-only "$folder/header.c" ;;
        *) "$compiler" -std=c++17 -Wall -Wextra -pedantic -Werror -I"$there/include" -fsyntax-only "$folder/header.cc" ;;
        esac
    done
done

echo "symbols"
nm -D --defined-only "$library/libliana.so" | awk '$2 ~ /[A-Z]/ { print $3 }' >"$folder/exported"
[ "$(wc -l <"$folder/exported")" -ge 5 ] || fail "libliana.so exports next to nothing"
# liana__command_main is the command's, whose code lies in the library.
if grep -vE '^liana_[a-z0-9]|^liana__command_main$' "$folder/exported"; then fail "libliana.so exports these, which are not its interface"; fi
# An archive cannot hide symbols, but they must not clash with those of others.
nm -g --defined-only "$library/libliana.a" 2>/dev/null | awk 'NF == 3 { print $3 }' >"$folder/archived"
if grep -vE '^_?liana_' "$folder/archived"; then fail "libliana.a defines these names outside of liana_"; fi
# A context holds what changes; nothing in the library itself does.
# (Of libraries that are loaded when they are needed it keeps the addresses, as the linker does of those that are linked.)
objdump -t "$library/libliana.a" | grep -E ' O \.(data|bss|tdata|tbss)' | grep -v 'data\.rel\.ro' |
    grep -vE ' liana__(cairo|pango|gif|webp|tiff|zip|hdf5|curl|crypto|expat|zmq|microhttpd)_library$' >"$folder/mutable" || true
if [ -s "$folder/mutable" ]; then
    cat "$folder/mutable"
    fail "libliana.a has these mutable globals"
fi
# All functions of the headers are there.
cat "$there"/include/liana/*.h | grep -oE '\bLIANA_API [^;{]*' | grep -oE '\bliana_[a-z0-9_]+\(' | sed 's/(//' |
    sort -u >"$folder/promised"
sort -u "$folder/exported" | comm -23 "$folder/promised" - >"$folder/absent"
if [ -s "$folder/absent" ]; then
    cat "$folder/absent"
    fail "libliana.so lacks these, which the headers declare"
fi
"$there/bin/liana" version | grep -qxF "liana $whole" || fail "the command's version"

echo "documents"
documents=$there/share/doc/liana
for file in LICENSE README.md docs/explanation/README.md docs/images/demo.png examples/mnist.c; do
    cmp "$here/../../$file" "$documents/$file" || fail "$file is not installed as it is"
done
# tests/docs/test_manual.sh looks at what they say. Without Python there are none.
if [ -e "$build/manual.stamp" ]; then
    for page in man1/liana.1 man1/liana-train.1 man3/liana_fit.3 man5/liana.yaml.5 man7/liana-layers.7; do
        cmp "$build/manual/$page" "$there/share/man/$page" || fail "$page is not installed"
    done
    if has_program man; then
        MANPATH=$there/share/man man 3 liana_fit | grep -q 'Trains the model' || fail "man 3 liana_fit does not show the function"
    fi
fi
# tests/checks/test_completion.sh tests what they do.
for row in bash:bash-completion/completions/liana zsh:zsh/site-functions/_liana fish:fish/vendor_completions.d/liana.fish; do
    "$there/bin/liana" completion "${row%%:*}" | cmp - "$there/share/${row#*:}" || fail "the completion for ${row%%:*}"
done

echo "uninstall"
DESTDIR="$folder/stage" cmake --install "$build" --prefix /opt >"$folder/log"
mkdir -p "$folder/stage/opt/share/doc/liana" && echo mine >"$folder/stage/opt/share/doc/liana/notes"
DESTDIR="$folder/stage" cmake --build "$build" --target uninstall >"$folder/log" || { cat "$folder/log" && exit 1; }
[ "$(find "$folder/stage" -type f -o -type l)" = "$folder/stage/opt/share/doc/liana/notes" ] ||
    fail "uninstalling left or took other files: $(find "$folder/stage" -type f -o -type l)"
[ ! -e "$folder/stage/opt/include/liana" ] || fail "uninstalling left an empty folder of liana's"
echo "the installed copy works"
