#!/bin/sh
# Installs a build into a temporary folder and uses it from there, as another program's author would: through
# pkg-config and through CMake, shared and static; then looks at what the libraries export.
#   test_install.sh BUILD_FOLDER VERSION
set -eu
build=$1
version=$2
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "$*" >&2
    exit 1
}

# Not where the build was told to install to: an installed copy must find itself wherever it lies.
DESTDIR='' cmake --install "$build" --prefix "$folder/there" >"$folder/log" || { cat "$folder/log" && exit 1; }
mv "$folder/there" "$folder/moved"
there=$folder/moved
library=$(dirname "$(find "$there" -name libliana.a)")
export PKG_CONFIG_PATH="$library/pkgconfig"
strict="-std=c17 -Wall -Wextra -pedantic -Werror"

[ "$(pkg-config --modversion liana)" = "$version" ] || fail "liana.pc: wrong version $(pkg-config --modversion liana)"

echo "pkg-config, shared"
cc $strict "$here/use_liana.c" -o "$folder/use" $(pkg-config --cflags --libs liana)
LD_LIBRARY_PATH=$library "$folder/use" "$version"
# The SONAME is what programs are bound to: a later, incompatible version must not be taken for this one.
readelf -d "$folder/use" | grep -q "NEEDED.*\[libliana.so.${version%.*}\]" || fail "the program is not bound to the SONAME"

echo "pkg-config, static"
cc $strict "$here/use_liana.c" -o "$folder/use" $(pkg-config --cflags liana) \
    "$library/libliana.a" $(pkg-config --static --libs liana | sed 's/-lliana//')
"$folder/use" "$version"

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
(cd "$folder" && LD_LIBRARY_PATH=$library ./mnist digits 2 >"$folder/log") || { cat "$folder/log" && exit 1; }
grep -q '^epoch 2/2: loss ' "$folder/log" || fail "examples/mnist.c: no second epoch"
grep -q '^test accuracy 0' "$folder/log" || fail "examples/mnist.c: no test accuracy"
[ -s "$folder/mnist-model/weights.safetensors" ] || fail "examples/mnist.c: nothing was saved"
[ "$(wc -l <"$here/../../examples/mnist.c")" -lt 80 ] || fail "examples/mnist.c: it is to stay below 80 lines"

echo "examples/datasets.c"
cc $strict "$here/../../examples/datasets.c" -o "$folder/datasets" $(pkg-config --cflags --libs liana)
LD_LIBRARY_PATH=$library "$folder/datasets" >"$folder/log" || { cat "$folder/log" && exit 1; }
[ "$(grep -c '^batch of 3: ' "$folder/log")" = 2 ] || fail "examples/datasets.c: there are not two batches of 3"
grep -q '^batch of 1: lying$' "$folder/log" || fail "examples/datasets.c: the last batch is not that of number 6"
awk '/^test accuracy/ { good = $3 > 0.9 } END { exit !good }' "$folder/log" || fail "examples/datasets.c: nothing was learnt"

echo "find_package"
cmake -S "$here" -B "$folder/project" -DCMAKE_PREFIX_PATH="$there" >"$folder/log" 2>&1 &&
    cmake --build "$folder/project" >>"$folder/log" 2>&1 || { cat "$folder/log" && exit 1; }
"$folder/project/use_shared" "$version"
"$folder/project/use_static" "$version"
if readelf -d "$folder/project/use_static" | grep -q 'NEEDED.*libliana'; then fail "liana::static is not static"; fi

echo "headers"
for header in "$there"/include/liana/*.h; do
    name=liana/$(basename "$header")
    printf '#include <%s>\n#include <%s>\nint liana_translation_unit_is_not_empty;\n' "$name" "$name" >"$folder/header.c"
    cp "$folder/header.c" "$folder/header.cc"
    gcc $strict -I"$there/include" -fsyntax-only "$folder/header.c"
    # A newcomer's machine may lack these; CI installs them (scripts/install-packages.sh --tests).
    for compiler in clang-14 g++; do
        if ! command -v "$compiler" >/dev/null; then
            [ -z "${CI:-}" ] || fail "$compiler is missing"
            continue
        fi
        case $compiler in
        clang*) "$compiler" $strict -I"$there/include" -fsyntax-only "$folder/header.c" ;;
        *) "$compiler" -std=c++17 -Wall -Wextra -pedantic -Werror -I"$there/include" -fsyntax-only "$folder/header.cc" ;;
        esac
    done
done

echo "symbols"
nm -D --defined-only "$library/libliana.so" | awk '$2 ~ /[A-Z]/ { print $3 }' >"$folder/exported"
[ "$(wc -l <"$folder/exported")" -ge 5 ] || fail "libliana.so exports next to nothing"
if grep -vE '^liana_[a-z0-9]' "$folder/exported"; then fail "libliana.so exports these, which are not its interface"; fi
# An archive cannot hide symbols, but they must not clash with those of others.
nm -g --defined-only "$library/libliana.a" 2>/dev/null | awk 'NF == 3 { print $3 }' >"$folder/archived"
if grep -vE '^_?liana_' "$folder/archived"; then fail "libliana.a defines these names outside of liana_"; fi
# A context holds what changes; nothing in the library itself does.
objdump -t "$library/libliana.a" | grep -E ' O \.(data|bss|tdata|tbss)' | grep -v 'data\.rel\.ro' >"$folder/mutable" || true
if [ -s "$folder/mutable" ]; then
    cat "$folder/mutable"
    fail "libliana.a has these mutable globals"
fi
# What the headers promise is there.
cat "$there"/include/liana/*.h | grep -oE '\bLIANA_API [^;{]*' | grep -oE '\bliana_[a-z0-9_]+\(' | sed 's/(//' |
    sort -u >"$folder/promised"
sort -u "$folder/exported" | comm -23 "$folder/promised" - >"$folder/absent"
if [ -s "$folder/absent" ]; then
    cat "$folder/absent"
    fail "libliana.so lacks these, which the headers declare"
fi
if [ -e "$there/bin/liana" ]; then "$there/bin/liana" version | grep -qF "$version" || fail "the command's version"; fi
echo "the installed copy works"
