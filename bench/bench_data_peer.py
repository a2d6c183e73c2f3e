#!/usr/bin/python3
"""What PyTorch's DataLoader makes of the same JPEGs, for bench_data.sh: images/s with worker processes.

    bench_data_peer.py 'PATTERN' [--augment] [--workers 2] [--epochs 3]

Records are found once (offsets of the images in the TFRecords, with Python), and each worker decodes with PIL and makes
tensors, in random order, in batches of 64, as PyTorch's users write it: torchvision's ToTensor, and with --augment its
RandomPerspective(0.5), flip and ColorJitter(0.2, 0.2, 0.2). The first epoch, in which workers start, does not count;
the workers are persistent. The report is one JSON object.
"""
import argparse
import glob
import io
import json
import statistics
import struct
import sys
import time

try:
    import torch
    from PIL import Image
    from torchvision import transforms
except ImportError as missing:
    print(f"bench_data_peer.py: {missing}; scripts/install-packages.sh --bench installs what it needs", file=sys.stderr)
    sys.exit(77)


def find_images(pattern):
    """Where each JPEG lies: (file, offset, size). A record's image is its longest run between FF D8 FF and its end."""
    places = []
    for path in sorted(glob.glob(pattern)):
        with open(path, "rb") as file:
            data = file.read()
        at = 0
        while at < len(data):
            (length,) = struct.unpack_from("<Q", data, at)
            start = data.find(b"\xff\xd8\xff", at + 12, at + 12 + length)
            end = data.rfind(b"\xff\xd9", start, at + 12 + length) + 2
            places.append((path, start, end - start))
            at += 12 + length + 4
    return places


class Images(torch.utils.data.Dataset):
    def __init__(self, places, transform):
        self.places = places
        self.transform = transform
        self.files = {}

    def __len__(self):
        return len(self.places)

    def __getitem__(self, index):
        path, start, size = self.places[index]
        if path not in self.files:
            self.files[path] = open(path, "rb")
        file = self.files[path]
        file.seek(start)
        return self.transform(Image.open(io.BytesIO(file.read(size))).convert("RGB"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pattern")
    parser.add_argument("--augment", action="store_true")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    stages = [transforms.ToTensor()]
    if options.augment:
        stages = [transforms.RandomPerspective(0.5, p=1), transforms.RandomHorizontalFlip(),
                  transforms.ColorJitter(0.2, 0.2, 0.2)] + stages
    loader = torch.utils.data.DataLoader(Images(find_images(options.pattern), transforms.Compose(stages)), batch_size=64,
                                         shuffle=True, num_workers=options.workers, persistent_workers=True)
    rates = []
    for _ in range(options.epochs + 1):
        begin, count = time.perf_counter(), 0
        for batch in loader:
            count += batch.shape[0]
        rates.append(count / (time.perf_counter() - begin))
    name = "PyTorch DataLoader" + (", augmented" if options.augment else "")
    print(json.dumps({"name": name, "threads": options.workers, "rate": round(statistics.median(rates[1:]), 1),
                      "unit": "images/s"}))


main()
