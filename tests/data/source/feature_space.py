"""Tables whose columns keras.utils.FeatureSpace turns into numbers: feature_space.py FOLDER REAL SEED writes, for each
table, FOLDER/N.csv (the rows that it learns from), FOLDER/N.later.csv (others), and into FOLDER/tables.txt four lines:
the number, data.columns, and the elements of both files as harness/element_text.h writes them. REAL is a table that
another program wrote (TSV)."""
import csv
import json
import os
import random
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy
import tensorflow as tf

FeatureSpace = keras.utils.FeatureSpace


def batches(rows, columns):
    return tf.data.Dataset.from_tensor_slices({name: numpy.array([row[name] for row in rows], dtype=dtype)
                                               for name, dtype in columns.items()}).batch(32)


class Table:
    """texts: names of columns of strings; numbers: of floats; wholes: of integers."""

    def __init__(self, rng, texts, numbers, wholes):
        self.dtypes = {**{name: object for name in texts}, **{name: "float32" for name in numbers},
                       **{name: "int64" for name in wholes}}
        self.features, self.fixed, self.columns = {}, {}, {}
        for name in texts:
            kind = rng.choice(["category", "hash"])
            if kind == "category":
                self.features[name] = FeatureSpace.string_categorical(output_mode="int")
            else:
                bins = rng.randint(2, 40)
                self.features[name] = FeatureSpace.string_hashed(num_bins=bins, output_mode="int")
                self.columns[name] = f"{{from: {name}, hash_bins: {bins}}}"
        for name in numbers:
            if rng.random() < 0.5:
                bins = rng.randint(2, 9)
                self.features[name] = FeatureSpace.float_discretized(num_bins=bins, output_mode="int")
                self.columns[name] = f"{{from: {name}, num_bins: {bins}}}"
            else:
                boundaries = sorted(rng.sample(range(-20, 200), rng.randint(1, 6)))
                # FeatureSpace.adapt refuses bin_boundaries, which its own float_discretized takes.
                self.fixed[name] = keras.layers.Discretization(bin_boundaries=[float(each) for each in boundaries])
                self.columns[name] = f"{{from: {name}, bin_boundaries: {boundaries}}}"
        for name in wholes:
            if rng.random() < 0.5:
                self.features[name] = FeatureSpace.integer_categorical(output_mode="int")
            else:
                bins = rng.randint(2, 40)
                self.features[name] = FeatureSpace.integer_hashed(num_bins=bins, output_mode="int")
                self.columns[name] = f"{{from: {name}, hash_bins: {bins}}}"
        # FeatureSpace crosses the numbers that the texts have become; a column crosses the texts.
        bins = rng.randint(2, 50)
        self.crossed, self.crossing = texts[:2], keras.layers.HashedCrossing(bins)
        self.columns["crossed"] = f"{{from: [{texts[0]}, {texts[1]}], cross: {bins}}}"

    def learn(self, rows):
        self.space = FeatureSpace(self.features, output_mode="dict")
        self.space.adapt(batches(rows, {name: dtype for name, dtype in self.dtypes.items() if name in self.features}))
        for name in self.features:
            if name in self.columns:
                continue
            known = [str(each) for each in self.space.preprocessors[name].get_vocabulary()[1:]]
            self.columns[name] = f"{{from: {name}, category: true, num_oov_indices: 1, vocabulary: [" + \
                ", ".join(json.dumps(each) for each in known) + "]}"

    def order(self):
        return sorted(self.columns)

    def options(self):
        return "{" + ", ".join(f"{name}: {self.columns[name]}" for name in self.order()) + "}"

    def elements(self, rows):
        shown = []
        for batch in batches(rows, self.dtypes):
            made = self.space({name: value for name, value in batch.items() if name in self.features})
            made |= {name: layer(batch[name]) for name, layer in self.fixed.items()}
            made["crossed"] = self.crossing(tuple(batch[name][:, None] for name in self.crossed))
            made = {name: numpy.array(value).reshape(-1) for name, value in made.items()}
            for i in range(len(made[self.order()[0]])):
                shown.append('"":' + ":".join("%d" % made[name][i] for name in self.order()) + " ")
        return "".join(shown)


def write(path, rows, names):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows([[row[name] for name in names] for row in rows])


WORDS = ["Ulm", "New York", 'a "quoted" one', "comma, here", "Gmünd", "x", "line\nbreak", "12", "Ulm ", "日本"]


def draw_rows(rng, count):
    return [{"city": rng.choice(WORDS).strip(), "kind": rng.choice(WORDS[:6]), "area": round(rng.uniform(-30, 210), 2),
             "age": round(rng.expovariate(0.05), 3), "code": rng.choice([0, 1, 5, 7, -3, 1000000]), "floor": rng.randint(0, 4)}
            for _ in range(count)]


def real_rows(path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return [{"mode": row["mode"], "coding": row["coding"], "adobe": row["adobe"], "bytes": float(row["bytes"]),
             "w": int(row["w"]), "h": int(row["h"])} for row in rows if row["bytes"].isdigit() and row["w"].isdigit()]


def main():
    folder, real, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
    rng = random.Random(seed)
    with open(os.path.join(folder, "tables.txt"), "w") as file:
        for number in range(5):
            if number < 2:
                table = Table(rng, ["mode", "coding", "adobe"], ["bytes"], ["w", "h"])
                rows = real_rows(real)
                known, later = rows[::2] + rows[1::4], rows
            else:
                table = Table(rng, ["city", "kind"], ["area", "age"], ["code", "floor"])
                known, later = draw_rows(rng, rng.choice([12, 60, 250])), draw_rows(rng, 40)
            table.learn(known)
            names = list(table.dtypes)
            write(os.path.join(folder, f"{number}.csv"), known, names)
            write(os.path.join(folder, f"{number}.later.csv"), later, names)
            file.write(f"{number}\n{table.options()}\n{table.elements(known)}\n{table.elements(later)}\n")


if __name__ == "__main__":
    main()
