"""Layers that prepare values."""

WORDS = ["a", "be", "cat", "dog", "eel", "", "Fox", "gnu", "[UNK]", "z" * 70, "h\u00e9"]
TEXTS = ["The cat sat.", "the dog, the cat!", "", "One  two\tthree\nfour five six", "caf\u00e9 \u4e2d\u6587 Ab", "dog"]


def looked_up(layer_class, arguments, fed, call):
    """Rows of tf_idf need weights, other modes none. The numbers of texts get rows: the test compares predictions."""
    import keras

    mode, name = arguments.get("output_mode", "int"), layer_class.__name__
    if mode not in ("int", "one_hot") and len(fed[0].shape) > 2:
        raise ValueError("Keras joins the first axis of texts, liana none")
    if name == "TextVectorization" and mode == "int" and not arguments.get("output_sequence_length"):
        raise ValueError("liana's shapes are fixed")
    if name == "Hashing":
        arguments["dtype"] = "int64" if mode == "int" else "float32"
    if mode == "tf_idf":
        arguments["idf_weights"] = [0.5 + 0.1 * i for i in range(len(arguments["vocabulary"]))]
    result = layer_class(**arguments)(fed[0])
    return keras.layers.Embedding(64, 2)(result) if mode == "int" else result


def numbers(shape, scale, offset):
    """Values of one shape, as nested lists."""
    if not shape:
        return offset
    return [numbers(shape[1:], scale, offset + i * scale) for i in range(shape[0])]


LAYERS = {
    "CategoryEncoding": {
        "inputs": [[{"shape": (5,), "high": 7}], [{"shape": (1,), "high": 7}]],
        "arguments": {"num_tokens": [7, 9], "output_mode": ["multi_hot", "one_hot", "count"]},
    },
    "Rescaling": {
        "inputs": [[(4,)], [(3, 2, 4)]],
        "arguments": {"scale": [0.5, 2.0, [0.1, 0.2, 0.3, 0.4]], "offset": [0.0, -1.0, [1.0, 2.0, 3.0, 4.0]]},
    },
    "Normalization": {
        "inputs": [[(4,)], [(3, 4)], [(2, 3, 4)]],
        "keep_weights": True,
        "arguments": {"axis": [-1, None, 1, (1, 2)], "invert": [False, True],
                      "mean": [None, 0.5, numbers((4,), 0.25, -0.5), numbers((3, 4), 0.125, -1.0), numbers((3,), 0.5, 0.0)],
                      "variance": [None, 2.0, numbers((4,), 0.5, 0.25), numbers((3, 4), 0.25, 0.5), numbers((3,), 1.0, 0.5)]},
    },
    "StringLookup": {
        "inputs": [[{"shape": (3,), "texts": WORDS}], [{"shape": (1,), "texts": WORDS}], [{"shape": (2, 4), "texts": WORDS}]],
        "arguments": {"vocabulary": [["be", "cat", "a", "h\u00e9"], ["dog", "z" * 70]], "max_tokens": [None, 40],
                      "num_oov_indices": [1, 3], "mask_token": [None, "", "eel"], "oov_token": ["[UNK]", "?"],
                      "output_mode": ["int", "multi_hot", "count", "tf_idf", "one_hot"], "pad_to_max_tokens": [False, True],
                      "salt": [None, 7, [1, 2]], "idf_weights": [None, None]},
        "build": looked_up,
    },
    "TextVectorization": {
        "inputs": [[{"shape": (1,), "texts": TEXTS}], [{"shape": (), "texts": TEXTS}]],
        "arguments": {"vocabulary": [["the", "cat", "dog", "the cat", "t", "e"], ["cat sat", "five", "caf\u00e9", "sat", "one", "."]],
                      "max_tokens": [None, 50], "standardize": ["lower_and_strip_punctuation", "lower", None, "strip_punctuation"],
                      "split": ["whitespace", "character"], "ngrams": [None, 2, (1, 3), (2,)],
                      "output_mode": ["int", "multi_hot", "count", "tf_idf"], "output_sequence_length": [None, 4, 12],
                      "pad_to_max_tokens": [False, True], "idf_weights": [None, None]},
        "build": looked_up,
    },
    "Hashing": {
        "inputs": [[{"shape": (3,), "texts": WORDS}], [{"shape": (1,), "texts": WORDS}]],
        "arguments": {"num_bins": [11, 40], "mask_value": [None, "", "cat"], "salt": [None, 133, [133, 137]],
                      "output_mode": ["int", "multi_hot", "count", "one_hot"]},
        "build": looked_up,
    },
}

# Named in the page as not there yet.
NOT_YET = {
    "Discretization",
    "HashedCrossing",
    "IntegerLookup",
    "MelSpectrogram",
    "STFTSpectrogram",
}
