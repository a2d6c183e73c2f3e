"""Layers that change shapes."""

LAYERS = {
    "Flatten": {"inputs": [[(4, 3)], [(2, 3, 5)], [(7,)], [()]],
                "arguments": {"data_format": ["channels_last", "channels_first"]}},
    "Permute": {"inputs": [[(4, 3)], [(2, 3, 5)]], "arguments": {"dims": [(2, 1), (1, 2), (3, 1, 2), (2, 3, 1)]}},
    "RepeatVector": {"inputs": [[(4,)], [(1,)]], "arguments": {"n": [1, 3]}},
    "Reshape": {"inputs": [[(12,)], [(3, 4)], [(2, 3, 2)]],
                "arguments": {"target_shape": [(3, 4), (-1, 2), (12,), (2, -1, 3), (-1,)]}},
}
