"""Pooling."""

EACH = {1: [(3,), (1,)], 2: [(2, 3), (1, 2)], 3: [(2, 1, 3), (1, 3, 2)]}
INPUTS = {1: [(11, 4), (8, 3)], 2: [(7, 8, 3), (6, 5, 2)], 3: [(4, 6, 5, 2), (5, 4, 8, 3)]}
# TensorFlow divides by zero in the gradient of adaptive maxima where a window and a cell more are longer than the input.
ADAPTIVE = {1: [(5,), (4,)], 2: [(2, 3), (4, 2)], 3: [(2, 4, 3), (3, 2, 2)]}
MASKED = [[{"shape": (7, 3), "masked": True}], [(6, 2)]]

LAYERS = {}
for axes in (1, 2, 3):
    inputs = [[shape] for shape in INPUTS[axes]]
    for kind in ("Max", "Average"):
        LAYERS[f"{kind}Pooling{axes}D"] = {
            "inputs": inputs,
            "arguments": {"pool_size": [2, 3] + EACH[axes], "strides": [None, 1, EACH[axes][0]],
                          "padding": ["valid", "same"]}}
        LAYERS[f"Adaptive{kind}Pooling{axes}D"] = {
            "inputs": inputs, "arguments": {"output_size": [2, 3] + ADAPTIVE[axes]}}
        LAYERS[f"Global{kind}Pooling{axes}D"] = {
            "inputs": MASKED if axes == 1 else inputs, "arguments": {"keepdims": [False, True]}}
