#!/bin/sh
# The numbers of tests/samples/keras_NAME.json are those of Keras: the script that wrote them makes them again.
#   test_keras_lists.sh NAME tensorflow|jax
# The second argument is Keras's backend. Keras is that of the peer tensorflow; for jax both peers are needed.
set -eu
name=$1
backend=$2
cd "$(dirname "$0")/../.."
. tests/checks/needs.sh
need_peer tensorflow "$backend"
if [ "$backend" != tensorflow ]; then
    # Keras itself is only where TensorFlow is.
    for packages in "$peers"/tensorflow/lib/python3*/site-packages; do
        PYTHONPATH=$(cd "$packages" && pwd)
        export PYTHONPATH
    done
fi
KERAS_BACKEND=$backend PYTHONDONTWRITEBYTECODE=1 "$peers/$backend/bin/python" -W ignore \
    "tests/samples/keras_$name.py" --check "tests/samples/keras_$name.json"
