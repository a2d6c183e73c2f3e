#!/usr/bin/env python3
"""What TensorFlow makes of the networks that liana is measured on: images per second, for bench.sh.

    keras_peer.py MODEL [--infer [--frozen]] [--precision float32|mixed_bfloat16] [--jit] [--unroll]
    keras_peer.py flowers --input 'PATH/*.tfrec' [--cache]     through tf.data

The larger networks are those of keras.applications, without weights. A step is one tf.function of uint8 images (their
scaling, the network, its gradients, Keras's Adam), with --jit compiled by XLA. --frozen makes the weights constants, so
that Grappler folds and fuses as it does for a saved graph. oneDNN stays on, as TensorFlow has it by default.
scripts/install-peers.sh installs TensorFlow and Keras. peer_common.py says how steps are timed.
"""
import os
import sys

import peer_common

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ["KERAS_BACKEND"] = "tensorflow"
try:
    import numpy
    import tensorflow as tf
    import keras
except ImportError as missing:
    peer_common.missing("keras_peer.py", missing, "scripts/install-peers.sh tensorflow installs it")


# ---- networks ----

def flowers(task):
    """examples/flowers.yaml"""
    backbone = keras.applications.MobileNetV2(alpha=0.35, weights=None, include_top=False,
                                              input_shape=task.shape)
    return keras.Sequential([backbone, keras.layers.Dropout(0.05), keras.layers.GlobalAveragePooling2D(),
                             keras.layers.Dense(task.classes)])


def mnist(task):
    """examples/mnist.yaml"""
    layers = keras.layers
    return keras.Sequential([
        layers.Input((28, 28, 1)), layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(),
        layers.Conv2D(64, 3, activation="relu"), layers.MaxPooling2D(), layers.Flatten(), layers.Dropout(0.5),
        layers.Dense(task.classes)])


def mlp(task):
    layers = keras.layers
    return keras.Sequential([layers.Input((28, 28, 1)), layers.Flatten(), layers.Dense(512, activation="relu"),
                             layers.Dense(task.classes)])


def transformer_block(x):
    layers = keras.layers
    x = layers.LayerNormalization(epsilon=1e-5)(x + layers.MultiHeadAttention(8, 32)(x, x))
    y = layers.Dense(256)(layers.Dense(1024, activation="relu")(x))
    return layers.LayerNormalization(epsilon=1e-5)(x + y)


def stack(name, unroll):
    """The layers of the network that has one family of layers, and the shape of their input."""
    layers = keras.layers
    if name == "lstm":
        return (100, 128), [layers.LSTM(128, unroll=unroll)]
    if name == "gru":
        return (100, 128), [layers.GRU(128, unroll=unroll)]
    if name == "transformer":
        return (128, 256), [transformer_block, layers.GlobalAveragePooling1D()]
    if name == "conv1d":
        return (1024, 16), [layer for i in range(3) for layer in (
            layers.Conv1D(64 << i, 5, padding="same", activation="relu"), layers.MaxPooling1D())] + [
                layers.GlobalAveragePooling1D()]
    if name == "conv3d":
        return (16, 32, 32, 3), [layer for i in range(3) for layer in (
            layers.Conv3D(32 << i, 3, padding="same", activation="relu"), layers.MaxPooling3D())] + [
                layers.GlobalAveragePooling3D()]
    if name == "decoder":
        return (128,), [
            layers.Dense(4096, activation="relu"), layers.Reshape((4, 4, 256)),
            *(layers.Conv2DTranspose(128 >> i, 4, 2, padding="same", activation="relu") for i in range(3)),
            layers.Conv2DTranspose(3, 4, 2, padding="same", activation="tanh"), layers.GlobalAveragePooling2D()]
    return (784,), [layer for _ in range(3) for layer in (
        layers.Dense(512), layers.LayerNormalization(epsilon=1e-5), layers.ReLU())]


def one_family(name, task, unroll):
    shape, stacked = stack(name, unroll)
    inputs = keras.Input(task.shape)
    x = keras.layers.Reshape(shape)(inputs)
    for layer in stacked:
        x = layer(x)
    return keras.Model(inputs, keras.layers.Dense(task.classes)(x))


def build(name, task, unroll):
    """A network that answers with logits."""
    if name in peer_common.LAYERS:
        return one_family(name, task, unroll)
    if name in peer_common.ZOO:
        return getattr(keras.applications, name)(weights=None, input_shape=task.shape,
                                                 classes=task.classes, classifier_activation=None)
    return {"flowers": flowers, "mnist": mnist, "mlp": mlp}[name](task)


# ---- steps ----

def pixels(options, task, images):
    """Keras's EfficientNet scales its input itself."""
    images = tf.cast(images, tf.float32)
    return images if options.model == "EfficientNetB0" else images * task.scale + task.offset


def training_step(options, task, model):
    optimizer = keras.optimizers.Adam(task.rate, epsilon=1e-7)
    optimizer.build(model.trainable_variables)

    @tf.function(jit_compile=options.jit)
    def update(images, labels):
        with tf.GradientTape() as tape:
            logits = tf.cast(model(pixels(options, task, images), training=True), tf.float32)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        variables = model.trainable_variables
        optimizer.apply(tape.gradient(loss, variables), variables)
        return loss
    return lambda images, labels: float(update(images, labels))


def inference_step(options, task, model):
    @tf.function(jit_compile=options.jit)
    def answer(images):
        logits = tf.cast(model(pixels(options, task, images), training=False), tf.float32)
        return tf.reduce_max(tf.nn.softmax(logits))

    if options.frozen:
        from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
        shape = (task.batch, *task.shape)
        answer = convert_variables_to_constants_v2(answer.get_concrete_function(tf.TensorSpec(shape, tf.uint8)))
        return lambda images, _: float(answer(images)[0])
    return lambda images, _: float(answer(images))


# ---- input ----

def records(options, task):
    """Images decoded from JPEGs in TFRecords, as TensorFlow's users write it."""
    def parse(record):
        features = {"image": tf.io.FixedLenFeature([], tf.string), "class": tf.io.FixedLenFeature([], tf.int64)}
        example = tf.io.parse_single_example(record, features)
        image = tf.ensure_shape(tf.io.decode_jpeg(example["image"], channels=3), task.shape)
        return image, tf.cast(example["class"], tf.int32)

    files = tf.data.Dataset.list_files(options.input, shuffle=True)
    dataset = tf.data.TFRecordDataset(files, num_parallel_reads=tf.data.AUTOTUNE)
    if not options.cache:
        dataset = dataset.shuffle(2048).map(parse, num_parallel_calls=tf.data.AUTOTUNE)
        dataset = dataset.repeat()
    else:
        dataset = dataset.map(parse, num_parallel_calls=tf.data.AUTOTUNE).cache()
        for _ in dataset:  # fills the cache before the first step
            pass
        dataset = dataset.shuffle(2048).repeat()
    return iter(dataset.batch(task.batch, drop_remainder=True).prefetch(tf.data.AUTOTUNE))


def batches_for(options, task):
    if options.model == "flowers" and options.input != "synthetic":
        return records(options, task)
    random = numpy.random.default_rng(1)
    if options.input == "synthetic":
        shape = (task.batch, *task.shape)
        batch = (tf.constant(random.integers(0, 256, shape, numpy.uint8)),
                 tf.constant(random.integers(0, task.classes, task.batch, numpy.int32)))
        return iter(lambda: batch, None)
    images, labels = peer_common.read_mnist(numpy, options.input)
    dataset = tf.data.Dataset.from_tensor_slices((images[..., None], labels.astype(numpy.int32)))
    dataset = dataset.shuffle(len(images)).repeat().batch(task.batch, drop_remainder=True)
    return iter(dataset.prefetch(tf.data.AUTOTUNE))


def main():
    parser = peer_common.parser(__doc__.split("\n")[0])
    parser.add_argument("--precision", choices=("float32", "mixed_bfloat16"), default="float32")
    parser.add_argument("--jit", action="store_true", help="compile with XLA")
    parser.add_argument("--unroll", action="store_true", help="the steps of recurrent layers one by one, without a loop")
    parser.add_argument("--frozen", action="store_true", help="with --infer: weights are constants")
    parser.add_argument("--cache", action="store_true", help="decode JPEGs once, before the first step")
    options = parser.parse_args()
    if options.frozen and (options.jit or not options.infer):
        parser.error("--frozen is for --infer, and not for --jit")
    if options.input != "synthetic" and options.model not in ("flowers", "mnist", "mlp"):
        parser.error("--input is for flowers, mnist and mlp")
    peer_common.limit_threads(options.threads)
    tf.config.threading.set_intra_op_parallelism_threads(options.threads)
    keras.utils.set_random_seed(1)
    keras.config.set_dtype_policy(options.precision)
    task = peer_common.Task(options)
    model = build(options.model, task, options.unroll)
    run = (inference_step if options.infer else training_step)(options, task, model)
    how = "jit" if options.jit else "frozen" if options.frozen else "graph"
    how += " unrolled" if options.unroll else ""
    measured = peer_common.time_steps(options, batches_for(options, task), run)
    version = f"{tf.__version__}, Keras {keras.__version__}"
    peer_common.report("TensorFlow", version, f"{how} {options.precision}", options, task.batch, measured)


if __name__ == "__main__":
    sys.exit(main())
