"""The layers that most models begin with."""


def there_and_back(layer_class, arguments, inputs, call):
    """Rows of ids, and logits of these rows."""
    layer = layer_class(**arguments)
    rows = layer(inputs[0])
    return [rows, layer(rows, reverse=True)]


LAYERS = {
    "Dense": {"inputs": [[(7,)], [(4, 7)], [(2, 3, 5)]], "arguments": {"units": [5, 3]}},
    "Identity": {"inputs": [[(7,)], [(4, 3)], [{"shape": (4, 3), "masked": True}]]},
    "Masking": {"inputs": [[(7,)], [(4, 3)], [{"shape": (4, 3), "masked": True}]],
                "arguments": {"mask_value": [0.0, 1.5]}},
    "EinsumDense": {
        "inputs": [[(4, 6)], [(3, 2)]],
        "arguments": {"equation": ["abc,cd->abd", "...x,xy->...y", "abc,cde->abde", "ab...,bc->ac...", "abc,bd->acd"],
                      "output_shape": [(None, 5), 7, (None, 2, 3), (None, None, 3)],
                      "bias_axes": [None, "d", "y", "de", "e", "c"]},
    },
    "ReversibleEmbedding": {
        "inputs": [[{"shape": (5,), "high": 11}], [{"shape": (2, 3), "high": 11}]],
        "arguments": {"input_dim": [11, 13], "output_dim": [4, 3], "mask_zero": [False, True], "tie_weights": [True, False],
                      "embeddings_initializer": ["uniform", "glorot_normal"], "embeddings_regularizer": [None, "l2"],
                      "embeddings_constraint": [None, "non_neg"], "reverse_dtype": [None, "float32"],
                      "logit_soft_cap": [None, 2.0]},
        "build": there_and_back,
    },
    "Embedding": {
        "inputs": [[{"shape": (5,), "high": 11}], [{"shape": (2, 3), "high": 11}]],
        "arguments": {"input_dim": [11, 13], "output_dim": [4, 3], "mask_zero": [False, True],
                      "embeddings_initializer": ["uniform", "glorot_normal"], "embeddings_regularizer": [None, "l2"],
                      "embeddings_constraint": [None, "non_neg"]},
    },
}
# Layers that each model has, with several shapes and dtypes.
EVERYWHERE = {"InputLayer"}
LEFT_OUT = {
    "InputSpec": "is no layer",
    "Lambda": "is Python code, which a file never runs here",
    "Layer": "is the base of layers that are written in Python",
    "Wrapper": "is the base of layers that hold one",
    "FlaxLayer": "holds a layer of another framework",
    "JaxLayer": "holds a layer of another framework",
    "TFSMLayer": "holds a model of another framework",
    "TorchModuleWrapper": "holds a layer of another framework",
}
