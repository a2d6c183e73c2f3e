"""The networks that PyTorch and JAX are measured with, against keras.applications: for test_peer_networks.sh.

    peer_networks.py keras FOLDER NAME...         writes FOLDER/NAME.npz: weights in the order in which Keras makes them,
                                                  images and logits
    peer_networks.py torch|jax FOLDER NAME...     loads the weights into the peer's network, and compares its logits

Weights, biases and moving averages are random, so that a layer that is left out or has another place is seen.
"""
import os
import sys

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
SIZE, CLASSES, IMAGES = 96, 10, 2
TOLERANCE = 1e-5  # of the largest logit; 1.2e-6 was measured


# ---- Keras ----

def number_layers(keras):
    """Gives each layer of Keras the attribute `made`, since a model orders its layers by their depth."""
    make = keras.layers.Layer.__init__
    count = iter(range(1 << 30))

    def make_numbered(layer, *arguments, **options):
        make(layer, *arguments, **options)
        layer.made = next(count)
    keras.layers.Layer.__init__ = make_numbered


def draw_vectors(keras, layer, random):
    """Keras starts with zeros and ones, which would hide mistakes. Returns all weights of the layer."""
    for weight in layer.weights:
        if len(weight.shape) == 1 and weight.name in ("gamma", "moving_variance"):
            weight.assign(random.uniform(0.5, 1.5, weight.shape))
        elif len(weight.shape) == 1:
            weight.assign(random.normal(0, 0.1, weight.shape))
    return [keras.ops.convert_to_numpy(weight) for weight in layer.weights]


def write(folder, name):
    import keras
    random = numpy.random.default_rng(3)
    model = getattr(keras.applications, name)(weights=None, input_shape=(SIZE, SIZE, 3), classes=CLASSES,
                                              classifier_activation=None)
    arrays = []
    for layer in sorted(model.layers, key=lambda layer: layer.made):
        arrays += draw_vectors(keras, layer, random)
    images = random.normal(0, 1, (IMAGES, SIZE, SIZE, 3)).astype(numpy.float32)
    logits = keras.ops.convert_to_numpy(model(images, training=False))
    numpy.savez(os.path.join(folder, name + ".npz"), *arrays, images=images, logits=logits)


# ---- the peers ----

def read(folder, name):
    """The arrays in order, the images and the logits."""
    file = numpy.load(os.path.join(folder, name + ".npz"))
    arrays = [file[f"arr_{i}"] for i in range(len(file.files) - 2)]
    return arrays, file["images"], file["logits"]


def put(tensor, array):
    import torch
    if tuple(tensor.shape) != array.shape:
        sys.exit(f"peer_networks.py: Keras's weights have the shape {array.shape}, PyTorch's {tuple(tensor.shape)}")
    tensor.data.copy_(torch.from_numpy(numpy.ascontiguousarray(array)))


def put_dense(layer, kernel, bias, flattened):
    """Rows of a kernel behind nn.Flatten are ordered by channels first."""
    if flattened:
        cells = SIZE // 32
        kernel = kernel.reshape(cells, cells, -1, kernel.shape[1]).transpose(2, 0, 1, 3).reshape(kernel.shape)
    put(layer.weight, kernel.T)
    put(layer.bias, bias)


def torch_logits(name, arrays, images):
    import torch
    from torch import nn
    import pytorch_networks
    torch.set_num_threads(1)
    model = pytorch_networks.build(name, CLASSES, "keras", size=SIZE).eval()
    rest, flattened = iter(arrays), name == "VGG16"
    for layer in model.modules():
        if isinstance(layer, nn.Conv2d):
            # HWIO to OIHW; depthwise kernels are HWI1.
            put(layer.weight, next(rest).transpose((2, 3, 0, 1) if layer.groups > 1 else (3, 2, 0, 1)))
            if layer.bias is not None:
                put(layer.bias, next(rest))
        elif isinstance(layer, nn.BatchNorm2d):
            trained = [layer.weight] if layer.weight.requires_grad else []
            for tensor in (*trained, layer.bias, layer.running_mean, layer.running_var):
                put(tensor, next(rest))
        elif isinstance(layer, nn.Linear):
            put_dense(layer, next(rest), next(rest), flattened)
            flattened = False
    if next(rest, None) is not None:
        sys.exit(f"peer_networks.py: {name} has fewer weights than Keras's")
    with torch.no_grad():
        return model(torch.from_numpy(images).permute(0, 3, 1, 2)).numpy()


def jax_logits(name, arrays, images):
    import jax
    import jax.numpy as jnp
    import jax_networks

    rest, weights, moving = iter(arrays), [], []

    class Loader(jax_networks.Scope):
        """Takes Keras's weights in the order in which the network asks."""

        def weight(self, shape, make):
            array = next(rest)
            if array.ndim == 4 and array.shape != shape:
                array = array.transpose(0, 1, 3, 2)  # depthwise
            if array.shape != shape:
                sys.exit(f"peer_networks.py: Keras's weights have the shape {array.shape}, JAX's {shape}")
            weights.append(array)
            return super().weight(shape, lambda _: array)

        def norm(self, x, scale=True):
            result = super().norm(x, scale)
            moving.append((next(rest), next(rest)))
            return result

    jax.eval_shape(lambda x: jax_networks.NETWORKS[name](Loader(), x, CLASSES), jnp.zeros(images.shape))
    if next(rest, None) is not None:
        sys.exit(f"peer_networks.py: {name} has fewer weights than Keras's")
    return numpy.array(jax_networks.NETWORKS[name](jax_networks.Scope(weights, moving), images, CLASSES))


def compare(peer, folder, name):
    arrays, images, expected = read(folder, name)
    logits = {"torch": torch_logits, "jax": jax_logits}[peer](name, arrays, images)
    difference = float(abs(logits - expected).max() / abs(expected).max())
    print(f"{name} {difference:.2g}")
    return difference <= TOLERANCE


def main():
    peer, folder, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    if peer == "keras":
        import keras
        number_layers(keras)
        for name in names:
            write(folder, name)
        return 0
    wrong = [name for name in names if not compare(peer, folder, name)]
    if wrong:
        print(f"peer_networks.py: logits differ from Keras's by more than {TOLERANCE} of the largest: {', '.join(wrong)}",
              file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
