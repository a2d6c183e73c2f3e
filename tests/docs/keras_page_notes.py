"""What docs/reference/keras.md says of names that liana leaves out, of those that are not quite Keras's, and of those that it should have."""

LEFT_OUT = {
    "callbacks": {
        "OrbaxCheckpoint": "writes the format of another framework; checkpoints are safetensors",
    },
}
INVERSE = "gradients are those of the result; TensorFlow has those of the inverse transform"
CHOSEN = "each image draws its own changes, in Keras the batch has the same; equalization is by the histogram of each image"
DIFFERS = {
    "layers": {
        "TextVectorization": "shapes are fixed: `output_sequence_length` must be given; no ragged or sparse results",
        "StringLookup": "no `invert`",
        "RandomCrop": "inference resizes, as Keras documents it; Keras 3.15 gives the image as it is. Each image has a window of its "
                      "own, in Keras the batch has one",
        "RandomTranslation": INVERSE, "RandomRotation": INVERSE, "RandomZoom": INVERSE, "RandomShear": INVERSE,
        "RandomPerspective": INVERSE,
        "RandomElasticTransform": "each image has a size of distances of its own, in Keras the batch has one; `fill_mode` may be "
                                  "`mirror`, which Keras refuses in training",
        "Equalization": "stands in any model; Keras 3.15 can call it only within another layer, such as Pipeline",
        "RandomGaussianBlur": "each image has a deviation of its own, in Keras the batch has one",
        "CutMix": "each image draws its own `factor`, in Keras the batch has one",
        "RandAugment": CHOSEN, "AugMix": CHOSEN,
        "RandomPosterization": "values beyond the range are limited to it; TensorFlow has no rule for them",
        "MaxNumBoundingBoxes": "gives its images: there are no bounding boxes",
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
