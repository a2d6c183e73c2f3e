"""The layers that most models begin with."""

LAYERS = {
    "Dense": {"inputs": [[(7,)], [(4, 7)], [(2, 3, 5)]], "arguments": {"units": [5, 3]}},
    "Identity": {"inputs": [[(7,)], [(4, 3)], [{"shape": (4, 3), "masked": True}]]},
    "Masking": {"inputs": [[(7,)], [(4, 3)], [{"shape": (4, 3), "masked": True}]],
                "arguments": {"mask_value": [0.0, 1.5]}},
    "Embedding": {
        "inputs": [[{"shape": (5,), "high": 11}], [{"shape": (2, 3), "high": 11}]],
        "arguments": {"input_dim": [11, 13], "output_dim": [4, 3], "mask_zero": [False, True],
                      "embeddings_initializer": ["uniform", "glorot_normal"], "embeddings_regularizer": [None, "l2"],
                      "embeddings_constraint": [None, "non_neg"]},
    },
}
LEFT_OUT = {
    "InputLayer": "every model of this test has one",
    "InputSpec": "is no layer",
    "Lambda": "is Python code, which a file never runs here",
    "Layer": "is the base of layers that are written in Python",
    "Wrapper": "is the base of layers that hold one",
    "FlaxLayer": "holds a layer of another framework",
    "JaxLayer": "holds a layer of another framework",
    "TFSMLayer": "holds a model of another framework",
    "TorchModuleWrapper": "holds a layer of another framework",
}
