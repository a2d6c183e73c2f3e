#!/usr/bin/env python3
"""Writes keras_optimizers.h: weights after 100 updates by Keras's optimizers, with clipping, weight decay and averages.
`python3 tests/samples/keras_optimizers.py > tests/samples/keras_optimizers.h` with Keras 3.15 (scripts/install-peers.sh
tensorflow installs it); the header holds its output. With `--check tests/samples/keras_optimizers.h` it compares the
header's numbers with those of the Keras that is installed.

Keras computes in float64 here. First weights, gradients and rates are formulas of names and indices, which
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
]


def numbers(name, t, shape):
    """-1 to 1 in steps of 1/64. t: 0 for the first weights, else the update."""
    i = np.arange(int(np.prod(shape)), dtype=np.int64)
    drawn = (i * 37 + i // 7 * 5 + t * 53 + (i * t) % 61 * 3 + 11 * sum(map(ord, name))) % 129
    return ((drawn - 64) / 64).reshape(shape)


def summary(values):
    flat = np.asarray(values).reshape(-1)
    return [flat[0], flat[flat.size // 2], flat[-1], np.abs(flat).sum()]


def run(kind, options, rate):
    options = dict(options)
    excluded = options.pop("exclude_from_weight_decay", None)
    optimizer = getattr(keras.optimizers, kind)(learning_rate=rate, **options)
    variables = [
        keras.Variable(numbers(name, 0, shape), dtype="float64", name=name.split("/")[1])
        for name, shape in WEIGHTS.items()
    ]
    if excluded:
        optimizer.exclude_from_weight_decay(var_names=excluded)
    optimizer.build(variables)
    for t in range(1, UPDATES + 1):
        optimizer.learning_rate = rate / (1 + t / 64)
        gradients = [keras.ops.convert_to_tensor(numbers(name, t, shape)) for name, shape in WEIGHTS.items()]
        optimizer.apply(gradients, variables)
    found = [summary(variable.numpy()) for variable in variables]
    if optimizer.use_ema:
        optimizer.finalize_variable_values(variables)
        found += [summary(variable.numpy()) for variable in variables]
    return found


def yaml(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {yaml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(f"'{item}'" for item in value) + "]"
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
