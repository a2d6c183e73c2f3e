#!/bin/sh
# The numbers of tests/samples/keras_tasks.h are those of Keras: the script that wrote them makes them again.
#   test_keras_tasks.sh tensorflow|jax
# The argument is Keras's backend. Keras is that of the peer tensorflow; for jax both peers are needed. Skipped where
# bench/install-peers.sh has not installed them (PEERS_DIR, default build/peers).
set -eu
backend=$1
cd "$(dirname "$0")/../.."
peers=${PEERS_DIR:-build/peers}
for peer in tensorflow "$backend"; do
    if [ ! -e "$peers/$peer/installed.txt" ]; then
        echo "test_keras_tasks.sh: skipped: $peer is not installed (bench/install-peers.sh $peer installs it)"
        exit 77
    fi
done
if [ "$backend" != tensorflow ]; then
    # Keras itself is only where TensorFlow is.
    for packages in "$peers"/tensorflow/lib/python3*/site-packages; do
        PYTHONPATH=$(cd "$packages" && pwd)
        export PYTHONPATH
    done
fi
KERAS_BACKEND=$backend "$peers/$backend/bin/python" -W ignore tests/samples/keras_tasks.py \
    --check tests/samples/keras_tasks.h
