#!/usr/bin/env python3
"""Measures two builds in turn: speed.py BASE_BUILD TODAY_BUILD DATA [ROUNDS]. Nothing else should run.

Each round runs a row once with each build, one right after the other, and the other way round in the next round. So a
machine that slows down slows both. A row's number is the median, over the rounds, of today's speed divided by the
base's: above 1 is faster. DATA is the folder with drawn data (cases/draw.sh).

Rows of steps: bench_step on one batch that is always there (updates of networks, inference), microseconds of small
calls (bench_program), and epochs of small networks by each door, where what is beside the arithmetic counts. Then rows
that have no part in the mean: compiling the graphs of a network, and processes from their start to their first
update."""
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

NETWORKS = ("MobileNetV2", "ResNet50", "EfficientNetB0", "DenseNet121")
SMALL = """data:
  train: {drawn}/flowers/train/*.tfrec
  validation: {drawn}/flowers/val/*.tfrec
  class_names: {drawn}/flowers/classes.txt
model:
  layers: [Conv2D: {{filters: 4, kernel_size: 3, strides: 4}}, Flatten, Dense: {{units: 5, activation: softmax}}]
train: {{epochs: {epochs}, batch_size: 8, microbatch: {microbatch}, validation_freq: {epochs}}}
checkpoint: {{every_epoch: false, best: val_loss}}
"""


class Row:
    def __init__(self, name, command, find, is_step=True):
        self.name, self.command, self.find, self.is_step = name, command, find, is_step
        self.pairs = []


# glibc gives freed memory at the top of its heap back to the system, and takes it anew, page by page. Whether a call
# of half a microsecond pays for that depends on which block happens to lie at the top. So freed memory is kept.
KEPT_MEMORY = "glibc.malloc.trim_threshold=268435456:glibc.malloc.mmap_threshold=268435456"


def run(build, command, folder):
    """(what a command prints, its seconds)."""
    environment = dict(os.environ, PATH=build + ":" + os.environ["PATH"])
    if command[0].endswith("/bench_program"):
        environment["GLIBC_TUNABLES"] = KEPT_MEMORY
    environment.pop("LIANA_DUMP", None)
    begin = time.monotonic()
    done = subprocess.run([word.replace("{build}", build) for word in command], cwd=folder, env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - begin
    if done.returncode:
        raise SystemExit(f"speed: {' '.join(command)} fails with {build}: {done.stderr[-500:]}")
    return done.stdout, seconds


# How a row's speed is found in (printed text, seconds).
def images_per_second(said, _):
    return json.loads(said.splitlines()[-1])["images_per_second_median"]


def per_compile_second(said, _):
    return 1 / max(json.loads(said.splitlines()[-1])["compile_seconds"], 0.01)


def per_second(_, seconds):
    return 1 / seconds


def per_microsecond(number):
    def find(said, _):
        return 1 / float(re.findall(r"\d+\.\d+", said)[number])
    return find


def step_rows():
    rows = []
    for net in ("mlp", "mnist", "flowers") + NETWORKS:
        size = ["--batch", "16", "--microbatch", "8", "--image-size", "96"] if net in NETWORKS else []
        base = ["{build}/bench_step", net, *size, "--steps", "3", "--seconds", "1", "--warmup", "1"]
        rows.append(Row(f"update of {net}", base, images_per_second))
        mixed = base + ["--precision", "mixed_bfloat16"]
        rows.append(Row(f"update of {net}, mixed_bfloat16", mixed, images_per_second))
        rows.append(Row(f"inference of {net}", base + ["--infer"], images_per_second))
    tiny = ["{build}/bench_step", "mlp", "--batch", "8", "--microbatch", "2", "--seconds", "1"]
    return rows + [Row("update of mlp, 8 examples in 4 shards", tiny, images_per_second)]


def call_rows(base, folder):
    """One row for each number that bench_program prints."""
    command = ["{build}/bench_program", "40000"]
    said, _ = run(base, command, folder)
    names = [line.split(":")[0] for line in said.splitlines() if re.search(r"\d+\.\d+", line)]
    return [Row(f"call: {name}", command, per_microsecond(i)) for i, name in enumerate(names)]


def door_rows(folder, drawn):
    for name, microbatch, epochs in (("small", 8, 150), ("shards", 2, 100)):
        with open(os.path.join(folder, name + ".yaml"), "w", encoding="utf-8") as file:
            file.write(SMALL.format(drawn=drawn, microbatch=microbatch, epochs=epochs))

    def train(title, *words):
        return Row(f"epochs: {title}", [*words, "--out", tempfile.mkdtemp(dir=folder) + "/run"], per_second)
    return [train("fit", "liana", "train", "small.yaml"),
            train("fit, groups of 4 updates", "liana", "train", "small.yaml", "train.steps_per_execution=4"),
            train("fit, 4 shards", "liana", "train", "shards.yaml"),
            train("2 workers", "liana", "launch", "-n", "2", "shards.yaml", "train.epochs=30"),
            train("worker, server", "liana", "launch", "-n", "2", "--servers", "1", "shards.yaml", "train.epochs=30"),
            Row("steps of a program's own, on replicas", ["{build}/example_replicas"], per_second),
            Row("steps of a program's own, many", ["{build}/example_free_workers"], per_second),
            Row("programs with gradients", ["{build}/example_gan", "150"], per_second)]


def start_rows(folder):
    # bench_step says seconds with two digits: networks that take long.
    compiling = [Row(f"compiling {net}", ["{build}/bench_step", net, "--image-size", "96", "--batch", "4", "--steps",
                                                   "1", "--warmup", "0", "--seconds", "0"], per_compile_second, False)
                 for net in ("ResNet50", "EfficientNetB4", "DenseNet201")]
    first = ["liana", "train", "small.yaml", "train.epochs=1", "train.steps=1"]
    return compiling + [Row("start to first update, fit", first + ["--out", folder + "/first"], per_second, False),
                        Row("start to first update, program", ["{build}/example_gan", "1"], per_second, False)]


def measure_once(row, build, folder):
    """The speed of a row with one build. A short command is run again for a second: the median counts."""
    speeds, begin = [], time.monotonic()
    while not speeds or time.monotonic() - begin < 1:
        if "--out" in row.command:
            shutil.rmtree(row.command[row.command.index("--out") + 1], ignore_errors=True)
        speeds.append(row.find(*run(build, row.command, folder)))
    return statistics.median(speeds)


def measure(rows, builds, rounds, folder):
    for number in range(rounds):
        for row in rows:
            speeds = [0.0, 0.0]
            for side in ((0, 1), (1, 0))[number % 2]:
                speeds[side] = measure_once(row, builds[side], folder)
            row.pairs.append(speeds)
        print(f"round {number + 1} of {rounds} is done", file=sys.stderr, flush=True)


def ratio_of(row):
    return statistics.median(today / base for base, today in row.pairs)


def report(rows):
    print(f"{'row':<66} {'base':>10} {'today':>10} {'ratio':>7}   of the rounds: least, most")
    for row in rows:
        medians = [statistics.median(pair[side] for pair in row.pairs) for side in (0, 1)]
        ratios = [today / base for base, today in row.pairs]
        print(f"{row.name:<66} {medians[0]:>10.4g} {medians[1]:>10.4g} {ratio_of(row):>7.3f}   "
              f"{min(ratios):.3f} {max(ratios):.3f}")
    steps = [ratio_of(row) for row in rows if row.is_step]
    mean = math.exp(sum(math.log(ratio) for ratio in steps) / len(steps))
    print(f"geometric mean of {len(steps)} rows of steps: {mean:.3f}; the least: {min(steps):.3f}")


def main():
    base, today, drawn = (os.path.abspath(word) for word in sys.argv[1:4])
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 5
    with tempfile.TemporaryDirectory() as folder:
        rows = step_rows() + call_rows(base, folder) + door_rows(folder, drawn) + start_rows(folder)
        wanted = sys.argv[5:]
        rows = [row for row in rows if not wanted or any(word in row.name for word in wanted)]
        if not rows:
            raise SystemExit(f"speed: no row has one of: {', '.join(wanted)}")
        measure(rows, (base, today), rounds, folder)
    report(rows)


if __name__ == "__main__":
    main()
