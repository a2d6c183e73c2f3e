#!/bin/sh
# The Python module (bindings/python): its structs against the headers, and its predictions against those that exports have
# recorded.
#   test_python.sh BUILD_FOLDER COMPILER
set -eu
build=$(cd "$1" && pwd)
compiler=$2
here=$(cd "$(dirname "$0")" && pwd)
. "$here/needs.sh"
tree=$here/../..
# Debian's Python has Debian's numpy.
python=
for name in /usr/bin/python3 python3; do
    if [ -z "$python" ] && "$name" -c 'import numpy' 2>/dev/null; then python=$name; fi
done
if [ -z "$python" ]; then
    echo "skipped: numpy for Python is missing (scripts/install-packages.sh --tests)"
    [ -z "${CI:-}" ] || exit 1
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder" "$build/install_manifest_python.txt"' EXIT
cd "$folder"
fail() {
    echo "$*" >&2
    exit 1
}

# Sizes and offsets of the structs that the module declares.
{
    printf '#include <liana/liana.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void)\n{\n'
    while read -r name members; do
        printf '    printf("%s sizeof %%zu\\n", sizeof(%s));\n' "$name" "$name"
        for member in $members; do
            printf '    printf("%s %s %%zu\\n", offsetof(%s, %s));\n' "$name" "$member" "$name" "$member"
        done
    done <<'END'
liana_shape rank dims
liana_array name dtype shape data
liana_bytes data size
liana_pixels data height width channels row_bytes
liana_preprocessing scale round antialias fast_decode class_names num_class_names
liana_context_options num_threads log log_user sticky_errors allow_plugins
liana_predictor_options batch_size device num_threads scale prepared_images
liana_predictor_facts name batch_size num_inputs num_outputs num_values takes_images height width channels preprocessing
liana_predictor_port name dtype shape num_values offset num_ids is_image class_names num_class_names
END
    printf '    return 0;\n}\n'
} >layout.c
"$compiler" -std=c17 -I"$tree/include" layout.c -o layout
./layout >layout.txt

"$build/liana" synth flowers classes=3 images=60 image_size=24 --out data >/dev/null
cat >config.yaml <<'END'
data: {train: data/train/*.tfrec, validation: data/val/*.tfrec, class_names: data/classes.txt}
model:
  layers:
    - Conv2D: {filters: 4, kernel_size: 3, activation: relu}
    - GlobalAveragePooling2D
    - Dense: {units: 3, activation: softmax}
train: {epochs: 1}
output: run
END
"$build/liana" train config.yaml >/dev/null
"$build/liana" export run --to flowers >/dev/null
printf 'title,size,kind,price\n' >table.csv
for i in 1 2 3 4 5 6 7 8; do printf '"word %d, and more",%d.5,%s,%d\n' $((i % 3)) $i "$([ $((i % 2)) = 0 ] && echo a || echo b)" $i; done >>table.csv
cat >table.yaml <<'END'
data:
  train: table.csv
  columns: {title: {dtype: string}, size: size, kind: {category: true}, price: price}
  targets: {kind: kind, price: price}
model:
  layers:
    - InputLayer: {shape: [], dtype: string, name: title}
    - TextVectorization: {output_mode: multi_hot, name: words}
    - InputLayer: {shape: [1], name: size}
    - Concatenate: {inputs: [words, size], name: both}
    - Dense: {units: 2, activation: softmax, name: kind, inputs: both}
    - Dense: {units: 1, name: price, inputs: both}
  outputs: [kind, price]
train: {epochs: 1, loss: {kind: sparse_categorical_crossentropy, price: mse}}
output: run-of-table
END
"$build/liana" train table.yaml >/dev/null
"$build/liana" export run-of-table --to table >/dev/null

# As it lies in the tree: the build is told.
LIANA_LIBRARY=$build/libliana.so PYTHONPATH=$tree/bindings/python PYTHONDONTWRITEBYTECODE=1 \
    "$python" "$here/python_module.py" flowers table layout.txt
# Where nothing names the library it is that of the tree's build.
mkdir -p copy/bindings copy/build
cp -r "$tree/bindings/python" copy/bindings/
cp -P "$build"/libliana.so* copy/build/
PYTHONPATH=copy/bindings/python PYTHONDONTWRITEBYTECODE=1 "$python" -c '
import liana
assert any("/copy/build/libliana.so" in line for line in open("/proc/self/maps"))
' || fail "the module does not find the library of the build"
# Installed, it finds the library that was installed with it.
DESTDIR='' cmake --install "$build" --prefix "$folder/there" --component python >/dev/null
mkdir -p there/lib
cp -P "$build"/libliana.so* there/lib/
module=$(find there -name liana.py)
[ -n "$module" ] || fail "cmake installs no liana.py"
(cd / && PYTHONPATH=$folder/$(dirname "$module") PYTHONDONTWRITEBYTECODE=1 "$python" -c '
import liana, sys
paths = [line.split()[-1] for line in open("/proc/self/maps") if "libliana.so" in line]
assert paths and all(path.startswith(sys.argv[1]) for path in paths), paths
' "$folder/there") || fail "the installed module has another library"
# Without a library, or with another one, the message says so.
if PYTHONPATH=$tree/bindings/python LIANA_LIBRARY=$folder/nothing.so PYTHONDONTWRITEBYTECODE=1 \
    "$python" -c 'import liana' 2>log; then fail "a missing library is no error"; fi
grep -q 'set LIANA_LIBRARY' log || { cat log && fail "the message does not name LIANA_LIBRARY"; }
if PYTHONPATH=$tree/bindings/python LIANA_LIBRARY=libm.so.6 PYTHONDONTWRITEBYTECODE=1 \
    "$python" -c 'import liana' 2>log; then fail "another library is no error"; fi
grep -q 'has no liana_version' log || { cat log && fail "the message does not say what is missing"; }
# Its versions are the library's.
version=$("$build/liana" version | sed 's/^liana //; s/[^0-9.].*//')
grep -q "^MAJOR = ${version%%.*}\$" "$tree/bindings/python/liana.py" || fail "liana.py: the major version is not ${version%%.*}"
grep -q "^version = \"$version\"\$" "$tree/bindings/python/pyproject.toml" || fail "pyproject.toml: the version is not $version"
if "$python" -c 'import pip, setuptools' 2>/dev/null; then
    cp -r "$tree/bindings/python" wheel
    "$python" -m pip install --quiet --no-deps --no-build-isolation --no-index --target "$folder/site" ./wheel 2>log ||
        { cat log && fail "pip install bindings/python"; }
    LIANA_LIBRARY=$build/libliana.so PYTHONPATH=$folder/site "$python" -c 'import liana; print(liana.version())' >/dev/null
fi
