"""Attention."""
import keras


def heads(layer_class, arguments, inputs, call):
    """{query, value[, key[, attention_mask]]}."""
    call = dict(call)
    names = ["query", "value", "key"][:len(inputs)]
    if call.pop("mask", False):
        names[-1] = "attention_mask"
    return layer_class(**arguments)(**dict(zip(names, inputs)), **call)


def listed(layer_class, arguments, inputs, call):
    """[query, value[, key]], and masks as a list."""
    call = dict(call)
    if call.pop("mask", False):
        call["mask"] = list(inputs[2:])
        inputs = inputs[:2]
    return layer_class(**arguments)(list(inputs), **call)


HEADS = {
    "dropout": [0.0, 0.3],
    "sliding_window": [None, 2],
    "flash_attention": [None, False],
    "use_gate": [False, True],
    "seed": [None, 5],
    "kernel_regularizer": [None, "l2"],
}
CALLS = [{}, {"use_causal_mask": True}, {"return_attention_scores": True},
         {"return_attention_scores": True, "use_causal_mask": True}, {"mask": True},
         {"mask": True, "return_attention_scores": True}, {"mask": True, "use_causal_mask": True}]
SEQUENCES = [[(5, 6), (5, 6)], [(4, 6), (7, 3)], [(4, 6), (7, 3), (7, 5)],
             [{"shape": (5, 6), "masked": True}, {"shape": (4, 3), "masked": True}],
             [{"shape": (5, 6), "masked": True}, (4, 3), {"shape": (4, 5), "masked": True}],
             [(4, 6), (7, 3), {"shape": (4, 7), "high": 2}],
             [{"shape": (5, 6), "masked": True}, (4, 3), {"shape": (5, 4), "high": 2}]]

LAYERS = {
    "MultiHeadAttention": {
        "inputs": SEQUENCES + [[(3, 4, 5), (3, 4, 5)]],
        "arguments": {**HEADS, "num_heads": [2, 3], "key_dim": [4, 3], "value_dim": [None, 5],
                      "output_shape": [None, 7, (2, 3)], "attention_axes": [None, 1]},
        "calls": CALLS,
        "build": heads,
    },
    "GroupQueryAttention": {
        "inputs": SEQUENCES,
        "arguments": {**HEADS, "head_dim": [4, 3], "num_query_heads": [4, 2], "num_key_value_heads": [2, 1]},
        "calls": CALLS,
        "build": heads,
    },
    "Attention": {
        "inputs": [[(5, 6), (5, 6)], [(4, 6), (7, 6)], [(4, 6), (7, 3), (7, 6)],
                   [{"shape": (5, 6), "masked": True}, {"shape": (4, 6), "masked": True}],
                   [(4, 6), (7, 6), {"shape": (4,), "high": 2}, {"shape": (7,), "high": 2}]],
        "arguments": {"use_scale": [False, True], "score_mode": ["dot", "concat"], "dropout": [0.0, 0.3], "seed": [None, 5]},
        "calls": CALLS,
        "build": listed,
    },
    "AdditiveAttention": {
        "inputs": [[(5, 6), (5, 6)], [(4, 6), (7, 6)], [(4, 6), (7, 3), (7, 6)],
                   [{"shape": (5, 6), "masked": True}, {"shape": (4, 6), "masked": True}],
                   [(4, 6), (7, 6), {"shape": (4,), "high": 2}, {"shape": (7,), "high": 2}]],
        "arguments": {"use_scale": [True, False], "dropout": [0.0, 0.3]},
        "calls": CALLS,
        "build": listed,
    },
}
