"""Activations as layers, and all functions by their names."""
import keras
from keras.src import activations

INPUTS = [[(7,)], [(5, 6)], [(4, 3, 8)]]
# Functions with arguments that have no default cannot be named alone; glu says another shape than it gives.
NAMES = sorted(set(activations.ALL_OBJECTS_DICT) - {"threshold", "glu"})


def with_arguments(layer_class, arguments, inputs, call):
    """An activation that is a layer with arguments."""
    return keras.layers.Dense(5, **arguments)(inputs[0])


LAYERS = {
    "Activation": {"inputs": INPUTS, "arguments": {"activation": NAMES}},
    "ReLU": {
        "inputs": INPUTS,
        "arguments": {"max_value": [None, 6.0, 0.7], "negative_slope": [0.0, 0.2], "threshold": [0.0, 0.3]},
    },
    "LeakyReLU": {"inputs": INPUTS, "arguments": {"negative_slope": [0.3, 0.05, 0.0]}},
    "ELU": {"inputs": INPUTS, "arguments": {"alpha": [1.0, 0.5, 2.0]}},
    "PReLU": {
        "inputs": [[(5, 6)], [(4, 3, 5)], [{"shape": (6, 4), "masked": True}]],
        "arguments": {"alpha_initializer": ["zeros", "glorot_uniform"], "alpha_regularizer": [None, "l2"],
                      "alpha_constraint": [None, "non_neg"], "shared_axes": [None, [1], [1, 2], 2]},
    },
    "Softmax": {"inputs": [[(5, 6)], [(4, 3, 5)], [(7, 2)]], "arguments": {"axis": [-1, 1, [1, 2], [-1], -2]}},
}
