#!/usr/bin/env python3
"""Writes numpy_index.h: what numpy makes of index expressions, of tensors whose elements are their own numbers.
`python3 tests/samples/numpy_index.py > tests/samples/numpy_index.h` with numpy 2.4; the header holds its output."""
import random

import numpy as np

SHAPES = [(7,), (3, 4, 5), (2, 1, 6)]
FIXED = {
    (7,): ["", "3", "-1", ":", "::-1", "1:-1", "1:-1, None", "::2", "5:1:-2", "-3:", ":-3", "100:0:-3", "-100:100:4",
           "None, ...", "..., -7", "6::-6", " 2 : 5 ", "0:1"],
    (3, 4, 5): ["1:-1, ::2, None", "..., 0", "0", "-1, -1, -1", "None, 1, None, ..., None, 2:", "::-1, ::-1, ::-1",
                "1, ::-2", ":, 3:0:-1, -2:", "..., 1:3, :", "2:3, ..., 4:0:-2", "newaxis, ..., newaxis", "1,"],
    (2, 1, 6): [":, 0, ::-5", "::-1, None, ..., 5:2:-1", "1, 0, 3", "..., None, 4", ":, ::-1, 1:5:3"],
}


def of(x, text):
    text = text.replace("newaxis", "None").strip()
    return eval(f"x[{text}]", {"x": x, "None": None}) if text else x


def random_part(choose, size):
    def bound():
        return choose.choice(["", str(choose.randint(-size - 2, size + 2))])
    kind = choose.random()
    if kind < 0.2:
        return str(choose.randint(-size, size - 1))
    step = choose.choice(["", ":", ":1", ":-1", ":2", ":-2", ":3", ":-4"])
    return f"{bound()}:{bound()}{step}"


def random_texts(shape, count):
    choose, found = random.Random(f"{shape}"), []
    while len(found) < count:
        parts = [random_part(choose, size) for size in shape[:choose.randint(1, len(shape))]]
        if choose.random() < 0.3:
            parts.insert(choose.randint(0, len(parts)), "None")
        if choose.random() < 0.3:
            parts.insert(choose.randint(0, len(parts)), "...")
        text = ", ".join(parts)
        if of(np.zeros(shape), text).size:
            found.append(text)
    return found


def row(shape, text, result):
    dims = ", ".join(map(str, shape))
    out = ", ".join(map(str, result.shape)) or "0"
    values = ", ".join(str(int(v)) for v in result.ravel())
    print(f'    {{"{text}", {{{len(shape)}, {{{dims}}}}}, {{{result.ndim}, {{{out}}}}}, {{{values}}}}},')


print("/* Written by tests/samples/numpy_index.py: index expressions, and what numpy makes of them. */")
print("/* clang-format off */")
print("typedef struct numpy_index {\n    const char *text;\n    liana_shape shape, result;\n    int values[64];\n"
      "} numpy_index;\n")
print("static const numpy_index numpy_indices[] = {")
for shape in SHAPES:
    x = np.arange(np.prod(shape)).reshape(shape)
    for text in FIXED[shape] + random_texts(shape, 12):
        row(shape, text, of(x, text))
print("};\n")
print("/* Positions in a tensor [3, 4, 5]; the text holds what is done in numpy. */")
print("typedef struct numpy_gather {\n    const char *text;\n    liana_shape indices, result;\n"
      "    int32_t positions[16];\n    int values[64];\n} numpy_gather;\n")
print("static const numpy_gather numpy_gathers[] = {")
x = np.arange(60).reshape(3, 4, 5)
for positions in ([[2], [0]], [[1, 3], [0, 0], [2, 1]], [[[2, 3, 4], [0, 1, 2]], [[1, 1, 1], [0, 0, 4]]], [1, 2], [2]):
    at = np.array(positions)
    result = x[tuple(np.moveaxis(at, -1, 0))]
    shape = lambda a: f"{{{a.ndim}, {{{', '.join(map(str, a.shape)) or '0'}}}}}"
    flat = lambda a: "{" + ", ".join(str(int(v)) for v in a.ravel()) + "}"
    print(f'    {{"x[tuple(moveaxis({positions}, -1, 0))]", {shape(at)}, {shape(result)}, {flat(at)}, {flat(result)}}},')
print("};")
print("/* clang-format on */")
