#!/usr/bin/python3
"""What PyTorch makes of liana's two examples: images per second of training, for bench.sh.

The networks are written here after Keras's (keras.applications.mobilenet_v2; the two-convolution network of Keras's
MNIST example), so that both programs train the same layers from the same initial distributions: fp32, Adam, mean
cross-entropy, dropout, batch normalisation over each batch.

    pytorch_peer.py flowers --input 'PATH/*.tfrec'    MobileNetV2 alpha 0.35 on JPEGs in TFRecords, batch 64
    pytorch_peer.py mnist --input FOLDER              on MNIST's four files, batch 128
    ... --input synthetic                             the same step on one batch that is always there

Input comes as PyTorch users write it: a DataLoader with worker processes that decode with PIL; --cache keeps decoded
images in memory (as liana does from the second epoch on). A step's time runs from asking for the batch to the end of
the update. The report is one JSON object, on standard output and in --out.
"""
import argparse
import glob
import gzip
import io
import json
import os
import statistics
import struct
import sys
import time

try:
    import numpy
    import torch
    import torch.nn.functional as F
    from PIL import Image
    from torch import nn
except ImportError as missing:
    print(f"pytorch_peer.py: {missing}; scripts/install-packages.sh --bench installs what it needs", file=sys.stderr)
    sys.exit(77)


# ---- networks ----

def rounded(filters):
    """Keras's _make_divisible(filters, 8)."""
    whole = max(8, int(filters + 4) // 8 * 8)
    return whole + 8 if whole < 0.9 * filters else whole


def norm(channels):
    """Keras's defaults; the momentum is the one that examples/flowers.yaml asks for."""
    return nn.BatchNorm2d(channels, eps=1e-3, momentum=0.1)


class SamePadding(nn.Module):
    """The zeros that TensorFlow puts around an image of even size for a 3 x 3 window with stride 2."""

    def forward(self, x):
        return F.pad(x, (0, 1, 0, 1))


def strided(channels_in, channels_out, stride, padding, groups=1):
    """A 3 x 3 convolution: 'keras' pads as TensorFlow does, 'symmetric' as torchvision does (one copy less)."""
    if stride == 2 and padding == "keras":
        return [SamePadding(), nn.Conv2d(channels_in, channels_out, 3, 2, 0, groups=groups, bias=False)]
    return [nn.Conv2d(channels_in, channels_out, 3, stride, 1, groups=groups, bias=False)]


class InvertedResidual(nn.Module):
    def __init__(self, channels_in, channels_out, stride, expansion, padding):
        super().__init__()
        wide = channels_in * expansion
        layers = []
        if expansion != 1:
            layers += [nn.Conv2d(channels_in, wide, 1, bias=False), norm(wide), nn.ReLU6(inplace=True)]
        layers += strided(wide, wide, stride, padding, groups=wide) + [norm(wide), nn.ReLU6(inplace=True)]
        layers += [nn.Conv2d(wide, channels_out, 1, bias=False), norm(channels_out)]
        self.layers = nn.Sequential(*layers)
        self.residual = stride == 1 and channels_in == channels_out

    def forward(self, x):
        return x + self.layers(x) if self.residual else self.layers(x)


def mobilenet_v2(alpha, classes, dropout, padding):
    """keras.applications.MobileNetV2 without its top, with liana's head: dropout, global average pooling, dense."""
    channels = rounded(32 * alpha)
    layers = strided(3, channels, 2, padding) + [norm(channels), nn.ReLU6(inplace=True)]
    for expansion, filters, repeats, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                                                (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(repeats):
            channels_out = rounded(int(filters * alpha))
            layers.append(InvertedResidual(channels, channels_out, stride if i == 0 else 1, expansion, padding))
            channels = channels_out
    layers += [nn.Conv2d(channels, 1280, 1, bias=False), norm(1280), nn.ReLU6(inplace=True)]
    return nn.Sequential(*layers, nn.Dropout(dropout), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, classes))


def two_convolutions(classes):
    return nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(inplace=True), nn.MaxPool2d(2),
                         nn.Conv2d(32, 64, 3), nn.ReLU(inplace=True), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Dropout(0.5), nn.Linear(1600, classes))


def initialize(model):
    """Keras's initial weights: glorot_uniform kernels and zero biases."""
    for layer in model.modules():
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


# ---- input ----

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def protobuf_fields(data):
    """(field number, bytes or int) of each field of a message that has only varints and lengths."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value = data[at:at + size]
            at += size
        else:
            raise ValueError(f"wire type {key & 7} in a tf.Example")
        yield key >> 3, value


def read_example(data):
    """Feature name -> list of bytes or ints, of a tf.Example."""
    features = {}
    for _, message in protobuf_fields(data):
        for _, entry in protobuf_fields(message):
            parts = dict(protobuf_fields(entry))
            kind, values = next(protobuf_fields(parts[2]))
            values = [value for _, value in protobuf_fields(values)]
            if kind == 3:
                values = [varint(value, 0)[0] if isinstance(value, bytes) else value for value in values]
            features[parts[1].decode()] = values
    return features


def read_tfrecords(pattern):
    """(JPEG bytes, label) of every record; checksums are not looked at, which is in PyTorch's favour."""
    records = []
    for path in sorted(glob.glob(pattern)):
        with open(path, "rb") as file:
            data = file.read()
        at = 0
        while at < len(data):
            size, = struct.unpack_from("<Q", data, at)
            example = read_example(data[at + 12:at + 12 + size])
            records.append((example["image"][0], example["class"][0]))
            at += 16 + size
    if not records:
        sys.exit(f"pytorch_peer.py: no records in '{pattern}'")
    return records


class Flowers(torch.utils.data.Dataset):
    """Images as u8 [channels, height, width]; pixels become numbers batch by batch, which is faster."""

    def __init__(self, pattern, cache):
        self.records = read_tfrecords(pattern)
        if cache:
            self.records = [(self.decode(jpeg), label) for jpeg, label in self.records]
        self.cache = cache

    @staticmethod
    def decode(jpeg):
        image = Image.open(io.BytesIO(jpeg)).convert("RGB")
        return torch.from_numpy(numpy.array(image)).permute(2, 0, 1)

    def __len__(self):
        return len(self.records)

    def __getitem__(self, index):
        image, label = self.records[index]
        return image if self.cache else self.decode(image), label


def read_idx(path):
    with gzip.open(path, "rb") as file:
        data = file.read()
    rank = data[3]
    shape = struct.unpack_from(f">{rank}I", data, 4)
    return torch.from_numpy(numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * rank).reshape(shape).copy())


def batches_of(dataset, batch_size, workers):
    """Full batches without end, shuffled for each epoch."""
    loader = torch.utils.data.DataLoader(dataset, batch_size, shuffle=True, drop_last=True, num_workers=workers,
                                         persistent_workers=workers > 0)
    while True:
        yield from loader


def tensor_batches(images, labels, batch_size):
    """The same for what lies in memory as one tensor: slices of a shuffled order, faster than a DataLoader."""
    while True:
        order = torch.randperm(len(images))
        for begin in range(0, len(images) - batch_size + 1, batch_size):
            chosen = order[begin:begin + batch_size]
            yield images[chosen], labels[chosen]


def synthetic_batches(batch_size, shape, classes):
    images = torch.randint(0, 256, (batch_size, *shape), dtype=torch.uint8)
    labels = torch.randint(0, classes, (batch_size,))
    while True:
        yield images, labels


# ---- the two examples ----

class Example:
    """A network with its batches; `scale` and `offset` make numbers of pixels, as liana's input does."""

    def __init__(self, options):
        synthetic = options.input == "synthetic"
        if options.model == "flowers":
            self.batch_size, self.rate, self.scale, self.offset = 64, 3e-4, 1 / 127.5, -1
            self.model = mobilenet_v2(0.35, 5, 0.05, options.padding)
            count = sum(weights.numel() for weights in self.model[:-1].parameters())
            count += sum(moving.numel() for moving in self.model.buffers() if moving.dim() > 0)
            if count != 410208:
                sys.exit(f"pytorch_peer.py: the backbone has {count} weights, Keras's has 410208")
            if synthetic:
                self.batches = synthetic_batches(64, (3, 192, 192), 5)
            else:
                workers = 0 if options.cache else options.workers
                self.batches = batches_of(Flowers(options.input, options.cache), 64, workers)
        else:
            self.batch_size, self.rate, self.scale, self.offset = 128, 1e-3, 1 / 255, 0
            self.model = two_convolutions(10)
            if synthetic:
                self.batches = synthetic_batches(128, (1, 28, 28), 10)
            else:
                images = read_idx(os.path.join(options.input, "train-images-idx3-ubyte.gz")).unsqueeze(1)
                labels = read_idx(os.path.join(options.input, "train-labels-idx1-ubyte.gz")).long()
                self.batches = tensor_batches(images, labels, 128)
        initialize(self.model)


def measure(options):
    """Seconds of each step after the warm-up, and the last loss."""
    layout = {"channels_last": torch.channels_last, "contiguous": torch.contiguous_format}[options.layout]
    example = Example(options)
    model = example.model.to(memory_format=layout).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=example.rate, eps=1e-7)
    seconds = []
    begin = time.perf_counter()
    for step, (images, labels) in enumerate(example.batches):
        images = images.to(torch.float32, memory_format=layout).mul_(example.scale).add_(example.offset)
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        last_loss = loss.item()
        end = time.perf_counter()
        if step >= options.warmup:
            seconds.append(end - begin)
        begin = end
        if len(seconds) == options.steps:
            return example.batch_size, seconds, last_loss


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", choices=("flowers", "mnist"))
    parser.add_argument("--input", default="synthetic", help="'synthetic', a pattern of TFRecords, MNIST's folder")
    parser.add_argument("--cache", action="store_true", help="decode JPEGs once, before the first step")
    parser.add_argument("--layout", choices=("channels_last", "contiguous"), default="channels_last")
    parser.add_argument("--padding", choices=("keras", "symmetric"), default="keras")
    parser.add_argument("--steps", type=int, default=25, help="steps that are measured")
    parser.add_argument("--warmup", type=int, default=3, help="steps before them")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--workers", type=int, default=2, help="processes that decode")
    parser.add_argument("--out", help="a file for the report")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    batch_size, seconds, loss = measure(options)
    report = {
        "program": f"PyTorch {torch.__version__}",
        **{name: value for name, value in vars(options).items() if name not in ("out", "input")},
        "input": "synthetic" if options.input == "synthetic" else "files",
        "batch_size": batch_size,
        "loss": loss,
        # With batches made ahead by other processes single steps say little: there the mean is what counts.
        "images_per_second_median": batch_size / statistics.median(seconds),
        "images_per_second": batch_size * len(seconds) / sum(seconds),
    }
    text = json.dumps(report)
    print(text)
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            file.write(text + "\n")


if __name__ == "__main__":
    main()
