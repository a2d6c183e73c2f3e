"""Trains in Keras and tf_keras, before and after liana.

    keras_state_check.py begin|end FOLDER

begin: writes x.bin (float32 [80, 48]), y.bin (int32 [80]) and, for each case, CASE.keras and CASE.h5 after ten updates
(tf_keras: CASE.h5). It trains twenty more, and keeps the weights and the optimizer's variables in CASE.npz.
end: goes on from CASE.liana.keras and CASE.liana.h5, which liana has written after ten updates of its own, for another
ten; weights and the optimizer's variables must then be those of CASE.npz."""
import os
import re
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import h5py
import keras
import numpy as np
import tf_keras

TOLERANCE = 1e-5
LEGACY_TOLERANCE = 3e-5  # TensorFlow's own kernels for whole updates, which round otherwise
EXAMPLES, BATCH = 80, 8

random = np.random.default_rng(5)
x = random.normal(size=(EXAMPLES, 48)).astype(np.float32)
y = random.integers(0, 3, EXAMPLES).astype(np.int32)


def build(k, frozen):
    layers = k.layers
    inputs = k.Input((48,), name="x")
    z = layers.Reshape((4, 4, 3), name="grid")(inputs)
    z = layers.Conv2D(5, 2, activation="tanh", name="conv")(z)
    z = layers.BatchNormalization(momentum=0.8, name="norm")(z)
    z = layers.Flatten(name="flat")(z)
    z = layers.Dense(7, activation="tanh", name="middle", trainable=not frozen)(z)
    outputs = layers.Dense(3, activation="softmax", name="out")(z)
    return k.Model(inputs, outputs, name="stately")


def exclude(optimizer):
    optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])


def cosine():
    return keras.optimizers.schedules.CosineDecay(0.02, 40, warmup_target=0.05, warmup_steps=4)


o = keras.optimizers


def several():
    return o.MultiOptimizer(
        o.OptimizerMap(
            o.SGD(o.schedules.ExponentialDecay(0.03, 5, 0.9), momentum=0.8),
            {
                "conv/.*": o.Adam(0.003, global_clipnorm=0.3),
                "out/kernel": o.RMSprop(0.002, use_ema=True, ema_momentum=0.9),
                "out/b[a-z]+": o.Adam(0.01, amsgrad=True),
            },
        )
    )


# The optimizer; whether a layer is frozen; whether weights are excluded from weight decay.
CASES = {
    "adam": (lambda: o.Adam(0.003), False, False),
    "adam_frozen": (lambda: o.Adam(0.003, beta_1=0.8), True, False),
    "adam_amsgrad": (lambda: o.Adam(0.003, amsgrad=True), False, False),
    "adam_schedule": (lambda: o.Adam(cosine()), False, False),
    "sgd": (lambda: o.SGD(0.05), False, False),
    "sgd_momentum": (lambda: o.SGD(0.02, momentum=0.9), False, False),
    "sgd_nesterov": (
        lambda: o.SGD(o.schedules.ExponentialDecay(0.03, 5, 0.9), momentum=0.8, nesterov=True),
        False,
        False,
    ),
    "sgd_average": (lambda: o.SGD(0.02, momentum=0.9, use_ema=True, ema_momentum=0.9), True, False),
    "rmsprop": (lambda: o.RMSprop(0.002), False, False),
    "rmsprop_centered": (lambda: o.RMSprop(0.002, momentum=0.5, centered=True), True, False),
    "adamw": (lambda: o.AdamW(0.003, weight_decay=0.1), False, False),
    "adamw_excluded": (lambda: o.AdamW(0.003, weight_decay=0.1), False, True),
    "adagrad": (lambda: o.Adagrad(0.02), False, False),
    "adadelta": (lambda: o.Adadelta(0.5), False, False),
    "adamax": (lambda: o.Adamax(0.003), False, False),
    "ftrl": (lambda: o.Ftrl(0.02), False, False),
    "nadam": (lambda: o.Nadam(0.003), False, False),
    "lamb": (lambda: o.Lamb(0.003), False, False),
    "muon": (lambda: o.Muon(0.01), False, False),
    "schedule_free": (lambda: o.ScheduleFreeAdamW(0.01), False, False),
    "scaled": (
        lambda: o.LossScaleOptimizer(o.Adam(0.003), initial_scale=1024.0, dynamic_growth_steps=3),
        False,
        False,
    ),
    "multi": (lambda: several(), False, False),
    "multi_scaled": (lambda: o.LossScaleOptimizer(several(), dynamic_growth_steps=25), True, False),
    "adam_accumulated": (
        lambda: o.Adam(0.003, gradient_accumulation_steps=4, use_ema=True, ema_momentum=0.9),
        True,
        False,
    ),
}
# A regular expression for some cases.
ONLY = re.compile(os.environ.get("LIANA_STATES", ""))
CASES = {name: case for name, case in CASES.items() if ONLY.search(name)}
t = tf_keras.optimizers
OLDER = {
    "older_adam": (lambda: t.Adam(0.003), False, False),
    "older_sgd": (lambda: t.SGD(0.05), False, False),
    "older_rmsprop": (lambda: t.RMSprop(0.002, momentum=0.5), True, False),
    "older_adamw": (lambda: t.AdamW(0.003, weight_decay=0.1), False, False),
    "legacy_adam": (lambda: t.legacy.Adam(0.003), True, False),
    "legacy_rmsprop": (lambda: t.legacy.RMSprop(0.002, momentum=0.5, centered=True), False, False),
}
# Keras does not go on from these .h5 files when it wrote them itself: a loss scale's inner optimizer begins anew.
NOT_H5 = {"lamb", "scaled", "multi_scaled"}
OLDER = {name: case for name, case in OLDER.items() if ONLY.search(name)}


def train(model, count):
    for _ in range(count):
        model.fit(x, y, batch_size=BATCH, epochs=1, shuffle=False, verbose=0)


def values(variables):
    return [np.array(one) for one in variables]


def kept(model):
    optimizer = model.optimizer
    own = optimizer.variables
    return values(model.weights) + values(own() if callable(own) else own)


def compare(name, found, expected):
    if len(found) != len(expected):
        raise SystemExit(f"{name}: found {len(found)} variables, expected {len(expected)}")
    worst = 0
    most_error = LEGACY_TOLERANCE if name.startswith("legacy") else TOLERANCE
    for i, (one, other) in enumerate(zip(found, expected)):
        if one.shape != other.shape:
            raise SystemExit(f"{name}: variable {i}: found {one.shape}, expected {other.shape}")
        most = np.abs(other).max() if other.size else 0
        error = np.abs(one.astype(np.float64) - other).max() / most if most else np.abs(one).max()
        worst = max(worst, error)
        if error > most_error:
            raise SystemExit(f"{name}: variable {i} of {len(found)} {one.shape}: found an error of {error:.2g}")
    print(f"{name}: {worst:.2g}")


def begin(k, cases, endings):
    for name, (optimizer, frozen, excluded) in cases.items():
        k.utils.set_random_seed(11)
        model = build(k, frozen)
        made = optimizer()
        if excluded:
            exclude(made)
        model.compile(made, "sparse_categorical_crossentropy", metrics=["accuracy"])
        train(model, 1)
        for ending in endings:
            model.save(name + ending)
        train(model, 2)
        np.savez(name + ".npz", *kept(model))


# keras.saving.load_model leaves an optimizer of a .h5 file without its variables.
def load_h5(path):
    model = keras.saving.load_model(path)
    optimizer = keras.optimizers.deserialize(keras.optimizers.serialize(model.optimizer))
    optimizer.build(model.trainable_variables)
    with h5py.File(path) as file:
        group = file["optimizer_weights"]
        found = [group[one][()] for one in group.attrs["weight_names"]]
    if len(found) != len(optimizer.variables):
        raise SystemExit(f"{path}: found {len(found)} variables, expected {len(optimizer.variables)}")
    optimizer.set_weights(found)
    model.compile(optimizer, "sparse_categorical_crossentropy")
    return model


# Newer optimizers keep both slots of a weight side by side, the legacy Adam first all of the one.
def interleave(variables, num_weights):
    first = num_weights + 1
    half = (len(variables) - first) // 2
    pairs = zip(variables[first : first + half], variables[first + half :])
    return variables[:first] + [one for pair in pairs for one in pair]


def end(cases, ending, load):
    for name, (_, _, excluded) in cases.items():
        model = load(name + ".liana" + ending)
        expected = list(np.load(name + ".npz").values())
        if name == "legacy_adam":
            expected = interleave(expected, len(model.weights))
        if excluded:
            # As loading leaves it, the optimizer is built.
            model.optimizer._built = model.optimizer.built = False
            exclude(model.optimizer)
            model.optimizer.built = True
        train(model, 1)
        compare(name + ending, kept(model), expected)


os.chdir(sys.argv[2])
if sys.argv[1] == "begin":
    x.tofile("x.bin")
    y.tofile("y.bin")
    begin(keras, CASES, [".keras", ".h5"])
    begin(tf_keras, OLDER, [".h5"])
else:
    end(CASES, ".keras", keras.saving.load_model)
    end({name: case for name, case in CASES.items() if name not in NOT_H5}, ".h5", load_h5)
    end(OLDER, ".h5", tf_keras.models.load_model)
