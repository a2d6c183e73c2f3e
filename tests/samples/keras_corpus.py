"""Writes the files from which fuzz_keras starts: models of Keras 3 and tf_keras in the forms that they write.

    keras_corpus.py tests/fuzz/corpus/fuzz_keras
"""
import json
import os
import sys
import tempfile
import zipfile

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import h5py
import keras
import tf_keras


def archive(model):
    """config.json of a .keras file."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(os.path.join(folder, "model.keras"))
        with zipfile.ZipFile(os.path.join(folder, "model.keras")) as file:
            return file.read("config.json").decode()


def hdf5(model):
    """The attributes of an HDF5 file, as one object."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(os.path.join(folder, "model.h5"))
        with h5py.File(os.path.join(folder, "model.h5")) as file:
            parts = {name: json.loads(file.attrs[name]) for name in ("model_config", "training_config")}
            return json.dumps({"keras_version": file.attrs["keras_version"], **parts})


def put(name, text):
    with open(os.path.join(sys.argv[1], name + ".json"), "w") as file:
        file.write(text)


def sequential(k):
    layers = k.layers
    model = k.Sequential([
        k.Input((4, 4, 2)),
        layers.Conv2D(2, 2, activation="hard_sigmoid", kernel_regularizer="l2"),
        layers.BatchNormalization(),
        layers.Flatten(),
        layers.Dense(3, activation="softmax", kernel_constraint=k.constraints.MaxNorm(2)),
    ])
    rate = k.optimizers.schedules.CosineDecay(0.1, 10)
    model.compile(k.optimizers.Adam(rate), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def functional(k):
    layers = k.layers
    x = k.Input((4,))
    inner = k.Model(x, [layers.Dense(4)(x), layers.Dense(2)(x)], name="inner")
    a = k.Input((4,), name="a")
    p, q = inner(a)
    r, s = inner(p)
    model = k.Model(a, [layers.Dropout(0.5)(layers.Add()([p, r])), s, q])
    model.compile("sgd", ["mse", "mae", None], metrics=[["mae"], [], []])
    return model


def named():
    layers = keras.layers
    i, j = keras.Input((8,), name="img"), keras.Input((8,), name="two")
    outputs = {"q": layers.Dense(2, name="q")(i), "b": layers.Dense(3, name="bb")(j)}
    inner = keras.Model({"img": i, "two": j}, outputs, name="inner")
    a, b = keras.Input((8,), name="A"), keras.Input((8,), name="B")
    results = inner({"img": a, "two": b})
    model = keras.Model([a, b], {"one": results["q"], "other": results["b"]})
    model.compile(
        keras.optimizers.SGD(0.1, momentum=0.9),
        {"one": "mse", "other": keras.losses.Huber()},
        loss_weights={"one": 1.0, "other": 2.0},
        metrics={"other": ["mae", keras.metrics.AUC()]},
        steps_per_execution=3,
    )
    return model


def masked():
    words = keras.Input((5,), dtype="int32")
    x = keras.layers.GlobalAveragePooling1D()(keras.layers.Embedding(8, 3, mask_zero=True)(words))
    return keras.Model(words, keras.layers.Dense(2)(x))


for each, name in ((keras, "keras3"), (tf_keras, "keras2")):
    put(name + "_sequential", archive(sequential(each)))
    put(name + "_hdf5", hdf5(sequential(each)))
    put(name + "_functional", functional(each).to_json())
put("keras3_archive", archive(functional(keras)))
put("keras3_named", archive(named()))
put("keras3_mask", masked().to_json())
