"""Has Keras and tf_keras load the files that liana wrote, compare outputs, and write files of their own.

    keras_files_check.py FOLDER

FOLDER/numbers.json has "inputs" (name: {"shape", "values"}), "outputs" and whether the model "is_compiled". Keras loads
liana.keras, liana.h5, liana.json with liana.weights.h5, and liana.json with liana.h5; tf_keras loads older.h5, and older.json
with it. Keras writes back.keras, back.h5 and back.weights.h5, tf_keras back2.h5, back2.keras and back2.weights.h5."""
import json
import os
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import keras
import numpy as np
import tensorflow as tf
import tf_keras

os.chdir(sys.argv[1])
with open("numbers.json") as file:
    numbers = json.load(file)
inputs = {
    name: np.array(one["values"], np.float32).reshape(one["shape"]) for name, one in numbers["inputs"].items()
}


def check(name, model):
    given = inputs if len(inputs) > 1 else next(iter(inputs.values()))
    outputs = np.asarray(model(given, training=False)).ravel()
    np.testing.assert_allclose(outputs, numbers["outputs"], rtol=1e-5, atol=1e-6, err_msg=name)


def from_json(models, architecture, weights):
    with open(architecture) as file:
        model = models.model_from_json(file.read())
    model.load_weights(weights)
    return model


def check_compiled(name, model):
    optimizer = getattr(model, "optimizer", None)
    if numbers["is_compiled"] != bool(optimizer):
        raise SystemExit(f"{name}: found the optimizer {optimizer}")
    if optimizer and optimizer.get_config()["beta_1"] != 0.8:
        raise SystemExit(f"{name}: found {optimizer.get_config()}")


for name in ["liana.keras", "liana.h5"]:
    model = keras.saving.load_model(name)
    check(name, model)
    check_compiled(name, model)
check("liana.json", from_json(keras.models, "liana.json", "liana.weights.h5"))
check("liana.json with liana.h5", from_json(keras.models, "liana.json", "liana.h5"))
model.save("back.keras")
model.save("back.h5")
model.save_weights("back.weights.h5")

# docs/guides/models.md
if len(inputs) == 1:
    given = next(iter(inputs.values()))
    model.export("saved_model", verbose=False)
    model.export("model.tflite", format="litert", verbose=False)
    loaded = tf.saved_model.load("saved_model")
    np.testing.assert_allclose(np.ravel(loaded.serve(given)), numbers["outputs"], rtol=1e-5, atol=1e-6)
    runner = tf.lite.Interpreter("model.tflite")
    runner.resize_tensor_input(runner.get_input_details()[0]["index"], given.shape)
    runner.allocate_tensors()
    runner.set_tensor(runner.get_input_details()[0]["index"], given)
    runner.invoke()
    found = runner.get_tensor(runner.get_output_details()[0]["index"])
    np.testing.assert_allclose(np.ravel(found), numbers["outputs"], rtol=1e-5, atol=1e-6)

older = tf_keras.models.load_model("older.h5")
check("older.h5", older)
check_compiled("older.h5", older)
check("older.json", from_json(tf_keras.models, "older.json", "older.h5"))
older.save("back2.h5")
older.save("back2.keras")
older.save_weights("back2.weights.h5")
