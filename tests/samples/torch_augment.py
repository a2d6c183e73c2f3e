#!/usr/bin/env python3
"""Writes torch_augment.h: what PyTorch, torchvision and Pillow make of a small image, with the random numbers drawn by
a Philox of this script's own. `python3 tests/samples/torch_augment.py > tests/samples/torch_augment.h` on Debian 12
(python3-torch 1.13, python3-torchvision 0.14, python3-pil 9.4); the header holds its output."""
import io
import math

import numpy as np
import torch
import torchvision.transforms.functional as F
from PIL import Image, ImageOps

SEED, EPOCH = 11, 3
MASK = 0xFFFFFFFF


def philox(key, counter):
    """Salmon et al. 2011, Philox4x32-10."""
    (k0, k1), (c0, c1, c2, c3) = key, counter
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & MASK, (p0 >> 32) ^ c3 ^ k1, p0 & MASK
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return [c0, c1, c2, c3]


class Draws:
    """The numbers of stage `stage` for an example."""

    def __init__(self, position, stage=0, chance=True):
        self.key = philox((SEED, 0), (4, stage, 0, 0))[:2]
        self.position, self.block, self.words = position, 0, []
        if chance:
            self.uniform()

    def word(self):
        if not self.words:
            self.words = philox(self.key, (self.position, 0, EPOCH, self.block))
            self.block += 1
        return self.words.pop(0)

    def uniform(self):
        return self.word() * 2.0**-32

    def between(self, low, high):
        return low + (high - low) * self.uniform()

    def below(self, count):
        return (self.word() * count) >> 32


def image(height, width, channels):
    y, x, c = np.meshgrid(np.arange(height), np.arange(width), np.arange(channels), indexing="ij")
    return ((17 * x + 29 * y + 53 * c + 5 * x * y + 3 * (x ^ y)) % 256).astype(np.uint8)


def tensor(pixels):
    return torch.from_numpy(pixels).permute(2, 0, 1).double()


def pixels_of(values):
    return torch.clamp(torch.floor(values + 0.5), 0, 255).permute(1, 2, 0).numpy().astype(np.uint8)


def sample(pixels, size, mapping, mode="bilinear", fill=0.0):
    """grid_sample at the points that mapping(x, y) gives for the centres of the pixels of the result."""
    height, width = pixels.shape[:2]
    y, x = torch.meshgrid(torch.arange(size[0]).double() + 0.5, torch.arange(size[1]).double() + 0.5, indexing="ij")
    sx, sy = mapping(x, y)
    grid = torch.stack([2 * sx / width - 1, 2 * sy / height - 1], -1)[None]
    source = tensor(pixels) - fill
    return pixels_of(
        torch.nn.functional.grid_sample(source[None], grid, mode=mode, padding_mode="zeros", align_corners=False)[0] + fill
    )


CASES = []


def case(yaml, pixels, position, expected, tolerance=0):
    CASES.append((yaml, pixels.shape, position, expected, tolerance))


def flips():
    for position, direction in enumerate(["horizontal", "vertical", "horizontal_and_vertical"] * 2):
        pixels = image(5, 6, 3)
        draws, out = Draws(position, chance=False), tensor(pixels)
        first, second = draws.uniform() < 0.5, draws.uniform() < 0.5
        if direction == "horizontal" and first or direction == "horizontal_and_vertical" and first:
            out = F.hflip(out)
        if direction == "vertical" and first or direction == "horizontal_and_vertical" and second:
            out = F.vflip(out)
        case("[{random_flip: {direction: %s}}]" % direction, pixels, position, pixels_of(out))
    for position in range(4):
        pixels = image(5, 5, 1)
        quarters = Draws(position).below(4)
        case("[random_rotate90]", pixels, position, pixels_of(torch.rot90(tensor(pixels), quarters, (1, 2))))


def homography(points, images):
    """The perspective that takes four points to four others, from its eight linear equations."""
    rows, right = [], []
    for (x, y), (u, v) in zip(points, images):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        right += [u, v]
    a, b, c, d, e, f, g, h = np.linalg.solve(np.array(rows), np.array(right))
    return lambda x, y: ((a * x + b * y + c) / (g * x + h * y + 1), (d * x + e * y + f) / (g * x + h * y + 1))


def perspectives():
    for position in range(6):
        channels = 3 if position % 2 else 1
        pixels, fill = image(9, 7, channels), 40 * position
        draws = Draws(position)
        height, width = 9.0, 7.0
        corners = [(0, 0), (1, 0), (1, 1), (0, 1)]
        moved = []
        for cx, cy in corners:
            px = (cx + draws.between(-0.25, 0.25)) * width
            py = (cy + draws.between(-0.25, 0.25)) * height
            moved.append([px, py])
        way = draws.below(8)
        # The source, seen in a mirror first where the way says so, is turned so that its corner i lies at corner
        # i + way of the result.
        ends = []
        for i in range(4):
            turned = (i + way % 4) % 4
            if way >= 4:
                turned = [1, 0, 3, 2][turned]
            ends.append(moved[turned])
        starts = [[0, 0], [width, 0], [width, height], [0, height]]
        mode = "bilinear" if position < 4 else "nearest"
        out = sample(pixels, (9, 7), homography(ends, starts), mode, float(fill))
        case(
            "[{random_perspective: {fill: %d, interpolation: %s}}]" % (fill, mode), pixels, position, out,
            1 if position < 4 else 0)


def affines():
    pixels = image(8, 11, 3)
    for position in range(3):
        angle = Draws(position).between(-40, 40)
        out = F.rotate(tensor(pixels).float(), angle, F.InterpolationMode.BILINEAR)
        case("[{random_rotation: {degrees: 40}}]", pixels, position, pixels_of(out), 1)
        draws = Draws(position)
        kx, ky = draws.between(-0.3, 0.3), draws.between(-0.1, 0.1)
        case("[{random_shear: {x_factor: 0.3, y_factor: 0.1}}]", pixels, position,
             sample(pixels, (8, 11), lambda x, y: (x + kx * (y - 4), y + ky * (x - 5.5))), 1)
        draws = Draws(position)
        rows = 1 + draws.between(-0.4, 0.4)
        case("[{random_zoom: {height_factor: 0.4}}]", pixels, position,
             sample(pixels, (8, 11), lambda x, y: (5.5 + rows * (x - 5.5), 4 + rows * (y - 4))), 1)
        draws = Draws(position)
        rows, columns = 1 + draws.between(-0.4, 0.4), 1 + draws.between(-0.2, 0.2)
        case("[{random_zoom: {height_factor: 0.4, width_factor: 0.2, interpolation: nearest, fill: 7}}]", pixels,
             position, sample(pixels, (8, 11), lambda x, y: (5.5 + columns * (x - 5.5), 4 + rows * (y - 4)), "nearest",
                              7.0))
        draws = Draws(position)
        down, right = draws.between(-0.5, 0.5) * 8, draws.between(-0.25, 0.25) * 11
        case("[{random_translation: {height_factor: 0.5, width_factor: 0.25, fill: 255}}]", pixels, position,
             sample(pixels, (8, 11), lambda x, y: (x - right, y - down), fill=255.0), 1)


def crops():
    pixels = image(9, 8, 3)
    for position in range(3):
        draws = Draws(position, chance=False)
        down, right = draws.below(9 + 4 - 9 + 1), draws.below(8 + 4 - 8 + 1)
        padded = F.pad(tensor(pixels), [2, 2, 2, 2], fill=33)
        case("[{random_crop: {padding: 2, fill: 33}}]", pixels, position,
             pixels_of(F.crop(padded, down, right, 9, 8)))
        draws = Draws(position, stage=1, chance=False)
        down, right = draws.below(9 - 5 + 1), draws.below(8 - 6 + 1)
        case("[{resize: {size: [9, 8]}}, {random_crop: {size: [5, 6]}}]", pixels, position,
             pixels_of(F.crop(tensor(pixels), down, right, 5, 6)))
        draws = Draws(position, chance=False)
        for attempt in range(10):
            area = 72 * draws.between(0.3, 1.0)
            ratio = math.exp(draws.between(math.log(0.75), math.log(1.3333333333333333)))
            w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
            if 0 < w <= 8 and 0 < h <= 9:
                break
        else:
            raise SystemExit("choose another position")
        top, left = draws.below(9 - h + 1), draws.below(8 - w + 1)
        case("[{random_resized_crop: {min_scale: 0.3, interpolation: nearest}}]", pixels, position,
             pixels_of(torch.nn.functional.interpolate(F.crop(tensor(pixels), top, left, h, w)[None], (9, 8),
                                                       mode="nearest-exact")[0]))
    out = torch.nn.functional.interpolate(tensor(pixels)[None], (5, 12), mode="bilinear", align_corners=False)[0]
    case("[{resize: {size: [9, 8]}}, {resize: {size: [5, 12]}}]", pixels, 0, pixels_of(out), 1)


def brightness():
    for position in range(3):
        pixels = image(6, 5, 1 + 2 * (position % 2))
        change = 255 * Draws(position).between(-0.4, 0.4)
        case("[{random_brightness: {factor: 0.4}}]", pixels, position, pixels_of(tensor(pixels) + change), 1)


def unit(pixels):
    return tensor(pixels) / 255


def pil(pixels, change):
    """What a change of Pillow's gives."""
    picture = Image.fromarray(pixels if pixels.shape[2] == 3 else pixels[:, :, 0])
    return np.asarray(change(picture)).reshape(pixels.shape)


def colours():
    for position in range(4):
        channels = 1 if position == 3 else 3
        pixels = image(6, 5, channels)
        values = tensor(pixels)
        factor = Draws(position).between(0.5, 1.5)
        mean = values.mean((1, 2), keepdim=True)
        case("[{random_contrast: {factor: 0.5}}]", pixels, position, pixels_of((values - mean) * factor + mean), 1)
        out = values if channels == 1 else 255 * F.adjust_saturation(unit(pixels), factor)
        case("[{random_saturation: {factor: 0.5}}]", pixels, position, pixels_of(out), 1)
        turn = Draws(position).between(-0.5, 0.5)
        out = values if channels == 1 else 255 * F.adjust_hue(unit(pixels), turn)
        case("[{random_hue: {factor: 0.5}}]", pixels, position, pixels_of(out), 1)
        out = values if channels == 1 else 255 * F.rgb_to_grayscale(unit(pixels), 3)
        case("[{random_grayscale: {probability: 1}}]", pixels, position, pixels_of(out), 1)


def levels():
    for channels in (1, 3):
        pixels = image(3, 4, channels)
        case("[{random_invert: {probability: 1}}]", pixels, 0, pil(pixels, ImageOps.invert))
        case("[{random_posterize: {bits: 3, probability: 1}}]", pixels, 0, pil(pixels, lambda x: ImageOps.posterize(x, 3)))
        case("[{random_solarize: {threshold: 60, probability: 1}}]", pixels, 0,
             pil(pixels, lambda x: ImageOps.solarize(x, 60)))
        case("[{random_autocontrast: {probability: 1}}]", pixels, 0, pil(pixels, ImageOps.autocontrast), 1)
    # More than 255 pixels, so that equalize has something to do.
    pixels = image(20, 25, 1)
    case("[{random_equalize: {probability: 1}}]", pixels, 0, pil(pixels, ImageOps.equalize))
    pixels = image(14, 15, 3)
    case("[{random_equalize: {probability: 1}}]", pixels, 0, pil(pixels, ImageOps.equalize))


def filters():
    for position in range(3):
        pixels = image(7, 9, 1 + 2 * (position % 2))
        factor = Draws(position).between(0.2, 1.8)
        case("[{random_sharpness: {factor: 0.8}}]", pixels, position,
             pixels_of(255 * F.adjust_sharpness(unit(pixels), factor)), 1)
        sigma = Draws(position).between(0.1, 3.0)
        case("[{gaussian_blur: {kernel_size: 5, max_sigma: 3, probability: 1}}]", pixels, position,
             pixels_of(F.gaussian_blur(tensor(pixels), [5, 5], [sigma, sigma])), 1)
        draws = Draws(position)
        stddev = 255 * 0.2 * draws.uniform()
        size = pixels.size
        bits = []
        for block in range(draws.block, draws.block + (size + 7) // 8):
            for word in philox(draws.key, (position, 0, EPOCH, block)):
                bits += [word & 0xFFFF, word >> 16]
        share = (torch.tensor(bits[:size]).double() // 8 + 0.5) / 8192
        noise = math.sqrt(2) * torch.erfinv(2 * share - 1)
        noise = noise.reshape(pixels.shape).permute(2, 0, 1)
        case("[{gaussian_noise: {stddev: 0.2, probability: 1}}]", pixels, position,
             pixels_of(tensor(pixels) + stddev * noise), 1)

    def jpeg(picture, quality):
        out = io.BytesIO()
        picture.save(out, "JPEG", quality=quality, subsampling=0 if quality >= 90 else 2)
        return Image.open(out)

    for position in range(4):
        pixels = image(10, 11, 1 + 2 * (position % 2))
        quality = 40 + Draws(position).below(61)
        case("[{random_jpeg_quality: {min_quality: 40, max_quality: 100, probability: 1}}]", pixels, position,
             pil(pixels, lambda x: jpeg(x, quality)))


def erasing():
    for position in range(3):
        pixels = image(9, 12, 1 + 2 * (position % 2))
        draws, out = Draws(position), pixels.copy()
        for _ in range(2):
            y, x = draws.below(9) - 4 // 2, draws.below(12) - 3 // 2
            out[max(y, 0):max(y + 4, 0), max(x, 0):max(x + 3, 0)] = 77
        case("[{cutout: {num_holes: 2, height_factor: 0.4, width_factor: 0.25, fill: 77, probability: 1}}]", pixels,
             position, out)
        draws, out = Draws(position), pixels.copy()
        width = max(math.floor(draws.between(0.3, 0.8) * 9 + 0.5), 2)
        side = math.floor(0.4 * width + 0.5)
        down, right = draws.below(width), draws.below(width)
        for y in range(9):
            for x in range(12):
                if (y - down) % width < side and (x - right) % width < side:
                    out[y, x] = 5
        case("[{grid_mask: {ratio: 0.4, min_unit: 0.3, max_unit: 0.8, fill: 5, probability: 1}}]", pixels, position, out)


def rand_augment():
    """The operations as torchvision's RandAugment has them, on images of floats."""
    shown = set()
    position = -1
    while len(shown) < 14:
        position += 1
        draws = Draws(position)
        which, sign = draws.below(14), -1 if draws.uniform() < 0.5 else 1
        if which in shown:
            continue
        shown.add(which)
        strength = 12 / 30
        pixels = image(9, 10, 3)
        x = unit(pixels).float()
        mode = F.InterpolationMode.BILINEAR
        affine = dict(angle=0.0, scale=1.0, interpolation=mode, translate=[0, 0], shear=[0.0, 0.0])
        level = 0.9 * strength * sign
        tilt = math.degrees(math.atan(0.3 * strength * sign))
        out = [
            lambda: x,
            lambda: F.affine(x, **{**affine, "shear": [tilt, 0.0], "center": [0, 0]}),
            lambda: F.affine(x, **{**affine, "shear": [0.0, tilt], "center": [0, 0]}),
            lambda: F.affine(x, **{**affine, "translate": [int(150 / 331 * 10 * strength * sign), 0]}),
            lambda: F.affine(x, **{**affine, "translate": [0, int(150 / 331 * 9 * strength * sign)]}),
            lambda: F.rotate(x, 30 * strength * sign, mode),
            lambda: F.adjust_brightness(x, 1 + level),
            lambda: F.adjust_saturation(x, 1 + level),
            lambda: F.adjust_contrast(x, 1 + level),
            lambda: F.adjust_sharpness(x, 1 + level),
            lambda: F.posterize(torch.from_numpy(pixels).permute(2, 0, 1), 8 - round(4 * strength)) / 255.0,
            lambda: F.solarize(x, 1 - strength),
            lambda: F.autocontrast(x),
            lambda: F.equalize(torch.from_numpy(pixels).permute(2, 0, 1)) / 255.0,
        ][which]()
        case("[{rand_augment: {num_ops: 1, magnitude: 12}}]", pixels, position, pixels_of(255 * out.double()), 1)


def write():
    print("/* Written by torch_augment.py: what PyTorch, torchvision and Pillow make of the images. */")
    print("/* clang-format off */")
    print("static const liana__augment_sample augment_samples[] = {")
    for yaml, shape, position, expected, tolerance in CASES:
        text = yaml.replace('"', '\\"')
        print('    {"%s",\n     {%d, %d, %d}, {%d, %d}, %d, %d,' %
              (text, shape[0], shape[1], shape[2], expected.shape[0], expected.shape[1], position, tolerance))
        values = [str(v) for v in expected.reshape(-1)]
        print("     {")
        for i in range(0, len(values), 100):
            print("      " + ", ".join(values[i:i + 100]) + ",")
        print("     }},")
    print("};")
    print("/* clang-format on */")


flips()
perspectives()
affines()
crops()
brightness()
colours()
levels()
filters()
erasing()
rand_augment()
write()
