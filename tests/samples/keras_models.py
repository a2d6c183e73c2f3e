#!/usr/bin/env python3
"""Writes keras_models.h: models with several inputs and outputs, shared layers, nested models and masks, as JSON of
Keras 3, and what Keras computes with them. `python3 tests/samples/keras_models.py > tests/samples/keras_models.h` with
Keras 3.15 (scripts/install-peers.sh tensorflow installs it); the header holds its output. With a folder as argument it also
writes each model as HDF5: keras_pairs.h5 and keras_sequence.h5 are two of these. Weights and inputs are formulas
of their names and indices, which tests/layers/test_model_samples.c has as well."""
import json
import os
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import keras
import numpy as np
from keras import layers


def number(name, index):
    """-0.5 to 0.5 in steps of 1/128, and above 0 for a variance."""
    value = ((index * 37 + 11 * sum(map(ord, name))) % 129 - 64) / 128
    return abs(value) + 0.25 if name.endswith("variance") else value


def fill(name, shape):
    size = int(np.prod(shape))
    return np.array([number(name, i) for i in range(size)], np.float32).reshape(shape)


def set_weights(model):
    for layer in model.layers:
        if isinstance(layer, keras.Model):
            set_weights(layer)
            continue
        for weight in layer.weights:
            # Keras 2's name, and liana's.
            depthwise = weight.name == "kernel" and isinstance(layer, (layers.DepthwiseConv1D, layers.DepthwiseConv2D))
            name = "depthwise_kernel" if depthwise else weight.name
            if weight.name != "count":
                weight.assign(fill(layer.name + "/" + name, weight.shape))
        if isinstance(layer, layers.Normalization):
            layer.finalize_state()


def example(tensor, ids, all_ids):
    shape = (2,) + tuple(tensor.shape[1:])
    size = int(np.prod(shape))
    if all_ids or "int" in tensor.dtype:
        # Zeros are at the ends of rows, as padding is.
        flat = np.array([(i * 5 + 3) % (ids - 1) + 1 for i in range(size)], np.int32).reshape(shape)
        if len(shape) > 1 and shape[1] > 2:
            flat[0, -2:] = 0
        return flat
    return fill(tensor.name, shape)


def encoder():
    text = keras.Input((4,), name="text")
    h = layers.Dense(3, activation="relu", name="hidden")(text)
    z = layers.BatchNormalization(name="norm")(h)
    return keras.Model(text, [z, h], name="encoder")


def tables():
    words = keras.Input((6,), dtype="int32", name="words")
    age = keras.Input((2,), name="age")
    kind = keras.Input((3,), dtype="int32", name="kind")
    w = layers.Embedding(9, 4, mask_zero=True, name="rows")(words)
    w = layers.Dense(4, activation="tanh", name="steps")(w)
    w = layers.GlobalAveragePooling1D(name="mean")(w)
    k = layers.CategoryEncoding(9, output_mode="count", name="counts")(kind)
    hot = layers.CategoryEncoding(9, output_mode="multi_hot", name="there")(kind)
    a = layers.Normalization(name="scaled")(age)
    both = layers.Concatenate(name="both")([w, a, k, hot])
    return keras.Model(
        [age, words, kind],
        [layers.Dense(1, activation="sigmoid", name="score")(both), layers.Dense(3, activation="softmax", name="kinds")(both)],
        name="tables",
    )


def pairs():
    a, b = keras.Input((4,), name="a"), keras.Input((4,), name="b")
    inner = encoder()
    tower = keras.Sequential([keras.Input((3,)), layers.Dense(3, name="low"), layers.Dense(2, name="high")], name="tower")
    (x, _), (y, g) = inner(a), inner(b)
    joint = layers.Dense(3, activation="tanh", name="joint")
    left, right = joint(x), joint(g)
    return keras.Model([a, b], [tower(layers.Add(name="sum")([left, right, y])), right, tower(left)], name="pairs")


def masks():
    one, two = keras.Input((5,), dtype="int32", name="one"), keras.Input((5,), dtype="int32", name="two")
    rows = layers.Embedding(7, 3, mask_zero=True, name="rows")
    more = layers.Embedding(7, 3, mask_zero=True, name="more")
    x, y = rows(one), more(two)
    added = layers.GlobalAveragePooling1D(name="added_mean")(layers.Add(name="added")([x, y]))
    wide = layers.GlobalAveragePooling1D(name="wide_mean")(layers.Concatenate(name="wide")([x, y]))
    long = layers.GlobalAveragePooling1D(keepdims=True, name="long_mean")(layers.Concatenate(axis=1, name="long")([x, y]))
    largest = layers.GlobalMaxPooling1D(name="largest")(layers.Activation("tanh", name="bent")(x))
    flat = layers.Flatten(name="flat")(long)
    hot = layers.CategoryEncoding(7, output_mode="one_hot", name="hot")(two)
    unmasked = layers.GlobalAveragePooling1D(name="hot_mean")(hot)
    return keras.Model([one, two], [added, wide, flat, largest, unmasked], name="masks")


def sequence():
    inner = keras.Sequential([keras.Input((6,), dtype="int32"), layers.Embedding(9, 3, mask_zero=True, name="rows")], name="inner")
    return keras.Sequential([inner, layers.Dense(2, name="steps"), layers.GlobalAveragePooling1D(name="mean")], name="sequence")


def sequences():
    x = steps = keras.Input((9, 3), name="steps")
    x = layers.Conv1D(4, 3, padding="causal", dilation_rate=2, activation="tanh", name="past")(x)
    x = layers.ZeroPadding1D((2, 1), name="longer")(x)
    x = layers.Conv1D(6, 3, strides=2, groups=2, name="parts")(x)
    a = layers.SeparableConv1D(3, 2, padding="same", depth_multiplier=2, name="apart")(x)
    b = layers.DepthwiseConv1D(3, padding="same", depth_multiplier=2, use_bias=False, name="each")(steps)
    b = layers.Cropping1D((1, 2), name="shorter")(layers.MaxPooling1D(3, strides=1, padding="same", name="most")(b))
    c = layers.Conv1DTranspose(2, 3, strides=2, output_padding=1, name="back")(layers.AveragePooling1D(2, name="mean")(steps))
    d = layers.AdaptiveMaxPooling1D(4, name="four")(layers.UpSampling1D(2, name="twice")(a))
    e = layers.AdaptiveAveragePooling1D(3, name="three")(steps)
    return keras.Model(steps, [a, b, c, d, e], name="sequences")


def images():
    x = image = keras.Input((5, 4, 2), name="image")
    a = layers.Conv2DTranspose(3, (3, 2), strides=(2, 1), padding="same", name="larger")(x)
    b = layers.Conv2DTranspose(2, 2, strides=3, output_padding=(0, 2), use_bias=False, name="spread")(x)
    b = layers.Cropping2D(((5, 1), (2, 4)), name="middle")(b)
    c = layers.UpSampling2D((2, 1), interpolation="bilinear", name="smooth")(x)
    d = layers.UpSampling2D((1, 3), interpolation="bicubic", name="cubic")(x)
    d = layers.Add(name="sharp")([d, layers.UpSampling2D((1, 3), interpolation="lanczos3", name="waves")(x),
                                  layers.UpSampling2D((1, 3), interpolation="lanczos5", name="more_waves")(x),
                                  layers.UpSampling2D((1, 3), name="again")(x)])
    e = layers.AdaptiveMaxPooling2D((2, 3), name="largest")(x)
    e = layers.Add(name="sum")([e, layers.AdaptiveAveragePooling2D((2, 3), name="means")(x)])
    return keras.Model(image, [a, b, c, d, e], name="images")


def volumes():
    volume = keras.Input((4, 5, 3, 2), name="volume")
    a = layers.Conv3D(4, (2, 3, 2), strides=(1, 2, 1), padding="same", groups=2, activation="relu", name="deep")(volume)
    b = layers.Conv3D(3, 2, dilation_rate=(2, 1, 1), use_bias=False, name="wide")(volume)
    b = layers.AveragePooling3D((1, 3, 2), strides=(1, 1, 2), padding="same", name="means")(b)
    c = layers.Conv3DTranspose(2, (2, 3, 1), strides=(2, 1, 1), padding="valid", name="back")(layers.MaxPooling3D(2, name="most")(volume))
    d = layers.ZeroPadding3D(((1, 0), (0, 2), (1, 1)), name="around")(volume)
    d = layers.Cropping3D((1, 2, 1), name="inside")(layers.MaxPooling3D((2, 3, 1), strides=1, padding="same", name="large")(d))
    e = layers.GlobalAveragePooling3D(keepdims=True, name="mean")(layers.UpSampling3D((1, 2, 1), name="tall")(a))
    e = layers.Concatenate(name="both")([layers.Flatten(name="flat")(e), layers.GlobalMaxPooling3D(name="max")(volume)])
    return keras.Model(volume, [a, b, c, d, e], name="volumes")


def text(name, model):
    """The JSON as a list of lines."""
    print(f"static const char *const {name}_json[] = {{")
    whole = json.dumps(json.loads(model.to_json()))
    for i in range(0, len(whole), 110):
        print("    " + json.dumps(whole[i : i + 110]) + ",")
    print("    NULL,\n};")


def values(array):
    return ", ".join(repr(float(np.float32(v))) + "f" for v in np.asarray(array).reshape(-1))


def write(name, model, ids):
    set_weights(model)
    # A Sequential that begins with a model says float32, whatever that model takes.
    inputs = [example(tensor, ids, name == "sequence") for tensor in model.inputs]
    outputs = model(inputs if len(inputs) > 1 else inputs[0], training=False)
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    print(f"\n/* {name}: inputs {', '.join(t.name for t in model.inputs)}. */")
    text(name, model)
    for i, output in enumerate(outputs):
        print(f"static const float {name}_output_{i}[] = {{{values(output)}}};")
    outs = ", ".join(f"{{{name}_output_{i}, {int(np.prod(o.shape))}}}" for i, o in enumerate(outputs))
    samples.append(f'    {{"{name}", {name}_json, {ids}, {len(outputs)}, {{{outs}}}}},')


samples = []
print(f"/* Written by keras_models.py: models of Keras {keras.__version__}, and what it computes with them. */")
print("/* clang-format off */")
for name, model, ids in (
    ("tables", tables(), 9), ("pairs", pairs(), 2), ("masks", masks(), 7), ("sequence", sequence(), 9),
    ("sequences", sequences(), 2), ("images", images(), 2), ("volumes", volumes(), 2),
):
    write(name, model, ids)
    if len(sys.argv) > 1:
        model.save(os.path.join(sys.argv[1], name + ".h5"))
print("\nstatic const keras_sample keras_samples[] = {")
print("\n".join(samples))
print("};")
print("/* clang-format on */")
