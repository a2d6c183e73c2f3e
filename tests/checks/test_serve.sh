#!/bin/sh
# `liana serve` and an independent client (serve.py): a model of images and one of numbers, made by liana itself.
#   test_serve.sh BUILD_FOLDER [CASE ...]
set -eu
build=$(cd "$1" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
. "$here/needs.sh"
for program in python3 curl openssl; do has_program $program || exit 77; done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
sh "$here/serve_models.sh" "$build" "$folder"
python3 "$here/serve.py" "$build" "$folder" "$@"
