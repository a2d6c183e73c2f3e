#!/usr/bin/python3
"""What PyTorch makes of the networks that liana is measured on: images per second, for bench.sh.

Runs under PyTorch 1.13 (Debian's) and PyTorch 2 (scripts/install-peers.sh). pytorch_networks.py has the networks; both
programs train the same layers: Adam, mean cross-entropy, dropout, batch normalisation.

    pytorch_peer.py flowers --input 'PATH/*.tfrec'    MobileNetV2 alpha 0.35 on JPEGs in TFRecords, batch 64
    pytorch_peer.py mnist --input FOLDER              on MNIST's four files, batch 128
    pytorch_peer.py mlp                               784-512-10, batch 1024
    pytorch_peer.py MobileNetV2                       or another name of peer_common.ZOO: 192 x 192, batch 32
    ... --input synthetic                             a step on one batch that is always there (the default)
    ... --infer                                       the network's answers instead of an update
    ... --precision bf16                              under torch.autocast
    ... --compile                                     through torch.compile, with --infer frozen (PyTorch 2)
    ... --converged                                   from a state as after many epochs (bench_step.c says how)

Input comes as PyTorch users write it: a DataLoader with worker processes that decode with PIL; --cache keeps decoded
images in memory (as liana does from the second epoch on). peer_common.py says how steps are timed.
"""
import glob
import io
import os
import struct
import sys

import peer_common

try:
    import numpy
    import torch
    import torch.nn.functional as F
except ImportError as missing:
    peer_common.missing("pytorch_peer.py", missing, "scripts/install-packages.sh --bench or scripts/install-peers.sh "
                        "install what it needs")
import pytorch_networks
# PIL is imported where it is used: code that does not need it does not wait for it.

MODERN = int(torch.__version__.split(".")[0]) >= 2


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


def synthetic_batches(batch_size, shape, classes, layout, one_for_each):
    """One batch that already lies as the network wants it: turning u8 around takes longer than MobileNetV2 does."""
    images = torch.randint(0, 256, (batch_size, *shape), dtype=torch.uint8).to(memory_format=LAYOUTS[layout])
    labels = torch.randint(0, classes, (batch_size,))
    if one_for_each:  # One image for each class: learned by heart soon, in spite of dropout.
        labels = torch.arange(batch_size) % classes
        images = images[labels].to(memory_format=LAYOUTS[layout])
    while True:
        yield images, labels


# ---- measurements ----

def batches_for(options, task):
    if options.input == "synthetic":
        height, width, channels = task.shape
        return synthetic_batches(task.batch, (channels, height, width), task.classes, options.layout, options.converged)
    if options.model == "flowers":
        workers = 0 if options.cache else options.workers
        return batches_of(Flowers(options.input, options.cache), task.batch, workers)
    images, labels = peer_common.read_mnist(numpy, options.input)
    return tensor_batches(torch.from_numpy(images).unsqueeze(1), torch.from_numpy(labels).long(), task.batch)


def adam(model, rate):
    # PyTorch 2 has an Adam that updates all weights in one go.
    fused = {"fused": True} if MODERN else {}
    return torch.optim.Adam(model.parameters(), lr=rate, eps=1e-7, **fused)


def converge(run, optimizer, images, labels):
    """Learns the batch by heart and ages Adam's slots, as bench_step --converged does. Returns how many are denormal."""
    loss, steps = 1.0, 0
    while steps < 500 or loss > 1e-4 and steps < 5000:
        loss, steps = run(images, labels), steps + 1
    count = 0
    for slots in optimizer.state.values():
        mean, square = slots["exp_avg"], slots["exp_avg_sq"]
        decays = (mean != 0) & (mean.abs() < 1e-16)
        count += 2 * int(decays.sum())
        mean.copy_(torch.where(decays, torch.full_like(mean, 1e-41).copysign(mean), mean))
        square.copy_(torch.where(decays, torch.full_like(square, 1e-41), square))
    return count


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


def compiled(model, infer):
    """The network through Inductor. Freezing folds weights and batch normalisation in, which only inference can."""
    if infer:
        from torch._inductor import config
        config.freezing = True
    return torch.compile(model)


def measure(options):
    """The batch size and what peer_common.time_steps returns."""
    layout = LAYOUTS[options.layout]
    task = peer_common.Task(options)
    padding = options.padding if options.model == "flowers" else "symmetric"
    model = pytorch_networks.build(options.model, task.classes, padding, options.layout, task.shape[0])
    pytorch_networks.initialize(model)
    if options.precision == "bf16" and not options.infer and not MODERN:
        pytorch_networks.replace_relu6(model)
    batches = batches_for(options, task)
    model = model.to(options.device, memory_format=None if options.model == "conv3d" else layout)
    model = model.train(not options.infer)

    def autocast():
        return torch.autocast(options.device, torch.bfloat16, enabled=options.precision == "bf16",
                              cache_enabled=not (options.frozen or options.compile and options.infer))

    if options.frozen:
        images = next(batches)[0].to(torch.float32, memory_format=layout)
        model = frozen(model, autocast, options.precision, images)
    if options.compile:
        model = compiled(model, options.infer)
    optimizer = None if options.infer else adam(model, task.rate)
    run = inference_step(model, autocast) if options.infer else training_step(model, optimizer, autocast)

    def step(images, labels):
        images, labels = images.to(options.device), labels.to(options.device)
        images = images.to(torch.float32, memory_format=layout).mul_(task.scale).add_(task.offset)
        return run(images, labels)

    if options.converged:
        options.denormals = converge(step, optimizer, *next(batches))
    return task.batch, peer_common.time_steps(options, batches, step)


def main():
    parser = peer_common.parser(__doc__.split("\n")[0])
    parser.add_argument("--cache", action="store_true", help="decode JPEGs once, before the first step")
    parser.add_argument("--frozen", action="store_true", help="with --infer: through torch.jit")
    parser.add_argument("--compile", action="store_true", help="through torch.compile")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--layout", choices=tuple(LAYOUTS), default="channels_last")
    parser.add_argument("--padding", choices=("keras", "symmetric"), default="keras", help="of flowers' convolutions")
    parser.add_argument("--workers", type=int, default=2, help="processes that decode")
    parser.add_argument("--converged", action="store_true", help="train on from a state as after many epochs")
    parser.add_argument("--flush-denormal", action="store_true", help="torch.set_flush_denormal(True)")
    options = parser.parse_args()
    if options.frozen and not options.infer:
        parser.error("--frozen is for --infer")
    if options.compile and not MODERN:
        parser.error(f"--compile needs PyTorch 2, this is {torch.__version__}")
    if options.converged and (options.infer or options.input != "synthetic"):
        parser.error("--converged is for training on one batch")
    if options.flush_denormal and not torch.set_flush_denormal(True):
        parser.error("this processor cannot flush denormal numbers")
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    if options.compile and os.environ.get("ATEN_CPU_CAPABILITY") == "avx2":
        from torch._inductor import config
        config.cpp.simdlen = 256
    how = "jit" if options.frozen else "compile" if options.compile else "eager"
    setting = f"{how} {options.precision} {options.layout}"
    peer_common.report("PyTorch", torch.__version__, setting, options, *measure(options))


if __name__ == "__main__":
    sys.exit(main())
