"""What docs/keras.md says of names that liana leaves out, of those that are not quite Keras's, and of those that it should have."""

LEFT_OUT = {
    "callbacks": {
        "OrbaxCheckpoint": "writes the format of another framework; checkpoints are safetensors",
    },
}
DIFFERS = {
    "layers": {
        "SpectralNormalization": "Keras also replaces the kernel by its quotient in training",
        "TextVectorization": "shapes are fixed: `output_sequence_length` must be given; no ragged or sparse results",
        "StringLookup": "no `invert`",
        "LSTM": "no `stateful`", "GRU": "no `stateful`", "SimpleRNN": "no `stateful`", "RNN": "no `stateful`",
        "ConvLSTM1D": "no `stateful`", "ConvLSTM2D": "no `stateful`", "ConvLSTM3D": "no `stateful`",
    },
    "callbacks": {"LearningRateScheduler": "takes a list of rates; a function of a program is a callback"},
}
# Names of Keras that are no part of their own here, and what stands for them.
STANDS_IN = {
    "optimizers": {"OptimizerMap": ("works", "the option `optimizer_map` of MultiOptimizer")},
    "callbacks": {"LambdaCallback": ("differs", "a program's functions at the events of a fit are a `liana_callback`")},
}
# Names that must come: the check allows no others.
NOT_YET = {
    "callbacks": {"TensorBoard": "comes with event files"},
}
