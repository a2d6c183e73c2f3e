"""Models of one layer with drawn options, for every layer of Keras 3: its outputs and gradients, for liana to repeat.

    vocabulary.py make FOLDER [LAYERS] [SEED]   writes NAME.N.keras and NAME.N.case.json for each layer that LAYERS matches
    vocabulary.py check FOLDER                  loads each NAME.N.again.keras, and compares its outputs
    vocabulary.py names                         fails unless each layer of Keras has a table or stands among the left out

The families beside this file (core.py, ...) have a table LAYERS for their layers, LEFT_OUT, and NOT_YET; whole_models.py
has models of many layers, which LAYERS matches by their names in lower case. A row is

    "Conv1D": {"inputs": [[(12, 4)], [(9, 6)]],     alternatives: a list of the inputs' shapes, without the batch
               "arguments": {"filters": [4, 6], ...},  the values of each argument of Keras's constructor, at least two
               "calls": [{}, {"use_causal_mask": True}]}    optional: alternatives of further arguments of the call

An input is a shape, or {"shape", "high": below which its ids are, "masked": True for steps that are masked, "texts": a list
of which each text is one}. A value that
is a function makes the value: an object of Keras that several models must not share. Further keys of a row: "build": a
function (layer class, arguments, inputs, call) that makes the results; "low": of the weights' values, -1 without it;
"keep_weights": True where the weights stay as they are; "inference_gradients": True where Keras has another formula for those
of training; "training_only": True where Keras gives another thing in inference.
tests/train/model/test_keras_vocabulary.c runs `make`, repeats the cases in liana, and runs `check`.
"""
import importlib
import inspect
import json
import os
import re
import sys
import warnings

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import numpy as np

warnings.simplefilter("ignore")
import keras
import tensorflow as tf

HERE = os.path.dirname(os.path.abspath(__file__))
FAMILIES = sorted(file[:-3] for file in os.listdir(HERE) if file.endswith(".py") and file != "vocabulary.py")
BATCH = 3
TRIES = 60

# Arguments that are the same for all layers that have them.
COMMON = {
    "use_bias": [True, False],
    "activation": [None, "relu", "tanh"],
    "kernel_initializer": ["glorot_uniform", lambda: keras.initializers.HeNormal(seed=3)],
    "depthwise_initializer": ["glorot_uniform", lambda: keras.initializers.RandomNormal(stddev=0.1)],
    "pointwise_initializer": ["glorot_uniform", lambda: keras.initializers.TruncatedNormal(seed=1)],
    "recurrent_initializer": ["orthogonal", "glorot_normal"],
    "bias_initializer": ["zeros", lambda: keras.initializers.Constant(0.5)],
    "beta_initializer": ["zeros", "ones"],
    "gamma_initializer": ["ones", lambda: keras.initializers.RandomUniform(0.5, 1.5)],
    "kernel_regularizer": [None, "l2"],
    "depthwise_regularizer": [None, lambda: keras.regularizers.L1(0.1)],
    "pointwise_regularizer": [None, "l1_l2"],
    "recurrent_regularizer": [None, "l2"],
    "bias_regularizer": [None, "l1"],
    "beta_regularizer": [None, "l2"],
    "gamma_regularizer": [None, "l1"],
    "activity_regularizer": [None, lambda: keras.regularizers.L2(0.01)],
    "kernel_constraint": [None, lambda: keras.constraints.MaxNorm(2.0)],
    "depthwise_constraint": [None, "non_neg"],
    "pointwise_constraint": [None, "unit_norm"],
    "recurrent_constraint": [None, "max_norm"],
    "bias_constraint": [None, "non_neg"],
    "beta_constraint": [None, "non_neg"],
    "gamma_constraint": [None, "non_neg"],
    "name": [None],
    "dtype": [None],
    "trainable": [None],
}
# Arguments that liana does not have on purpose, in any layer; the reasons stand in docs/reference/keras.md.
LEFT_OUT_ARGUMENTS = {
    "data_format": "channels_last alone",
    "quantization_config": "quantisation",
    "gptq_unpacked_column_size": "quantisation",
    "lora_rank": "LoRA",
    "lora_alpha": "LoRA",
    "weights": "values come with a file",
    "sparse": "rows are dense",
    "ragged": "shapes are fixed",
    "invert": "numbers do not become texts",
    "encoding": "UTF-8",
    "autocast": "of layers that are written in Python",
}


def tables():
    layers, left_out = {}, {}
    for family in FAMILIES:
        module = importlib.import_module(family)
        layers.update(getattr(module, "LAYERS", {}))
        left_out.update(getattr(module, "LEFT_OUT", {}))
    return layers, left_out


def not_yet():
    """Layers that liana does not have, but should."""
    return set().union(*(getattr(importlib.import_module(family), "NOT_YET", set()) for family in FAMILIES))


def everywhere():
    """Layers that stand in every model here."""
    return set().union(*(getattr(importlib.import_module(family), "EVERYWHERE", set()) for family in FAMILIES))


def arguments_of(name, row):
    """The values of each argument; names those that the row forgets."""
    values = dict(row.get("arguments", {}))
    own = set(inspect.signature(getattr(keras.layers, name).__init__).parameters) - {"self", "kwargs", "args"}
    missing = []
    for argument in sorted(own):
        if argument in values or argument in LEFT_OUT_ARGUMENTS:
            continue
        if argument in COMMON:
            values[argument] = COMMON[argument]
        else:
            missing.append(argument)
    few = [a for a, v in values.items() if len(v) < 2 and v != [None]]
    if missing or few:
        raise ValueError(f"{name}: no values of {missing}, fewer than two of {few}")
    return {a: v for a, v in values.items() if v != [None]}


def made(value):
    return value() if inspect.isfunction(value) else value


def spec_of(given):
    return given if isinstance(given, dict) else {"shape": given}


def build(name, row, chosen, inputs, call):
    layer_class = getattr(keras.layers, name)
    arguments = {argument: made(value) for argument, value in chosen.items()}
    tensors, fed = [], []
    # Layers with states from batch to batch have batches of one size.
    size = BATCH if any(v is True and a == "stateful" or getattr(v, "stateful", False) for a, v in arguments.items()) else None
    for i, given in enumerate(inputs):
        spec = spec_of(given)
        dtype = "string" if "texts" in spec else "int32" if "high" in spec else "float32"
        tensor = keras.Input(batch_shape=(size, *spec["shape"]), name=f"in{i}", dtype=dtype)
        tensors.append(tensor)
        fed.append(keras.layers.Masking(name=f"masking{i}")(tensor) if spec.get("masked") else tensor)
    if "build" in row:
        result = row["build"](layer_class, arguments, fed, call)
    else:
        result = layer_class(**arguments)(fed if len(fed) > 1 else fed[0], **call)
    flat = [result] if not isinstance(result, (list, tuple)) else list(result)
    flat = [tensor for tensor in flat if tensor is not None]
    return keras.Model(tensors if len(tensors) > 1 else tensors[0], flat if len(flat) > 1 else flat[0])


def fill(model, rng, row):
    for weight in model.weights:
        if str(weight.dtype) != "float32" or "seed" in weight.path:
            continue
        low = 0.2 if "variance" in weight.path else row.get("low", -1)
        weight.assign(rng.uniform(low, 1, weight.shape).astype("f4"))


def draw_inputs(inputs, rng):
    arrays = []
    for given in inputs:
        spec = spec_of(given)
        shape = (BATCH,) + tuple(spec["shape"])
        if "texts" in spec:
            array = rng.choice(np.array(spec["texts"], "O"), shape)
        elif "high" in spec:
            array = rng.integers(spec.get("low", 0), spec["high"], shape).astype("i4")
        elif "range" in spec:
            array = rng.uniform(*spec["range"], shape).astype("f4")
        else:
            array = rng.normal(0, 1, shape).astype("f4")
        if spec.get("masked"):
            keep = rng.uniform(size=shape[:2]) < 0.6
            keep[0] = True
            keep[1, 0] = True
            array *= keep.reshape(shape[:2] + (1,) * (len(shape) - 2))
        arrays.append(array)
    return arrays


def flat_outputs(model, arrays, training):
    result = model(arrays if len(arrays) > 1 else arrays[0], training=training)
    return list(result) if isinstance(result, (list, tuple)) else [result]


def reset_states(model):
    """Sets states that are kept from batch to batch to zeros; whether there are any."""
    keepers = [layer for layer in model._flatten_layers() if getattr(layer, "states", None) and layer.stateful]
    for layer in keepers:
        layer.reset_state()
    return bool(keepers)


def later_batches(model, arrays, rng):
    """The outputs of the second and third batch of a model that keeps states. Errors grow from batch to batch."""
    found = []
    for fed in (arrays, near_inputs(arrays, rng)):
        if not reset_states(model):
            return []
        found.append([[o.numpy() for o in flat_outputs(model, [tf.constant(a) for a in fed], False)] for _ in range(3)])
    return [described(outputs, others, 1, 2e-6) for outputs, others in list(zip(*found))[1:]]


def is_float(array):
    return array.dtype in (np.float32, tf.float32)


def compute(model, arrays, training, cotangents):
    """Outputs, then gradients of the inputs and of the weights that are trained."""
    before = [weight.numpy() for weight in model.weights]
    reset_states(model)
    fed = [tf.constant(array) for array in arrays]
    wrt = [tensor for tensor in fed if is_float(tensor)] + [w.value for w in model.trainable_weights]
    with tf.GradientTape() as tape:
        for tensor in fed:
            if is_float(tensor):
                tape.watch(tensor)
        outputs = flat_outputs(model, fed, training)
        terms = [tf.reduce_sum(o * tf.constant(c)) for o, c in zip(outputs, cotangents or []) if is_float(o)]
        target = tf.add_n(terms) if terms else None
    gradients = []
    if target is not None and wrt:
        found = tape.gradient(target, wrt, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        gradients = [tf.convert_to_tensor(g).numpy() for g in found]
    for weight, value in zip(model.weights, before):
        weight.assign(value)
    return [o.numpy() for o in outputs], gradients


def near_inputs(arrays, rng):
    return [(a * (1 + 1e-6 * rng.choice([-1, 1], a.shape))).astype("f4") if is_float(a) else a for a in arrays]


def described(values, others, scale, rounding):
    """Each tensor with how far another program's may be: 1e-5 of its largest, thrice Keras's own change, or the rounding of
    terms of size `scale`, which may cancel."""
    rows = []
    for value, other in zip(values, others):
        value, other = value.astype("f8"), other.astype("f8")
        finite = np.isfinite(value) & np.isfinite(other)
        largest = np.max(np.abs(value[finite]), initial=0)
        change = np.max(np.abs(value - other)[finite], initial=0)
        rows.append({"shape": list(value.shape), "values": [float(x) if np.isfinite(x) else str(x) for x in value.ravel()],
                     "tolerance": float(max(1e-5 * largest, 3 * change, rounding * scale))})
    return rows


def run_of(model, arrays, training, rng, rounding, with_gradients):
    outputs, _ = compute(model, arrays, training, None)
    for _ in range(5 if training else 1):
        again, _ = compute(model, arrays, training, None)
        if any(not np.array_equal(a, b, equal_nan=True) for a, b in zip(outputs, again)):
            return None  # it draws
    cotangents = [rng.normal(0, 1, o.shape).astype("f4") if is_float(o) else np.zeros(o.shape, "f4") for o in outputs]
    near = near_inputs(arrays, rng)
    given = cotangents if with_gradients else None
    outputs, gradients = compute(model, arrays, training, given)
    others, other_gradients = compute(model, near, training, given)
    scale = max([np.max(np.abs(a[np.isfinite(a)]), initial=0) for a in outputs + gradients] + [0.5])
    return {"training": training, "cotangents": [c.ravel().tolist() for c in cotangents],
            "outputs": described(outputs, others, scale, rounding),
            "gradients": described(gradients, other_gradients, scale, rounding)}


def make_case(name, number, row, chosen, inputs, call, rng, folder):
    keras.utils.clear_session()
    model = build(name, row, chosen, inputs, call)
    if not row.get("keep_weights"):
        fill(model, rng, row)
    text = {argument: str(made(value)) for argument, value in chosen.items()}
    case = {"layer": name, "arguments": str(text), "call": str(call)}
    write_case(model, f"{name}.{number}", inputs, case, 2e-7, rng, folder, row)


def write_case(model, name, inputs, case, rounding, rng, folder, row=()):
    arrays = draw_inputs(inputs, rng)
    modes = [True] if "training_only" in row else [False, True]
    runs = [run_of(model, arrays, training, rng, rounding, not training or "inference_gradients" not in row)
            for training in modes]
    base = os.path.join(folder, name)
    model.save(base + ".keras")
    dtypes = {"O": "object", "i": "int32"}
    listed = [{"name": model.inputs[i].name, "shape": list(a.shape), "dtype": dtypes.get(a.dtype.kind, "float32"),
               "values": a.ravel().tolist()} for i, a in enumerate(arrays)]
    case |= {"inputs": listed, "weights": [w.path for w in model.trainable_weights], "runs": [run for run in runs if run],
             "later_batches": later_batches(model, arrays, rng)}
    with open(base + ".case.json", "w") as file:
        json.dump(case, file)


def make_layer(name, row, seed, folder):
    values = arguments_of(name, row)
    rng = np.random.default_rng([seed, *name.encode()])
    alternatives, calls = row["inputs"], row.get("calls", [{}])
    most = max([len(v) for v in values.values()] + [len(alternatives), len(calls), 2])
    number, offsets, problem = 0, {}, None
    for i in range(max(most, 3)):
        if i % most == 0:
            offsets = {a: int(rng.integers(len(v))) for a, v in values.items()}
        for attempt in range(TRIES):
            chosen = {a: v[(i + offsets[a]) % len(v) if attempt == 0 else int(rng.integers(len(v)))]
                      for a, v in values.items()}
            inputs = alternatives[i % len(alternatives) if attempt == 0 else int(rng.integers(len(alternatives)))]
            call = calls[i % len(calls) if attempt == 0 else int(rng.integers(len(calls)))]
            try:
                make_case(name, number, row, chosen, inputs, call, rng, folder)
                number += 1
                break
            except Exception as error:  # options that contradict each other
                problem = error
    if number < 2:
        raise ValueError(f"{name}: only {number} models; the last one: {problem}")
    return number


def make_whole(name, function, seed, folder):
    rng = np.random.default_rng([seed, *name.encode()])
    keras.utils.clear_session()
    model, inputs = function()
    fill(model, rng, {})
    case = {"layer": name, "arguments": function.__doc__ or "", "call": ""}
    write_case(model, f"{name}.0", inputs, case, 1e-6, rng, folder)  # sums over steps and pixels


def make(folder, pattern, seed):
    layers, _ = tables()
    count = 0
    for name, function in importlib.import_module("whole_models").MODELS.items():
        if re.fullmatch(pattern, name):
            make_whole(name, function, seed, folder)
            count += 1
    for name in sorted(layers):
        if re.fullmatch(pattern, name):
            count += make_layer(name, layers[name], seed, folder)
    print(f"{count} models")
    return 0 if count else 1


def check(folder):
    failures = count = 0
    for file in sorted(os.listdir(folder)):
        if not file.endswith(".again.keras"):
            continue
        count += 1
        with open(os.path.join(folder, file.replace(".again.keras", ".case.json"))) as opened:
            case = json.load(opened)
        arrays = [np.array(i["values"], i["dtype"]).reshape(i["shape"]) for i in case["inputs"]]
        run = next((run for run in case["runs"] if not run["training"]), None)
        try:
            model = keras.models.load_model(os.path.join(folder, file), compile=False, safe_mode=False)
            names = [tensor.name for tensor in model.inputs]
            order = [names.index(i["name"]) if i["name"] in names else k for k, i in enumerate(case["inputs"])]
            found = flat_outputs(model, [tf.constant(arrays[k]) for k in order], False)
        except Exception as error:
            print(f"{file}: {case['arguments']}: {str(error)[:400]}")
            failures += 1
            continue
        for output, known in zip(found, run["outputs"] if run else []):
            values = np.array([float(x) for x in known["values"]])
            if not np.allclose(np.asarray(output, "f8").ravel(), values, rtol=0, atol=known["tolerance"], equal_nan=True):
                print(f"{file}: {case['arguments']}: another output")
                failures += 1
                break
    print(f"{count} models of liana's, {failures} differ")
    return 1 if failures or not count else 0


def names():
    layers, left_out = tables()
    known, failures = {}, 0
    for name in sorted(dir(keras.layers)):
        layer_class = getattr(keras.layers, name)
        if inspect.isclass(layer_class):
            known.setdefault(layer_class, []).append(name)
    missing = not_yet()
    print(f"{len(missing)} layers are not there yet: {', '.join(sorted(missing))}")
    for layer_class, spellings in known.items():
        if any(name in missing for name in spellings):
            if any(name in layers for name in spellings):
                print(f"{' or '.join(spellings)}: has a table, and stands among those that are not there yet")
                failures += 1
            continue
        if not any(name in layers or name in left_out or name in everywhere() for name in spellings):
            print(f"{' or '.join(spellings)}: has no table, and is not among the left out")
            failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.path.insert(0, HERE)
    action = sys.argv[1]
    if action == "make":
        pattern, seed = (sys.argv[3:4] or [".*"])[0] or ".*", int((sys.argv[4:5] or ["1"])[0])
        sys.exit(make(sys.argv[2], pattern, seed))
    sys.exit(check(sys.argv[2]) if action == "check" else names())
