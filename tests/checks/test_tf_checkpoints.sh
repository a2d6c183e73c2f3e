#!/bin/sh
# The checkpoints of tests/samples/tf_checkpoints.h are TensorFlow's: the script that wrote them makes them again.
set -eu
cd "$(dirname "$0")/../.."
. tests/checks/needs.sh
need_peer tensorflow
made=$(mktemp)
trap 'rm -f "$made"' EXIT
"$peers/tensorflow/bin/python" -W ignore tests/samples/tf_checkpoints.py >"$made"
cmp "$made" tests/samples/tf_checkpoints.h
