"""InceptionV3 and InceptionResNetV2 as tables, of which pytorch_networks.py and jax_networks.py make their networks.

They are those of keras.applications, layer for layer, in the order in which Keras makes the layers. A network is a list
of these parts:

    Convolution    with batch normalisation (without a factor) and ReLU
    "max"          of 3 x 3 cells, stride 2
    "average"      of 3 x 3 cells, stride 1; cells outside of the image do not count
    Branches       lists of parts, whose results are concatenated along the channels
    Residual
"""
import typing


class Convolution(typing.NamedTuple):
    filters: int
    size: tuple
    stride: int = 1
    valid: bool = False  # without padding; with a stride always

    @property
    def padding(self):
        return (0, 0) if self.valid or self.stride > 1 else (self.size[0] // 2, self.size[1] // 2)


class Branches(typing.NamedTuple):
    lists: tuple


class Residual(typing.NamedTuple):
    """x + scale * (a 1 x 1 convolution with biases of the branches), through ReLU unless it is the last one."""
    scale: float
    branches: Branches
    relu: bool = True


def square(filters, size, stride=1, valid=False):
    return Convolution(filters, (size, size), stride, valid)


def branches(*lists):
    return Branches(lists)


STEM = [square(32, 3, 2), square(32, 3, valid=True), square(64, 3), "max", square(80, 1), square(192, 3, valid=True), "max"]
ROW7, COLUMN7, ROW3, COLUMN3 = (1, 7), (7, 1), (1, 3), (3, 1)


def smallest(first, five, pooled):
    """Windows of 1, 5 and twice 3, and a mean."""
    return branches([square(first, 1)], [square(five, 1), square(64, 5)],
                    [square(64, 1), square(96, 3), square(96, 3)], ["average", square(pooled, 1)])


def sevens(narrow):
    return branches([square(192, 1)],
                    [square(narrow, 1), Convolution(narrow, ROW7), Convolution(192, COLUMN7)],
                    [square(narrow, 1), Convolution(narrow, COLUMN7), Convolution(narrow, ROW7),
                     Convolution(narrow, COLUMN7), Convolution(192, ROW7)],
                    ["average", square(192, 1)])


def widest():
    both = branches([Convolution(384, ROW3)], [Convolution(384, COLUMN3)])
    return branches([square(320, 1)], [square(384, 1), both], [square(448, 1), square(384, 3), both],
                    ["average", square(192, 1)])


def inception_v3():
    return [
        *STEM, smallest(64, 48, 32), smallest(64, 48, 64), smallest(64, 48, 64),
        branches([square(384, 3, 2)], [square(64, 1), square(96, 3), square(96, 3, 2)], ["max"]),
        sevens(128), sevens(160), sevens(160), sevens(192),
        branches([square(192, 1), square(320, 3, 2)],
                 [square(192, 1), Convolution(192, ROW7), Convolution(192, COLUMN7), square(192, 3, 2)], ["max"]),
        widest(), widest()]


def inception_resnet_v2():
    block35 = branches([square(32, 1)], [square(32, 1), square(32, 3)], [square(32, 1), square(48, 3), square(64, 3)])
    block17 = branches([square(192, 1)], [square(128, 1), Convolution(160, ROW7), Convolution(192, COLUMN7)])
    block8 = branches([square(192, 1)], [square(192, 1), Convolution(224, ROW3), Convolution(256, COLUMN3)])
    return [
        *STEM, smallest(96, 48, 64), *[Residual(0.17, block35)] * 10,
        branches([square(384, 3, 2)], [square(256, 1), square(256, 3), square(384, 3, 2)], ["max"]),
        *[Residual(0.1, block17)] * 20,
        branches([square(256, 1), square(384, 3, 2)], [square(256, 1), square(288, 3, 2)],
                 [square(256, 1), square(288, 3), square(320, 3, 2)], ["max"]),
        *[Residual(0.2, block8)] * 9, Residual(1, block8, relu=False), square(1536, 1)]
