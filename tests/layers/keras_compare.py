"""Compares models of liana with Keras, output by output.

    keras_compare.py keras|tf_keras FOLDER...

tests/layers/test_keras_json.c writes each folder:
  model.json     the architecture, in the form of Keras 3 or of Keras 2
  manifest.json  {"inputs": [TENSOR, ...], "weights": [TENSOR, ...], "outputs": [{"name", "shape"}, ...]} with
                 TENSOR = {"name", "shape", "dtype"}
  data.bin       the numbers of the inputs, the weights and the outputs [batch, values], little-endian
Keras loads the architecture and the weights, and computes. It writes the model again as again.json, and, as whole files
hold it, hdf5.json (the attribute model_config) and archive.json (config.json of a .keras file)."""
import importlib
import json
import os
import sys
import zipfile

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import h5py
import numpy as np

TOLERANCE = 2e-6


def path_in(folder, name):
    return os.path.join(folder, name)


def read_folder(folder):
    with open(path_in(folder, "manifest.json")) as file:
        manifest = json.load(file)
    data = np.fromfile(path_in(folder, "data.bin"), np.float32)
    offset = 0
    for tensor in manifest["inputs"] + manifest["weights"]:
        size = int(np.prod(tensor["shape"]))
        tensor["values"] = data[offset : offset + size].view(tensor["dtype"]).reshape(tensor["shape"])
        offset += size
    batch = manifest["inputs"][0]["shape"][0]
    return manifest, data[offset:].reshape(batch, -1)


def find_layer(model, parts):
    """A name of liana may have a '/', for which Keras 3 has '_'."""
    names = {layer.name for layer in model.layers}
    for k in range(1, len(parts) + 1):
        for name in ("/".join(parts[:k]), "_".join(parts[:k])):
            if name in names:
                layer = model.get_layer(name)
                return layer if k == len(parts) else find_layer(layer, parts[k:])
    sys.exit(f"Keras has no layer {parts}: {sorted(names)}")


def set_weights(model, weights):
    """"encoder/dense/kernel" is the weight "kernel" of the layer "dense" of the model "encoder"."""
    by_layer = {}
    for tensor in weights:
        layer, name = tensor["name"].rsplit("/", 1)
        by_layer.setdefault(layer, {})[name] = tensor["values"]
    for path, values in by_layer.items():
        layer = find_layer(model, path.split("/"))
        variables = {v.name.rsplit("/", 1)[-1].split(":")[0]: v for v in layer.weights}
        if type(layer).__name__.startswith("DepthwiseConv") and "kernel" in variables:  # its name in Keras 3
            values["kernel"] = values.pop("depthwise_kernel")
        if variables.keys() != values.keys():
            sys.exit(f"{path}: liana has {sorted(values)}, Keras {sorted(variables)}")
        for name, variable in variables.items():
            variable.assign(values[name])
        if hasattr(layer, "finalize_state"):  # of a Normalization, as loading weights does
            layer.finalize_state()
    return sum(len(values) for values in by_layer.values())


def compare(keras, folder):
    manifest, expected = read_folder(folder)
    with open(path_in(folder, "model.json")) as file:
        model = keras.models.model_from_json(file.read())
    assert len(model.weights) == set_weights(model, manifest["weights"]), folder
    inputs = [tensor["values"] for tensor in manifest["inputs"]]
    results = model.predict(inputs if len(inputs) > 1 else inputs[0], verbose=0)
    if isinstance(results, dict):
        results = [results[output["name"]] for output in manifest["outputs"]]
    elif not isinstance(results, list):
        results = [results]
    for result, output in zip(results, manifest["outputs"], strict=True):
        assert list(result.shape[1:]) == output["shape"][1:], (folder, output)
    found = np.concatenate([np.reshape(result, (len(expected), -1)) for result in results], axis=1)
    worst = float(np.max(np.abs(found - expected) / np.maximum(1, np.max(np.abs(found)))))
    print(f"{os.path.basename(folder)}: {found.size} numbers, greatest error {worst:.1e}")
    if not worst <= TOLERANCE:
        sys.exit(f"{folder}: Keras computes something else")
    write_again(model, folder)


def write_again(model, folder):
    with open(path_in(folder, "again.json"), "w") as file:
        file.write(model.to_json())
    model.save(path_in(folder, "again.h5"))
    with h5py.File(path_in(folder, "again.h5")) as file, open(path_in(folder, "hdf5.json"), "w") as out:
        out.write(file.attrs["model_config"])
    model.save(path_in(folder, "again.keras"))
    with zipfile.ZipFile(path_in(folder, "again.keras")) as file, open(path_in(folder, "archive.json"), "wb") as out:
        out.write(file.read("config.json"))


keras_module = importlib.import_module(sys.argv[1])
for each in sys.argv[2:]:
    compare(keras_module, each)
