"""Writes docs/reference/keras.md: what liana has of each name in Keras 3, read from Keras itself, from the tables of the layers that
are tested against it (tests/train/model/keras_vocabulary/), and from `liana list`.

    keras_page.py LIANA write      writes the page
    keras_page.py LIANA check      fails if the page is another one, or if a name has neither a part nor a reason
"""
import importlib
import inspect
import os
import re
import subprocess
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(SOURCE, "docs", "reference", "keras.md")
sys.path[:0] = [os.path.join(SOURCE, "tests", "train", "model", "keras_vocabulary"), os.path.dirname(__file__)]
import keras
import vocabulary
from keras_page_notes import DIFFERS, LEFT_OUT, NOT_YET, STANDS_IN

# Keras's module, liana's kind, the title. Names that Keras has for those who write parts in Python are no parts.
KINDS = [
    ("activations", "activations", "Activations"),
    ("losses", "losses", "Losses"),
    ("metrics", "metrics", "Metrics"),
    ("optimizers", "optimizers", "Optimizers"),
    ("optimizers.schedules", "schedules", "Learning-rate schedules"),
    ("initializers", "initializers", "Initialisers"),
    ("regularizers", "regularizers", "Regularisers"),
    ("constraints", "constraints", "Constraints"),
    ("callbacks", "callbacks", "Callbacks"),
]
BASES = {"Loss", "Metric", "MeanMetricWrapper", "Optimizer", "LearningRateSchedule", "Initializer", "Regularizer", "Constraint",
         "Callback", "CallbackList", "get", "serialize", "deserialize", "legacy", "schedules"}


def snake(name):
    """The name of a function that Keras writes for a class: CosineDecay is cosine_decay."""
    name = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name)
    return re.sub(r"(?<=[A-Z])([A-Z][a-z])", r"_\1", name).lower()


def module_of(path):
    module = keras
    for part in path.split("."):
        module = getattr(module, part)
    return module


def names_of(path):
    """All names of a module, by the object that they stand for."""
    module, found = module_of(path), {}
    for name in sorted(dir(module)):
        value = getattr(module, name)
        if name.startswith("_") or name in BASES or inspect.ismodule(value) or not callable(value):
            continue
        found.setdefault(id(value), []).append(name)
    return [sorted(names, key=lambda n: (not n[0].isupper(), len(n), n)) for names in found.values()]


class Liana:
    def __init__(self, program):
        self.program = program

    def has(self, kind, name):
        return subprocess.run([self.program, "list", kind, name], capture_output=True, check=False).returncode == 0


def row(names, liana, kind):
    """A line of the page, and whether there is a part or a reason."""
    first = names[0]
    if first in LEFT_OUT.get(kind, {}):
        return f"| {', '.join(names)} | left out | {LEFT_OUT[kind][first]} |", True
    if first in STANDS_IN.get(kind, {}):
        state, note = STANDS_IN[kind][first]
        return f"| {', '.join(names)} | {state} | {note} |", True
    wanted = set(names) | ({snake(first)} if first[0].isupper() else set())
    missing = sorted(name for name in wanted if not liana.has(kind, name))
    if missing:
        note = NOT_YET.get(kind, {}).get(first)
        return f"| {', '.join(names)} | not yet | {', '.join(missing) if note is None else note} |", note is not None
    note = DIFFERS.get(kind, {}).get(first)
    return f"| {', '.join(names)} | {'differs' if note else 'works'} | {note or ''} |", True


def layer_rows():
    tables, left_out = vocabulary.tables()
    lines, good, known = [], True, {}
    for name in sorted(dir(keras.layers)):
        value = getattr(keras.layers, name)
        if inspect.isclass(value):
            known.setdefault(value, []).append(name)
    for value, names in known.items():
        names = sorted(names, key=lambda n: (n != value.__name__, n))
        reason = next((left_out[name] for name in names if name in left_out), None)
        note = DIFFERS.get("layers", {}).get(names[0])
        if reason:
            lines.append(f"| {', '.join(names)} | left out | {reason} |")
        elif any(name in tables or name in vocabulary.everywhere() for name in names):
            lines.append(f"| {', '.join(names)} | {'differs' if note else 'works'} | {note or ''} |")
        else:
            lines.append(f"| {', '.join(names)} | not yet | |")
            good = good and any(name in vocabulary.not_yet() for name in names)
    return lines, good


def page(liana):
    lines = ["# Keras's names", "",
             f"Which names of Keras {keras.__version__} liana has. `tests/docs/keras_page.py` writes this page: it reads the names",
             "from Keras itself, and asks liana for each. *works*: the part has Keras's options, defaults and results, under the",
             "name of the class and under its name in lower case (`MeanSquaredError`, `mean_squared_error`). *differs*: it works,",
             "but for what the note says. *left out*: there is none, on purpose. *not yet*: there should be one.", "",
             "## Layers", "",
             "Each is compared with Keras: its outputs, gradients, and its files in both directions. In all layers",
             "`data_format` is `channels_last`; quantisation and LoRA are left out.", "", "| name | state | note |", "|---|---|---|"]
    rows, good = layer_rows()
    lines += rows
    for path, kind, title in KINDS:
        lines += ["", f"## {title}", "", "| name | state | note |", "|---|---|---|"]
        for names in sorted(names_of(path)):
            line, is_good = row(names, liana, kind)
            lines.append(line)
            good = good and is_good
    return "\n".join(lines) + "\n", good


def main():
    text, good = page(Liana(sys.argv[1]))
    if sys.argv[2] == "write":
        with open(PAGE, "w") as file:
            file.write(text)
        return 0
    with open(PAGE) as file:
        old = file.read()
    for line in sorted(set(text.split("\n")) - set(old.split("\n"))):
        print(f"docs/reference/keras.md should have: {line}")
    for line in sorted(set(old.split("\n")) - set(text.split("\n"))):
        print(f"docs/reference/keras.md has: {line}")
    for line in text.split("\n"):
        if "| not yet |" in line:
            print(f"not there yet: {line}")
    return 0 if good and text == old else 1


sys.exit(main())
