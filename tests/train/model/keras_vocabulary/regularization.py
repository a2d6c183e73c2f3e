"""Layers against overfitting. Those that draw are compared in inference; tests/layers/test_noise.c has their draws."""

RATE, SEED = [0.0, 0.3, 0.5], [None, 7]

LAYERS = {
    "ActivityRegularization": {"inputs": [[(5,)], [(4, 3)]], "arguments": {"l1": [0.0, 0.1], "l2": [0.0, 0.02]}},
    "Dropout": {"inputs": [[(4, 3)], [{"shape": (4, 3), "masked": True}]],
                "arguments": {"rate": RATE, "noise_shape": [None, (None, 1, 3), (None, None, 1)], "seed": SEED}},
    "AlphaDropout": {"inputs": [[(4, 3)], [(5, 3)]],
                     "arguments": {"rate": RATE, "noise_shape": [None, (None, 1, 3), (None, None, 1)], "seed": SEED}},
    "SpatialDropout1D": {"inputs": [[(4, 3)], [(6, 1)]], "arguments": {"rate": RATE, "seed": SEED}},
    "SpatialDropout2D": {"inputs": [[(4, 3, 2)], [(2, 2, 5)]], "arguments": {"rate": RATE, "seed": SEED}},
    "SpatialDropout3D": {"inputs": [[(4, 3, 2, 2)], [(2, 1, 2, 3)]], "arguments": {"rate": RATE, "seed": SEED}},
    "GaussianDropout": {"inputs": [[(4, 3)], [(5, 2, 3)]], "arguments": {"rate": RATE, "seed": SEED}},
    "GaussianNoise": {"inputs": [[(4, 3)], [{"shape": (4, 3), "masked": True}]],
                      "arguments": {"stddev": [0.0, 0.4, 1.0], "seed": SEED}},
}
