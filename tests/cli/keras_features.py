"""Layers' outputs and ImageNet's names by Keras, against those of liana predict.

    keras_features.py write FOLDER    makes images/*.png, and model.keras, lstm.keras and mobilenet.keras
    keras_features.py check FOLDER    compares LAYER.npy, LAYER.csv and names.jsonl that liana has written there

FOLDER is KERAS_HOME as well: models/imagenet_class_index.json in it is what decode_predictions reads, once its hash is
Keras's own."""
import csv
import json
import os
import pathlib
import sys

folder = pathlib.Path(sys.argv[2])
os.environ["KERAS_HOME"] = str(folder)
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import keras
import numpy as np
import tensorflow as tf

COUNT, SIDE = 37, 64
layers = keras.layers
tf.get_logger().setLevel("ERROR")


def draw_weights(model):
    """Weights as no training leaves them, with which activations stay in range."""
    draw = np.random.default_rng(3)
    for weight in model.weights:
        values = draw.normal(size=weight.shape)
        if len(weight.shape) > 1:
            values *= np.sqrt(2 / np.prod(weight.shape[:-1]))
        else:
            values = 1 + 0.1 * values if weight.path.endswith(("gamma", "variance")) else 0.1 * values
        weight.assign(values)


def tutorial():
    """A base within a model with its own head."""
    base = keras.applications.MobileNetV2((SIDE, SIDE, 3), alpha=0.35, include_top=False, weights=None)
    inputs = keras.Input((SIDE, SIDE, 3), name="image")
    z = layers.Rescaling(1 / 127.5, -1, name="scaled")(inputs)
    z = base(z, training=False)
    z = layers.GlobalAveragePooling2D(name="pool")(z)
    z = layers.Dropout(0.2)(z)
    return base.name, keras.Model(inputs, layers.Dense(5, activation="softmax", name="head")(z))


def recurrent():
    inputs = keras.Input((SIDE, SIDE, 3), name="image")
    z = layers.Rescaling(1 / 255, name="scaled")(inputs)
    z = layers.Reshape((SIDE, SIDE * 3), name="lines")(z)
    z, h, c = layers.LSTM(6, return_sequences=True, return_state=True, name="lstm")(z)
    return keras.Model(inputs, layers.Dense(3, activation="softmax")(layers.Concatenate()([h, c, z[:, -1]])))


def load_images():
    names = sorted(os.listdir(folder / "images"))
    decoded = [tf.io.decode_png(tf.io.read_file(str(folder / "images" / name))).numpy() for name in names]
    return names, np.stack(decoded).astype(np.float32)


def write():
    draw = np.random.default_rng(7)
    (folder / "images").mkdir(exist_ok=True)
    for i in range(COUNT):
        noise = draw.integers(0, 256, (SIDE, SIDE, 3)).astype(np.float32)
        wave = 128 + 100 * np.sin(np.arange(SIDE)[:, None, None] * (i + 1) / 20 + np.arange(3))
        pixels = np.clip(0.3 * noise + 0.7 * wave, 0, 255).astype(np.uint8)
        tf.io.write_file(str(folder / "images" / f"picture {i:02d}.png"), tf.io.encode_png(pixels))
    models = {"model": tutorial()[1], "lstm": recurrent()}
    models["mobilenet"] = keras.applications.MobileNet((SIDE, SIDE, 3), alpha=0.25, weights=None)
    for name, model in models.items():
        draw_weights(model)
        model.save(folder / f"{name}.keras")


def compare(what, found, expected):
    assert found.dtype == np.float32 and found.shape == expected.shape, (what, found.dtype, found.shape, expected.shape)
    error = np.abs(found - expected).max() / np.abs(expected).max()
    print(f"{what}: {found.shape}, largest difference {error:.1e} of the largest value")
    assert np.abs(expected).max() > 1e-3 and error < 2e-5, what


def check_ids(path, names):
    with open(path, newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0][0] == "id" and [row[0] for row in rows[1:]] == names, path
    return rows


def check():
    names, images = load_images()
    model = keras.models.load_model(folder / "model.keras")
    base = next(layer for layer in model.layers if isinstance(layer, keras.Model))
    scaled = keras.Model(model.inputs, model.get_layer("scaled").output).predict(images, verbose=0)
    inner = keras.Model(base.inputs, base.get_layer("block_6_expand_relu").output).predict(scaled, verbose=0)
    for layer, expected in {
        "pool": keras.Model(model.inputs, model.get_layer("pool").output).predict(images, verbose=0),
        "base": keras.Model(model.inputs, base(model.get_layer("scaled").output)).predict(images, verbose=0),
        "block": inner,
        "head": model.predict(images, verbose=0),
    }.items():
        compare(layer, np.load(folder / f"{layer}.npy"), expected)
        check_ids(folder / f"{layer}.ids.csv", names)
    cells = np.array([row[1:] for row in check_ids(folder / "block.csv", names)[1:]], np.float32)
    assert np.array_equal(cells.reshape(inner.shape), np.load(folder / "block.npy"))

    model = keras.models.load_model(folder / "lstm.keras")
    results = keras.Model(model.inputs, model.get_layer("lstm").output).predict(images, verbose=0)
    for i, expected in enumerate(results):
        compare(f"lstm result {i}", np.load(folder / ("lstm_%d.npy" % i if i else "lstm.npy")), expected)

    model = keras.models.load_model(folder / "mobilenet.keras")
    predicted = model.predict(keras.applications.mobilenet.preprocess_input(images.copy()), verbose=0)
    expected = keras.applications.imagenet_utils.decode_predictions(predicted, top=5)
    with open(folder / "names.jsonl") as file:
        events = [json.loads(line) for line in file]
    assert len(events) == COUNT
    for event, rows in zip(events, expected):
        found = [(c["wordnet_id"], c["class"]) for c in event["classes"]]
        assert found == [(wordnet, name) for wordnet, name, _ in rows], (found, rows)
        difference = max(abs(c["probability"] - float(row[2])) for c, row in zip(event["classes"], rows))
        assert difference < 1e-5, difference
    print(f"names of {COUNT} images as Keras decodes them, the first: {expected[0][0][:2]}")


write() if sys.argv[1] == "write" else check()
