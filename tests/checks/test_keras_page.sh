#!/bin/sh
# docs/reference/keras.md is what tests/docs/keras_page.py writes of Keras's names and of liana's answers to them.
#   tests/checks/test_keras_page.sh BUILD
set -eu
cd "$(dirname "$0")/../.."
. tests/checks/needs.sh
need_peer tensorflow
"$peers/tensorflow/bin/python" -B -W ignore tests/docs/keras_page.py "$1/liana" check
