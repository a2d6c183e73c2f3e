#!/bin/sh
# A later `make` takes over everything that one has compiled: each configuration of one folder gives the same commands,
# whichever target asks for it. Nothing is compiled here but two small files, in a folder of its own.
#   test_second_make.sh COMPILER
set -eu
export CC="$1"
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "test_second_make.sh: $*" >&2
    exit 1
}
# The command line of the outer `make test WERROR=ON` is not meant for these.
unset MAKEFLAGS MAKEOVERRIDES MAKELEVEL WERROR CMAKE_OPTIONS 2>/dev/null || true

# run TARGET ASSIGNMENT...: the target's packages and its configuration, without compiling or testing
run() {
    make --no-print-directory BUILD="$folder/build" PACKAGES=: PEERS=: COMPILE=: TEST=: "$@" >"$folder/log" 2>&1 ||
        fail "make $*: $(cat "$folder/log")"
}
# Every command of the build. CMake's files for other systems' debuggers, and the files that it reads itself, are no
# commands.
commands() {
    grep -vE '^ +TARGET_(COMPILE_)?PDB = |^build .*CMakeLists\.txt' "$folder/build/build.ninja"
}
# same WORDS TARGET ASSIGNMENT...: the target's configuration gives the commands of the one before
same() {
    words=$1
    shift
    commands >"$folder/before"
    run "$@"
    commands >"$folder/after"
    cmp -s "$folder/before" "$folder/after" || {
        diff "$folder/before" "$folder/after" | head -n 20 | cut -c 1-2000
        fail "$words: the commands above are other ones, so that files are compiled again"
    }
}

run all
grep -q ' -isystem ' "$folder/build/build.ninja" || fail "no folder of a package is in the commands: this compares nothing"
same "make after make" all
same "make test after make" test
# As ninja sees it, too, which also looks at the files of the configuration.
objects="CMakeFiles/liana_objects.dir/src/base/crc32c.c.o CMakeFiles/liana_other_clock.dir/tests/modules/other_clock.c.o"
# shellcheck disable=SC2086 # words are meant
ninja -C "$folder/build" $objects >"$folder/log" || fail "$(cat "$folder/log")"
run test
# shellcheck disable=SC2086
ninja -C "$folder/build" $objects >"$folder/log"
# The version is asked for each time, and compiled only when it is another one.
grep -q 'Building\|Linking' "$folder/log" && fail "a second make compiles again: $(cat "$folder/log")"

# A choice stays.
rm -rf "$folder/build"
run test WERROR=ON CMAKE_OPTIONS='-DBUILD_SHARED_LIBS=OFF -DLIANA_X86=OFF'
grep -q ' -Werror' "$folder/build/build.ninja" || fail "WERROR=ON gives no -Werror"
same "make after make test WERROR=ON" all
same "make check-peers after make test WERROR=ON" check-peers
same "make install after make test" install DESTDIR="$folder/stage" PREFIX=/opt INSTALL=:

# Packages that say -isystem: with and without a blank, linked ones and loaded ones, before and after -I.
rm -rf "$folder/build"
mkdir "$folder/packages"
for package in libjpeg:'-isystem /opt/one -I/opt/two -DONE=1' libzmq:'-I/opt/three -isystem/opt/four' \
    jansson:'-isystem /opt/five -isystem /opt/six'; do
    name=${package%%:*}
    where=$(pkg-config --variable=pcfiledir "$name")
    sed "s|^Cflags:.*|Cflags: ${package#*:}|; /^Requires/d" "$where/$name.pc" >"$folder/packages/$name.pc"
    grep -q '^Cflags' "$folder/packages/$name.pc" || echo "Cflags: ${package#*:}" >>"$folder/packages/$name.pc"
done
PKG_CONFIG_PATH=$folder/packages
export PKG_CONFIG_PATH
run all
for option in one two three four five six; do
    grep -Eq -- "-isystem /opt/$option( |\$)" "$folder/build/build.ninja" || fail "/opt/$option is in no command"
done
grep -q 'DEFINES = .*-DONE=1\|FLAGS = .*-DONE=1' "$folder/build/build.ninja" || fail "-DONE=1 is in no command"
same "make after make, with packages that say -isystem" all
same "make test after make, with packages that say -isystem" test
echo "later configurations give the same commands"
