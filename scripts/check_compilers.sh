#!/bin/sh
# Builds liana with each compiler that it supports, where a warning is an error: make check-compilers
#   scripts/check_compilers.sh [--product] [FOLDER] [COMPILER...]
# FOLDER (default: build-compilers) has a build of each. COMPILER: some of them (default: all, as the table in
# docs/guides/releasing.md). --product: without tests. One that is not installed fails, but for clang-19, which not every mirror
# of Debian 12 has: it is left out, and the last line says so.
set -eu
cd "$(dirname "$0")/.."
target=all
if [ "${1-}" = --product ]; then
    target=liana_product
    shift
fi
folder=${1:-build-compilers}
[ $# -eq 0 ] || shift
all="gcc-11 gcc-12 clang-14 clang-15 clang-16 clang-19"
built=
left=
for compiler in ${*:-$all}; do
    if ! command -v "$compiler" >/dev/null; then
        if [ "$compiler" = clang-19 ]; then
            left=$compiler
            continue
        fi
        echo "check_compilers.sh: no $compiler; scripts/install-packages.sh --compilers installs it" >&2
        exit 1
    fi
    begin=$(date +%s)
    mkdir -p "$folder"
    # Optimized: gcc finds what has no value yet only then.
    if ! { cmake -S . -B "$folder/$compiler" $(command -v ninja >/dev/null && echo -G Ninja) -DCMAKE_C_COMPILER="$compiler" \
        -DLIANA_WERROR=ON --log-level=WARNING -Wno-dev &&
        cmake --build "$folder/$compiler" --parallel "${JOBS:-$(nproc)}" --target $target; } >"$folder/$compiler.log" 2>&1; then
        grep -E 'error:|warning:' "$folder/$compiler.log" | sort -u | head -n 40 >&2
        echo "check_compilers.sh: $compiler: see above and $folder/$compiler.log" >&2
        exit 1
    fi
    # Warnings that -Werror does not turn into errors, of the linker for example.
    if grep -i 'warning:' "$folder/$compiler.log" >&2; then
        echo "check_compilers.sh: $compiler warns" >&2
        exit 1
    fi
    echo "$compiler ($($compiler -dumpfullversion 2>/dev/null || $compiler -dumpversion)): no warnings, $(($(date +%s) - begin)) s"
    built="$built $compiler"
done
echo "built with$built"
[ -z "$left" ] || echo "LEFT OUT: $left, which is not installed (scripts/install-packages.sh --compilers)"
