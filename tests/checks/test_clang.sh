#!/bin/sh
# Everything compiles without a warning with clang as well: builds the tree into BUILD_FOLDER/clang.
#   test_clang.sh BUILD_FOLDER
set -eu
if ! command -v clang-14 >/dev/null; then
    echo "clang-14 is missing: scripts/install-packages.sh --tests installs it" >&2
    # ctest counts 77 as skipped; where everything must be installed a skip would hide a failure.
    [ -n "${CI:-}" ] && exit 1
    exit 77
fi
cd "$(dirname "$0")/../.."
folder=$1/clang
if [ ! -e "$folder/CMakeCache.txt" ] && command -v ninja >/dev/null; then set -- -G Ninja; else set --; fi
cmake -S . -B "$folder" "$@" -DCMAKE_C_COMPILER=clang-14 -DCMAKE_BUILD_TYPE=Debug -DLIANA_WERROR=ON -Wno-dev \
    --log-level=WARNING >/dev/null
cmake --build "$folder" --parallel "$(nproc)"
