#!/bin/sh
# The numbers of tests/samples/keras_optimizers.h are those of Keras: the script that wrote them makes them again.
set -eu
cd "$(dirname "$0")/../.."
. tests/checks/needs.sh
need_peer tensorflow
"$peers/tensorflow/bin/python" -W ignore tests/samples/keras_optimizers.py --check tests/samples/keras_optimizers.h
