"""Layers that resize, crop, turn and distort images. Those that draw are compared in training too where a range has one
number, so that nothing is random; tests/layers/images/test_image_geometry.c has their draws.

RandomFlip, RandomPerspective and RandomElasticTransform always draw; they are compared in inference. Gradients of training
are those of the formula, where TensorFlow's are of the inverse transform: they are not compared."""

SIZES = [[(6, 7, 3)], [(5, 8, 1)], [(9, 4, 2)]]
FILL = {"fill_mode": ["reflect", "wrap", "constant", "nearest"], "fill_value": [0.0, 0.75],
        "interpolation": ["bilinear", "nearest"], "seed": [None, 7]}
SAMPLED = {"inputs": SIZES, "inference_gradients": True}

LAYERS = {
    "Resizing": {
        "inputs": SIZES + [[(24, 19, 2)], [{"shape": (6, 7, 3), "high": 256}]],
        "arguments": {"height": [4, 9, 6], "width": [11, 3, 7, 5],
                      "interpolation": ["bilinear", "nearest", "bicubic", "lanczos3", "lanczos5"],
                      "crop_to_aspect_ratio": [False, True, False], "pad_to_aspect_ratio": [False, False, True],
                      "fill_mode": ["constant", "constant"], "fill_value": [0.0, 1.5], "antialias": [False, True]},
    },
    "CenterCrop": {"inputs": SIZES, "arguments": {"height": [3, 6, 8], "width": [4, 5, 9]}},
    "RandomCrop": {
        # Of images that are larger in both directions Keras draws the window, and in inference it gives them as they are.
        "inputs": [[(4, 7, 3)], [(5, 5, 1)], [(6, 2, 2)], [(3, 9, 2)]],
        "arguments": {"height": [6, 8, 7], "width": [7, 6, 5], "seed": [None, 3]},
        "training_only": True,
    },
    "RandomFlip": {"inputs": SIZES,
                   "arguments": {"mode": ["horizontal", "vertical", "horizontal_and_vertical"], "seed": [None, 3]}},
    "RandomTranslation": {
        **SAMPLED,
        "arguments": {**FILL, "height_factor": [(0.2, 0.2), (-0.37, -0.37), (0.5, 0.5), 0.0, (0.1, 0.3)],
                      "width_factor": [(-0.25, -0.25), (0.44, 0.44), (0.9, 0.9), 0.3]},
    },
    "RandomRotation": {
        **SAMPLED,
        "arguments": {**FILL, "factor": [(0.1, 0.1), (-0.23, -0.23), (0.5, 0.5), 0.0, (0.77, 0.77), 0.2, (-0.1, 0.3)]},
    },
    "RandomZoom": {
        **SAMPLED,
        "arguments": {**FILL, "height_factor": [(0.3, 0.3), (-0.4, -0.4), (1.0, 1.0), 0.2],
                      "width_factor": [None, (0.15, 0.15), (-0.6, -0.6), (-0.1, 0.3)]},
    },
    "RandomShear": {**SAMPLED, "arguments": {**FILL, "x_factor": [0.0, 0.3, (0.1, 0.4)], "y_factor": [0.0, 0.2, (0.3, 0.3)]}},
    "RandomPerspective": {
        **SAMPLED,
        "arguments": {"factor": [1.0, 0.0, (0.2, 0.9)], "scale": [1.0, 0.3, 0.0], "interpolation": ["bilinear", "nearest"],
                      "fill_value": [0.0, 0.75], "seed": [None, 7]},
    },
    "RandomElasticTransform": {
        **SAMPLED,
        "arguments": {**FILL, "factor": [1.0, 0.0, (0.2, 0.9)], "scale": [1.0, 0.3, (0.2, 0.4)],
                      "value_range": [(0, 255), (0, 1), (-1, 1)]},
    },
}
