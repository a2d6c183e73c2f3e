"""Random pipelines of tf.data's stages: tf_data.py FOLDER SEED COUNT writes FOLDER/pipelines.txt, which has two lines for
each: the pipeline in the words that test_tf_data_peers.c reads, and the elements that TensorFlow gives, as
harness/element_text.h writes them.

A pipeline is a source and stages, with ' | ' between them. An element is a number, a list of numbers of any length
('list'), a list of one length ('row'), or a batch of lists ('batch'); a stage is only drawn where TensorFlow takes it."""
import os
import random
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy
import tensorflow as tf

Dataset = tf.data.Dataset


def show_value(value):
    if isinstance(value, bytes):
        return b'"' + value + b'"'
    if isinstance(value, (float, numpy.floating)):
        return b"%g" % value
    return b"%d" % value


def show_array(array):
    if isinstance(array, numpy.ndarray) and array.ndim:
        return b"[" + b" ".join(show_array(each) for each in array) + b"]"
    return show_value(array.item() if isinstance(array, numpy.ndarray) else array)


def show(dataset):
    parts = []
    for element in dataset.as_numpy_iterator():
        components = element if isinstance(element, tuple) else (element,)
        parts.append(b":".join(show_array(each) for each in components) + b" ")
    return b"".join(parts)


# ---- functions that make a dataset of a window ----

def make_of_window(rng, kind):
    """The words of a function and the function; which elements it makes."""
    size = rng.randint(1, 4)
    choices = ["take", "skip", "repeat"]
    if kind in ("number", "row"):
        choices += ["batch", "batch"]
    if kind in ("number", "list", "row"):
        choices += ["padded"]
    if kind == "number":
        choices += ["sum", "filter"]
    name = rng.choice(choices)
    made = {"batch": {"number": "list", "row": "batch"}, "padded": {"number": "list", "list": "batch", "row": "batch"}}
    functions = {
        "take": lambda window: window.take(size),
        "skip": lambda window: window.skip(size),
        "repeat": lambda window: window.repeat(size),
        "batch": lambda window: window.batch(size),
        "padded": lambda window: window.padded_batch(size),
        "filter": lambda window: window.filter(lambda value: value % (size + 1) == 0),
        "sum": lambda window: Dataset.from_tensors(window.reduce(numpy.int64(0), lambda sum, value: sum + value)),
    }
    return f"{name} {size}", functions[name], made.get(name, {}).get(kind, kind)


# ---- stages: each returns words, the dataset and the kind of its elements ----

def window(rng, data, kind):
    size, shift, stride = rng.randint(1, 5), rng.randint(1, 6), rng.randint(1, 3)
    drop = rng.random() < 0.5
    windows = data.window(size, shift, stride, drop).flat_map(lambda one: one.batch(size))
    made = {("number", True): "row", ("number", False): "list"}.get((kind, drop), "batch")
    return f"window {size} {shift} {stride} {drop:d}", windows, made


def windows(rng, data, kind):
    size, shift, stride = rng.randint(1, 5), rng.randint(1, 6), rng.randint(1, 3)
    drop = rng.random() < 0.5
    words, function, made = make_of_window(rng, kind)
    return f"windows {size} {shift} {stride} {drop:d} {words}", data.window(size, shift, stride, drop).flat_map(function), made


def group(rng, data, kind):
    keys, size = rng.randint(1, 4), rng.randint(1, 4)
    words, function, made = make_of_window(rng, kind)
    key = (lambda value: value % keys) if kind == "number" else (lambda value: tf.cast(tf.shape(value)[0] % keys, tf.int64))
    grouped = data.group_by_window(key_func=key, reduce_func=lambda key, window: function(window), window_size=size)
    return f"group {keys} {size} {words}", grouped, made


def bucket(rng, data, kind):
    count = rng.randint(1, 3)
    boundaries = sorted(rng.sample(range(1, 9), count))
    sizes = [rng.randint(1, 4) for _ in range(count + 1)]
    drop = rng.random() < 0.3
    filling = rng.choice([0, -1])
    if rng.random() < 0.4:
        boundaries[-1] = 30
        to_boundary = True
    else:
        to_boundary = False
    made = data.bucket_by_sequence_length(
        element_length_func=lambda value: tf.shape(value)[0], bucket_boundaries=boundaries, bucket_batch_sizes=sizes,
        padding_values=numpy.int64(filling), pad_to_bucket_boundary=to_boundary, drop_remainder=drop)
    lists = ",".join(map(str, boundaries)), ",".join(map(str, sizes))
    return f"bucket {lists[0]} {lists[1]} {drop:d} {filling} {to_boundary:d}", made, "batch"


def padded(rng, data, kind):
    size, drop, filling = rng.randint(1, 4), rng.random() < 0.3, rng.choice([0, 7, -1])
    length = rng.choice([0, 0, 40])
    made = data.padded_batch(size, padded_shapes=[length or None], padding_values=numpy.int64(filling), drop_remainder=drop)
    return f"padded {size} {drop:d} {filling} {length}", made, "batch"


def batch(rng, data, kind):
    size, drop = rng.randint(1, 5), rng.random() < 0.4
    made = {("number", True): "row", ("number", False): "list"}.get((kind, drop), "batch")
    return f"batch {size} {drop:d}", data.batch(size, drop_remainder=drop), made


def rebatch(rng, data, kind):
    size, drop = rng.randint(1, 5), rng.random() < 0.4
    return f"rebatch {size} {drop:d}", data.rebatch(size, drop_remainder=drop), "row" if drop else "list"


def unbatch(rng, data, kind):
    return "unbatch", data.unbatch(), "number"


def unbatch_lists(rng, data, kind):
    return "unbatch", data.unbatch(), "list"


def unique(rng, data, kind):
    return "unique", data.unique(), kind


def take_while(rng, data, kind):
    limit = rng.randint(0, 30)
    return f"take_while {limit}", data.take_while(lambda value: value < limit), kind


def filtered(rng, data, kind):
    modulus = rng.randint(1, 4)
    return f"filter {modulus}", data.filter(lambda value: value % modulus == 0), kind


def scan(rng, data, kind):
    factor = rng.randint(-3, 3)
    return f"scan {factor}", data.scan(numpy.int64(1), lambda sum, value: (sum + value, sum * factor + value)), kind


def reduced(rng, data, kind):
    total = data.reduce(numpy.int64(3), lambda sum, value: sum * 2 % 1001 + value)
    return "reduce", Dataset.from_tensors(total), kind


def take(rng, data, kind):
    count = rng.choice([-1, 0, 1, 2, 5, 20])
    return f"take {count}", data.take(count), kind


def skip(rng, data, kind):
    count = rng.choice([0, 1, 2, 5])
    return f"skip {count}", data.skip(count), kind


def shard(rng, data, kind):
    count = rng.randint(1, 3)
    index = rng.randrange(count)
    return f"shard {count} {index}", data.shard(count, index), kind


def repeat(rng, data, kind):
    count = rng.randint(0, 2)
    return f"repeat {count}", data.repeat(count), kind


def interleave(rng, data, kind):
    cycle, block = rng.randint(1, 4), rng.randint(1, 3)
    made = data.interleave(lambda value: Dataset.range(value, value + value % 4), cycle_length=cycle, block_length=block)
    return f"interleave {cycle} {block}", made, kind


def modulo(rng, data, kind):
    by = rng.randint(2, 7)
    return f"modulo {by}", data.map(lambda value: value % by), kind


NUMBERS = [window, windows, windows, group, batch, batch, unique, take_while, filtered, scan, reduced, take, skip, shard,
           repeat, interleave, modulo, modulo]
STAGES = {"number": NUMBERS,
          "list": [padded, padded, bucket, bucket, unbatch, rebatch, windows, group, take, skip, shard, repeat],
          "row": [padded, window, windows, batch, unbatch, rebatch, group, take, skip, shard, repeat],
          "batch": [take, skip, shard, repeat]}


# ---- sources ----

def numbers(rng):
    start, stop, step = rng.randint(0, 9), rng.randint(0, 40), rng.randint(1, 3)
    return f"range {start} {stop} {step}", Dataset.range(start, stop, step), "number"


def lists(rng):
    rows = [[rng.randint(0, 20) for _ in range(rng.choice([0, 1, 2, 3, 5, 12]))] for _ in range(rng.randint(0, 14))]
    made = Dataset.from_generator(lambda: (numpy.array(row, dtype=numpy.int64) for row in rows),
                                  output_signature=tf.TensorSpec([None], tf.int64))
    return "lists " + "/".join(",".join(map(str, row)) or "-" for row in rows), made, "list"


def choose(rng):
    ends = [rng.randint(0, 8) for _ in range(rng.randint(1, 4))]
    choices = [rng.randrange(len(ends)) for _ in range(rng.randint(0, 25))]
    skips = rng.random() < 0.5
    made = Dataset.choose_from_datasets(
        [Dataset.range(100 * i, 100 * i + end) for i, end in enumerate(ends)],
        Dataset.from_tensor_slices(numpy.array(choices, dtype=numpy.int64)), stop_on_empty_dataset=not skips)
    return f"choose {skips:d} {','.join(map(str, ends))} {','.join(map(str, choices)) or '-'}", made, "number"


def timeseries(rng):
    rows = rng.randint(8, 40)
    length, stride, rate = rng.randint(1, 3), rng.randint(1, 4), rng.randint(1, 2)
    start = rng.randint(0, 2)
    end = rng.choice([0, rng.randint(start + length * rate + 1, rows) if start + length * rate + 1 <= rows else 0])
    size = rng.choice([-1, 1, 3])
    end = end if end < rows else 0
    data = numpy.arange(rows, dtype=numpy.int64)
    made = tf.keras.utils.timeseries_dataset_from_array(
        data, None, length, sequence_stride=stride, sampling_rate=rate, batch_size=None if size < 0 else size,
        start_index=start or None, end_index=end or None)
    made = made.map(lambda value: tf.cast(value, tf.int64))
    return f"timeseries {rows} {length} {stride} {rate} {size} {start} {end}", made, "row" if size < 0 else "batch"


def build(rng):
    words, data, kind = rng.choice([numbers, numbers, lists, lists, choose, timeseries])(rng)
    all_words = [words]
    for _ in range(rng.randint(1, 4)):
        words, data, kind = rng.choice(STAGES[kind])(rng, data, kind)
        all_words.append(words)
    return " | ".join(all_words), data


def main():
    folder, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rng = random.Random(seed)
    with open(os.path.join(folder, "pipelines.txt"), "wb") as file:
        made = 0
        while made < count:
            words, data = build(rng)
            try:
                shown = show(data.take(200))
            except tf.errors.OpError:
                continue
            file.write(words.encode() + b"\n" + shown + b"\n")
            made += 1


if __name__ == "__main__":
    main()
