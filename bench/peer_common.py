"""What the peers' scripts share: their command line, MNIST's files, how steps are timed, and the report.

A step's time runs from asking for the batch to the end of the update. --warmup steps go before, compilation among them.
At least --steps are measured, and more until --seconds have passed. The report is one JSON object on standard output.
"""
import argparse
import gzip
import json
import os
import resource
import statistics
import struct
import sys
import time

# The larger networks, and their weights with 1000 classes as Keras counts them, moving averages among them: at 224 x 224,
# which counts for VGG16 alone. Keras's EfficientNetB0 has 7 more, in a layer that scales its input.
ZOO = {"MobileNetV2": 3538984, "ResNet50": 25636712, "ResNet50V2": 25613800, "EfficientNetB0": 5330564,
       "DenseNet121": 8062504, "Xception": 22910480, "InceptionV3": 23851784, "InceptionResNetV2": 55873736,
       "VGG16": 138357544}
# Height, width and channels of what comes as an image, of the networks that have one family of layers each.
LAYERS = {"lstm": (100, 1, 128), "gru": (100, 1, 128), "transformer": (128, 1, 256), "conv1d": (1024, 1, 16),
          "conv3d": (16, 1024, 3), "decoder": (1, 1, 128), "layer_norm_mlp": (1, 1, 784)}
STARTED = time.perf_counter()


def missing(script, what, remedy):
    """Ends the script as `cannot run here`, which tests take for skipped."""
    print(f"{script}: {what}; {remedy}", file=sys.stderr)
    sys.exit(77)


def parser(description):
    """The options that every peer has. Its own are added by the script."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("model", choices=("flowers", "mnist", "mlp", *LAYERS, *ZOO))
    options.add_argument("--input", default="synthetic", help="'synthetic', a pattern of TFRecords, MNIST's folder")
    options.add_argument("--infer", action="store_true", help="inference instead of training")
    options.add_argument("--batch", type=int, help="images of a batch (default: the network's own)")
    options.add_argument("--image-size", type=int, default=192, help="of the larger networks")
    options.add_argument("--classes", type=int, default=104, help="of the larger networks")
    options.add_argument("--steps", type=int, default=3, help="steps that are measured at least")
    options.add_argument("--warmup", type=int, default=2, help="steps before them")
    options.add_argument("--seconds", type=float, default=2, help="how long is measured at least")
    options.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    return options


class Task:
    """What is trained: `shape` (height, width, channels), classes, batch size and learning rate as liana's bench_step has
    them; `scale` and `offset` make numbers of pixels."""

    def __init__(self, options):
        self.scale, self.offset = 1 / 127.5, -1
        self.batch, self.rate, self.classes = 32, 1e-3, 10
        if options.model == "flowers":
            self.shape, self.classes, self.batch, self.rate = (192, 192, 3), 5, 64, 3e-4
        elif options.model in ("mnist", "mlp"):
            self.shape, self.batch = (28, 28, 1), 128 if options.model == "mnist" else 1024
            self.scale, self.offset = 1 / 255, 0
        elif options.model in LAYERS:
            self.shape = LAYERS[options.model]
        else:
            self.shape, self.classes = (options.image_size, options.image_size, 3), options.classes
        self.batch = options.batch or self.batch


def limit_threads(count):
    """For programs that take as many threads as there are cores: leaves them that many."""
    cores = sorted(os.sched_getaffinity(0))
    if count < len(cores):
        os.sched_setaffinity(0, cores[:count])


def read_idx(numpy, path):
    with gzip.open(path, "rb") as file:
        data = file.read()
    rank = data[3]
    shape = struct.unpack_from(f">{rank}I", data, 4)
    return numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * rank).reshape(shape).copy()


def read_mnist(numpy, folder):
    """Images [60000, 28, 28] and labels [60000], u8."""
    return (read_idx(numpy, os.path.join(folder, "train-images-idx3-ubyte.gz")),
            read_idx(numpy, os.path.join(folder, "train-labels-idx1-ubyte.gz")))


def time_steps(options, batches, run):
    """The seconds of each step that counts, those of the first step of all, and what the last one returned."""
    seconds, first = [], None
    begin = time.perf_counter()
    for step, batch in enumerate(batches):
        result = run(*batch)
        end = time.perf_counter()
        if first is None:
            first = end - begin
        if step >= options.warmup:
            seconds.append(end - begin)
        begin = end
        if len(seconds) >= options.steps and sum(seconds) >= options.seconds:
            return seconds, first, result


def report(program, version, setting, options, batch_size, measured):
    """`measured` is what time_steps returned."""
    seconds, first, loss = measured
    left_out = ("input", "steps", "seconds", "batch")
    print(json.dumps({
        "program": program,
        "version": version,
        "setting": setting,
        **{name: value for name, value in vars(options).items() if name not in left_out},
        "input": "synthetic" if options.input == "synthetic" else "files",
        "steps": len(seconds),
        "batch_size": batch_size,
        "loss": loss,
        "first_step_seconds": first,
        "whole_seconds": time.perf_counter() - STARTED,
        "peak_memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        # With batches made ahead by other processes single steps say little: there the mean is what counts.
        "images_per_second_median": batch_size / statistics.median(seconds),
        "images_per_second": batch_size * len(seconds) / sum(seconds),
    }))
