"""Makes a picture small enough for the documents: a PNG with at most 60 KB from one that liana has drawn (8 bits, RGB), or
from a portable grey map. Colours become a palette, and a picture that is still too large is halved.

    small_png.py FROM TO.png
"""
import struct
import sys
import zlib

import numpy

LARGEST = 60_000


def read_png(data):
    """RGB, [height, width, 3], of a PNG with 8 bits and no interlacing."""
    width, height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", data[16:29])
    if (depth, colour, interlace) != (8, 2, 0):
        raise SystemExit(f"small_png.py: found depth {depth}, colour type {colour}, interlacing {interlace}; expected 8, 2, 0")
    packed, at = b"", 8
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += size + 12
    rows = numpy.frombuffer(zlib.decompress(packed), numpy.uint8).reshape(height, 1 + width * 3)
    out = numpy.zeros((height + 1, width + 1, 3), numpy.uint8)
    for y in range(height):
        unfilter(rows[y, 0], rows[y, 1:].reshape(width, 3), out[y], out[y + 1])
    return out[1:, 1:]


def unfilter(kind, row, above, here):
    """The five filters of PNG's rows. Index 0 of `above` and `here` is the pixel before the row, which is 0."""
    if kind == 0:
        here[1:] = row
    elif kind == 1:
        here[1:] = numpy.cumsum(row, axis=0, dtype=numpy.uint8)
    elif kind == 2:
        here[1:] = row + above[1:]
    elif kind in (3, 4):
        for x in range(len(row)):
            a, b, c = (side.astype(int) for side in (here[x], above[x + 1], above[x]))
            if kind == 3:
                guess = (a + b) // 2
            else:
                pa, pb, pc = abs(b - c), abs(a - c), abs(a + b - 2 * c)
                guess = numpy.where((pa <= pb) & (pa <= pc), a, numpy.where(pb <= pc, b, c))
            here[x + 1] = (row[x] + guess) & 255
    else:
        raise SystemExit(f"small_png.py: found filter {kind}, expected 0 to 4")


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    if data.startswith(b"P5"):
        _, width, height, _, pixels = data.split(maxsplit=4)
        grey = numpy.frombuffer(pixels, numpy.uint8).reshape(int(height), int(width), 1)
        return numpy.repeat(grey, 3, axis=2)
    return read_png(data)


def palette_of(image, count):
    """`count` colours at most, by median cut: the box with the widest side is cut in its middle."""
    colours, times = numpy.unique(image.reshape(-1, 3), axis=0, return_counts=True)
    boxes = [(colours, times)]
    while len(boxes) < count:
        spans = [numpy.ptp(box.astype(int), axis=0).max() * numpy.log1p(number.sum()) for box, number in boxes]
        widest = int(numpy.argmax(spans))
        if spans[widest] == 0:
            break
        box, number = boxes.pop(widest)
        order = numpy.argsort(box[:, numpy.ptp(box.astype(int), axis=0).argmax()], kind="stable")
        box, number = box[order], number[order]
        cut = min(max(int(numpy.searchsorted(numpy.cumsum(number), number.sum() / 2)), 1), len(box) - 1)
        boxes += [(box[:cut], number[:cut]), (box[cut:], number[cut:])]
    return numpy.array([numpy.average(box, axis=0, weights=number).round() for box, number in boxes])


def numbers_of(image, palette):
    """The number of the nearest colour for each pixel."""
    colours, where = numpy.unique(image.reshape(-1, 3), axis=0, return_inverse=True)
    near = numpy.empty(len(colours), numpy.uint8)
    for begin in range(0, len(colours), 4096):
        part = colours[begin:begin + 4096, None].astype(int) - palette[None]
        near[begin:begin + 4096] = (part * part).sum(axis=2).argmin(axis=1)
    return near[where.reshape(-1)].reshape(image.shape[:2])


def write_png(image, count):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    palette = palette_of(image, count)
    height, width = image.shape[:2]
    rows = numpy.zeros((height, width + 1), numpy.uint8)
    rows[:, 1:] = numbers_of(image, palette)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)) +
            chunk(b"PLTE", palette.astype(numpy.uint8).tobytes()) + chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)) + chunk(b"IEND", b""))


def halved(image):
    height, width = (side // 2 * 2 for side in image.shape[:2])
    parts = image[:height, :width].reshape(height // 2, 2, width // 2, 2, 3)
    return parts.mean(axis=(1, 3)).round().astype(numpy.uint8)


def main():
    image = read(sys.argv[1])
    while True:
        for count in (256, 128, 64):
            data = write_png(image, count)
            if len(data) <= LARGEST:
                with open(sys.argv[2], "wb") as file:
                    file.write(data)
                return
        image = halved(image)


main()
