#!/usr/bin/env python3
"""Writes checkpoints of one model of Keras 3 and Keras 2 in all ways that TensorFlow has, with what it makes of two images:
tensorflow_checkpoints.py FOLDER. tests/train/checkpoint/test_foreign_weights.c reads them."""
import os
import re
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import keras
import numpy as np
import tensorflow as tf
import tf_keras

v1 = tf.compat.v1
folder = sys.argv[1]
keras.utils.set_random_seed(1)
model = keras.applications.MobileNet((64, 64, 3), alpha=0.25, weights=None, classes=10)
random = np.random.default_rng(2)
for weight in model.weights:
    if weight.path.endswith(("gamma", "moving_variance")):
        weight.assign(random.uniform(0.5, 1.5, weight.shape))
    if weight.path.endswith(("beta", "moving_mean", "bias")):
        weight.assign(random.normal(0, 0.1, weight.shape))
model.compile("adam", "categorical_crossentropy")
images = random.uniform(-1, 1, (2, 64, 64, 3)).astype(np.float32)
model.train_on_batch(images, np.eye(10, dtype=np.float32)[:2])  # makes the state of the optimizer

images.tofile(f"{folder}/keras.input")
np.asarray(model(images, training=False), np.float32).tofile(f"{folder}/keras.output")
tf.train.Checkpoint(model=model, optimizer=model.optimizer).save(f"{folder}/objects/ckpt")
model.export(f"{folder}/exported", verbose=False)
tf.saved_model.save(model, f"{folder}/saved")

# Keras 2, with the state of an optimizer in slots.
older = tf_keras.applications.MobileNet((64, 64, 3), alpha=0.25, weights=None, classes=10)
older.compile(tf_keras.optimizers.legacy.Adam(), "categorical_crossentropy", metrics=["accuracy"])
older.train_on_batch(images, np.eye(10, dtype=np.float32)[:2])
older.set_weights([np.asarray(weight) for weight in model.weights])
older.save_weights(f"{folder}/older/weights")
older.save(f"{folder}/older_saved", save_format="tf")


def slim_name(path):
    """The name that slim's MobileNet has for a weight of Keras's."""
    layer, weight = path.split("/")[-2:]
    if layer == "conv_preds":
        return "MobilenetV1/Logits/Conv2d_1c_1x1/" + {"kernel": "weights", "bias": "biases"}[weight]
    kind = re.fullmatch(r"conv(?:_(dw|pw)_(\d+)|1)(_bn)?", layer)
    name = "Conv2d_0" if not kind[1] else f"Conv2d_{kind[2]}_" + {"dw": "depthwise", "pw": "pointwise"}[kind[1]]
    if kind[3]:
        return f"MobilenetV1/{name}/BatchNorm/{weight}"
    return f"MobilenetV1/{name}/" + ("depthwise_weights" if kind[1] == "dw" else "weights")


values = {slim_name(weight.path): np.asarray(weight) for weight in model.weights}
os.mkdir(f"{folder}/slim")
with tf.Graph().as_default():
    for name, value in values.items():
        parts = 3 if value.shape[0] % 3 == 0 and name.endswith("weights") else 0
        scope, short = name.rsplit("/", 1)
        with v1.variable_scope(scope):
            if not parts:
                v1.get_variable(short, initializer=tf.constant(value))
                continue
            v1.get_variable(
                short,
                value.shape,
                initializer=lambda shape, dtype, partition_info, value=value: tf.slice(
                    value, partition_info.var_offset, shape
                ),
                partitioner=v1.fixed_size_partitioner(parts),
            )
    v1.get_variable("global_step", initializer=tf.constant(5, tf.int64))
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        v1.train.Saver(sharded=True).save(session, f"{folder}/slim/model.ckpt", global_step=5)
