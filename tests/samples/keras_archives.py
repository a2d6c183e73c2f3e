#!/usr/bin/env python3
"""Writes one model in Keras 3's files, as the Keras that is installed does:
    keras_archives.py keras3_names.keras             by Keras 3.15.1: the file keeps the names of layers
    keras_archives.py keras3_places.weights.h5       by Keras 3.3.3: it keeps none
    keras_archives.py keras3_whole.h5                by Keras 3.15.1: architecture and weights in one HDF5 file
    keras_archives.py keras3_newest.weights.h5       by Keras 3.15.1, then in HDF5's newest layout, compressed
With --load FILE it loads such a file into the model, and compares all weights.
Element k of weight w of the layer with the number n (NUMBERS) is 1000 n + 100 w + k."""
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np
from keras import layers

NUMBERS = {"stem": 1, "left": 2, "first": 3, "second": 4, "norm": 5, "apart": 6, "inner": 7, "last": 8, "head": 9}


def make_model():
    """`left` is made before `first` and `second`, but Keras's list of layers goes by depth: stem, first, second or left."""
    inputs = keras.Input((6, 6, 3), name="pictures")
    stem = layers.Conv2D(4, 3, name="stem")(inputs)
    left = layers.Conv2D(4, 1, name="left")(stem)
    right = layers.Conv2D(4, 1, name="first")(stem)
    right = layers.Conv2D(4, 1, name="second")(right)
    x = layers.Add(name="sum")([left, right])
    x = layers.BatchNormalization(name="norm")(x)
    x = layers.SeparableConv2D(5, 2, name="apart")(x)
    inner = keras.Sequential(
        [
            keras.Input((3, 3, 5)),
            layers.Flatten(name="flat"),
            layers.Dense(3, name="inner"),
            layers.Dropout(0.5, name="drop"),
            layers.Dense(3, name="last"),
        ],
        name="encoder",
    )
    x = inner(x)
    model = keras.Model(inputs, layers.Dense(2, activation="softmax", name="head")(x), name="archived")
    return model, inner


def all_layers(model, inner):
    return [layer for layer in model.layers + inner.layers if layer.name in NUMBERS]


def values_of(layer):
    number = NUMBERS[layer.name]
    return [
        (1000 * number + 100 * w + np.arange(array.size)).astype("float32").reshape(array.shape)
        for w, array in enumerate(layer.get_weights())
    ]


def main():
    model, inner = make_model()
    if sys.argv[1] == "--load":
        if not sys.argv[2].endswith(".weights.h5"):
            model = keras.saving.load_model(sys.argv[2])
            inner = model.get_layer("encoder")
        else:
            model.load_weights(sys.argv[2])
        for layer in all_layers(model, inner):
            for found, expected in zip(layer.get_weights(), values_of(layer)):
                if not np.array_equal(found, expected):
                    sys.exit(f"{sys.argv[2]}: {layer.name}: {found.ravel()[:4]}, expected {expected.ravel()[:4]}")
        return
    for layer in all_layers(model, inner):
        layer.set_weights(values_of(layer))
    if sys.argv[1].endswith(".weights.h5"):
        model.save_weights(sys.argv[1])
    else:
        model.save(sys.argv[1])
    if "newest" in sys.argv[1]:
        rewrite(sys.argv[1])


def rewrite(path):
    import h5py

    older = path + ".older"
    os.rename(path, older)
    with h5py.File(older) as source, h5py.File(path, "w", libver="latest") as target:

        def copy(name, node):
            if isinstance(node, h5py.Dataset):
                made = target.create_dataset(name, data=node[()], compression="gzip", shuffle=True)
            else:
                made = target.require_group(name)
            for key, value in node.attrs.items():
                made.attrs[key] = value

        source.visititems(copy)
    os.remove(older)


if __name__ == "__main__":
    main()
