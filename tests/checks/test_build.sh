#!/bin/sh
# The tree also builds, without a warning, in another way: with another compiler, without an optional library, or
# without the kernels of one kind of processor.
#   test_build.sh FOLDER COMPILER CMAKE_OPTION...
set -eu
folder=$1
compiler=$2
shift 2
cd "$(dirname "$0")/../.."
. tests/checks/needs.sh
has_program "$compiler" || exit 77
if [ ! -e "$folder/CMakeCache.txt" ] && command -v ninja >/dev/null; then set -- -G Ninja "$@"; fi
cmake -S . -B "$folder" "$@" -DCMAKE_C_COMPILER="$compiler" -DLIANA_WERROR=ON -Wno-dev --log-level=WARNING >/dev/null
cmake --build "$folder" --parallel "$(nproc)"
