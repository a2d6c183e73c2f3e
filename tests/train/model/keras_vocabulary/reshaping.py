"""Layers that change shapes."""

LAYERS = {
    "Flatten": {"inputs": [[(4, 3)], [(2, 3, 5)], [(7,)], [()]],
                "arguments": {"data_format": ["channels_last", "channels_first"]}},
    "Permute": {"inputs": [[(4, 3)], [(2, 3, 5)]], "arguments": {"dims": [(2, 1), (1, 2), (3, 1, 2), (2, 3, 1)]}},
    "RepeatVector": {"inputs": [[(4,)], [(1,)]], "arguments": {"n": [1, 3]}},
    "Reshape": {"inputs": [[(12,)], [(3, 4)], [(2, 3, 2)]],
                "arguments": {"target_shape": [(3, 4), (-1, 2), (12,), (2, -1, 3), (-1,)]}},
}

SEQUENCES, IMAGES, VOLUMES = [[(6, 3)], [(9, 2)]], [[(6, 5, 3)], [(4, 7, 2)]], [[(4, 5, 6, 2)], [(5, 3, 4, 1)]]

LAYERS.update({
    "ZeroPadding1D": {"inputs": SEQUENCES, "arguments": {"padding": [1, 2, (0, 3)]}},
    "ZeroPadding2D": {"inputs": IMAGES, "arguments": {"padding": [1, (2, 0), ((0, 3), (1, 2))]}},
    "ZeroPadding3D": {"inputs": VOLUMES, "arguments": {"padding": [1, (2, 0, 1), ((0, 3), (1, 2), (2, 0))]}},
    "Cropping1D": {"inputs": SEQUENCES, "arguments": {"cropping": [1, 2, (0, 3)]}},
    "Cropping2D": {"inputs": IMAGES, "arguments": {"cropping": [0, 1, (1, 0), ((0, 2), (1, 2))]}},
    "Cropping3D": {"inputs": VOLUMES, "arguments": {"cropping": [0, 1, (1, 0, 1), ((0, 2), (1, 0), (2, 0))]}},
    "UpSampling1D": {"inputs": SEQUENCES, "arguments": {"size": [2, 3, 1]}},
    "UpSampling2D": {"inputs": IMAGES, "arguments": {
        "size": [2, 3, (1, 4), (5, 2)], "interpolation": ["nearest", "bilinear", "bicubic", "lanczos3", "lanczos5"]}},
    "UpSampling3D": {"inputs": VOLUMES, "arguments": {"size": [2, 3, (1, 4, 2)]}},
})
