"""Layers that go through sequences step by step, and wrappers of layers."""
import keras

L = keras.layers
SEQUENCES = [[(4, 3)], [(5, 2)], [(1, 3)], [{"shape": (4, 3), "masked": True}]]
SWITCHES = {
    "return_sequences": [False, True],
    "return_state": [False, True],
    "go_backwards": [False, True],
    "stateful": [False, True],
    "unroll": [False, True],
    "zero_output_for_mask": [False, True],
}
CELL = {
    "units": [4, 3],
    "activation": ["tanh", "relu", None],
    "dropout": [0.0, 0.3],
    "recurrent_dropout": [0.0, 0.2],
    "seed": [None, 7],
}
# A cell alone keeps the draws of its first call in Keras.
STEP = {**CELL, "dropout": [0.0, 0.0], "recurrent_dropout": [0.0, 0.0]}
GATES = {"recurrent_activation": ["sigmoid", "hard_sigmoid"]}



def call_cell(layer_class, arguments, inputs, call):
    """One step: the output, and the states that are not the output."""
    output, states = layer_class(**arguments)(inputs[0], list(inputs[1:]))
    return [output, *states[1:]]


def in_rnn(layer_class, arguments, inputs, call):
    return L.RNN(layer_class(**arguments), return_sequences=True)(inputs[0])


def with_states(layer_class, arguments, inputs, call):
    """Inputs after the first are initial states."""
    states = {"initial_state": list(inputs[1:])} if len(inputs) > 1 else {}
    return layer_class(**arguments)(inputs[0], **states)


def states(*shapes):
    return [[(4, 3), *shapes], [{"shape": (4, 3), "masked": True}, *shapes]]


def convolved(*axes):
    return {
        "inputs": [[(2, *axes[0], 2)], [(3, *axes[1], 1)]],
        "arguments": {"filters": [2, 3], "kernel_size": [2, 3], "strides": [1, 2], "padding": ["valid", "same"],
                      "dilation_rate": [1, 2], "unit_forget_bias": [True, False],
                      **{name: values for name, values in {**CELL, **GATES, **SWITCHES}.items() if name not in
                         ("units", "unroll", "zero_output_for_mask")}}}


LAYERS = {
    "SimpleRNNCell": {"inputs": [[(3,), (4,)], [(2,), (3,)]], "arguments": STEP, "build": call_cell},
    "LSTMCell": {"inputs": [[(3,), (4,), (4,)], [(2,), (3,), (3,)]], "build": call_cell,
                 "arguments": {**STEP, **GATES, "unit_forget_bias": [True, False]}},
    "GRUCell": {"inputs": [[(3,), (4,)], [(2,), (3,)]], "build": call_cell,
                "arguments": {**STEP, **GATES, "reset_after": [True, False]}},
    "StackedRNNCells": {"inputs": SEQUENCES, "build": in_rnn, "arguments": {"cells": [
        lambda: [L.LSTMCell(3), L.LSTMCell(2), L.LSTMCell(4)], lambda: [L.GRUCell(3, activation="relu"), L.SimpleRNNCell(2)]]}},
    "ConvLSTM1D": convolved((7,), (6,)),
    "ConvLSTM2D": convolved((6, 5), (5, 7)),
    "ConvLSTM3D": convolved((4, 5, 5), (5, 4, 6)),
    "SimpleRNN": {"inputs": SEQUENCES + states((4,)), "build": with_states, "arguments": {**CELL, **SWITCHES}},
    "LSTM": {"inputs": SEQUENCES + states((4,), (4,)), "build": with_states,
             "arguments": {**CELL, **GATES, **SWITCHES, "unit_forget_bias": [True, False], "use_cudnn": ["auto", False]}},
    "GRU": {"inputs": SEQUENCES + states((3,)), "build": with_states,
            "arguments": {**CELL, **GATES, **SWITCHES, "reset_after": [True, False], "use_cudnn": ["auto", False]}},
    "RNN": {"inputs": SEQUENCES,
            "arguments": {**SWITCHES, "cell": [
                lambda: L.LSTMCell(3), lambda: L.GRUCell(4, reset_after=False), lambda: L.SimpleRNNCell(2),
                lambda: L.StackedRNNCells([L.LSTMCell(3), L.GRUCell(2)]),
                lambda: L.StackedRNNCells([L.SimpleRNNCell(3), L.LSTMCell(2), L.SimpleRNNCell(4)])],
                "activity_regularizer": [None]}},
    "Bidirectional": {"inputs": SEQUENCES + states((3,), (3,), (3,), (3,)) + states((3,), (3,)) + [[(3, 4, 2)]], "build": with_states, "arguments": {
        "layer": [lambda: L.LSTM(3, activity_regularizer="l2"), lambda: L.GRU(2, return_sequences=True, return_state=True), lambda: L.SimpleRNN(4, return_sequences=True),
                  lambda: L.RNN(L.StackedRNNCells([L.LSTMCell(3), L.GRUCell(2)]), return_sequences=True),
                  lambda: L.LSTM(2, go_backwards=True, return_sequences=True),
                  lambda: L.LSTM(3, stateful=True), lambda: L.SimpleRNN(2, stateful=True, return_state=True),
                  lambda: L.ConvLSTM1D(2, 2, return_sequences=True)],
        "merge_mode": ["concat", "sum", "mul", "ave", None],
        "backward_layer": [None, lambda: L.GRU(3, go_backwards=True),
                           lambda: L.LSTM(4, return_sequences=True, go_backwards=True, name="back"),
                           lambda: L.RNN(L.GRUCell(3), go_backwards=True, stateful=True)]}},
    "TimeDistributed": {"inputs": [[(4, 3)], [(2, 5, 3)], [{"shape": (4, 3), "masked": True}],
                                   [{"shape": (2, 5, 3), "masked": True}]], "arguments": {
        "layer": [lambda: L.Dense(2, activation="relu"), lambda: L.Flatten(), lambda: L.BatchNormalization(),
                  lambda: L.LSTM(3), lambda: L.Bidirectional(L.GRU(2)), lambda: L.TimeDistributed(L.Dense(2)),
                  lambda: L.Dense(3, kernel_regularizer="l2", trainable=False),
                  lambda: L.GRU(2, return_sequences=True, stateful=True),
                  lambda: L.Conv1D(2, 2), lambda: L.LayerNormalization(),
                  lambda: L.Bidirectional(L.LSTM(2, return_sequences=True), merge_mode="sum"),
                  lambda: L.TimeDistributed(L.TimeDistributed(L.Dense(2))), lambda: L.RNN(L.LSTMCell(2)),
                  lambda: L.UnitNormalization(), lambda: L.ReLU()]}},
}
LEFT_OUT = {}
