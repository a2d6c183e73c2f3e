#!/usr/bin/env python3
"""Writes keras_resize.h: what tf.image.resize and keras.layers.Resizing make of small images. `python3
tests/samples/keras_resize.py > tests/samples/keras_resize.h`, with TensorFlow 2.21 and Keras 3.15. The images are formulas,
which tests/data/image/test_fractions.c has as well."""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import keras
import numpy as np
import tensorflow as tf

CASES = [(5, 7, 3, 3, 4, False), (5, 7, 3, 8, 9, False), (4, 6, 1, 3, 3, False), (9, 8, 3, 4, 3, True)]


def picture(height, width, channels):
    count = height * width * channels
    return np.array([(i * i * 31 + i * 17 + 5) % 256 for i in range(count)], np.uint8).reshape(height, width, channels)


print("/* Written by keras_resize.py with TensorFlow %s and Keras %s. */" % (tf.__version__, keras.__version__))
print("/* clang-format off */")
print("static const struct {")
print("    int height, width, channels, to_height, to_width;")
print("    bool antialias;")
print("    double pixels[216];")
print("} KERAS_RESIZE[] = {")
for height, width, channels, to_height, to_width, antialias in CASES:
    image = picture(height, width, channels)
    out = tf.image.resize(image, (to_height, to_width), antialias=antialias).numpy()
    if not antialias:
        layer = keras.layers.Resizing(to_height, to_width)(image.astype(np.float32))
        assert np.abs(np.array(layer) - out).max() < 1e-4
    print("    {%d, %d, %d, %d, %d, %s, {" % (height, width, channels, to_height, to_width, str(antialias).lower()))
    values = ["%.9g" % v for v in out.ravel()]
    for i in range(0, len(values), 8):
        print("        " + ", ".join(values[i:i + 8]) + ",")
    print("    }},")
print("};")
