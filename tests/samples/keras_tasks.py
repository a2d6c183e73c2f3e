#!/usr/bin/env python3
"""Writes keras_tasks.json: what Keras says while it trains seven small models on data of several kinds. `python3
tests/samples/keras_tasks.py > tests/samples/keras_tasks.json` with Keras 3.15 (scripts/install-peers.sh tensorflow installs
it). With `--check tests/samples/keras_tasks.json` it compares the file's numbers with those of the Keras that is
installed. Data and first weights are the formulas of keras_lists.py.

Three things are not taken as they come:
- TensorFlow gives the gradient of an Embedding as rows, one for each id that was looked up. Keras's Adam squares these rows
  before it adds those of one id. Here they are added first, as on JAX.
- On TensorFlow the history counts a smaller last batch as a whole one in the losses of several outputs: the step does not
  know the size of its batch when it is built. Here they are means over examples, as the whole loss is.
- Where an output has a mask, the history's loss is the mean of the batches' losses by their examples, though each batch
  divided by its unmasked steps. Here it is the mean over all unmasked steps, as Keras's metrics are."""
import keras_lists  # chooses Keras's backend
import keras
import numpy as np
from keras import layers
from keras_lists import classes, numbers, pixels, some

EXAMPLES, BATCH, EPOCHS = 18, 4, 20  # 5 updates in an epoch, the last one with 2 examples: 100 in all
SIDE = 6


class DenseAdam(keras.optimizers.Adam):
    """Adam on gradients in which the rows of one id are added."""

    def apply(self, grads, trainable_variables=None):
        if keras.backend.backend() == "tensorflow":
            import tensorflow

            grads = [tensorflow.convert_to_tensor(grad) for grad in grads]
        return super().apply(grads, trainable_variables)


OPTIMIZERS = {"SGD": lambda: keras.optimizers.SGD(0.1), "Adam": lambda: DenseAdam(0.01)}


# ---- weights ----


def set_weights(model):
    for layer in model.layers:
        if not isinstance(layer, layers.Normalization):
            for weight in layer.weights:
                weight.assign(numbers(layer.name + "/" + weight.name, *weight.shape))


# ---- the tasks: a model, its losses and metrics, inputs and targets ----


def line():
    x = keras.Input((3,), name="x")
    model = keras.Model(x, layers.Dense(1, name="y")(x))
    features = numbers("x", EXAMPLES, 3)
    target = features @ np.array([[2], [-1], [0.5]], np.float32) + 0.25
    return model, {"loss": "mse", "metrics": ["mae"]}, {"x": features}, {"y": target}


def table():
    size = keras.Input((2,), name="size")
    city = keras.Input((), dtype="int32", name="city")
    kind = keras.Input((1,), dtype="int32", name="kind")
    sizes = np.stack([40 + 100 * numbers("area", EXAMPLES), 3 + numbers("rooms", EXAMPLES)], 1)
    scaled = layers.Normalization(name="scaled")
    scaled.adapt(sizes)
    both = layers.Concatenate(name="both")(
        [
            scaled(size),
            layers.Embedding(5, 3, name="place")(city),
            layers.CategoryEncoding(4, output_mode="one_hot", name="hot")(kind),
        ]
    )
    h = layers.Dense(6, activation="relu", name="hidden")(both)
    model = keras.Model([size, city, kind], layers.Dense(3, activation="softmax", name="offer")(h))
    inputs = {"size": sizes, "city": classes("city", 5, EXAMPLES), "kind": classes("kind", 4, EXAMPLES, 1)}
    weight = 1 + numbers("weight", EXAMPLES)
    return (
        model,
        {"loss": "sparse_categorical_crossentropy", "metrics": ["accuracy"]},
        inputs,
        {"offer": classes("offer", 3, EXAMPLES)},
        weight,
    )


def sequences():
    words = keras.Input((7,), dtype="int32", name="words")
    h = layers.Embedding(9, 4, mask_zero=True, name="rows")(words)
    h = layers.GlobalAveragePooling1D(name="mean")(h)
    h = layers.Dense(5, activation="tanh", name="hidden")(h)
    model = keras.Model(words, layers.Dense(1, activation="sigmoid", name="good")(h))
    ids = 1 + classes("words", 8, EXAMPLES, 7)
    length = 1 + classes("length", 7, EXAMPLES)
    ids[np.arange(7)[None, :] >= length[:, None]] = 0
    # Whether the id 3 is there.
    target = (ids == 3).any(axis=1, keepdims=True).astype(np.float32)
    return model, {"loss": "binary_crossentropy", "metrics": ["binary_accuracy"]}, {"words": ids}, {"good": target}


def mixed():
    image = keras.Input((SIDE, SIDE, 1), name="image")
    size = keras.Input((2,), name="size")
    h = layers.Conv2D(3, 3, activation="relu", name="edges")(image)
    h = layers.MaxPooling2D(name="smaller")(h)
    h = layers.Concatenate(name="both")([layers.Flatten(name="flat")(h), size])
    h = layers.Dense(8, activation="tanh", name="hidden")(h)
    outputs = [layers.Dense(3, activation="softmax", name="kind")(h), layers.Dense(1, name="price")(h)]
    model = keras.Model([image, size], outputs)
    compiled = {
        "loss": {"kind": "sparse_categorical_crossentropy", "price": "mse"},
        "loss_weights": {"kind": 1.0, "price": 0.5},
        "metrics": {"kind": ["accuracy"], "price": ["mae"]},
    }
    inputs = {"image": pixels("image", EXAMPLES, SIDE, SIDE, 1), "size": numbers("size", EXAMPLES, 2)}
    return model, compiled, inputs, {"kind": classes("kind", 3, EXAMPLES), "price": numbers("price", EXAMPLES, 1)}


def labels():
    image = keras.Input((SIDE, SIDE, 3), name="image")
    h = layers.Conv2D(6, 3, strides=2, padding="same", activation="relu", name="edges")(image)
    h = layers.GlobalAveragePooling2D(name="mean")(h)
    model = keras.Model(image, layers.Dense(4, activation="sigmoid", name="tags")(h))
    tags = classes("tags", 2, EXAMPLES, 4).astype(np.float32)
    compiled = {"loss": "binary_crossentropy", "metrics": ["binary_accuracy"]}
    return model, compiled, {"image": pixels("image", EXAMPLES, SIDE, SIDE, 3)}, {"tags": tags}


def padded_words():
    ids = 1 + classes("words", 8, EXAMPLES, 7)
    length = 1 + classes("length", 7, EXAMPLES)
    ids[np.arange(7)[None, :] >= length[:, None]] = 0
    return ids


def steps():
    """A class for each step of padded sequences; examples of different weight."""
    words = keras.Input((7,), dtype="int32", name="words")
    h = layers.Embedding(9, 4, mask_zero=True, name="rows")(words)
    h = layers.Dense(5, activation="tanh", name="hidden")(h)
    model = keras.Model(words, layers.Dense(3, activation="softmax", name="kind")(h))
    compiled = {"loss": "sparse_categorical_crossentropy", "metrics": ["accuracy"]}
    weight = 1 + numbers("weight", EXAMPLES)[:, None]
    return model, compiled, {"words": padded_words()}, {"kind": classes("kind", 3, EXAMPLES, 7)}, weight


def both():
    """Padded sequences: numbers for each step, and an answer for the whole."""
    words = keras.Input((7,), dtype="int32", name="words")
    h = layers.Embedding(9, 4, mask_zero=True, name="rows")(words)
    size = layers.Dense(2, name="size")(layers.Dense(5, activation="tanh", name="hidden")(h))
    mean = layers.GlobalAveragePooling1D(name="mean")(h)
    good = layers.Dense(1, activation="sigmoid", name="good")(mean)
    ids = padded_words()
    compiled = {
        "loss": {"size": "mse", "good": "binary_crossentropy"},
        "loss_weights": {"size": 0.5, "good": 2.0},
        "metrics": {"size": ["mae"], "good": ["binary_accuracy"]},
    }
    targets = {"size": numbers("size", EXAMPLES, 7, 2), "good": (ids == 3).any(axis=1, keepdims=True).astype(np.float32)}
    return keras.Model(words, [size, good]), compiled, {"words": ids}, targets


TASKS = {
    "line": line,
    "table": table,
    "sequences": sequences,
    "mixed": mixed,
    "labels": labels,
    "steps": steps,
    "both": both,
}
# The losses that a mask leaves steps out of.
MASKED = {"steps": ["loss"], "both": ["size_loss"]}


# ---- training ----


def make(task, optimizer):
    keras.utils.clear_session()
    model, compiled, inputs, targets, *weight = TASKS[task]()
    set_weights(model)
    model.compile(optimizer=OPTIMIZERS[optimizer](), **compiled)
    targets = targets if len(targets) > 1 else next(iter(targets.values()))
    return model, inputs, targets, (weight or [None])[0]


def part(values, rows):
    return {name: array[rows] for name, array in values.items()} if isinstance(values, dict) else values[rows]


def batches(inputs, targets, weight):
    for first in range(0, EXAMPLES, BATCH):
        rows = slice(first, min(first + BATCH, EXAMPLES))
        yield rows.stop - first, part(inputs, rows), part(targets, rows), None if weight is None else weight[rows]


def output_losses(task, said):
    """The losses of single outputs among what a batch gave, or the one that is masked. A model with one output has no
    others."""
    return {name: float(value) for name, value in said.items() if name.endswith("_loss") or name in MASKED.get(task, [])}


def add_losses(task, sums, said, count, x):
    for name, value in output_losses(task, said).items():
        counted = int((x["words"] != 0).sum()) if name in MASKED.get(task, []) else count
        total, number = sums.get(name, (0, 0))
        sums[name] = (total + value * counted, number + counted)


def means_of(task, sums):
    means = {name: total / number for name, (total, number) in sums.items()}
    if task == "both":
        means["loss"] = 0.5 * means["size_loss"] + 2 * means["good_loss"]
    return means


def train_by_updates(task, optimizer):
    """The losses of 100 updates, and for each epoch the means of the outputs' losses."""
    model, *data = make(task, optimizer)
    losses, epochs = [], []
    for _ in range(EPOCHS):
        epochs.append({})
        for count, x, y, weight in batches(*data):
            model.reset_metrics()
            said = model.train_on_batch(x, y, sample_weight=weight, return_dict=True)
            losses.append(float(said["loss"]))
            add_losses(task, epochs[-1], said, count, x)
    return losses, [means_of(task, sums) for sums in epochs]


def train_by_fit(task, optimizer):
    """The history of 20 epochs, what the model measures then, and its weights."""
    model, inputs, targets, weight = make(task, optimizer)
    shared = {"sample_weight": weight, "batch_size": BATCH, "verbose": 0}
    history = model.fit(inputs, targets, epochs=EPOCHS, shuffle=False, **shared).history
    final = model.evaluate(inputs, targets, return_dict=True, **shared)
    sums = {}
    for count, x, y, w in batches(inputs, targets, weight):
        model.reset_metrics()
        add_losses(task, sums, model.test_on_batch(x, y, sample_weight=w, return_dict=True), count, x)
    final.update(means_of(task, sums))
    weights = {layer.name + "/" + w.name: np.asarray(w).reshape(-1) for layer in model.layers for w in layer.weights}
    return history, final, {name: values for name, values in weights.items() if not name.startswith("scaled/")}


def train(task, optimizer):
    losses, epochs = train_by_updates(task, optimizer)
    history, final, weights = train_by_fit(task, optimizer)
    history.update({name: [epoch[name] for epoch in epochs] for name in epochs[0]})
    return losses, history, final, weights


# ---- the file ----


def lists():
    """Names and numbers of all that the file holds."""
    for task in TASKS:
        for optimizer in OPTIMIZERS:
            losses, history, final, weights = train(task, optimizer)
            begin = f"{task}_{optimizer}_"
            yield begin + "losses", losses
            for name, values in history.items():
                yield begin + "epochs_" + name, values
            for name in history:
                yield begin + "evaluated_" + name, [final[name]]
            for name, values in weights.items():
                yield begin + "weights_" + name.replace("/", "_"), some(values)


# The mask is an attribute of the output, which does not survive what JAX compiles.
NO_MASK = "JAX's trainer measures masked steps, too"
keras_lists.main(lists, differs={"jax": {"steps_*_epochs_accuracy": NO_MASK, "both_*_epochs_size_mae": NO_MASK}})
