#!/usr/bin/env python3
"""Writes small models of Keras as ONNX files, as model.export(path, format="onnx") does, with what onnxruntime makes of
them: onnx_keras.py FOLDER keras. tests/onnx/test_onnx_networks.c reads them; the files are those of onnx_networks.py."""
import glob
import json
import os
import sys
import warnings

warnings.filterwarnings("ignore")
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
folder = sys.argv[1]
peers = os.environ.get("LIANA_PEERS") or os.path.expanduser(
    os.path.join(os.environ.get("XDG_CACHE_HOME", "~/.cache"), "liana-peers"))
sys.path += glob.glob(os.path.join(peers, "onnx/lib/python3*/site-packages"))
import keras
import numpy as np
from keras import layers
from onnxruntime import InferenceSession

keras.utils.set_random_seed(1)


def images():
    x = given = keras.Input((16, 16, 3))
    x = layers.Conv2D(8, 3, padding="same", strides=2)(x)
    x = layers.ReLU()(layers.BatchNormalization()(x))
    x = layers.DepthwiseConv2D(3, padding="same", strides=2)(x)
    x = layers.MaxPooling2D()(layers.Conv2D(6, 1, activation="relu")(x))
    return keras.Model(given, layers.Dense(4, activation="softmax")(layers.Flatten()(x)))


def rows():
    return keras.Sequential([keras.Input((6,)), layers.Dense(12, activation="elu"), layers.LayerNormalization(),
                             layers.Dense(3)])


def sequences():
    given = keras.Input((12, 4))
    x = layers.Conv1D(8, 3, padding="same", activation="swish")(given)
    x = layers.GlobalAveragePooling1D()(layers.MultiHeadAttention(2, 4)(x, x))
    return keras.Model(given, layers.Dense(2)(x))


def recurrent():
    """A Loop for each GRU and SimpleRNN."""
    x = given = keras.Input((7, 5))
    x = layers.Bidirectional(layers.GRU(4, return_sequences=True))(x)
    x = layers.LSTM(6, return_sequences=True)(x)
    return keras.Model(given, layers.Dense(2)(layers.SimpleRNN(3, go_backwards=True)(x)))


for name, make in {"keras_images": images, "keras_rows": rows, "keras_sequences": sequences,
                   "keras_recurrent": recurrent}.items():
    model = make()
    for weight in model.weights:
        if "moving" in weight.path:
            weight.assign(np.random.uniform(0.5, 1.5, weight.shape))
    x = np.random.randn(3, *model.input_shape[1:]).astype("float32")
    model(x)
    path = os.path.join(folder, f"{name}_export.onnx")
    model.export(path, format="onnx", verbose=False)
    session = InferenceSession(path)
    y = session.run(None, {session.get_inputs()[0].name: x})[0]
    x.tofile(os.path.join(folder, f"{name}.x"))
    y.tofile(os.path.join(folder, f"{name}_export.y"))
    with open(os.path.join(folder, f"{name}.case.json"), "w") as file:
        json.dump({"shape": list(x.shape), "is_ids": False}, file)
