"""The files of liana predict, read by numpy and TensorFlow, against its JSON lines and CSV.

    read_predictions.py FOLDER    FOLDER has p.jsonl, p.csv, p.npy, p.ids.csv and p.tfrecord of the same examples"""
import csv
import json
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import numpy as np
import tensorflow as tf

folder = pathlib.Path(sys.argv[1])
events = [json.loads(line) for line in (folder / "p.jsonl").read_text().splitlines()]
rows = list(csv.DictReader((folder / "p.csv").open(newline="")))
beside = list(csv.DictReader((folder / "p.ids.csv").open(newline="")))
array = np.load(folder / "p.npy")
assert len(events) > 0
assert array.dtype == np.float32 and array.shape == (len(events), len(events[0]["probabilities"])), array.shape
assert rows == beside
count = 0
for record in tf.data.TFRecordDataset(str(folder / "p.tfrecord")):
    event, row = events[count], rows[count]
    features = tf.train.Example.FromString(record.numpy()).features.feature
    wanted = np.array(list(event["probabilities"].values()), np.float32)
    np.testing.assert_array_equal(array[count], wanted)
    np.testing.assert_array_equal(np.array(features["probabilities"].float_list.value, np.float32), wanted)
    label = int(np.argmax(wanted))
    assert features["label"].int64_list.value[:] == [label] and int(row["label"]) == label
    assert event["classes"][0]["label"] == label
    name = list(event["probabilities"])[label]
    assert features["class"].bytes_list.value[0].decode() == name == row["class"]
    assert features["id"].bytes_list.value[0].decode() == event["id"] == row["id"]
    assert features["true_label"].int64_list.value[:] == [event["true_label"]] == [int(row["true_label"])]
    assert features["true_class"].bytes_list.value[0].decode() == event["true_class"] == row["true_class"]
    assert event["correct"] == (row["correct"] == "1") == (label == event["true_label"])
    count += 1
assert count == len(events)
print(f"{count} examples are the same in all files")
