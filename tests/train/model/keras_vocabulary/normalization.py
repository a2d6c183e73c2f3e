"""Normalisations."""
import keras


def norms(more):
    arguments = {"epsilon": [1e-3, 0.1], "center": [True, False], "scale": [True, False]}
    arguments.update(more)
    return arguments


LAYERS = {
    "BatchNormalization": {
        "inputs": [[(7,)], [(5, 6)], [(4, 3, 5)], [{"shape": (6, 4), "masked": True}], [(2, 3, 4, 2)]],
        "arguments": norms({
            "axis": [-1, 1], "momentum": [0.99, 0.5], "moving_mean_initializer": ["zeros", "ones"],
            "moving_variance_initializer": ["ones", lambda: keras.initializers.RandomUniform(0.5, 1.5)],
            "synchronized": [False, True],
            "renorm": [False, False, True], "renorm_momentum": [0.99, 0.9],
            "renorm_clipping": [None, {"rmax": 1.5, "rmin": 0.5, "dmax": 0.3}, {"rmax": 2.0}]}),
    },
    "LayerNormalization": {
        "inputs": [[(7,)], [(5, 6)], [(4, 3, 5)], [{"shape": (6, 4), "masked": True}], [(33, 80)], [(2, 3, 2, 4)]],
        "arguments": norms({"axis": [-1, 1, [1, 2], [-1, -2], -2]}),
    },
    "RMSNormalization": {
        "inputs": [[(7,)], [(5, 6)], [(4, 4, 4)], [(3, 65)], [(4, 3, 5)]],
        "arguments": {"axis": [-1, [1, 2], [-2, -1], 1], "epsilon": [1e-6, 0.1]},
    },
    "GroupNormalization": {
        "inputs": [[(8,)], [(4, 8)], [(4, 3, 8)], [(8, 6, 4)], [{"shape": (4, 8), "masked": True}]],
        "arguments": norms({"groups": [4, 2, 1, -1, 8], "axis": [-1, 1, -2]}),
    },
    "UnitNormalization": {
        "inputs": [[(7,)], [(5, 6)], [(4, 3, 5)], [{"shape": (6, 4), "masked": True}]],
        "arguments": {"axis": [-1, 1, [1, 2], [-1]]},
    },
    "SpectralNormalization": {
        "inputs": [[(4,)], [(6, 5, 4)]],
        "arguments": {"layer": [lambda: keras.layers.Dense(3, activation="tanh"), lambda: keras.layers.Conv2D(3, 2),
                                lambda: keras.layers.Dense(5, use_bias=False)],
                      "power_iterations": [1, 3]},
    },
}
