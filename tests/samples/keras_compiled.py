#!/usr/bin/env python3
"""Writes a compiled and trained model as Keras 3 does, and prints its outputs of three inputs:
    keras_compiled.py keras3_compiled.keras keras3_compiled.h5       by Keras 3.15.1
Element k of input i is (i + 1) * (k - 1) / 4."""
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(3)
model = keras.Sequential(
    [
        keras.Input((4,), name="row"),
        layers.Dense(5, activation="relu", name="hidden"),
        layers.BatchNormalization(name="norm"),
        layers.Dropout(0.25, name="drop"),
        layers.Dense(3, activation="softmax", name="out"),
    ],
    name="compiled",
)
rate = keras.optimizers.schedules.CosineDecay(0.01, 100)
model.compile(
    optimizer=keras.optimizers.Adam(rate, beta_1=0.8),
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy", keras.metrics.SparseTopKCategoricalAccuracy(2, name="among_two")],
)
draw = np.random.default_rng(3)
model.fit(draw.normal(size=(40, 4)), draw.integers(0, 3, 40), batch_size=8, epochs=2, verbose=0)
for path in sys.argv[1:]:
    model.save(path)
inputs = np.outer(np.arange(1, 4), np.arange(4) - 1).astype("float32") / 4
print(model.predict(inputs, verbose=0).tolist())
