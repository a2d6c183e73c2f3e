"""What docs/keras.md says of names that liana leaves out, of those that are not quite Keras's, and of those that it should have."""

LEFT_OUT = {
    "callbacks": {
        "LambdaCallback": "takes Python functions; a program's own callback is a `liana_callback`",
        "OrbaxCheckpoint": "writes the format of another framework; checkpoints are safetensors",
    },
}
INVERSE = "gradients are those of the result; TensorFlow has those of the inverse transform"
DIFFERS = {
    "layers": {
        "SpectralNormalization": "Keras also replaces the kernel by its quotient in training",
        "TextVectorization": "shapes are fixed: `output_sequence_length` must be given; no ragged or sparse results",
        "StringLookup": "no `invert`",
        "RandomCrop": "inference resizes, as Keras documents it; Keras 3.15 gives the image as it is. Each image has a window of its "
                      "own, in Keras the batch has one",
        "RandomTranslation": INVERSE, "RandomRotation": INVERSE, "RandomZoom": INVERSE, "RandomShear": INVERSE,
        "RandomPerspective": INVERSE,
        "RandomElasticTransform": "each image has a size of distances of its own, in Keras the batch has one; `fill_mode` may be "
                                  "`mirror`, which Keras refuses in training",
        "LSTM": "no `stateful`", "GRU": "no `stateful`", "SimpleRNN": "no `stateful`", "RNN": "no `stateful`",
        "ConvLSTM1D": "no `stateful`", "ConvLSTM2D": "no `stateful`", "ConvLSTM3D": "no `stateful`",
    },
    "callbacks": {"LearningRateScheduler": "takes a list of rates; a function of a program is a callback"},
}
# Names that must come: the check allows no others.
NOT_YET = {
    "optimizers": {"LossScaleOptimizer": "files that have it are read as the optimizer within; bfloat16 needs no scale",
                   "MultiOptimizer": "`rate_multipliers` and stages do a part of it", "OptimizerMap": ""},
    "callbacks": {"TensorBoard": "comes with event files"},
}
