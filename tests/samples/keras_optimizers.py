#!/usr/bin/env python3
"""Writes keras_optimizers.h: weights after 100 updates by Keras's optimizers, with clipping, weight decay and averages.
`python3 tests/samples/keras_optimizers.py > tests/samples/keras_optimizers.h` with Keras 3.15 (scripts/install-peers.sh
tensorflow installs it); the header holds its output. With `--check tests/samples/keras_optimizers.h` it compares the
header's numbers with those of the Keras that is installed.

Keras computes in float64 here, and gradients of a LossScaleOptimizer in float32. Some of its gradients are not finite. First weights, gradients and rates are formulas of names and indices, which
tests/optimizers/test_keras_optimizers.c has as well. Of each weight the header has three elements and the sum of absolute values;
with use_ema the same of its average."""
import os
import re
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import keras
import numpy as np

UPDATES = 100
WEIGHTS = {
    "conv2d/kernel": (3, 3, 8, 64),
    "conv2d/bias": (64,),
    "batch_normalization/gamma": (64,),
    "batch_normalization/beta": (64,),
    "dense/kernel": (64, 200),
    "dense/bias": (200,),
    "dense_1/kernel": (200, 30),
    "dense_1/bias": (30,),
}

# Optimizer, options as keyword arguments, first learning rate.
CASES = [
    ("SGD", {}, 0.01),
    ("SGD", {"momentum": 0.9}, 0.01),
    ("SGD", {"momentum": 0.9, "nesterov": True}, 0.01),
    ("Adam", {}, 0.001),
    ("Adam", {"beta_1": 0.8, "beta_2": 0.95, "epsilon": 1e-3, "amsgrad": True}, 0.01),
    ("AdamW", {}, 0.01),
    ("AdamW", {"weight_decay": 0.1, "amsgrad": True, "exclude_from_weight_decay": ["bias", "gamma|beta"]}, 0.01),
    ("Adamax", {}, 0.001),
    ("Adamax", {"beta_1": 0.8, "beta_2": 0.9, "epsilon": 1e-2}, 0.01),
    ("Nadam", {}, 0.001),
    ("Nadam", {"beta_1": 0.8, "beta_2": 0.9, "epsilon": 1e-2}, 0.01),
    ("RMSprop", {}, 0.001),
    ("RMSprop", {"rho": 0.8, "momentum": 0.5, "epsilon": 1e-3}, 0.001),
    ("RMSprop", {"rho": 0.95, "centered": True, "epsilon": 1e-2}, 0.001),
    ("RMSprop", {"rho": 0.95, "momentum": 0.7, "centered": True, "epsilon": 1e-2}, 0.001),
    ("Adagrad", {}, 0.001),
    ("Adagrad", {"initial_accumulator_value": 0.5, "epsilon": 1e-2}, 0.1),
    ("Adadelta", {}, 0.001),
    ("Adadelta", {"rho": 0.8, "epsilon": 1e-3}, 1.0),
    ("Ftrl", {}, 0.001),
    (
        "Ftrl",
        {
            "learning_rate_power": -0.7,
            "initial_accumulator_value": 0.2,
            "l1_regularization_strength": 0.02,
            "l2_regularization_strength": 0.3,
            "l2_shrinkage_regularization_strength": 0.1,
            "beta": 0.5,
        },
        0.1,
    ),
    ("Lion", {}, 0.001),
    ("Lion", {"beta_1": 0.8, "beta_2": 0.9, "weight_decay": 0.05}, 0.002),
    ("Lamb", {}, 0.001),
    ("Lamb", {"epsilon": 1e-3, "weight_decay": 0.1, "exclude_from_weight_decay": ["bias"]}, 0.01),
    ("Adafactor", {}, 0.1),
    ("Adafactor", {"beta_2_decay": -0.5, "epsilon_1": 1e-3, "epsilon_2": 0.5, "clip_threshold": 0.5,
                   "relative_step": False, "weight_decay": 0.01}, 0.02),
    ("Muon", {}, 0.001),
    ("Muon", {"nesterov": False, "momentum": 0.8, "ns_steps": 2, "adam_lr_ratio": 0.5, "weight_decay": 0.1,
              "adam_weight_decay": 0.02, "rms_rate": 0.5}, 0.01),
    ("ScheduleFreeAdamW", {}, 0.0025),
    ("ScheduleFreeAdamW", {"beta_1": 0.8, "beta_2": 0.95, "epsilon": 1e-3, "warmup_steps": 20, "weight_decay": 0.01},
     0.01),
    ("Adam", {"gradient_accumulation_steps": 4, "clipnorm": 4.0, "weight_decay": 0.01, "loss_scale_factor": 1.0}, 0.01),
    ("SGD", {"gradient_accumulation_steps": 3, "momentum": 0.9, "use_ema": True, "ema_momentum": 0.75,
             "ema_overwrite_frequency": 7}, 0.01),
    ("SGD", {"clipvalue": 0.125}, 0.1),
    ("SGD", {"clipnorm": 4.0, "momentum": 0.5}, 0.1),
    ("SGD", {"global_clipnorm": 5.0}, 0.1),
    ("Adam", {"global_clipnorm": 200.0, "epsilon": 1e-2, "weight_decay": 0.01}, 0.01),
    ("Lamb", {"clipnorm": 2.0, "weight_decay": 0.05}, 0.01),
    ("Adam", {"use_ema": True}, 0.01),
    ("SGD", {"use_ema": True, "ema_momentum": 0.75, "ema_overwrite_frequency": 7, "momentum": 0.9}, 0.01),
    ("LossScaleOptimizer", {"inner_optimizer": {"name": "Adam", "learning_rate": 0.01}}, 0.01),
    ("LossScaleOptimizer", {"initial_scale": 1024.0, "dynamic_growth_steps": 3, "inner_optimizer":
                            {"name": "SGD", "learning_rate": 0.01, "momentum": 0.9, "clipnorm": 4.0, "use_ema": True}},
     0.01),
    # 2^119, with which large gradients are not finite.
    ("LossScaleOptimizer", {"initial_scale": 2.0**119, "dynamic_growth_steps": 30, "inner_optimizer":
                            {"name": "Nadam", "learning_rate": 0.01, "global_clipnorm": 100.0}}, 0.01),
    ("MultiOptimizer", {"optimizer_map": {
        "default_optimizer": {"name": "RMSprop", "learning_rate": 0.002, "use_ema": True, "ema_momentum": 0.9},
        "optimizer_map": {
            "dense/.*": {"name": "Adam", "learning_rate": 0.01, "global_clipnorm": 30.0, "amsgrad": True},
            "(conv2d|dense_1)/kernel": {"name": "SGD", "learning_rate": 0.05, "clipnorm": 2.0, "weight_decay": 0.02},
            "dense_1/bias": {"name": "Lamb", "learning_rate": 0.005}}}}, 0.002),
]


def numbers(name, t, shape):
    """-1 to 1 in steps of 1/64. t: 0 for the first weights, else the update."""
    i = np.arange(int(np.prod(shape)), dtype=np.int64)
    drawn = (i * 37 + i // 7 * 5 + t * 53 + (i * t) % 61 * 3 + 11 * sum(map(ord, name))) % 129
    return ((drawn - 64) / 64).reshape(shape)


def summary(values):
    flat = np.asarray(values).reshape(-1)
    return [flat[0], flat[flat.size // 2], flat[-1], np.abs(flat).sum()]


def is_spoilt(t):
    return t in (5, 6, 41)


def is_large(t):
    return t % 20 == 0


def make(options):
    options = dict(options)
    return getattr(keras.optimizers, options.pop("name"))(**options)


def set_rate(optimizer, factor):
    """The first rates times a factor."""
    if isinstance(optimizer, keras.optimizers.MultiOptimizer):
        for inner in optimizer.optimizers:
            set_rate(inner, factor)
        return
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    if not hasattr(inner, "first_rate"):
        inner.first_rate = float(inner.learning_rate)
    inner.learning_rate = inner.first_rate * factor


def make_around(kind, options):
    options = dict(options)
    if kind == "LossScaleOptimizer":
        return keras.optimizers.LossScaleOptimizer(make(options.pop("inner_optimizer")), **options)
    given = options["optimizer_map"]
    items = {key: make(item) for key, item in given.get("optimizer_map", {}).items()}
    return keras.optimizers.MultiOptimizer(keras.optimizers.OptimizerMap(make(given["default_optimizer"]), items))


def gradients_of(kind, optimizer, t):
    """A model's gradients are those of the scaled loss."""
    made = [numbers(name, t, shape) for name, shape in WEIGHTS.items()]
    if kind == "LossScaleOptimizer":
        scale = np.float32(optimizer.dynamic_scale.numpy())
        with np.errstate(over="ignore"):
            made = [(gradient.astype(np.float32) * scale).astype(np.float64) for gradient in made]
            if is_large(t):
                made[4] = (made[4].astype(np.float32) * np.float32(1024)).astype(np.float64)
        if is_spoilt(t):
            made[5][0] = np.inf if t == 5 else np.nan
    return [keras.ops.convert_to_tensor(gradient) for gradient in made]


def run(kind, options, rate):
    if kind in ("LossScaleOptimizer", "MultiOptimizer"):
        optimizer = make_around(kind, options)
        return train(kind, optimizer, None)
    options = dict(options)
    excluded = options.pop("exclude_from_weight_decay", None)
    return train(kind, getattr(keras.optimizers, kind)(learning_rate=rate, **options), excluded)


def make_variable(name, shape):
    layer, own = name.split("/")
    with keras.name_scope(layer):
        return keras.Variable(numbers(name, 0, shape), dtype="float64", name=own)


def average(optimizer, variables):
    """Those of the optimizers that keep averages become them. Whether there is one."""
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    if not any(one.use_ema for one in getattr(inner, "optimizers", [inner])):
        return False
    inner.finalize_variable_values(variables)
    return True


def train(kind, optimizer, excluded):
    variables = [make_variable(name, shape) for name, shape in WEIGHTS.items()]
    if excluded:
        optimizer.exclude_from_weight_decay(var_names=excluded)
    optimizer.build(variables)
    for t in range(1, UPDATES + 1):
        set_rate(optimizer, 1 / (1 + t / 64))
        optimizer.apply(gradients_of(kind, optimizer, t), variables)
    found = [summary(variable.numpy()) for variable in variables]
    if average(optimizer, variables):
        found += [summary(variable.numpy()) for variable in variables]
    return found


def yaml(value):
    if isinstance(value, dict):
        quoted = [key if key.isidentifier() else f"'{key}'" for key in value]
        return "{" + ", ".join(f"{key}: {yaml(item)}" for key, item in zip(quoted, value.values())) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(f"'{item}'" for item in value) + "]"
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.1e}" if isinstance(value, float) and value < 1e-4 else repr(value)


def row(case):
    kind, options, rate = case
    found = run(kind, options, rate)
    lines = [f'    {{"{kind}", "{yaml(options)}", {rate!r}, {{']
    for name, values in zip(list(WEIGHTS) * 2, found):
        lines += [f"        // {name}", "        {" + ", ".join(f"{value:.17g}" for value in values) + "},"]
    return "\n".join(lines + ["    }},"])


def check(path):
    text = re.sub(r"//.*", "", open(path).read())
    recorded = [float(n) for n in re.findall(r"-?\d+\.?\d*(?:e[-+]?\d+)?(?=[,}])", text.split("keras_optimizers[] =")[1])]
    again = re.sub(r"//.*", "", "\n".join(row(case) for case in CASES))
    found = [float(n) for n in re.findall(r"-?\d+\.?\d*(?:e[-+]?\d+)?(?=[,}])", again)]
    if len(found) != len(recorded):
        sys.exit(f"{path} has {len(recorded)} numbers, Keras {keras.__version__} gives {len(found)}")
    worst = max(abs(a - b) / (1 + abs(b)) for a, b in zip(found, recorded))
    print(f"Keras {keras.__version__}: {len(found)} numbers, largest difference {worst:.3g}")
    if not worst <= 1e-9:
        sys.exit(1)


def main():
    keras.config.set_floatx("float64")
    if len(sys.argv) == 3 and sys.argv[1] == "--check":
        return check(sys.argv[2])
    print("/* Written by tests/samples/keras_optimizers.py; do not edit. */")
    print("/* clang-format off */")
    print("static const keras_optimizer keras_optimizers[] = {")
    for case in CASES:
        print(row(case))
    print("};")
    print("/* clang-format on */")


main()
