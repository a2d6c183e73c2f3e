"""Runs a program that the documents show, with MNIST's files of the test data in place of those that it would fetch.

    run_program.py PROGRAM DATA
"""
import gzip
import os
import runpy
import sys
import types

import numpy as np


def read(data, name):
    """The images or labels of a gzipped IDX file."""
    with gzip.open(os.path.join(data, "mnist", name + "-ubyte.gz")) as file:
        content = file.read()
    shape = [int.from_bytes(content[4 + 4 * i:8 + 4 * i], "big") for i in range(content[3])]
    return np.frombuffer(content, np.uint8, offset=4 + 4 * len(shape)).reshape(shape)


def parts(data):
    return [(read(data, part + "-images-idx3"), read(data, part + "-labels-idx1")) for part in ("train", "t10k")]


def prepare_keras(data):
    import keras
    keras.datasets.mnist.load_data = lambda: tuple(parts(data))


def prepare_torch(data):
    """A stand-in for what the program takes of torchvision."""
    import torch

    class MNIST(torch.utils.data.Dataset):
        def __init__(self, root, train, download, transform):
            self.images, self.labels = parts(data)[0 if train else 1]
            self.transform = transform

        def __len__(self):
            return len(self.labels)

        def __getitem__(self, i):
            return self.transform(self.images[i]), int(self.labels[i])

    torchvision = types.ModuleType("torchvision")
    torchvision.datasets = types.SimpleNamespace(MNIST=MNIST)
    torchvision.transforms = types.SimpleNamespace(ToTensor=lambda: lambda image: torch.from_numpy(image[None] / np.float32(255)))
    sys.modules["torchvision"] = torchvision


def main():
    program, data = sys.argv[1:]
    with open(program, encoding="utf-8") as file:
        text = file.read()
    prepare_keras(data) if "import keras" in text else prepare_torch(data)
    runpy.run_path(program, run_name="__main__")


main()
