#!/bin/sh
# The tree also builds, without a warning, in another way: with another compiler, without an optional library, or
# without the kernels of one kind of processor.
#   test_build.sh FOLDER COMPILER CMAKE_OPTION...
set -eu
folder=$1
compiler=$2
shift 2
if ! command -v "$compiler" >/dev/null; then
    echo "$compiler is missing: scripts/install-packages.sh --tests installs it" >&2
    # ctest counts 77 as skipped; where everything must be installed a skip would hide a failure.
    [ -n "${CI:-}" ] && exit 1
    exit 77
fi
cd "$(dirname "$0")/../.."
if [ ! -e "$folder/CMakeCache.txt" ] && command -v ninja >/dev/null; then set -- -G Ninja "$@"; fi
cmake -S . -B "$folder" "$@" -DCMAKE_C_COMPILER="$compiler" -DLIANA_WERROR=ON -Wno-dev --log-level=WARNING >/dev/null
cmake --build "$folder" --parallel "$(nproc)"
