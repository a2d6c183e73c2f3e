"""Convolutions."""

LAYERS = {
    "Conv2D": {
        "inputs": [[(9, 8, 4)], [(7, 10, 4)]],
        "arguments": {"filters": [6, 4], "kernel_size": [3, (2, 3)], "strides": [1, (2, 1), 2],
                      "padding": ["valid", "same"], "dilation_rate": [1, (2, 3)], "groups": [1, 2]},
    },
}
