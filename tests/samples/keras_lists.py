"""What the scripts share that ask Keras how it trains: formulas of data and weights, and a JSON file of lists of numbers.
tests/harness/keras_lists.h has the formulas and reads the file."""
import fnmatch
import json
import logging
import os
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import keras
import numpy as np

logging.getLogger("tensorflow").setLevel(logging.ERROR)


# ---- formulas ----


def draw(name, index):
    """A whole number, 0 to 128."""
    return (index * 37 + index // 7 * 5 + 11 * sum(map(ord, name))) % 129


def numbers(name, *shape):
    """-0.5 to 0.5 in steps of 1/128."""
    return np.array([(draw(name, i) - 64) / 128 for i in range(int(np.prod(shape)))], np.float32).reshape(shape)


def classes(name, count, *shape):
    return np.array([draw(name, i) % count for i in range(int(np.prod(shape)))], np.int32).reshape(shape)


def pixels(name, *shape):
    """Images with values 0 to 255, divided by 255."""
    return np.array([draw(name, i) * 255 // 128 for i in range(int(np.prod(shape)))], np.float32).reshape(shape) / 255


def some(values):
    """At most 8, evenly spread."""
    return list(values[:: (len(values) + 7) // 8])


# ---- the file ----


def write(lists, models):
    print(f'{{"keras": "{keras.__version__}",')
    if models:
        print('"models": {')
        print(",\n".join(f'"{name}": {json.dumps(model)}' for name, model in models()))
        print("},")
    print('"lists": {')
    print(",\n".join(f'"{name}": [{", ".join(f"{v:.9g}" for v in values)}]' for name, values in lists()))
    print("}}")


def difference(known, found):
    """The largest of two lists, relative to 1 + |found|, and what to say of it: None where they are the same."""
    if len(known) != len(found):
        return 0, f"{len(known)} numbers, Keras gives {len(found)}"
    differences = [abs(a - b) / (1 + abs(b)) for a, b in zip(known, found)]
    i = max(range(len(differences)), key=differences.__getitem__)
    same = differences[i] <= 1e-5
    return differences[i], None if same else f"[{i}] is {known[i]:.9g}, Keras gives {found[i]:.9g}"


def compare(known, found):
    """The largest difference, and a sentence for each name whose lists differ."""
    wrong = {name: "in one of both only" for name in known.keys() ^ found.keys()}
    largest = 0
    for name in known.keys() & found.keys():
        one, sentence = difference(known[name], found[name])
        largest = max(largest, one)
        if sentence:
            wrong[name] = sentence
    return largest, wrong


def check(path, lists, differs):
    """Compares a file with what the Keras says that is installed. Keras's trainer on JAX was once seen to evaluate one
    model wrong among many runs that were right, on a busy machine. So lists that differ are asked for once more: a number
    that Keras does not give twice says nothing of the file."""
    with open(path) as file:
        known = json.load(file)["lists"]
    found = dict(lists())
    for pattern, reason in differs.get(keras.backend.backend(), {}).items():
        names = fnmatch.filter(known, pattern)
        if not names:
            sys.exit(f"no list is called {pattern}")
        print(f"not compared: {len(names)} lists {pattern}: {reason}")
        for name in names:
            known.pop(name)
            found.pop(name)
    largest, wrong = compare(known, found)
    if wrong:
        for name, sentence in list(wrong.items())[:20]:
            print(f"{name}: {sentence}", file=sys.stderr)
        print("asks Keras once more for what differs", file=sys.stderr)
        again = dict(lists())
        largest, wrong = compare(known, {name: again.get(name, []) for name in found})
        for name, sentence in list(wrong.items())[:20]:
            print(f"{name}: the second time too: {sentence}", file=sys.stderr)
    print(f"{len(found)} lists of numbers of Keras {keras.__version__}; the largest difference is {largest:.2g}")
    sys.exit(1 if wrong or not found else 0)


def main(lists, models=None, differs={}):
    """Writes the file to standard output, or with `--check FILE` compares it. `lists` and `models` are functions that give
    pairs of a name, and a list of numbers or an object for JSON. The numbers are those of TensorFlow's backend. `differs`:
    for another backend, which lists differ there by a fault of that backend, and what it is."""
    if len(sys.argv) == 3 and sys.argv[1] == "--check":
        check(sys.argv[2], lists, differs)
    else:
        write(lists, models)
