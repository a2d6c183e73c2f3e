"""keras.applications as the judge of liana's architectures (test_keras_zoo.c).

    keras_zoo.py make FOLDER MODEL    writes the cases of a model: files, inputs, outputs, gradients, numbers
    keras_zoo.py check FOLDER MODEL   loads the files that liana saved, and compares outputs

A case is FOLDER/N.json with FOLDER/N.bin, and the files of one Keras model: N.keras, N.h5, N.weights.h5 and N.layers.h5,
which is laid out as the files that keras.applications publishes.

To add an architecture, add a row to ZOO. Every row gives two cases: with the top at the first size, without at the
second, where training is compared too. More cases are more option sets, which are built at the first size. Options have
the same names in both."""
import json
import os
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
import absl.logging
import h5py
import keras
import numpy as np
import tensorflow as tf
from keras.src.applications import convnext, imagenet_utils, inception_resnet_v2
from keras.src.legacy.saving import legacy_h5_format

absl.logging.set_verbosity("error")

MOBILE = [{"alpha": 0.25}, {"alpha": 1.3, "include_top": False, "pooling": "max"}]
LOGITS = [{"classifier_activation": "linear"}, {"include_top": False}]
OWN_SCALE = [{"include_preprocessing": False},
             {"input_shape": [33, 64, 1], "include_top": False, "pooling": "max"}]
MOBILE_V3 = [{"alpha": 0.75, "classifier_activation": "linear"}, {"minimalistic": True, "include_top": False, "pooling": "max"},
             {"include_preprocessing": False, "minimalistic": True, "alpha": 1.3, "dropout_rate": 0.5}]
SIDES = ((32, 32), (75, 61))
FEWER = ((32, 32), (43, 37))  # TensorFlow is slow at the gradients of grouped convolutions
LARGER = ((75, 75), (97, 83))

# name: (sizes, option sets); the first size is the smallest, the second odd
ZOO = {
    "MobileNet": (SIDES, MOBILE + [{"depth_multiplier": 2, "alpha": 0.5, "dropout": 0.5}]),
    "MobileNetV2": (SIDES, MOBILE),
    "MobileNetV3Small": (SIDES, MOBILE_V3),
    "MobileNetV3Large": (SIDES, MOBILE_V3),
    "ResNet50": (SIDES, LOGITS),
    "ResNet101": (SIDES, []),
    "ResNet152": (SIDES, []),
    "ResNet50V2": (SIDES, LOGITS),
    "ResNet101V2": (SIDES, []),
    "ResNet152V2": (SIDES, []),
    "DenseNet121": (SIDES, LOGITS),
    "DenseNet169": (SIDES, []),
    "DenseNet201": (SIDES, []),
    "VGG16": (((32, 32), (45, 67)), LOGITS),
    "VGG19": (((32, 32), (45, 67)), []),
    "Xception": (((71, 71), (97, 85)), LOGITS),
    "InceptionV3": (LARGER, LOGITS + [{"include_top": False, "pooling": "max"}]),
    "InceptionResNetV2": (((75, 75), (139, 107)), []),  # smaller: averages of few places, chaotic in training
    "NASNetMobile": (SIDES, LOGITS),
    "NASNetLarge": (SIDES, []),
    "EfficientNetB0": (SIDES, LOGITS),
    "EfficientNetB1": (SIDES, []),
    "EfficientNetB2": (SIDES, []),
    "EfficientNetB3": (SIDES, []),
    "EfficientNetB4": (SIDES, []),
    "EfficientNetB5": (SIDES, []),
    "EfficientNetB6": (SIDES, []),
    "EfficientNetB7": (SIDES, []),
    "EfficientNetV2B0": (SIDES, OWN_SCALE + LOGITS),
    "EfficientNetV2B1": (SIDES, []),
    "EfficientNetV2B2": (SIDES, []),
    "EfficientNetV2B3": (SIDES, []),
    "EfficientNetV2S": (SIDES, OWN_SCALE),
    "EfficientNetV2M": (SIDES, []),
    "EfficientNetV2L": (SIDES, []),
    "ConvNeXtTiny": (FEWER, OWN_SCALE),
    "ConvNeXtSmall": (FEWER, []),
    "ConvNeXtBase": (FEWER, []),
    "ConvNeXtLarge": (FEWER, []),
    "ConvNeXtXLarge": (FEWER, []),
}
# How pixels enter without include_preprocessing: a mode of Keras's imagenet_utils.
BARE = {"MobileNetV3Small": "tf", "MobileNetV3Large": "tf", "EfficientNetV2B0": "torch", "EfficientNetV2S": "tf",
        "ConvNeXtTiny": "torch"}
# Classes that Keras finds by their module in a .keras file, and nowhere else.
OBJECTS = {"CustomScaleLayer": inception_resnet_v2.CustomScaleLayer, "LayerScale": convnext.LayerScale,
           "StochasticDepth": convnext.StochasticDepth}
CLASSES, BATCH = 11, 4
# How far Keras's single precision may be away from its double precision, and how often that is tried.
CALM, MOST_DRAWS = 1e-3, 4
# Of two programs in float32 the difference of outputs, as a part of their norm, or so many times Keras's own rounding
# (test_keras_zoo.c says why): that of the deepest networks on images of 32 x 32 is 1e-4 by itself.
TOLERANCE, SPREAD = 1e-4, 4


def cases_of(name):
    (small, odd), more = ZOO[name]
    cases = [
        {"options": {"input_shape": [*small, 3], "classes": CLASSES}, "training": False},
        {"options": {"input_shape": [*odd, 3], "include_top": False, "pooling": "avg"}, "training": True},
    ]
    for options in more:
        cases.append({"options": {"input_shape": [*small, 3], "classes": CLASSES, **options}, "training": False})
    return cases


def build(name, options):
    given = {**options, "input_shape": tuple(options["input_shape"])}
    model = getattr(keras.applications, name)(weights=None, **given)
    for layer in model._flatten_layers():  # nothing is dropped by chance
        for rate in ("rate", "drop_path_rate"):
            if hasattr(layer, rate) and not isinstance(layer, keras.layers.GaussianNoise):
                setattr(layer, rate, 0.0)
    return model


# ---- weights ----


def own_weights(model):
    """(layer, weight), in the order of model.weights. (_flatten_layers turns the layers of an inner model around.)"""
    layers = [layer for layer in model._flatten_layers(include_self=False) if not layer._layers]
    owners = {id(weight): layer for layer in layers for weight in layer.weights}
    return [(owners[id(weight)], weight) for weight in model.weights]


def draw_weight(layer, weight, rng):
    kind, shape = weight.name.split("/")[-1], tuple(weight.shape)
    if type(layer).__name__ == "LayerScale":  # which Keras gives no name
        return rng.uniform(0.1, 0.5, shape)
    if kind == "depthwise_kernel" or isinstance(layer, keras.layers.DepthwiseConv2D) and kind == "kernel":
        return rng.normal(0, np.sqrt(2 / np.prod(shape[:2])), shape)
    if kind.endswith("kernel"):
        gain = 1 if layer.name == "predictions" else 2
        return rng.normal(0, np.sqrt(gain / np.prod(shape[:-1])), shape)
    if isinstance(layer, keras.layers.Normalization):
        return {"mean": rng.uniform(90, 140, shape), "variance": rng.uniform(40, 70, shape) ** 2}.get(kind, 1000)
    if kind == "moving_variance":
        return rng.uniform(0.5, 1.5, shape)
    if kind == "gamma":
        return rng.uniform(0.5, 1.5, shape)
    if kind == "beta":
        return rng.uniform(1.5, 2.5, shape)  # few of the numbers before a relu are near its edge
    assert kind in ("bias", "moving_mean"), weight.path
    return rng.normal(0, 0.2, shape)


def randomize(model, x, rng):
    """All weights differ from each other. The moving statistics are near those of the input, so that numbers neither
    grow nor vanish from layer to layer, and are not those: then a wrong one would not show."""
    for layer, weight in own_weights(model):
        weight.assign(draw_weight(layer, weight, rng))
    norms = [layer for layer in model._flatten_layers() if isinstance(layer, keras.layers.BatchNormalization)]
    momenta = [layer.momentum for layer in norms]
    for layer in norms:
        layer.momentum = 0.0
    finalize(model)
    model(x, training=True)
    for layer, momentum in zip(norms, momenta):
        layer.momentum = momentum
        variance = np.array(layer.moving_variance)
        variance = np.maximum(variance, 0.2 * np.median(variance) + 1e-6)
        mean = np.array(layer.moving_mean)
        layer.moving_mean.assign(mean + rng.normal(0, 0.2, mean.shape) * np.sqrt(variance))
        layer.moving_variance.assign(variance * rng.uniform(0.7, 1.5, mean.shape))


def finalize(model):
    for layer in model._flatten_layers():
        if hasattr(layer, "finalize_state"):
            layer.finalize_state()


# ---- numbers ----


def in_pixels(model):
    kinds = (keras.layers.Rescaling, keras.layers.Normalization)
    return any(isinstance(layer, kinds) for layer in model._flatten_layers())


def differentiate(model, x, coefficients, training):
    """The outputs, and the gradients of sum(outputs * coefficients) with respect to all that is trained."""
    dtype = model.trainable_weights[0].dtype
    with tf.GradientTape() as tape:
        outputs = model(tf.constant(x, dtype), training=training)
        loss = tf.reduce_sum(outputs * tf.constant(coefficients, dtype))
    variables = [weight.value for _, weight in own_weights(model) if weight.trainable]
    gradients = tape.gradient(loss, variables)
    zeros = (tf.zeros_like(variable) if g is None else g for variable, g in zip(variables, gradients))
    return [np.array(outputs)] + [np.array(g) for g in zeros]


def distance(found, expected, floor=0.0):
    """As a part of the norm; of a smaller mean square than `floor` as a part of that."""
    return float(np.linalg.norm(found - expected) / max(np.linalg.norm(expected), floor * np.sqrt(expected.size), 1e-30))


def usual_size(gradients):
    """Some gradients are zeros but for rounding (that of a bias before a normalization): they are compared with a part
    of the others'."""
    return 0.02 * float(np.median([np.sqrt(np.mean(np.square(gradient))) for gradient in gradients]))


def numbers(model, exact, x, rng, training):
    """In double precision; and what Keras's own rounding to single precision makes of it."""
    outputs = exact(x[:1]).shape[1:]
    coefficients = rng.normal(0, 1, (len(x), *outputs)).astype("f4")
    arrays, rounding, floors = [coefficients], [], []
    for mode in (False, True)[: 1 + training]:
        expected = differentiate(exact, x, coefficients, mode)
        rounded = differentiate(model, x, coefficients, mode)
        floors.append(usual_size(expected[1:]))
        rounding.append([distance(a, b, floors[-1] if i else 0.0) for i, (a, b) in enumerate(zip(rounded, expected))])
        arrays += expected
    return arrays, rounding, floors


# ---- files ----


def automatic_number(layer):
    """The number in an automatic name, and the name without it; None for a name that the architecture chose."""
    plain = keras.src.utils.naming.to_snake_case(type(layer).__name__)
    if layer.name == plain:
        return plain, 0
    stem, _, number = layer.name.rpartition("_")
    return (plain, int(number)) if stem == plain and number.isdigit() else None


def names_of(model):
    """Names as in a program that made no other layer before."""
    first, names = {}, {}
    for layer in model._flatten_layers(include_self=False):
        automatic = automatic_number(layer)
        if automatic:
            plain, number = automatic
            first[plain] = min(first.get(plain, number), number)
    for layer in model._flatten_layers(include_self=False):
        automatic = automatic_number(layer)
        number = automatic[1] - first[automatic[0]] if automatic else 0
        names[layer.name] = layer.name if not automatic else automatic[0] + (f"_{number}" if number else "")
    return names


def save(model, path):
    model.save(path + ".keras")
    model.save(path + ".h5")
    model.save_weights(path + ".weights.h5")
    with h5py.File(path + ".layers.h5", "w") as file:
        legacy_h5_format.save_weights_to_hdf5_group(file, model)


def preprocessing(name, options):
    pixels = np.array([[0, 128, 255], [10, 20, 30], [255, 255, 255], [1, 2, 200]], "f4")
    expected = sys.modules[getattr(keras.applications, name).__module__].preprocess_input(pixels.copy())
    if not options.get("include_preprocessing", True):
        expected = imagenet_utils.preprocess_input(pixels.copy(), mode=BARE[name])
    return {"pixels": pixels.ravel().tolist(), "expected": expected.ravel().tolist()}


def make_exact(model, name, options):
    keras.config.set_dtype_policy("float64")
    exact = build(name, options)
    keras.config.set_dtype_policy("float32")
    assert all(weight.dtype == "float64" for weight in exact.trainable_weights)
    exact.set_weights(model.get_weights())
    finalize(exact)
    return exact


def draw(name, case, seed):
    """A model with weights, its input and numbers. Drawn again where a number so near to a relu's edge that rounding
    takes it to the other side changes gradients even in Keras: that says nothing about liana."""
    model = build(name, case["options"])
    for again in range(MOST_DRAWS):
        rng = np.random.default_rng([seed, again])
        shape = (BATCH, *case["options"]["input_shape"])
        x = (rng.uniform(0, 255, shape) if in_pixels(model) else rng.normal(0, 1, shape)).astype("f4")
        randomize(model, x, rng)
        weights = model.get_weights()
        exact = make_exact(model, name, case["options"])
        arrays, rounding, floors = numbers(model, exact, x, rng, case["training"])
        model.set_weights(weights)  # training moved the statistics
        if max(max(mode) for mode in rounding) <= CALM:
            break
    return model, x, arrays, rounding, floors


def make(path, name, case, seed):
    model, x, arrays, rounding, floors = draw(name, case, seed)
    names = names_of(model)
    save(model, path)
    weights = own_weights(model)
    trained = sum(int(np.prod(weight.shape)) for _, weight in weights if weight.trainable)
    manifest = {
        **case,
        "input": list(x.shape),
        "output": list(arrays[1].shape),
        "num_parameters": model.count_params(),
        "num_trainable_parameters": trained,
        "weights": [{"layer": names[layer.name], "shape": list(weight.shape), "trainable": weight.trainable}
                    for layer, weight in weights],
        "rounding": rounding,
        "floors": floors,
        "preprocessing": preprocessing(name, case["options"]),
    }
    with open(path + ".json", "w") as file:
        json.dump(manifest, file)
    with open(path + ".bin", "wb") as file:
        for array in [x] + arrays:
            file.write(np.ascontiguousarray(array, "<f4").tobytes())


# ---- liana's files ----


def read_case(path):
    with open(path + ".json") as file:
        manifest = json.load(file)
    x_size, y_size = (int(np.prod(manifest[key])) for key in ("input", "output"))
    numbers = np.fromfile(path + ".bin", "<f4", x_size + 2 * y_size)
    return manifest, numbers[:x_size].reshape(manifest["input"]), numbers[x_size + y_size :].reshape(manifest["output"])


def load(path, name, options):
    if not path.endswith(".weights.h5"):
        return keras.models.load_model(path, None if path.endswith(".keras") else OBJECTS, compile=False)
    model = build(name, options)
    model.load_weights(path)
    return model


def check(path, name):
    manifest, x, expected = read_case(path)
    failures = 0
    for ending in (".liana.keras", ".liana.h5", ".liana.weights.h5"):
        found = load(path + ending, name, manifest["options"])(x, training=False)
        error = distance(np.array(found), expected)
        if not error <= max(TOLERANCE, SPREAD * manifest["rounding"][0][0]):
            print(f"{name}, {manifest['options']}: Keras reads {ending[1:]} and computes something else: {error:.1e}")
            failures += 1
    return failures


def main():
    action, folder, name = sys.argv[1:]
    if name not in ZOO:
        sys.exit(f"{name} has no row in tests/models/keras_zoo.py: add one")
    failures = 0
    # Not begun anew between the cases: automatic numbers go on, as in a program that makes several models.
    for i, case in enumerate(cases_of(name)):
        path = os.path.join(folder, str(i))
        if action == "make":
            make(path, name, case, i)
        else:
            failures += check(path, name)
    sys.exit(1 if failures else 0)


main()
