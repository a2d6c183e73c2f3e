#!/usr/bin/env python3
"""Writes tf_checkpoints.h: small checkpoints as TensorFlow writes them. `python3 tests/samples/tf_checkpoints.py >
tests/samples/tf_checkpoints.h` with TensorFlow 2.21 and Keras 3.15 (scripts/install-peers.sh tensorflow installs them);
the header holds its output. Element i of the variable number v is v + i / 8. tests/formats/tensorflow has the same formula."""
import os
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import keras
import numpy as np
import tensorflow as tf

v1 = tf.compat.v1


def numbers(variable, *shape):
    return (variable + np.arange(int(np.prod(shape))).reshape(shape) / 8).astype(np.float32)


def write_flat(path):
    """TensorFlow 1's names; variables in slices (the third begins at 100, which takes two bytes), and of all types."""
    with tf.Graph().as_default(), v1.variable_scope("Net"):

        def add(name, values, dtype=tf.float32, partitions=None):
            values = tf.constant(values, dtype)
            if not partitions:
                return v1.get_variable(name, initializer=values)

            def part(shape, dtype, partition_info):
                return tf.slice(values, partition_info.var_offset, shape)

            return v1.get_variable(
                name, values.shape, dtype, initializer=part, partitioner=lambda shape, dtype: partitions
            )

        add("fc/weights", numbers(1, 4, 3), partitions=[2, 1])
        add("fc/biases", numbers(2, 3))
        add("wide", numbers(3, 2, 150), partitions=[1, 3])
        add("global_step", 7, tf.int64)
        add("words", ["ab", "", "cde"], tf.string)
        for index, dtype in enumerate([tf.float16, tf.bfloat16, tf.float64, tf.int32, tf.uint8, tf.int8, tf.int16]):
            add(dtype.name, np.arange(2) + 4 + index, dtype)
        add("truth", [True, False], tf.bool)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            v1.train.Saver(sharded=True).save(session, path, write_meta_graph=False)


class Dense(tf.Module):
    def __init__(self, scope, first, second):
        super().__init__()
        self.kernel = tf.Variable(numbers(first, 3, 2), name=scope + "/kernel")
        self.bias = tf.Variable(numbers(second, 2), name=scope + "/bias")


def write_objects(path):
    """TensorFlow 2's names. Two layers have the same name, so that it says nothing,
    and the same bias."""
    layers = [Dense("one", 1, 2), Dense("model/two", 3, 4), Dense("same", 5, 6), Dense("same", 7, 6)]
    optimizer = tf.Module()
    optimizer.slots = [tf.Variable(numbers(9, 2), name="one/momentum")]
    tf.train.Checkpoint(layers=layers, optimizer=optimizer).write(path)


def write_export(path):
    """A SavedModel of Keras 3, which has each variable twice."""
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3, name="dense")], name="net")
    model.set_weights([numbers(1, 2, 3), numbers(2, 3)])
    model.export(path, verbose=False)
    return path + "/variables/variables"


def print_file(name, path):
    with open(path, "rb") as file:
        data = file.read()
    print(f"static const unsigned char {name}[] = {{")
    for begin in range(0, len(data), 24):
        print("    " + " ".join(f"{byte}," for byte in data[begin : begin + 24]))
    print("};")


with tempfile.TemporaryDirectory() as folder:
    write_flat(folder + "/flat")
    write_objects(folder + "/objects")
    exported = write_export(folder + "/export")
    print(f"/* Written by tf_checkpoints.py: checkpoints as TensorFlow {tf.__version__} writes them. */")
    print("/* clang-format off */")
    for name, path in ("flat", folder + "/flat"), ("objects", folder + "/objects"), ("export", exported):
        print_file(f"{name}_index", path + ".index")
        print_file(f"{name}_data", path + ".data-00000-of-00001")
sys.stdout.flush()
