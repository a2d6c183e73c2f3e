#!/usr/bin/env python3
"""Writes keras_metrics.h: what Keras's metrics are of numbers that are formulas of their index. `python3
tests/samples/keras_metrics.py > tests/samples/keras_metrics.h` with Keras 3.15 (scripts/install-peers.sh tensorflow installs
it); the header holds its output. tests/metrics/test_metrics.c has the same formulas."""
import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import keras
import numpy as np
from keras import metrics

EXAMPLES, CLASSES, LEAF = 61, 6, 9


def draw(name, index):
    """A whole number, 0 to 128."""
    return (index * 37 + index // 7 * 5 + 11 * ord(name)) % 129


def numbers(name, *shape):
    return np.array([draw(name, i) for i in range(int(np.prod(shape)))]).reshape(shape)


outputs = ((numbers("p", EXAMPLES, CLASSES) + 0.5) / 129).astype(np.float32)
classes = np.eye(CLASSES, dtype=np.float32)[numbers("c", EXAMPLES) % CLASSES]
answers = (numbers("a", EXAMPLES, CLASSES) % 3 == 0).astype(np.float32)
weights = (numbers("w", EXAMPLES) % 5 / 4).astype(np.float32)


def measure(metric, truth, first_only=False):
    """In parts, as a training sees them."""
    for begin in range(0, EXAMPLES, LEAF):
        rows = slice(begin, begin + LEAF)
        columns = slice(0, 1) if first_only else slice(None)
        metric.update_state(truth[rows, columns], outputs[rows, columns], sample_weight=weights[rows])
    return np.asarray(metric.result()).reshape(-1)


SAID = {
    "{name: f1_score, average: none}": measure(metrics.F1Score(), classes),
    "F1Score": measure(metrics.F1Score(), classes),
    "answer F1Score": measure(metrics.F1Score(), answers, True),
    "answer {name: F1Score, threshold: 0.5}": measure(metrics.F1Score(threshold=0.5), answers, True),
    "{name: F1Score, threshold: 0.3, average: macro}": measure(metrics.F1Score(threshold=0.3, average="macro"), classes),
    "{name: fbeta_score, average: none, beta: 2.0}": measure(metrics.FBetaScore(beta=2.0), classes),
}
for average in "macro", "micro", "weighted":
    SAID[f"{{name: F1Score, average: {average}}}"] = measure(metrics.F1Score(average=average), classes)
    metric = metrics.FBetaScore(average=average, beta=0.5)
    SAID[f"{{name: FBetaScore, average: {average}, beta: 0.5}}"] = measure(metric, classes)
    metric = metrics.FBetaScore(average=average, beta=2.0, threshold=0.4)
    written = f"{{name: FBetaScore, average: {average}, beta: 2.0, threshold: 0.4}}"
    SAID["answers " + written] = measure(metric, answers)
for name in "Precision", "Recall":
    by_class = [measure(getattr(metrics, name)(top_k=1, class_id=k), classes)[0] for k in range(CLASSES)]
    SAID[f"{{name: class_{name.lower()}, average: none}}"] = by_class
    SAID[name] = measure(getattr(metrics, name)(), classes)
    SAID["answers " + name] = measure(getattr(metrics, name)(), answers)
    for threshold in 0.5, 0.3:
        metric = getattr(metrics, name)(thresholds=threshold)
        SAID[f"answer {{name: {name}, thresholds: {threshold}}}"] = measure(metric, answers, True)
        metric = getattr(metrics, name)(thresholds=threshold)
        SAID[f"{{name: {name}, thresholds: {threshold}}}"] = measure(metric, classes)
    for options in {"top_k": 1}, {"top_k": 3}, {"class_id": 2}, {"thresholds": 0.4, "top_k": 2, "class_id": 3}:
        written = ", ".join(f"{key}: {value}" for key, value in options.items())
        for kind, truth in ("", classes), ("answers ", answers):
            metric = getattr(metrics, name)(**options)
            SAID[f"{kind}{{name: {name}, {written}}}"] = measure(metric, truth)
for curve in "ROC", "PR":
    SAID[f"answers {{name: AUC, curve: {curve}}}"] = measure(metrics.AUC(curve=curve), answers)
    metric = metrics.AUC(curve=curve, multi_label=True, num_labels=CLASSES)
    SAID[f"answers {{name: AUC, curve: {curve}, multi_label: true}}"] = measure(metric, answers)
    metric = metrics.AUC(curve=curve, num_thresholds=20)
    SAID[f"answer {{name: AUC, curve: {curve}, num_thresholds: 20}}"] = measure(metric, answers, True)
for name in "RootMeanSquaredError", "R2Score":
    SAID["answers " + name] = measure(getattr(metrics, name)(), answers)
    SAID["answer " + name] = measure(getattr(metrics, name)(), answers, True)

print(f"/* Written by keras_metrics.py: what Keras {keras.__version__} measures. */")
print("/* clang-format off */")
print("static const keras_metric keras_metrics[] = {")
for written, values in SAID.items():
    kind = written.split(" ")[0] if written.startswith("answer") else "classes"
    text = written[len(kind) + 1 :] if kind != "classes" else written
    listed = ", ".join(f"{value:.9g}" for value in values)
    print(f'    {{"{kind}", "{text}", {len(values)}, {{{listed}}}}},')
print("};")
print("/* clang-format on */")
