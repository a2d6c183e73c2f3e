#!/bin/sh
# Builds liana for arm64 with Debian's cross compiler, and runs the tests of base, ops and layers under qemu: make check-arm64
#   scripts/check_arm64.sh [FOLDER] [TEST...]    FOLDER: of the build (default: build-arm64); TEST: only these (test_text)
# A Debian for arm64 is unpacked once into the folder LIANA_ARM64 (default: FOLDER-debian); no package of it is installed,
# and this machine's dpkg hears nothing of arm64.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build-arm64}
[ $# -eq 0 ] || shift
debian=${LIANA_ARM64:-$build-debian}
case $debian in /*) ;; *) debian=$PWD/$debian ;; esac
for program in aarch64-linux-gnu-gcc qemu-aarch64 mmdebstrap; do
    command -v $program >/dev/null ||
        { echo "check_arm64.sh: no $program; scripts/install-packages.sh --arm64 installs it" >&2; exit 1; }
done
# The same libraries as here, without programs.
libraries=$(sed -n 's/^build="//; /^ *lib.*-dev/p' scripts/install-packages.sh | tr -d '"' | tr ' ' '\n' | grep -- '-dev$' | sort -u)
if [ ! -e "$debian/unpacked" ]; then
    rm -rf "$debian"
    mkdir -p "$debian"
    mmdebstrap --quiet --variant=extract --architectures=arm64 --include="libgomp1,libgcc-s1,$(echo $libraries | tr ' ' ,)" \
        bookworm "$debian"
    # Links from the root of that Debian lead nowhere here.
    find "$debian" -type l -lname '/*' | while read -r link; do
        ln -sfnr "$debian$(readlink "$link")" "$link"
    done
    touch "$debian/unpacked"
fi
triplet=aarch64-linux-gnu
PKG_CONFIG_SYSROOT_DIR=$debian
PKG_CONFIG_LIBDIR=$debian/usr/lib/$triplet/pkgconfig:$debian/usr/share/pkgconfig
export PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_LIBDIR
cmake -S . -B "$build" $(command -v ninja >/dev/null && echo -G Ninja) -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
    -DCMAKE_C_COMPILER=$triplet-gcc -DCMAKE_SYSROOT="$debian" -DCMAKE_FIND_ROOT_PATH_MODE_PROGRAM=NEVER \
    -DCMAKE_LIBRARY_ARCHITECTURE=$triplet -DCMAKE_CROSSCOMPILING_EMULATOR="qemu-aarch64;-L;$debian" -DLIANA_WASM=OFF -DLIANA_MPI=OFF \
    -DLIANA_WERROR=ON -DBUILD_SHARED_LIBS=ON --log-level=WARNING -Wno-dev
tests=${*:-$(find tests/base tests/ops tests/layers -name 'test_*.c' -exec basename {} .c \; | sort)}
# shellcheck disable=SC2086 # words are meant
cmake --build "$build" --parallel "${JOBS:-$(nproc)}" --target liana $tests
# qemu computes a hundred times slower than the machine.
ctest --test-dir "$build" --output-on-failure --timeout 3600 -R "^($(echo $tests | tr ' ' '|'))\$"
