"""Layers against overfitting. Those that draw are compared in inference; tests/layers/test_noise.c has their draws."""

RATE, SEED = [0.0, 0.3, 0.5], [None, 7]


def of_one_rank(layer_class, arguments, fed, call):
    """A noise_shape has an axis for each of the input's."""
    shape = arguments["noise_shape"]
    if shape and len(shape) != len(fed[0].shape):
        raise ValueError("another number of axes")
    return layer_class(**arguments)(fed[0], **call)


LAYERS = {
    "ActivityRegularization": {"inputs": [[(5,)], [(4, 3)]], "arguments": {"l1": [0.0, 0.1], "l2": [0.0, 0.02]}},
    "Dropout": {"inputs": [[(4, 3)], [(5, 2, 3)], [{"shape": (4, 3), "masked": True}]],
                "arguments": {"rate": RATE, "noise_shape": [None, (None, 1, 3), (None, 1, 1, 3)], "seed": SEED},
        "build": of_one_rank},
    "AlphaDropout": {"inputs": [[(4, 3)], [(5, 2, 3)]],
                     "arguments": {"rate": RATE, "noise_shape": [None, (None, 1, 3), (None, 1, 1, 3)], "seed": SEED},
        "build": of_one_rank},
    "SpatialDropout1D": {"inputs": [[(4, 3)], [(6, 1)]], "arguments": {"rate": RATE, "seed": SEED}},
    "SpatialDropout2D": {"inputs": [[(4, 3, 2)], [(2, 2, 5)]], "arguments": {"rate": RATE, "seed": SEED}},
    "SpatialDropout3D": {"inputs": [[(4, 3, 2, 2)], [(2, 1, 2, 3)]], "arguments": {"rate": RATE, "seed": SEED}},
    "GaussianDropout": {"inputs": [[(4, 3)], [(5, 2, 3)]], "arguments": {"rate": RATE, "seed": SEED}},
    "GaussianNoise": {"inputs": [[(4, 3)], [{"shape": (4, 3), "masked": True}]],
                      "arguments": {"stddev": [0.0, 0.4, 1.0], "seed": SEED}},
}
