#!/usr/bin/env python3
"""Writes image_kinds.h: small BMP, GIF, WebP and TIFF images of Pillow, and the pixels that Pillow reads from them (RGB,
after ImageOps.exif_transpose). `python3 tests/samples/image_kinds.py > tests/samples/image_kinds.h`, with Pillow."""
import io
import random

from PIL import Image, ImageOps, features


def picture(mode, seed, width=7, height=5):
    draw = random.Random(seed)
    count = width * height * len(Image.new(mode, (1, 1)).getbands())
    return Image.frombytes(mode, (width, height), bytes(draw.randrange(256) for _ in range(count)))


def palette(seed, colours):
    draw = random.Random(seed)
    image = Image.new("P", (7, 5))
    image.putpalette([draw.randrange(256) for _ in range(3 * colours)])
    image.putdata([draw.randrange(colours) for _ in range(35)])
    return image


def save(image, **options):
    out = io.BytesIO()
    image.save(out, **options)
    return out.getvalue()


def oriented(image, kind, orientation, **options):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return save(image, format=kind, exif=exif, **options)


samples = [
    ("BMP of 24 bits", save(picture("RGB", 1), format="BMP")),
    ("BMP of 8 bits", save(palette(2, 200), format="BMP")),
    ("BMP of 1 bit", save(picture("L", 3).convert("1"), format="BMP")),
    ("BMP of greys", save(picture("L", 4), format="BMP")),
    ("BMP of 32 bits", save(picture("RGBA", 5), format="BMP")),
    ("GIF", save(palette(6, 64), format="GIF")),
    ("GIF, interlaced", save(palette(7, 16), format="GIF", interlace=1)),
    ("GIF of greys", save(picture("L", 8), format="GIF")),
    ("animated GIF", save(palette(9, 32), format="GIF", save_all=True, append_images=[palette(10, 32)])),
    ("WebP without loss", save(picture("RGB", 11), format="WEBP", lossless=True)),
    ("WebP with loss", save(picture("RGB", 12), format="WEBP", quality=80)),
    ("WebP turned", oriented(picture("RGB", 13), "WEBP", 6, lossless=True)),
    ("TIFF", save(picture("RGB", 14), format="TIFF")),
    ("TIFF with LZW", save(picture("RGB", 15), format="TIFF", compression="tiff_lzw")),
    ("TIFF with deflate", save(picture("RGB", 16), format="TIFF", compression="tiff_adobe_deflate")),
    ("TIFF of greys", save(picture("L", 17), format="TIFF")),
    ("TIFF turned", save(picture("RGB", 18), format="TIFF", tiffinfo={0x0112: 8})),
    ("TIFF with a palette", save(palette(19, 100), format="TIFF")),
    ("PNG turned", oriented(picture("RGB", 20), "PNG", 5)),
    ("grey PNG turned", oriented(picture("L", 21), "PNG", 7)),
]

print("/* Written by image_kinds.py with Pillow %s: images in hexadecimal, and their pixels. */" % Image.__version__)
print("/* clang-format off */")
print("static const struct {")
print("    const char *name;")
print("    int height, width;")
print("    const char *file, *pixels; /* RGB */")
print("} IMAGE_KINDS[] = {")
for name, data in samples:
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")
    print('    {"%s", %d, %d,' % (name, image.height, image.width))
    for text, end in ((data.hex(), ","), (image.tobytes().hex(), "},")):
        lines = [text[i:i + 100] for i in range(0, len(text), 100)]
        for i, line in enumerate(lines):
            print('     "%s"%s' % (line, end if i + 1 == len(lines) else ""))
print("};")
