"""Uses the Python module of liana: python_module.py FOLDER RUN LAYOUT, of an export of the run of test_python.sh. LAYOUT has
the sizes of structs and the offsets of their members, as the C compiler says."""

import gc
import json
import os
import sys
import threading

import numpy

import liana

folder, table, layout = sys.argv[1:]


def fails(kind, text, function):
    try:
        function()
    except kind as error:
        assert text in str(error), f"expected '{text}' in: {error}"
        return error
    raise AssertionError(f"nothing was raised, expected '{text}'")


# Structs are those of the headers.
structs = {"liana_shape": liana.Shape, "liana_array": liana.Array, "liana_bytes": liana.Bytes,
           "liana_pixels": liana.Pixels, "liana_preprocessing": liana.Preprocessing,
           "liana_context_options": liana.ContextOptions, "liana_predictor_options": liana.Options,
           "liana_predictor_facts": liana.Facts, "liana_predictor_port": liana.PortFacts}
seen = 0
with open(layout) as lines:
    for name, member, offset in (line.split() for line in lines):
        seen += 1
        struct = structs[name]
        found = liana.ctypes.sizeof(struct) if member == "sizeof" else getattr(struct, member).offset
        assert found == int(offset), f"{name}.{member}: {found} here, {offset} in C"
assert seen == sum(1 + len(struct._fields_) for struct in structs.values()), seen

# The examples of the export, as arrays, files, bytes and pixels.
pixels = numpy.load(f"{folder}/examples/input.npy")
expected = numpy.load(f"{folder}/examples/output.npy")
images = [f"{folder}/examples/{name}" for name in json.load(open(f"{folder}/examples/examples.json"))["images"]]
with liana.load(folder, batch_size=1) as model:
    assert (model.predict(pixels) == expected).all()
    assert (model.predict(images) == expected).all()
    assert (model.predict(images[0]) == expected[0]).all()
    assert model.predict([]).shape == (0, 3)
model = liana.load(folder, threads=1, batch_size=2)
assert model.class_names == open(f"{folder}/class_names.txt").read().splitlines()
assert model.inputs[0].shape == (None, 24, 24, 3) and model.inputs[0].is_image, model
assert model.outputs[0].shape == (None, 3) and model.outputs[0].dtype == "float32"
data = [open(name, "rb").read() for name in images]
assert numpy.allclose(model.predict(data), expected, atol=1e-6)
whole = pixels.astype(numpy.uint8)
mixed = model.predict([data[0], whole[1], bytearray(data[2])])
assert numpy.allclose(mixed, expected, atol=1e-2), mixed - expected
assert numpy.allclose(model.predict(whole), model.predict(whole.astype(float)), atol=1e-6)
assert model.predict(whole[0][:20, 3:]).shape == (3,)
strided = numpy.repeat(whole[:1], 2, axis=2)[:, :, ::2]
assert (model.predict(strided[0]) == model.predict(whole[0])).all()
assert model.predict(whole[:0]).shape == (0, 3)
assert model.predict({model.inputs[0].name: whole}).shape == (3, 3)

# Mistakes are exceptions with the library's message.
assert fails(liana.Error, "nowhere", lambda: liana.load("nowhere")).status == "NOT_FOUND"
assert fails(liana.Error, "image 2: not an image", lambda: model.predict(data[:2] + [b"text"])).status == "INVALID_DATA"
broken = pixels.copy()
broken[2, 0, 0, 0] = numpy.nan
fails(liana.Error, "example 2 of", lambda: model.predict(broken))
fails(FileNotFoundError, "missing.jpg", lambda: model.predict("missing.jpg"))
fails(ValueError, "float64", lambda: model.predict([numpy.zeros((3, 4, 3))]))
fails(ValueError, "found the inputs ['other']", lambda: model.predict({"other": whole}))
fails(ValueError, "scale is 'half'", lambda: liana.load(folder, scale="half"))
fails(liana.Error, "batch_size is -3", lambda: liana.load(folder, batch_size=-3))
assert numpy.allclose(model.predict(images), expected, atol=1e-6), "it can be used again"

# Threads share a model; many are opened and freed.
rows = [None] * 4


def work(index):
    for _ in range(20):
        rows[index] = model.predict(data)


threads = [threading.Thread(target=work, args=(i,)) for i in range(len(rows))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert all((row == rows[0]).all() for row in rows)
for _ in range(20):
    liana.load(folder, threads=1)
gc.collect()
before = len(os.listdir("/proc/self/task"))
assert before < 8, f"{before} threads are left"
model.close()
fails(ValueError, "closed", lambda: model.predict(images))

# Texts, numbers, and several outputs.
with liana.load(table, batch_size=3) as model:
    assert [port.dtype for port in model.inputs] == ["string", "float32"], model
    size = numpy.load(f"{table}/examples/input_size.npy")
    title = json.load(open(f"{table}/examples/input_title.json"))
    found = model.predict({"title": title, "size": size})
    assert set(found) == {"kind", "price"}
    for name, values in found.items():
        assert numpy.allclose(values, numpy.load(f"{table}/examples/output_{name}.npy"), atol=1e-5)
    integers = model.predict({"title": numpy.array(title), "size": [[1], [2], [3], [4]]})
    assert integers["price"].shape == (4, 1)
    fails(ValueError, "found the inputs", lambda: model.predict({"title": title}))
    fails(ValueError, "give a dict", lambda: model.predict(size))
    fails(ValueError, "different numbers", lambda: model.predict({"title": title, "size": size[:1]}))
    fails(ValueError, "complex64", lambda: model.predict({"title": title, "size": size * 1j}))
print("the Python module gives the outputs of the exports")
