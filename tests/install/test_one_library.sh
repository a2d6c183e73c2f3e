#!/bin/sh
# Installs a build of one library (BUILD_SHARED_LIBS) and uses it: as programs that do not know which one it is.
#   test_one_library.sh BUILD_FOLDER shared|static VERSION
set -eu
build=$1
kind=$2
version=$3
here=$(cd "$(dirname "$0")" && pwd)
whole=$(cmake -P "$here/../../cmake/version.cmake")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "$*" >&2
    exit 1
}
if [ ! -e "$build/liana" ]; then
    echo "skipped: $build holds no build" >&2
    exit 77
fi

DESTDIR='' cmake --install "$build" --prefix "$folder/there" >"$folder/log" || { cat "$folder/log" && exit 1; }
mv "$folder/there" "$folder/moved"
there=$folder/moved
library=$(dirname "$(dirname "$(find "$there" -name liana.pc)")")
case $kind in
shared) wanted="libliana.so libliana.so.${version%%.*} libliana.so.$version" ;;
static) wanted="libliana.a" ;;
esac
[ "$(cd "$library" && echo libliana.*)" = "$wanted" ] || fail "$kind: installed are $(cd "$library" && echo libliana.*)"

cc -std=c17 -Wall -Wextra -Werror "$here/use_liana.c" -o "$folder/use" \
    $(PKG_CONFIG_LIBDIR="$library/pkgconfig" PKG_CONFIG_PATH='' pkg-config --cflags --libs liana)
LD_LIBRARY_PATH=$library "$folder/use" "$whole"
cmake -S "$here" -B "$folder/project" -DCMAKE_PREFIX_PATH="$there" >"$folder/log" 2>&1 &&
    cmake --build "$folder/project" >>"$folder/log" 2>&1 || { cat "$folder/log" && exit 1; }
"$folder/project/use_liana" "$whole"
case $kind in
shared) [ ! -e "$folder/project/use_static" ] || fail "liana::static is not installed, but found" ;;
static) "$folder/project/use_static" "$whole" ;;
esac
for program in "$folder/use" "$folder/project/use_liana" "$there/bin/liana"; do
    bound=static
    if readelf -d "$program" | grep -q 'NEEDED.*libliana'; then bound=shared; fi
    [ $bound = "$kind" ] || fail "$program is $bound"
done
"$there/bin/liana" version | grep -qxF "liana $whole" || fail "the command does not find its library"

if [ "$kind" = shared ]; then
    # The code is installed once: the command is a main.
    [ "$(wc -c <"$there/bin/liana")" -lt 100000 ] || fail "the command holds more than its main"
    if nm -D --defined-only "$library/libliana.so" | awk '$2 ~ /[A-Z]/ { print $3 }' |
        grep -vE '^liana_[a-z0-9]|^liana__command_main$'; then fail "libliana.so exports these"; fi
fi
echo "the $kind library alone works"
