"""Layers that prepare values."""


def numbers(shape, scale, offset):
    """Values of one shape, as nested lists."""
    if not shape:
        return offset
    return [numbers(shape[1:], scale, offset + i * scale) for i in range(shape[0])]


LAYERS = {
    "Normalization": {
        "inputs": [[(4,)], [(3, 4)], [(2, 3, 4)]],
        "arguments": {"axis": [-1, None, 1, (1, 2)], "invert": [False, True],
                      "mean": [None, 0.5, numbers((4,), 0.25, -0.5), numbers((3, 4), 0.125, -1.0), numbers((3,), 0.5, 0.0)],
                      "variance": [None, 2.0, numbers((4,), 0.5, 0.25), numbers((3, 4), 0.25, 0.5), numbers((3,), 1.0, 0.5)]},
    },
}
