#!/usr/bin/env python3
"""Writes keras_rules.json: models with regularizers and constraints as Keras writes them to JSON, and what Keras says while
it trains them. `python3 tests/samples/keras_rules.py > tests/samples/keras_rules.json` with Keras 3.15
(scripts/install-peers.sh tensorflow installs it). With `--check tests/samples/keras_rules.json` it compares the file's numbers
with those of the Keras that is installed. Data and first weights are the formulas of
keras_lists.py."""
import json

import keras_lists  # chooses Keras's backend
import keras
import numpy as np
from keras import constraints, layers, regularizers
from keras_lists import classes, numbers, pixels, some

EXAMPLES, BATCH, EPOCHS = 18, 4, 20  # 5 updates in an epoch, the last one with 2 examples: 100 in all
OPTIMIZERS = {
    "SGD": lambda: keras.optimizers.SGD(0.05, momentum=0.5),
    "Adam": lambda: keras.optimizers.Adam(0.01),
}


# ---- data ----


def inputs_of(name):
    if name == "x":
        return numbers("x", EXAMPLES, 6)
    if name == "ids":
        return classes("ids", 7, EXAMPLES, 4)
    return pixels("image", EXAMPLES, 6, 6, 2)


# ---- the models ----


def dense(**options):
    x = keras.Input((6,), name="x")
    h = layers.Dense(5, activation="tanh", name="hidden", **options)(x)
    return x, layers.Dense(3, name="y")(h)


def image(layer, *more):
    x = keras.Input((6, 6, 2), name="image")
    h = layer(x)
    for other in more:
        h = other(h)
    return x, layers.Dense(3, name="y")(layers.GlobalAveragePooling2D(name="mean")(h))


def l1():
    return dense(kernel_regularizer=regularizers.L1(0.02), bias_regularizer=regularizers.L2(0.03))


def l2():
    return dense(kernel_regularizer=regularizers.L2(0.05), bias_regularizer="l1")


def l1_l2():
    return image(
        layers.Conv2D(4, 3, activation="relu", name="edges", kernel_regularizer=regularizers.L1L2(0.004, 0.03)),
        layers.BatchNormalization(name="norm", gamma_regularizer="l2", beta_regularizer=regularizers.L1(0.005)),
    )


def rows():
    return dense(kernel_regularizer=regularizers.OrthogonalRegularizer(0.3))


def columns():
    return dense(kernel_regularizer=regularizers.OrthogonalRegularizer(0.2, mode="columns"))


def activity():
    x = keras.Input((6,), name="x")
    h = layers.Dense(5, activation="tanh", name="hidden", activity_regularizer=regularizers.L2(0.05))(x)
    h = layers.ActivityRegularization(l1=0.02, l2=0.01, name="penalty")(h)
    return x, layers.Dense(3, name="y")(h)


def conv_activity():
    return image(
        layers.Conv2D(
            3,
            3,
            activation="relu",
            name="edges",
            activity_regularizer="l1",
            bias_regularizer=regularizers.L1L2(0.01, 0.02),
        )
    )


def shared():
    """A layer that is called twice: one penalty of its kernel, two of its results."""
    x = keras.Input((6,), name="x")
    same = layers.Dense(6, name="same", kernel_regularizer="l2", activity_regularizer=regularizers.L1(0.003))
    return x, layers.Dense(3, name="y")(same(same(x)))


def frozen():
    """Weights that are not trained have no penalty."""
    x = keras.Input((6,), name="x")
    h = layers.Dense(5, name="hidden", kernel_regularizer="l2", trainable=False)(x)
    return x, layers.Dense(3, name="y", kernel_regularizer="l2")(h)


def depthwise():
    return image(
        layers.DepthwiseConv2D(
            3,
            depth_multiplier=2,
            name="each",
            depthwise_regularizer=regularizers.L2(0.02),
            depthwise_constraint=constraints.MaxNorm(0.5, axis=[0, 1]),
            bias_constraint="non_neg",
        ),
        layers.SeparableConv2D(
            3,
            2,
            name="both",
            depthwise_regularizer="l1",
            pointwise_regularizer=regularizers.L2(0.03),
            pointwise_constraint=constraints.UnitNorm(axis=-1),
        ),
    )


def rows_of_ids():
    x = keras.Input((4,), dtype="int32", name="ids")
    h = layers.Embedding(
        7,
        5,
        name="rows",
        embeddings_regularizer=regularizers.L2(0.02),
        embeddings_constraint=constraints.MaxNorm(0.6, axis=1),
        activity_regularizer=regularizers.L2(0.001),
    )(x)
    return x, layers.Dense(3, name="y")(layers.GlobalAveragePooling1D(name="mean")(h))


def max_norm():
    return dense(kernel_constraint=constraints.MaxNorm(0.5), bias_constraint=constraints.NonNeg())


def min_max_norm():
    return dense(kernel_constraint=constraints.MinMaxNorm(0.7, 0.9, rate=0.5, axis=0))


def unit_norm():
    return dense(kernel_constraint="unit_norm", kernel_regularizer="l1")


def non_neg():
    return image(
        layers.Conv2D(4, 3, activation="relu", name="edges", kernel_constraint=constraints.NonNeg()),
        layers.Conv2D(
            4, 3, use_bias=False, name="last", kernel_constraint=constraints.MaxNorm(0.4, axis=[0, 1, 2])
        ),
        layers.BatchNormalization(name="norm", gamma_constraint=constraints.MaxNorm(0.9), beta_constraint="non_neg"),
    )


MODELS = {
    f.__name__: f
    for f in (
        [l1, l2, l1_l2, rows, columns, activity, conv_activity, shared, frozen, depthwise, rows_of_ids]
        + [max_norm, min_max_norm, unit_norm, non_neg]
    )
}


# ---- training ----


def name_of(layer, weight):
    """As Keras 2 calls it."""
    depthwise = isinstance(layer, layers.DepthwiseConv2D) and weight.name == "kernel"
    return layer.name + "/" + ("depthwise_kernel" if depthwise else weight.name)


def make(name, optimizer):
    keras.utils.clear_session()
    model = keras.Model(*MODELS[name](), name=name)
    for layer in model.layers:
        for weight in layer.weights:
            offset = 1 if weight.name == "moving_variance" else 0
            weight.assign(numbers(name_of(layer, weight), *weight.shape) + offset)
    model.compile(optimizer=OPTIMIZERS[optimizer](), loss="mse")
    return model, inputs_of(model.inputs[0].name)


def train(name, optimizer):
    """The losses of 100 updates, what the model measures then, and its weights."""
    model, x = make(name, optimizer)
    y = numbers("y", EXAMPLES, 3)
    losses = []
    for _ in range(EPOCHS):
        for first in range(0, EXAMPLES, BATCH):
            rows = slice(first, min(first + BATCH, EXAMPLES))
            model.reset_metrics()
            losses.append(float(model.train_on_batch(x[rows], y[rows], return_dict=True)["loss"]))
    evaluated = model.evaluate(x, y, batch_size=BATCH, verbose=0, return_dict=True)["loss"]
    weights = {name_of(layer, w): np.asarray(w).reshape(-1) for layer in model.layers for w in layer.weights}
    return losses, float(evaluated), weights


# ---- the file ----


def lists():
    """Names and numbers of all that the file holds."""
    for name in MODELS:
        for optimizer in OPTIMIZERS:
            losses, evaluated, weights = train(name, optimizer)
            begin = f"{name}_{optimizer}_"
            yield begin + "losses", losses
            yield begin + "evaluated", [evaluated]
            for weight, values in weights.items():
                yield begin + "weights_" + weight.replace("/", "_"), some(values)


def models():
    """What Keras writes of each model."""
    for name in MODELS:
        keras.utils.clear_session()
        yield name, json.loads(keras.Model(*MODELS[name](), name=name).to_json())


LOST = "JAX's trainer counts one of two penalties of a layer's results that is called twice"
keras_lists.main(lists, models, {"jax": {"shared_*": LOST}})
