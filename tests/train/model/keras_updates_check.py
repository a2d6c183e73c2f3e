"""Ten updates with every optimizer, loss, regulariser and constraint of Keras, here and in Keras.

    keras_updates_check.py begin|end FOLDER

begin: reads the names and their arguments from Keras. Each argument takes two values at least; an argument or a name that the
tables below do not know fails. Writes x.bin (float32 [76, 6]), the targets TARGET.bin, cases.txt with a line "CASE TARGET" for
each case, CASE.keras before the updates, and CASE.npz with the weights after ten updates of Keras (the last of four examples).
end: compares CASE.liana.keras with CASE.npz: within 1e-5 relative, or three times the change of Keras's own weights under a
relative change of 1e-6 of each number of x, up or down, or in float64, whichever is larger."""
import inspect
import os
import random as numbers
import re
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import keras
import numpy as np

EXAMPLES, BATCH, INPUTS, CLASSES, TOLERANCE = 76, 8, 6, 3, 1e-5
ONLY = re.compile(os.environ.get("LIANA_UPDATES", ""))
NAMES = {"name", "dtype", "kwargs"}  # of every part

draw = np.random.default_rng(7)
x = draw.normal(size=(EXAMPLES, INPUTS)).astype(np.float32)
near = (1 + 1e-6 * draw.choice([-1, 1], x.shape)).astype(np.float32)
classes = draw.integers(0, CLASSES, EXAMPLES).astype(np.int32)
TARGETS = {
    "classes": classes,
    "one_hot": np.eye(CLASSES, dtype=np.float32)[classes],
    "shares": draw.uniform(0.05, 0.95, (EXAMPLES, CLASSES)).astype(np.float32),
    "numbers": draw.normal(size=(EXAMPLES, CLASSES)).astype(np.float32),
    "signs": draw.choice([-1, 1], (EXAMPLES, CLASSES)).astype(np.float32),
    "answers": draw.integers(0, 2, (EXAMPLES, CLASSES)).astype(np.float32),
}

# The values of arguments, of all parts of a kind.
OPTIMIZER = {
    "learning_rate": [0.004, 0.02], "weight_decay": [0.01, 0.1], "use_ema": [False, True], "ema_momentum": [0.9, 0.5],
    "ema_overwrite_frequency": [None, 3], "loss_scale_factor": [None, 8.0], "gradient_accumulation_steps": [None, 3],
    "beta_1": [0.9, 0.8], "beta_2": [0.999, 0.95], "epsilon": [1e-7, 1e-3], "amsgrad": [False, True], "rho": [0.95, 0.8],
    "momentum": [0.9, 0.5], "nesterov": [False, True], "centered": [False, True], "initial_accumulator_value": [0.1, 0.5],
    "learning_rate_power": [-0.5, -0.7], "l1_regularization_strength": [0.0, 0.02], "l2_regularization_strength": [0.0, 0.3],
    "l2_shrinkage_regularization_strength": [0.0, 0.1], "beta": [0.0, 0.5], "beta_2_decay": [-0.8, -0.5],
    "epsilon_1": [1e-30, 1e-3], "epsilon_2": [1e-3, 0.5], "clip_threshold": [1.0, 0.5], "relative_step": [True, False],
    "warmup_steps": [0, 4], "adam_beta_1": [0.9, 0.8], "adam_beta_2": [0.999, 0.95], "adam_weight_decay": [0.004, 0.1],
    "exclude_layers": [None, ["hidden"]], "exclude_embeddings": [True, False], "muon_a": [3.4445, 3.0],
    "muon_b": [-4.775, -4.0], "muon_c": [2.0315, 1.5], "adam_lr_ratio": [1, 0.5], "ns_steps": [5, 2], "rms_rate": [0.2, 0.5],
}
CLIPS = {"clipnorm": [0.5, 0.05], "clipvalue": [0.2, 0.02], "global_clipnorm": [1.0, 0.1]}  # one of them, or none
# Keras 3.15 forgets Huber's delta in its files, so they have one.
LOSS = {
    "reduction": ["sum_over_batch_size", "sum", "mean", "mean_with_sample_weight"], "from_logits": [False, True],
    "label_smoothing": [0.0, 0.2], "axis": [-1, 1], "apply_class_balancing": [False, True], "alpha": [0.25, 0.6],
    "gamma": [2.0, 1.0], "q": [0.5, 0.9], "delta": [1.0], "ignore_class": [None, 1], "beta": [0.5, 0.8],
    "margin": [0.4, 0.25], "remove_diagonal": [True],
}
RULE = {
    "l1": [0.01, 0.1], "l2": [0.01, 0.1], "factor": [0.01, 0.1], "mode": ["rows", "columns"], "max_value": [0.9, 0.4],
    "min_value": [0.1, 0.3], "rate": [1.0, 0.5], "axis": [0, 1],
}
# Of each loss its targets, and the outputs that they are about.
LOSSES = {
    "BinaryCrossentropy": ("answers", "sigmoid"), "BinaryFocalCrossentropy": ("answers", "sigmoid"),
    "CategoricalCrossentropy": ("one_hot", "softmax"), "CategoricalFocalCrossentropy": ("one_hot", "softmax"),
    "CategoricalGeneralizedCrossEntropy": ("classes", "softmax"), "CategoricalHinge": ("one_hot", "softmax"),
    "Circle": ("classes", "unit"), "CosineSimilarity": ("numbers", None), "Dice": ("one_hot", "softmax"),
    "Hinge": ("signs", "tanh"), "Huber": ("numbers", None), "KLDivergence": ("shares", "softmax"),
    "LogCosh": ("numbers", None), "MeanAbsoluteError": ("numbers", None), "MeanAbsolutePercentageError": ("shares", None),
    "MeanSquaredError": ("numbers", None), "MeanSquaredLogarithmicError": ("shares", "sigmoid"),
    "Poisson": ("shares", "softplus"), "SparseCategoricalCrossentropy": ("classes", "softmax"),
    "SquaredHinge": ("signs", "tanh"), "Tversky": ("one_hot", "softmax"),
}
BASES = {"Loss", "Optimizer", "Regularizer", "Constraint"}
# Elsewhere: tests/losses/test_keras_axes.c, tests/train/model/keras_state_check.py.
ELSEWHERE = {"CTC", "LossScaleOptimizer", "MultiOptimizer", "OptimizerMap"}


def classes_of(module):
    found = {value for value in vars(module).values() if inspect.isclass(value)}
    return sorted((c for c in found if c.__name__ not in BASES | ELSEWHERE), key=lambda c: c.__name__)


def arguments_of(part):
    names = inspect.signature(part.__init__).parameters
    return [name for name in names if name not in NAMES | {"self", "args"}]


def options_of(part, table, count):
    """`count` mappings, in which each argument takes its values in turn, beginning somewhere else for each."""
    unknown = [name for name in arguments_of(part) if name not in table]
    if unknown:
        raise SystemExit(f"{part.__name__} has arguments without values here: {unknown}")
    first = numbers.Random(part.__name__)
    begins = {name: first.randrange(len(table[name])) for name in arguments_of(part)}
    return [{name: table[name][(begins[name] + i) % len(table[name])] for name in begins} for i in range(count)]


def build(activation=None, **rules):
    layers = keras.layers
    inputs = keras.Input((INPUTS,), name="x")
    z = layers.Dense(5, activation="tanh", name="hidden", **rules)(inputs)
    z = layers.Dense(CLASSES, activation=None if activation == "unit" else activation, name="out")(z)
    if activation == "unit":
        z = layers.UnitNormalization(name="unit")(z)
    return keras.Model(inputs, z, name="updated")


def optimizer_cases():
    for part in classes_of(keras.optimizers):
        table = {**OPTIMIZER, **{name: [None] for name in CLIPS}}
        for i, options in enumerate(options_of(part, table, 4)):
            if i:
                clip = list(CLIPS)[i - 1]
                options[clip] = CLIPS[clip][(i + len(part.__name__)) % 2]
            if not options.get("use_ema"):
                options["ema_overwrite_frequency"] = None
            yield f"{part.__name__}_{i}", "classes", lambda o=options, p=part: (
                build("softmax"), p(**o), "sparse_categorical_crossentropy")


def loss_cases():
    for part in classes_of(keras.losses):
        if part.__name__ not in LOSSES:
            raise SystemExit(f"there are no targets for {part.__name__}")
        target, activation = LOSSES[part.__name__]
        for i, options in enumerate(options_of(part, LOSS, 4)):
            if part.__name__ in ("Dice", "Tversky"):
                options["axis"] = [None, 1, [0], [0, 1]][i]
            own = None if options.get("from_logits") else activation
            yield f"{part.__name__}_{i}", target, lambda o=options, p=part, a=own: (
                build(a), keras.optimizers.SGD(0.05, momentum=0.5), p(**o))


def rule_cases():
    for module, ending in ((keras.regularizers, "regularizer"), (keras.constraints, "constraint")):
        for part in classes_of(module):
            for i, options in enumerate(options_of(part, RULE, 2)):
                for where in ("kernel", "bias", "activity") if ending == "regularizer" else ("kernel", "bias"):
                    # One that reads several examples at once is refused for activities: bits would depend on the shards.
                    is_of_rows = part.__name__ == "OrthogonalRegularizer"
                    if (where == "bias" and options.get("axis") == 1) or (where != "kernel" and is_of_rows):
                        continue
                    name = f"{where}_{ending}"
                    yield f"{part.__name__}_{where}_{i}", "numbers", lambda o=options, p=part, n=name: (
                        build(None, **{n: p(**o)}), keras.optimizers.SGD(0.1), "mse")


def cases():
    for case in [*optimizer_cases(), *loss_cases(), *rule_cases()]:
        if ONLY.search(case[0]):
            yield case


def compiled(make):
    keras.utils.set_random_seed(3)
    model, optimizer, loss = make()
    model.compile(optimizer, loss, run_eagerly=True)
    return model


def train(model, inputs, target):
    model.fit(inputs, TARGETS[target], batch_size=BATCH, epochs=1, shuffle=False, verbose=0)
    return [np.asarray(weight, np.float64) for weight in model.get_weights()]


def in_float64(make, target):
    """The weights after Keras's own updates in float64, from the same first ones."""
    first = compiled(make).get_weights()
    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("float64")
    try:
        model = compiled(make)
        model.set_weights(first)
        return train(model, x.astype(np.float64), target)
    finally:
        keras.config.set_floatx("float32")
        keras.config.set_dtype_policy("float32")


def begin():
    x.tofile("x.bin")
    for name, values in TARGETS.items():
        values.tofile(name + ".bin")
    with open("cases.txt", "w") as listed:
        for name, target, make in cases():
            model = compiled(make)
            model.save(name + ".keras")
            np.savez(name + ".npz", *train(model, x, target))
            listed.write(f"{name} {target}\n")


def difference(found, expected):
    scales = [max(np.abs(other).max(), 1e-3) for other in expected]
    return max(np.abs(one - other).max() / scale for one, other, scale in zip(found, expected, scales))


def end():
    bad = count = 0
    for name, target, make in cases():
        expected = list(np.load(name + ".npz").values())
        count += 1
        if not os.path.exists(name + ".liana.keras"):
            bad += 1
            continue
        found = keras.saving.load_model(name + ".liana.keras", compile=False).get_weights()
        error, most = difference(found, expected), TOLERANCE
        if error > most:
            most = max(most, 3 * difference(train(compiled(make), x * near, target), expected))
        if error > most:
            most = max(most, 3 * difference(in_float64(make, target), expected))
        if not error <= most:
            bad += 1
            print(f"{name}: the weights differ by {error:.2g}, expected at most {most:.2g}: "
                  f"{[keras.saving.serialize_keras_object(part) for part in make()[1:]]}")
    print(f"{count} cases, {bad} differ")
    if bad:
        raise SystemExit(1)


os.chdir(sys.argv[2])
begin() if sys.argv[1] == "begin" else end()
