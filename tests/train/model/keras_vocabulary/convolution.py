"""Convolutions."""


def convolution(axes, inputs, **more):
    """A row: one number for all axes, or one for each."""
    each = {1: [(2,), (3,)], 2: [(2, 3), (3, 1)], 3: [(2, 1, 3), (1, 3, 2)]}[axes]
    arguments = {"filters": [6, 4], "kernel_size": [3] + each, "strides": [1, 2, each[0]], "padding": ["valid", "same"],
                 "dilation_rate": [1, 2, each[-1]]}
    arguments.update(more)
    return {"inputs": [[shape] for shape in inputs],
            "arguments": {name: values for name, values in arguments.items() if values}}


SEQUENCES, IMAGES, VOLUMES = [(13, 4), (10, 6)], [(9, 8, 4), (7, 10, 2)], [(6, 7, 5, 4), (5, 6, 8, 2)]

LAYERS = {
    "Conv1D": convolution(1, SEQUENCES, padding=["valid", "same", "causal"], groups=[1, 2]),
    "Conv2D": convolution(2, IMAGES, groups=[1, 2]),
    "Conv3D": convolution(3, VOLUMES, groups=[1, 2]),
    "Conv1DTranspose": convolution(1, [(5, 4), (3, 6)], output_padding=[None, 0, 1, (1,)]),
    "Conv2DTranspose": convolution(2, [(4, 5, 3), (3, 2, 4)], output_padding=[None, 0, 1, (1, 0)]),
    "Conv3DTranspose": convolution(3, [(3, 2, 4, 2), (2, 3, 3, 4)], output_padding=[None, 0, 1, (1, 0, 0)]),
    "DepthwiseConv1D": convolution(1, SEQUENCES, filters=None, depth_multiplier=[1, 2, 3]),
    "DepthwiseConv2D": convolution(2, IMAGES, filters=None, depth_multiplier=[1, 2, 3], strides=[1, 2, 3]),
    "SeparableConv1D": convolution(1, SEQUENCES, depth_multiplier=[1, 2]),
    "SeparableConv2D": convolution(2, IMAGES, depth_multiplier=[1, 2], strides=[1, 2, 3]),
}
