#!/bin/sh
# Requests to `liana serve` while versions come and go and clients are killed: some hundred in each run of the suite.
# `make check-serve` does it with 10,000, and looks at the memory.
#   test_serve_soak.sh BUILD_FOLDER [REQUESTS]
set -eu
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/needs.sh"
for program in python3 openssl; do has_program $program || exit 77; done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
sh "$here/serve_models.sh" "$build" "$folder"
python3 "$here/serve_soak.py" "$build" "$folder" --requests "${2:-600}"
