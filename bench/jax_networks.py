"""The networks that jax_peer.py measures, in plain JAX: functions of a Scope and of images [N, height, width, channels].

The layers are those of pytorch_networks.py, one for one. `python3 jax_networks.py` says how many weights each network has,
with 1000 classes, and fails where that is not the known number.
"""
import math
import sys

import jax
import jax.numpy as jnp
import numpy
from jax import lax

import inception
import peer_common

DIMENSIONS = ("NHWC", "HWIO", "NHWC")


def zeros(shape):
    return numpy.zeros(shape, numpy.float32)


def ones(shape):
    return numpy.ones(shape, numpy.float32)


class Scope:
    """Hands out weights in the order in which a network asks for them: new ones where `weights` is None.

    `moving` are the averages of batch normalisation, [mean, variance] of each; `moved` those after this step. A network
    may set the `epsilon` of its batch normalisation.
    """

    def __init__(self, weights=None, moving=None, key=None, train=False, dtype=jnp.float32, taps=False,
                 unroll=1):
        self.creates = weights is None
        self.weights = [] if self.creates else weights
        self.moving = [] if self.creates else moving
        self.moved, self.asked = [], 0
        self.key, self.train, self.dtype, self.taps = key, train, dtype, taps
        self.unroll = unroll
        self.epsilon = 1e-3
        self.generator = numpy.random.default_rng(1)

    def random(self):
        self.key, used = jax.random.split(self.key)
        return used

    def weight(self, shape, make):
        if self.creates:
            self.weights.append(make(shape))
        self.asked += 1
        return jnp.asarray(self.weights[self.asked - 1])

    def kernel(self, shape):
        """Keras's glorot_uniform, in the precision that is multiplied in."""
        def make(shape):
            window = math.prod(shape[:-2])
            limit = math.sqrt(6 / (window * (shape[-2] + shape[-1])))
            return self.generator.uniform(-limit, limit, shape).astype(numpy.float32)
        return self.weight(shape, make).astype(self.dtype)

    def dense(self, x, units):
        kernel = self.kernel((x.shape[-1], units))
        return x @ kernel + self.weight((units,), zeros).astype(self.dtype)

    def convolve(self, x, filters, size, stride=1, bias=False, padding=None):
        """`size` and `padding`: of both sides, or (rows, columns)."""
        window = size if isinstance(size, tuple) else (size, size)
        edges = tuple(side // 2 for side in window) if padding is None else padding
        edges = edges if isinstance(edges, tuple) else (edges, edges)
        kernel = self.kernel((*window, x.shape[-1], filters))
        y = lax.conv_general_dilated(x, kernel, (stride, stride), tuple((edge, edge) for edge in edges),
                                     dimension_numbers=DIMENSIONS)
        return y + self.weight((filters,), zeros).astype(self.dtype) if bias else y

    def depthwise(self, x, size, stride=1):
        """Either XLA's convolution in groups, or one product for each tap, which XLA fuses into one loop."""
        channels, edge = x.shape[-1], size // 2
        kernel = self.kernel((size, size, 1, channels))
        if not self.taps:
            return lax.conv_general_dilated(x, kernel, (stride, stride), ((edge, edge),) * 2,
                                            dimension_numbers=DIMENSIONS, feature_group_count=channels)
        height, width = ((n + 2 * edge - size) // stride + 1 for n in x.shape[1:3])
        padded = jnp.pad(x, ((0, 0), (edge, edge), (edge, edge), (0, 0)))
        total = None
        for i in range(size):
            for j in range(size):
                seen = padded[:, i:i + (height - 1) * stride + 1:stride, j:j + (width - 1) * stride + 1:stride]
                product = seen * kernel[i, j, 0]
                total = product if total is None else total + product
        return total

    def norm(self, x, scale=True):
        """Statistics in float32, as other programs keep them under mixed precision."""
        channels = x.shape[-1:]
        gamma = self.weight(channels, ones) if scale else 1
        beta = self.weight(channels, zeros)
        if self.creates:
            self.moving.append((zeros(channels), ones(channels)))
        mean, variance = self.moving[len(self.moved)]
        if self.train:
            wide = x.astype(jnp.float32)
            now = jnp.mean(wide, (0, 1, 2))
            square = jnp.mean(jnp.square(wide), (0, 1, 2))
            spread = jnp.maximum(square - jnp.square(now), 0)
            self.moved.append((0.9 * mean + 0.1 * now, 0.9 * variance + 0.1 * spread))
            mean, variance = now, spread
        else:
            self.moved.append((mean, variance))
        factor = gamma * lax.rsqrt(variance + self.epsilon)
        return (x * factor + (beta - mean * factor)).astype(self.dtype)

    def layer_norm(self, x):
        """In float32, over the last axis."""
        gamma, beta = self.weight(x.shape[-1:], ones), self.weight(x.shape[-1:], zeros)
        wide = x.astype(jnp.float32)
        centred = wide - jnp.mean(wide, -1, keepdims=True)
        scale = lax.rsqrt(jnp.mean(jnp.square(centred), -1, keepdims=True) + 1e-5)
        return (centred * scale * gamma + beta).astype(x.dtype)

    def lstm(self, x, units):
        """The last output of [N, steps, features]. The products of all inputs are one, before the loop."""
        x = self.dense(x, 4 * units)
        kernel = self.kernel((units, 4 * units))

        def step(state, now):
            h, c = state
            i, f, g, o = jnp.split(now + h @ kernel, 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

        zero = jnp.zeros((x.shape[0], units), x.dtype)
        return lax.scan(step, (zero, zero), x.swapaxes(0, 1), unroll=self.unroll)[0][0]

    def gru(self, x, units):
        """The same; the reset gate works on the product."""
        x = self.dense(x, 3 * units)
        kernel, bias = self.kernel((units, 3 * units)), self.weight((3 * units,), zeros).astype(x.dtype)

        def step(h, now):
            inner = h @ kernel + bias
            z = jax.nn.sigmoid(now[:, :units] + inner[:, :units])
            r = jax.nn.sigmoid(now[:, units:2 * units] + inner[:, units:2 * units])
            n = jnp.tanh(now[:, 2 * units:] + r * inner[:, 2 * units:])
            return z * h + (1 - z) * n, None

        zero = jnp.zeros((x.shape[0], units), x.dtype)
        return lax.scan(step, zero, x.swapaxes(0, 1), unroll=self.unroll)[0]

    def convolve_same(self, x, filters, size):
        """A window of `size` cells along each axis of sequences or volumes, and a bias."""
        axes = x.ndim - 2
        kernel = self.kernel((size,) * axes + (x.shape[-1], filters))
        letters = "DHW"[3 - axes:]
        y = lax.conv_general_dilated(x, kernel, (1,) * axes, "SAME",
                                     dimension_numbers=("N" + letters + "C", letters + "IO", "N" + letters + "C"))
        return y + self.weight((filters,), zeros).astype(self.dtype)

    def convolve_up(self, x, filters):
        """A transposed convolution: 4 x 4, stride 2."""
        kernel = self.kernel((4, 4, x.shape[-1], filters))
        y = lax.conv_transpose(x, kernel, (2, 2), "SAME", dimension_numbers=DIMENSIONS)
        return y + self.weight((filters,), zeros).astype(self.dtype)

    def dropout(self, x, rate, shape=None):
        """With `shape` broader than single elements: whole images are left out (stochastic depth)."""
        if not self.train or rate == 0:
            return x
        kept = jax.random.bernoulli(self.random(), 1 - rate, shape or x.shape)
        return jnp.where(kept, x / (1 - rate), 0).astype(self.dtype)


def relu6(x):
    return jnp.clip(x, 0, 6)


def average(x):
    return jnp.mean(x.astype(jnp.float32), (1, 2)).astype(x.dtype)


def max_pool(x, size, stride, edge=0):
    """`edge`: rows and columns of padding on each side, or SAME."""
    window, strides = (1, size, size, 1), (1, stride, stride, 1)
    padding = edge if edge == "SAME" else ((0, 0), (edge, edge), (edge, edge), (0, 0))
    return lax.reduce_window(x, -jnp.inf, lax.max, window, strides, padding)


def average_pool(x):
    """3 x 3, stride 1; cells outside of the image do not count."""
    def total(cells):
        return lax.reduce_window(cells, 0.0, lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "SAME")
    wide = x.astype(jnp.float32)
    return (total(wide) / total(jnp.ones((1, *x.shape[1:3], 1)))).astype(x.dtype)


def halve(x):
    """Average pooling of 2 x 2; a last odd row or column is left out."""
    count, height, width, channels = x.shape
    x = x[:, :height // 2 * 2, :width // 2 * 2]
    return x.reshape(count, height // 2, 2, width // 2, 2, channels).mean((2, 4), dtype=jnp.float32).astype(x.dtype)


# ---- MobileNetV2 ----

def rounded(filters):
    """Keras's _make_divisible(filters, 8)."""
    whole = max(8, int(filters + 4) // 8 * 8)
    return whole + 8 if whole < 0.9 * filters else whole


def mobilenet_v2(scope, x, classes, alpha=1, dropout=0.2):
    x = relu6(scope.norm(scope.convolve(x, rounded(32 * alpha), 3, 2)))
    for expansion, filters, repeats, first in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                                               (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        filters = rounded(int(filters * alpha))
        for i in range(repeats):
            stride, before = first if i == 0 else 1, x
            if expansion != 1:
                x = relu6(scope.norm(scope.convolve(x, x.shape[-1] * expansion, 1)))
            x = relu6(scope.norm(scope.depthwise(x, 3, stride)))
            x = scope.norm(scope.convolve(x, filters, 1))
            if x.shape == before.shape:
                x = x + before
    x = relu6(scope.norm(scope.convolve(x, 1280, 1)))
    return scope.dense(scope.dropout(average(x), dropout), classes)


def flowers(scope, x, classes):
    """Without the dropout's rate of ImageNet; examples/flowers.yaml has it before pooling, which costs the same here."""
    return mobilenet_v2(scope, x, classes, 0.35, 0.05)


# ---- ResNet50 ----

def bottleneck(scope, x, narrow, stride):
    """The stride in the first convolution, and biases: as in keras.applications."""
    before = x
    if stride > 1 or x.shape[-1] != 4 * narrow:
        before = scope.norm(scope.convolve(x, 4 * narrow, 1, stride, bias=True))
    y = jax.nn.relu(scope.norm(scope.convolve(x, narrow, 1, stride, bias=True)))
    y = jax.nn.relu(scope.norm(scope.convolve(y, narrow, 3, bias=True)))
    return jax.nn.relu(before + scope.norm(scope.convolve(y, 4 * narrow, 1, bias=True)))


def resnet50(scope, x, classes):
    scope.epsilon = 1.001e-5
    x = max_pool(jax.nn.relu(scope.norm(scope.convolve(x, 64, 7, 2, bias=True))), 3, 2, 1)
    for narrow, repeats, first in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(repeats):
            x = bottleneck(scope, x, narrow, first if i == 0 else 1)
    return scope.dense(average(x), classes)


# ---- ResNet50V2 ----

def preactivated_bottleneck(scope, x, narrow, stride):
    active = jax.nn.relu(scope.norm(x))
    before = x[:, ::stride, ::stride]
    if x.shape[-1] != 4 * narrow:
        before = scope.convolve(active, 4 * narrow, 1, stride, bias=True)
    y = jax.nn.relu(scope.norm(scope.convolve(active, narrow, 1)))
    y = jax.nn.relu(scope.norm(scope.convolve(y, narrow, 3, stride)))
    return before + scope.convolve(y, 4 * narrow, 1, bias=True)


def resnet50_v2(scope, x, classes):
    scope.epsilon = 1.001e-5
    x = max_pool(scope.convolve(x, 64, 7, 2, bias=True), 3, 2, 1)
    for narrow, repeats, last in ((64, 3, 2), (128, 4, 2), (256, 6, 2), (512, 3, 1)):
        for i in range(repeats):
            x = preactivated_bottleneck(scope, x, narrow, last if i == repeats - 1 else 1)
    return scope.dense(average(jax.nn.relu(scope.norm(x))), classes)


# ---- EfficientNetB0 ----

def mbconv(scope, x, filters, size, stride, expansion, drop):
    before = x
    if expansion != 1:
        x = jax.nn.silu(scope.norm(scope.convolve(x, x.shape[-1] * expansion, 1)))
    x = jax.nn.silu(scope.norm(scope.depthwise(x, size, stride)))
    scale = jax.nn.silu(scope.dense(average(x), before.shape[-1] // 4))
    scale = jax.nn.sigmoid(scope.dense(scale, x.shape[-1]))
    x = scope.norm(scope.convolve(x * scale[:, None, None], filters, 1))
    if x.shape == before.shape:
        x = before + scope.dropout(x, drop, (x.shape[0], 1, 1, 1))
    return x


def efficientnet_b0(scope, x, classes):
    x = jax.nn.silu(scope.norm(scope.convolve(x, 32, 3, 2)))
    block = 0
    for expansion, filters, repeats, first, size in ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5),
                                                     (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5),
                                                     (6, 320, 1, 1, 3)):
        for i in range(repeats):
            x = mbconv(scope, x, filters, size, first if i == 0 else 1, expansion, 0.2 * block / 16)
            block += 1
    x = jax.nn.silu(scope.norm(scope.convolve(x, 1280, 1)))
    return scope.dense(scope.dropout(average(x), 0.2), classes)


# ---- DenseNet121 ----

def densenet121(scope, x, classes):
    scope.epsilon = 1.001e-5
    growth = 32
    x = max_pool(jax.nn.relu(scope.norm(scope.convolve(x, 64, 7, 2))), 3, 2, 1)
    for i, repeats in enumerate((6, 12, 24, 16)):
        if i > 0:
            x = halve(scope.convolve(jax.nn.relu(scope.norm(x)), x.shape[-1] // 2, 1))
        for _ in range(repeats):
            y = scope.convolve(jax.nn.relu(scope.norm(x)), 4 * growth, 1)
            x = jnp.concatenate((x, scope.convolve(jax.nn.relu(scope.norm(y)), growth, 3)), -1)
    return scope.dense(average(jax.nn.relu(scope.norm(x))), classes)


# ---- Xception ----

def separable(scope, x, filters):
    return scope.norm(scope.convolve(scope.depthwise(x, 3), filters, 1))


def xception_block(scope, x, widths, strided, relu_first=True):
    before = scope.norm(scope.convolve(x, widths[-1], 1, 2)) if strided else x
    for i, width in enumerate(widths):
        x = separable(scope, jax.nn.relu(x) if i > 0 or relu_first else x, width)
    return before + (max_pool(x, 3, 2, "SAME") if strided else x)


def xception(scope, x, classes):
    x = jax.nn.relu(scope.norm(scope.convolve(x, 32, 3, 2, padding=0)))
    x = jax.nn.relu(scope.norm(scope.convolve(x, 64, 3, padding=0)))
    x = xception_block(scope, x, (128, 128), True, relu_first=False)
    for widths, strided in (((256, 256), True), ((728, 728), True), *((((728,) * 3), False),) * 8, ((728, 1024), True)):
        x = xception_block(scope, x, widths, strided)
    for filters in (1536, 2048):
        x = jax.nn.relu(separable(scope, x, filters))
    return scope.dense(average(x), classes)


# ---- InceptionV3 and InceptionResNetV2 ----

def inception_part(scope, x, part):
    """A part of a table of inception.py."""
    if part == "max":
        return max_pool(x, 3, 2)
    if part == "average":
        return average_pool(x)
    if isinstance(part, inception.Convolution):
        y = scope.convolve(x, part.filters, part.size, part.stride, padding=part.padding)
        return jax.nn.relu(scope.norm(y, scale=False))
    if isinstance(part, inception.Branches):
        return jnp.concatenate([inception_parts(scope, x, branch) for branch in part.lists], -1)
    up = scope.convolve(inception_part(scope, x, part.branches), x.shape[-1], 1, bias=True)
    x = x + up * part.scale
    return jax.nn.relu(x) if part.relu else x


def inception_parts(scope, x, table):
    for part in table:
        x = inception_part(scope, x, part)
    return x


def inception_v3(scope, x, classes):
    return scope.dense(average(inception_parts(scope, x, inception.inception_v3())), classes)


def inception_resnet_v2(scope, x, classes):
    return scope.dense(average(inception_parts(scope, x, inception.inception_resnet_v2())), classes)


# ---- VGG16 ----

def vgg16(scope, x, classes):
    for filters, repeats in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(repeats):
            x = jax.nn.relu(scope.convolve(x, filters, 3, bias=True))
        x = max_pool(x, 2, 2)
    x = x.reshape(x.shape[0], -1)
    for _ in range(2):
        x = jax.nn.relu(scope.dense(x, 4096))
    return scope.dense(x, classes)


# ---- the small ones ----

def two_convolutions(scope, x, classes):
    x = max_pool(jax.nn.relu(scope.convolve(x, 32, 3, bias=True, padding=0)), 2, 2)
    x = max_pool(jax.nn.relu(scope.convolve(x, 64, 3, bias=True, padding=0)), 2, 2)
    return scope.dense(scope.dropout(x.reshape(x.shape[0], -1), 0.5), classes)


def mlp(scope, x, classes):
    return scope.dense(jax.nn.relu(scope.dense(x.reshape(x.shape[0], -1), 512)), classes)


# ---- one family of layers each ----

def lstm(scope, x, classes):
    return scope.dense(scope.lstm(x[:, :, 0], 128), classes)


def gru(scope, x, classes):
    return scope.dense(scope.gru(x[:, :, 0], 128), classes)


def attention(scope, x, heads):
    batch, steps, features = x.shape
    query, key, value = (scope.dense(x, features).reshape(batch, steps, heads, -1) for _ in range(3))
    return scope.dense(jax.nn.dot_product_attention(query, key, value).reshape(x.shape), features)


def transformer(scope, x, classes):
    x = x[:, :, 0]
    x = scope.layer_norm(x + attention(scope, x, 8))
    x = scope.layer_norm(x + scope.dense(jax.nn.relu(scope.dense(x, 1024)), 256))
    return scope.dense(jnp.mean(x, 1), classes)


def pooled(x):
    """Maxima of 2 cells along each axis but those of examples and channels."""
    window = (1,) + (2,) * (x.ndim - 2) + (1,)
    return lax.reduce_window(x, -jnp.inf, lax.max, window, window, "VALID")


def convolutions(scope, x, classes, filters, size):
    for i in range(3):
        x = pooled(jax.nn.relu(scope.convolve_same(x, filters << i, size)))
    return scope.dense(jnp.mean(x, tuple(range(1, x.ndim - 1))), classes)


def conv1d(scope, x, classes):
    return convolutions(scope, x[:, :, 0], classes, 64, 5)


def conv3d(scope, x, classes):
    return convolutions(scope, x.reshape(-1, 16, 32, 32, 3), classes, 32, 3)


def decoder(scope, x, classes):
    x = jax.nn.relu(scope.dense(x.reshape(-1, 128), 4096)).reshape(-1, 4, 4, 256)
    for i in range(3):
        x = jax.nn.relu(scope.convolve_up(x, 128 >> i))
    return scope.dense(jnp.mean(jnp.tanh(scope.convolve_up(x, 3)), (1, 2)), classes)


def layer_norm_mlp(scope, x, classes):
    x = x.reshape(x.shape[0], -1)
    for _ in range(3):
        x = jax.nn.relu(scope.layer_norm(scope.dense(x, 512)))
    return scope.dense(x, classes)


NETWORKS = {"flowers": flowers, "mnist": two_convolutions, "mlp": mlp, "MobileNetV2": mobilenet_v2,
            "ResNet50": resnet50, "ResNet50V2": resnet50_v2, "EfficientNetB0": efficientnet_b0,
            "DenseNet121": densenet121, "Xception": xception, "InceptionV3": inception_v3,
            "InceptionResNetV2": inception_resnet_v2, "VGG16": vgg16, "lstm": lstm, "gru": gru, "transformer": transformer,
            "conv1d": conv1d, "conv3d": conv3d, "decoder": decoder, "layer_norm_mlp": layer_norm_mlp}


def create(name, shape, classes):
    """Weights and moving averages, of images of that shape. Nothing is computed but shapes."""
    scope = Scope()
    jax.eval_shape(lambda images: NETWORKS[name](scope, images, classes), jnp.zeros((1, *shape)))
    return scope.weights, scope.moving


def main():
    wrong = []
    for name, expected in peer_common.ZOO.items():
        weights, moving = create(name, (224, 224, 3), 1000)
        count = sum(array.size for array in jax.tree.leaves((weights, moving)))
        print(f"{name} {count}")
        if count != expected:
            wrong.append(f"{name} has {count} weights, expected {expected}")
    for line in wrong:
        print(f"jax_networks.py: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
