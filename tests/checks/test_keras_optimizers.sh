#!/bin/sh
# The numbers of tests/samples/keras_optimizers.h are those of Keras: the script that wrote them makes them again.
# Skipped where bench/install-peers.sh has not installed the peer tensorflow (PEERS_DIR, default build/peers).
set -eu
cd "$(dirname "$0")/../.."
peers=${PEERS_DIR:-build/peers}
if [ ! -e "$peers/tensorflow/installed.txt" ]; then
    echo "test_keras_optimizers.sh: skipped: Keras is not installed (bench/install-peers.sh tensorflow installs it)"
    exit 77
fi
"$peers/tensorflow/bin/python" -W ignore tests/samples/keras_optimizers.py --check tests/samples/keras_optimizers.h
