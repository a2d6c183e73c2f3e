"""Layers that change colours and mix images. A range of one number, and a probability of 1, draw nothing that shows: so
models are compared in training too."""
import keras

IMAGES = [[{"shape": (6, 5, 3), "range": (0, 255)}], [{"shape": (4, 7, 3), "range": (-20, 300)}]]
UNITS = [[{"shape": (5, 4, 3), "range": (0, 1)}], [{"shape": (3, 6, 3), "range": (0, 0.8)}]]
RANGES, SEED = [(0, 255), (0, 1), (-1, 2)], [None, 7]


def held(layer_class, arguments, fed, call):
    """Keras calls an Equalization in no model but within another layer."""
    return keras.layers.Pipeline([layer_class(**arguments)])(fed[0])


def row(factors, inputs=IMAGES + UNITS, **more):
    return {"inputs": inputs, "arguments": {"factor": factors, "value_range": RANGES, "seed": SEED, **more}}


LAYERS = {
    "RandomBrightness": row([0.2, (0.2, 0.2), (-0.3, -0.3), 0.0]),
    "RandomContrast": row([0.2, (0.0, 0.0), 0.0, (0.1, 0.6)]),
    "RandomHue": row([0.2, 0.0, (0.0, 0.0), (0.1, 0.4)]),
    "RandomSaturation": row([0.3, (0.7, 0.7), (0.2, 0.2), (0.5, 0.5), (0.0, 0.0)]),
    "RandomSharpness": row([0.4, (0.5, 0.5), (0.9, 0.9), (0.1, 0.1)]),
    "RandomPosterization": row([4, (3, 3), (8, 8), (1, 1), (2, 5)], UNITS),  # TensorFlow has no rule for bytes beyond the range
    "RandomColorDegeneration": row([0.3, (0.4, 0.4), (1.0, 1.0), (-0.2, -0.2)]),
    "RandomInvert": row([1.0, (1.0, 1.0), (0.0, 0.0), 0.3]),
    "RandomColorJitter": {
        "inputs": IMAGES + UNITS,
        "arguments": {"value_range": RANGES, "brightness_factor": [None, (0.1, 0.1), 0.2],
                      "contrast_factor": [None, (0.0, 0.0), 0.3], "saturation_factor": [None, (0.6, 0.6), 0.4],
                      "hue_factor": [None, (0.0, 0.0), 0.1], "seed": SEED},
    },
    "RandomGaussianBlur": row([(1.0, 1.0), 0.5, (0.0, 0.0)], kernel_size=[3, (5, 5), (3, 5), (1, 3)],
                              sigma=[1.0, (0.7, 0.7), (0.5, 2.0), (1.0, 1.0)]),
    "RandomGrayscale": {"inputs": IMAGES + [[(4, 5, 1)]], "arguments": {"factor": [1.0, 0.0, 0.5], "seed": SEED}},
    "RandomErasing": row([(1.0, 1.0), 0.0, 0.5], scale=[(0.02, 0.33), (1.0, 1.0), 0.4],
                         fill_value=[None, 0.5, (3.0, 100.0, 0.2)]),
    "Solarization": {
        "inputs": IMAGES + UNITS,
        "arguments": {"addition_factor": [0.0, 0.2, (0.0, 0.0), (0.1, 0.3)], "threshold_factor": [0.0, (0.0, 0.0), (0.2, 0.5)],
                      "value_range": RANGES, "seed": SEED},
    },
    "AutoContrast": {"inputs": IMAGES + UNITS, "arguments": {"value_range": RANGES}},
    "Equalization": {"inputs": IMAGES + UNITS, "arguments": {"value_range": RANGES, "bins": [256, 10, 64]}, "build": held},
    "ContrastLimitedAdaptiveHistogramEqualization": {
        "inputs": [[{"shape": (16, 24, 3), "range": (0, 255)}], [{"shape": (9, 13, 1), "range": (-10, 270)}],
                   [{"shape": (17, 11, 2), "range": (0, 1)}]],
        "arguments": {"value_range": RANGES, "clip_limit": [4.0, 0.0, 1.5], "tile_grid_size": [(8, 8), (2, 3), (4, 2)]},
    },
    "Pipeline": {
        "inputs": IMAGES,
        "arguments": {"layers": [
            lambda: [keras.layers.AutoContrast(), keras.layers.RandomBrightness((0.1, 0.1))],
            lambda: [keras.layers.Conv2D(4, 3), keras.layers.ReLU(), keras.layers.Conv2D(2, 2), keras.layers.Flatten(),
                     keras.layers.Dense(3)],
            lambda: [keras.layers.Rescaling(1 / 255), keras.layers.BatchNormalization(), keras.layers.Dropout(0.3)]],
            "name": [None, "prepared"]},
    },
    "MixUp": {"inputs": IMAGES + UNITS, "arguments": {"alpha": [0.2, 1.0], "seed": SEED}},
    "CutMix": {"inputs": IMAGES + UNITS, "arguments": {"factor": [1.0, 0.3, (0.2, 0.7)], "seed": SEED}},
    "RandAugment": {
        "inputs": IMAGES[:1] + UNITS,
        "arguments": {"value_range": RANGES[:2], "num_ops": [2, 1, 0], "factor": [0.5, (0.1, 0.3), 1.0],
                      "interpolation": ["bilinear", "nearest"], "seed": SEED},
    },
    "AugMix": {
        "inputs": IMAGES[:1] + UNITS,
        "arguments": {"value_range": RANGES[:2], "num_chains": [3, 1], "chain_depth": [3, 1], "factor": [0.3, (0.1, 0.2)],
                      "alpha": [1.0, 0.4], "all_ops": [True, False], "interpolation": ["bilinear", "nearest"], "seed": SEED},
    },
    "MaxNumBoundingBoxes": {"inputs": IMAGES, "arguments": {"max_number": [3, 10], "fill_value": [-1, 0]}},
}
