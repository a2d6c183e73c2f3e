"""Has Keras compile models by settings that liana wrote.

    keras_compile_check.py CASES.json FOUND.json

CASES.json is a list of {"outputs", "compile_config", "training_config"}; tests/train/model/test_keras_compile.c writes it.
FOUND.json has an item for each form of each: {"case", "compile_config"} as Keras writes it again, and the learning
"rates" of 30 updates."""
import json
import os
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import keras
import numpy as np
from keras.src.legacy.saving import saving_utils


def make_model(outputs):
    x = keras.Input((4,))
    if outputs == 1:
        return keras.Model(x, keras.layers.Dense(3, name="o")(x))
    return keras.Model(x, [keras.layers.Dense(3, name="a")(x), keras.layers.Dense(1, name="b")(x)])


def own_rate_of(optimizer):
    """The optimizer that has a rate: within a LossScaleOptimizer, and the default one of a MultiOptimizer."""
    if isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
        return own_rate_of(optimizer.inner_optimizer)
    if isinstance(optimizer, keras.optimizers.MultiOptimizer):
        return optimizer._optimizer_map.default_optimizer
    return optimizer


def look(model, outputs, sparse):
    """Builds the losses and metrics by an evaluation, and asks for everything again."""
    number = np.zeros((2, 1), np.float32)
    target = np.zeros((2, 1), np.int32) if sparse else np.zeros((2, 3), np.float32)
    model.evaluate(np.ones((2, 4), np.float32), target if outputs == 1 else [target, number], verbose=0)
    optimizer = own_rate_of(model.optimizer)
    rate = optimizer._learning_rate
    rates = [float(rate(i) if callable(rate) else optimizer.learning_rate) for i in range(30)]
    return {"compile_config": model.get_compile_config(), "rates": rates}


def run(case):
    outputs, sparse = case["outputs"], "Sparse" in json.dumps(case["compile_config"])
    model, other = make_model(outputs), make_model(outputs)
    model.compile_from_config(case["compile_config"])
    found = [look(model, outputs, sparse)]
    if case["training_config"]:
        other.compile(**saving_utils.compile_args_from_training_config(case["training_config"]))
        found.append(look(other, outputs, sparse))
    return found


with open(sys.argv[1]) as file:
    given = json.load(file)
with open(sys.argv[2], "w") as file:
    json.dump([{"case": i, **item} for i, case in enumerate(given) for item in run(case)], file)
