#!/usr/bin/python3
"""What PyTorch makes of the networks that liana is measured on: images per second, for bench.sh.

The networks of the examples are written here after Keras's (keras.applications.mobilenet_v2; the two-convolution
network of Keras's MNIST example), the larger ones are torchvision's, so that both programs train the same layers: Adam,
mean cross-entropy, dropout, batch normalisation.

    pytorch_peer.py flowers --input 'PATH/*.tfrec'    MobileNetV2 alpha 0.35 on JPEGs in TFRecords, batch 64
    pytorch_peer.py mnist --input FOLDER              on MNIST's four files, batch 128
    pytorch_peer.py mlp                               784-512-10, batch 1024
    pytorch_peer.py MobileNetV2                       or ResNet50, EfficientNetB0, DenseNet121: 192 x 192, batch 32
    ... --input synthetic                             a step on one batch that is always there (the default)
    ... --infer                                       the network's answers instead of an update
    ... --precision bf16                              under torch.autocast

Input comes as PyTorch users write it: a DataLoader with worker processes that decode with PIL; --cache keeps decoded
images in memory (as liana does from the second epoch on). A step's time runs from asking for the batch to the end of
the update. At least --steps are measured, and more until --seconds have passed. The report is one JSON object, on standard output and in --out.
"""
import argparse
import glob
import gzip
import io
import json
import os
import resource
import statistics
import struct
import sys
import time

try:
    import numpy
    import torch
    import torch.nn.functional as F
    from torch import nn
except ImportError as missing:
    print(f"pytorch_peer.py: {missing}; scripts/install-packages.sh --bench installs what it needs", file=sys.stderr)
    sys.exit(77)
# torchvision and PIL are imported where they are used: what does not need them does not wait for them.


# ---- networks ----

def rounded(filters):
    """Keras's _make_divisible(filters, 8)."""
    whole = max(8, int(filters + 4) // 8 * 8)
    return whole + 8 if whole < 0.9 * filters else whole


def norm(channels):
    """Keras's defaults; the momentum is the one that examples/flowers.yaml asks for."""
    return nn.BatchNorm2d(channels, eps=1e-3, momentum=0.1)


class Clamp6(nn.Module):
    """ReLU6 where PyTorch 1.13 has no backward pass of it: in bf16 ("hardshrink_backward_cpu not implemented")."""

    def forward(self, x):
        return torch.clamp(x, 0, 6)


def replace_relu6(model):
    for name, child in model.named_children():
        if isinstance(child, nn.ReLU6):
            setattr(model, name, Clamp6())
        else:
            replace_relu6(child)


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


def mlp(classes):
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(inplace=True), nn.Linear(512, classes))


TORCHVISION = {"MobileNetV2": "mobilenet_v2", "ResNet50": "resnet50", "EfficientNetB0": "efficientnet_b0",
               "DenseNet121": "densenet121"}


def from_torchvision(name, classes):
    try:
        import torchvision
    except ImportError as missing:
        print(f"pytorch_peer.py: {missing}; scripts/install-packages.sh --bench installs it", file=sys.stderr)
        sys.exit(77)
    return getattr(torchvision.models, TORCHVISION[name])(num_classes=classes)


def initialize(model):
    """Keras's initial weights: glorot_uniform kernels and zero biases."""
    for layer in model.modules():
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


# ---- input ----

LAYOUTS = {"channels_last": torch.channels_last, "contiguous": torch.contiguous_format}



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
        from PIL import Image
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


def synthetic_batches(batch_size, shape, classes, layout):
    """One batch that already lies as the network wants it: turning u8 around takes longer than MobileNetV2 does."""
    images = torch.randint(0, 256, (batch_size, *shape), dtype=torch.uint8).to(memory_format=LAYOUTS[layout])
    labels = torch.randint(0, classes, (batch_size,))
    while True:
        yield images, labels


# ---- what is measured ----

class Workload:
    """A network with its batches; `scale` and `offset` make numbers of pixels, as liana's input does."""

    def __init__(self, options):
        if options.model == "flowers":
            self.flowers(options)
        elif options.model in ("mnist", "mlp"):
            self.digits(options)
        else:
            self.rate, self.scale, self.offset = 1e-3, 1 / 127.5, -1
            self.model = from_torchvision(options.model, options.classes)
            self.batch_size = options.batch or 32
            shape = (3, options.image_size, options.image_size)
            self.batches = synthetic_batches(self.batch_size, shape, options.classes, options.layout)
        if options.precision == "bf16" and not options.infer:
            replace_relu6(self.model)

    def flowers(self, options):
        self.batch_size, self.rate, self.scale, self.offset = options.batch or 64, 3e-4, 1 / 127.5, -1
        self.model = mobilenet_v2(0.35, 5, 0.05, options.padding)
        initialize(self.model)
        count = sum(weights.numel() for weights in self.model[:-1].parameters())
        count += sum(moving.numel() for moving in self.model.buffers() if moving.dim() > 0)
        if count != 410208:
            sys.exit(f"pytorch_peer.py: the backbone has {count} weights, Keras's has 410208")
        if options.input == "synthetic":
            self.batches = synthetic_batches(self.batch_size, (3, 192, 192), 5, options.layout)
        else:
            workers = 0 if options.cache else options.workers
            self.batches = batches_of(Flowers(options.input, options.cache), self.batch_size, workers)

    def digits(self, options):
        self.rate, self.scale, self.offset = 1e-3, 1 / 255, 0
        self.batch_size = options.batch or (128 if options.model == "mnist" else 1024)
        self.model = two_convolutions(10) if options.model == "mnist" else mlp(10)
        initialize(self.model)
        if options.input == "synthetic":
            self.batches = synthetic_batches(self.batch_size, (1, 28, 28), 10, options.layout)
        else:
            images = read_idx(os.path.join(options.input, "train-images-idx3-ubyte.gz")).unsqueeze(1)
            labels = read_idx(os.path.join(options.input, "train-labels-idx1-ubyte.gz")).long()
            self.batches = tensor_batches(images, labels, self.batch_size)


def training_step(model, optimizer, autocast):
    def step(images, labels):
        optimizer.zero_grad(set_to_none=True)
        with autocast():
            loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss.item()
    return step


def inference_step(model, autocast):
    """no_grad, not inference_mode: under that autocast converts the weights anew in each step, which takes longer."""
    def step(images, _):
        with torch.no_grad(), autocast():
            return model(images).softmax(1).float().max().item()
    return step


def frozen(model, autocast, precision, images):
    """The network as torch.jit makes it for serving: traced, its weights and batch normalisation folded in."""
    with torch.no_grad(), autocast():
        traced = torch.jit.trace(model, images)
        return torch.jit.freeze(traced) if precision == "bf16" else torch.jit.optimize_for_inference(traced)


def measure(options):
    """The batch size, seconds of each step after the warm-up, and the last loss."""
    layout = LAYOUTS[options.layout]
    workload = Workload(options)
    model = workload.model.to(memory_format=layout).train(not options.infer)

    def autocast():
        return torch.autocast("cpu", torch.bfloat16, enabled=options.precision == "bf16",
                              cache_enabled=not options.frozen)

    if options.frozen:
        images = next(workload.batches)[0].to(torch.float32, memory_format=layout)
        model = frozen(model, autocast, options.precision, images)
    if options.infer:
        run = inference_step(model, autocast)
    else:
        run = training_step(model, torch.optim.Adam(model.parameters(), lr=workload.rate, eps=1e-7), autocast)
    seconds = []
    begin = time.perf_counter()
    for step, (images, labels) in enumerate(workload.batches):
        images = images.to(torch.float32, memory_format=layout).mul_(workload.scale).add_(workload.offset)
        loss = run(images, labels)
        end = time.perf_counter()
        if step >= options.warmup:
            seconds.append(end - begin)
        begin = end
        if len(seconds) >= options.steps and sum(seconds) >= options.seconds:
            return workload.batch_size, seconds, loss


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", choices=("flowers", "mnist", "mlp", *TORCHVISION))
    parser.add_argument("--input", default="synthetic", help="'synthetic', a pattern of TFRecords, MNIST's folder")
    parser.add_argument("--cache", action="store_true", help="decode JPEGs once, before the first step")
    parser.add_argument("--infer", action="store_true", help="inference instead of training")
    parser.add_argument("--frozen", action="store_true", help="with --infer: through torch.jit")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--layout", choices=tuple(LAYOUTS), default="channels_last")
    parser.add_argument("--padding", choices=("keras", "symmetric"), default="keras", help="of flowers' convolutions")
    parser.add_argument("--batch", type=int, help="images of a batch (default: the network's own)")
    parser.add_argument("--image-size", type=int, default=192, help="of torchvision's networks")
    parser.add_argument("--classes", type=int, default=104, help="of torchvision's networks")
    parser.add_argument("--steps", type=int, default=3, help="steps that are measured at least")
    parser.add_argument("--warmup", type=int, default=2, help="steps before them")
    parser.add_argument("--seconds", type=float, default=2, help="how long is measured at least")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--workers", type=int, default=2, help="processes that decode")
    options = parser.parse_args()
    if options.frozen and not options.infer:
        parser.error("--frozen is for --infer")
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    batch_size, seconds, loss = measure(options)
    print(json.dumps({
        "program": f"PyTorch {torch.__version__}",
        **{name: value for name, value in vars(options).items() if name not in ("input", "steps", "seconds", "batch")},
        "input": "synthetic" if options.input == "synthetic" else "files",
        "steps": len(seconds),
        "batch_size": batch_size,
        "loss": loss,
        "peak_memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        # With batches made ahead by other processes single steps say little: there the mean is what counts.
        "images_per_second_median": batch_size / statistics.median(seconds),
        "images_per_second": batch_size * len(seconds) / sum(seconds),
    }))


if __name__ == "__main__":
    main()
