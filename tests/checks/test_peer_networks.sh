#!/bin/sh
# The networks that a peer of today is measured with are Keras's: with its weights they give its numbers.
#   test_peer_networks.sh torch|jax
set -eu
measured=$1
cd "$(dirname "$0")/../.."
. tests/checks/needs.sh
need_peer "$measured" tensorflow
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# EfficientNetB0 is padded on all sides in both peers, MobileNetV2 and ResNet50V2 in JAX: other numbers than Keras's.
networks="ResNet50 DenseNet121 Xception InceptionV3 InceptionResNetV2 VGG16"
[ "$measured" = jax ] || networks="MobileNetV2 ResNet50V2 $networks"
export CUDA_VISIBLE_DEVICES=-1 TF_CPP_MIN_LOG_LEVEL=3 KERAS_BACKEND=tensorflow JAX_PLATFORMS=cpu
# shellcheck disable=SC2086 # words are meant
"$peers/tensorflow/bin/python" tests/checks/peer_networks.py keras "$folder" $networks >"$folder/said" 2>&1 ||
    { cat "$folder/said" >&2; exit 1; }
# shellcheck disable=SC2086
"$peers/$measured/bin/python" tests/checks/peer_networks.py "$measured" "$folder" $networks
