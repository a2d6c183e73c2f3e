"""The networks that pytorch_peer.py measures, in torch.nn: for PyTorch 1.13 and PyTorch 2 alike, without torchvision.

They are written after Keras's (keras.applications; its example for MNIST), layer for layer: the stride of a ResNet
bottleneck sits in its first convolution, and convolutions have biases, which is other work than torchvision's. With Keras's
weights they give Keras's numbers (tests/checks/peer_networks.py), if padding is `keras`. Measured is `symmetric`, which
PyTorch's users have and which saves copies. EfficientNetB0 has the symmetric one only. `python3 pytorch_networks.py` says
how many weights each one has, with 1000 classes, and fails where that is not the known number.
"""
import sys

import torch
import torch.nn.functional as F
from torch import nn

import inception
import peer_common


# ---- MobileNetV2 ----

def rounded(filters):
    """Keras's _make_divisible(filters, 8)."""
    whole = max(8, int(filters + 4) // 8 * 8)
    return whole + 8 if whole < 0.9 * filters else whole


def keras_norm(channels):
    """Keras's epsilon; the momentum is the one that examples/flowers.yaml asks for."""
    return nn.BatchNorm2d(channels, eps=1e-3, momentum=0.1)


class Clamp6(nn.Module):
    """ReLU6 where PyTorch 1.13 has no backward pass of it: in bf16 ("hardshrink_backward_cpu not implemented")."""

    def forward(self, x):
        return torch.clamp(x, 0, 6)


def replace_relu6(model):
    for name, child in model.named_children():
        if isinstance(child, nn.ReLU6):
            setattr(model, name, Clamp6())
        else:
            replace_relu6(child)


class SamePadding(nn.Module):
    """The zeros that TensorFlow puts around an image of even size for a 3 x 3 window with stride 2."""

    def forward(self, x):
        return F.pad(x, (0, 1, 0, 1))


def strided(channels_in, channels_out, stride, padding, groups=1):
    """A 3 x 3 convolution: 'keras' pads as TensorFlow does, 'symmetric' as torchvision does (one copy less)."""
    if stride == 2 and padding == "keras":
        return [SamePadding(), nn.Conv2d(channels_in, channels_out, 3, 2, 0, groups=groups, bias=False)]
    return [nn.Conv2d(channels_in, channels_out, 3, stride, 1, groups=groups, bias=False)]


class InvertedResidual(nn.Module):
    def __init__(self, channels_in, channels_out, stride, expansion, padding, norm):
        super().__init__()
        wide = channels_in * expansion
        layers = []
        if expansion != 1:
            layers += [nn.Conv2d(channels_in, wide, 1, bias=False), norm(wide), nn.ReLU6(inplace=True)]
        layers += strided(wide, wide, stride, padding, groups=wide) + [norm(wide), nn.ReLU6(inplace=True)]
        layers += [nn.Conv2d(wide, channels_out, 1, bias=False), norm(channels_out)]
        self.layers = nn.Sequential(*layers)
        self.residual = stride == 1 and channels_in == channels_out

    def forward(self, x):
        return x + self.layers(x) if self.residual else self.layers(x)


def mobilenet_v2_features(alpha, padding, norm):
    channels = rounded(32 * alpha)
    layers = strided(3, channels, 2, padding) + [norm(channels), nn.ReLU6(inplace=True)]
    for expansion, filters, repeats, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                                                (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(repeats):
            channels_out = rounded(int(filters * alpha))
            layers.append(InvertedResidual(channels, channels_out, stride if i == 0 else 1, expansion, padding, norm))
            channels = channels_out
    return layers + [nn.Conv2d(channels, 1280, 1, bias=False), norm(1280), nn.ReLU6(inplace=True)]


def mobilenet_v2(classes, padding):
    return nn.Sequential(*mobilenet_v2_features(1, padding, keras_norm), *head(1280, classes, 0.2))


def flowers(classes, padding):
    """keras.applications.MobileNetV2 0.35 without its top, with the head of examples/flowers.yaml."""
    features = mobilenet_v2_features(0.35, padding, keras_norm)
    return nn.Sequential(*features, nn.Dropout(0.05), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, classes))


def head(channels, classes, dropout=0.0):
    layers = [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    if dropout:
        layers.append(nn.Dropout(dropout))
    return layers + [nn.Linear(channels, classes)]


# ---- ResNet50 ----

def convolution(channels_in, channels_out, size, stride=1, groups=1, bias=False):
    """A convolution and its batch normalisation."""
    return [nn.Conv2d(channels_in, channels_out, size, stride, size // 2, groups=groups, bias=bias),
            nn.BatchNorm2d(channels_out)]


def biased(channels_in, channels_out, size, stride=1):
    return convolution(channels_in, channels_out, size, stride, bias=True)


class Bottleneck(nn.Module):
    def __init__(self, channels_in, narrow, stride):
        super().__init__()
        same = stride == 1 and channels_in == 4 * narrow
        self.shortcut = nn.Identity() if same else nn.Sequential(*biased(channels_in, 4 * narrow, 1, stride))
        self.layers = nn.Sequential(*biased(channels_in, narrow, 1, stride), nn.ReLU(inplace=True),
                                    *biased(narrow, narrow, 3), nn.ReLU(inplace=True),
                                    *biased(narrow, 4 * narrow, 1))

    def forward(self, x):
        return F.relu(self.layers(x) + self.shortcut(x), inplace=True)


def resnet50(classes):
    layers = [*biased(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for narrow, repeats, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(repeats):
            layers.append(Bottleneck(channels, narrow, stride if i == 0 else 1))
            channels = 4 * narrow
    return nn.Sequential(*layers, *head(channels, classes))


# ---- ResNet50V2 ----

class PreactivatedBottleneck(nn.Module):
    """The stride in the 3 x 3 convolution, and in the last block of a stage."""

    def __init__(self, channels_in, narrow, stride):
        super().__init__()
        self.first = nn.Sequential(residual_norm(channels_in), nn.ReLU(inplace=True))
        self.convolved = channels_in != 4 * narrow
        self.shortcut = nn.Identity()
        if self.convolved:
            self.shortcut = nn.Conv2d(channels_in, 4 * narrow, 1, stride)
        elif stride > 1:
            self.shortcut = nn.MaxPool2d(1, stride)
        self.layers = nn.Sequential(
            nn.Conv2d(channels_in, narrow, 1, bias=False), residual_norm(narrow), nn.ReLU(inplace=True),
            nn.Conv2d(narrow, narrow, 3, stride, 1, bias=False), residual_norm(narrow), nn.ReLU(inplace=True),
            nn.Conv2d(narrow, 4 * narrow, 1))

    def forward(self, x):
        active = self.first(x)
        return self.shortcut(active if self.convolved else x) + self.layers(active)


def residual_norm(channels):
    return nn.BatchNorm2d(channels, eps=1.001e-5)


def resnet50_v2(classes, padding):
    """Keras pads with zeros before the maximum, PyTorch's users with what is never the maximum, without a copy."""
    pool = [nn.ZeroPad2d(1), nn.MaxPool2d(3, 2)] if padding == "keras" else [nn.MaxPool2d(3, 2, 1)]
    layers = [nn.Conv2d(3, 64, 7, 2, 3), *pool]
    channels = 64
    for narrow, repeats, last in ((64, 3, 2), (128, 4, 2), (256, 6, 2), (512, 3, 1)):
        for i in range(repeats):
            layers.append(PreactivatedBottleneck(channels, narrow, last if i == repeats - 1 else 1))
            channels = 4 * narrow
    return nn.Sequential(*layers, residual_norm(channels), nn.ReLU(inplace=True), *head(channels, classes))


# ---- EfficientNetB0 ----

class SqueezeExcitation(nn.Module):
    def __init__(self, channels, narrow):
        super().__init__()
        self.squeeze, self.excite = nn.Conv2d(channels, narrow, 1), nn.Conv2d(narrow, channels, 1)

    def forward(self, x):
        scale = F.silu(self.squeeze(F.adaptive_avg_pool2d(x, 1)), inplace=True)
        return x * torch.sigmoid(self.excite(scale))


class DropConnect(nn.Module):
    """Stochastic depth: leaves out whole images."""

    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, x):
        if not self.training or self.rate == 0:
            return x
        kept = torch.empty((x.shape[0], 1, 1, 1), dtype=x.dtype).bernoulli_(1 - self.rate)
        return x * kept.div_(1 - self.rate)


class MBConv(nn.Module):
    def __init__(self, channels_in, channels_out, size, stride, expansion, drop):
        super().__init__()
        wide = channels_in * expansion
        layers = []
        if expansion != 1:
            layers += [*convolution(channels_in, wide, 1), nn.SiLU(inplace=True)]
        layers += [*convolution(wide, wide, size, stride, groups=wide), nn.SiLU(inplace=True),
                   SqueezeExcitation(wide, channels_in // 4), *convolution(wide, channels_out, 1)]
        self.residual = stride == 1 and channels_in == channels_out
        if self.residual:
            layers.append(DropConnect(drop))
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.layers(x) if self.residual else self.layers(x)


def efficientnet_b0(classes):
    layers = [*convolution(3, 32, 3, 2), nn.SiLU(inplace=True)]
    channels, block = 32, 0
    for expansion, filters, repeats, stride, size in ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5),
                                                      (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5),
                                                      (6, 320, 1, 1, 3)):
        for i in range(repeats):
            layers.append(MBConv(channels, filters, size, stride if i == 0 else 1, expansion, 0.2 * block / 16))
            channels, block = filters, block + 1
    return nn.Sequential(*layers, *convolution(channels, 1280, 1), nn.SiLU(inplace=True), *head(1280, classes, 0.2))


# ---- DenseNet121 ----

class DenseBlock(nn.Module):
    def __init__(self, channels, repeats, growth):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(nn.BatchNorm2d(channels + i * growth), nn.ReLU(inplace=True),
                          nn.Conv2d(channels + i * growth, 4 * growth, 1, bias=False), nn.BatchNorm2d(4 * growth),
                          nn.ReLU(inplace=True), nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False))
            for i in range(repeats))

    def forward(self, x):
        parts = [x]
        for layer in self.layers:
            parts.append(layer(torch.cat(parts, 1)))
        return torch.cat(parts, 1)


def densenet121(classes):
    layers = [*convolution(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    channels, growth = 64, 32
    for i, repeats in enumerate((6, 12, 24, 16)):
        if i > 0:
            layers += [nn.BatchNorm2d(channels), nn.ReLU(inplace=True),
                       nn.Conv2d(channels, channels // 2, 1, bias=False), nn.AvgPool2d(2)]
            channels //= 2
        layers.append(DenseBlock(channels, repeats, growth))
        channels += repeats * growth
    return nn.Sequential(*layers, nn.BatchNorm2d(channels), nn.ReLU(inplace=True), *head(channels, classes))


# ---- Xception ----

class SameMaxPool(nn.Module):
    """TensorFlow's maximum of 3 x 3 with stride 2 and padding 'same', without a copy: cells beyond the last row do not
    count."""

    def forward(self, x):
        odd = x.shape[2] % 2
        return F.max_pool2d(x, 3, 2, odd, ceil_mode=not odd)


def separable(channels_in, channels_out):
    return [nn.Conv2d(channels_in, channels_in, 3, 1, 1, groups=channels_in, bias=False),
            nn.Conv2d(channels_in, channels_out, 1, bias=False), nn.BatchNorm2d(channels_out, eps=1e-3)]


class XceptionBlock(nn.Module):
    """Separable convolutions behind ReLUs; those of square images of odd and even size are pooled alike."""

    def __init__(self, channels, widths, strided, relu_first=True):
        super().__init__()
        self.shortcut = nn.Identity()
        if strided:
            self.shortcut = nn.Sequential(nn.Conv2d(channels, widths[-1], 1, 2, bias=False),
                                          nn.BatchNorm2d(widths[-1], eps=1e-3))
        layers = []
        for i, width in enumerate(widths):
            if i > 0 or relu_first:
                # The first ReLU leaves its input as it is: the shortcut needs it.
                layers.append(nn.ReLU(inplace=i > 0))
            layers += separable(channels, width)
            channels = width
        self.layers = nn.Sequential(*layers, *([SameMaxPool()] if strided else []))

    def forward(self, x):
        return self.layers(x) + self.shortcut(x)


def xception(classes):
    layers, channels = [], 3
    for filters, stride in ((32, 2), (64, 1)):
        layers += [nn.Conv2d(channels, filters, 3, stride, bias=False), nn.BatchNorm2d(filters, eps=1e-3),
                   nn.ReLU(inplace=True)]
        channels = filters
    layers += [XceptionBlock(64, (128, 128), True, relu_first=False), XceptionBlock(128, (256, 256), True),
               XceptionBlock(256, (728, 728), True), *(XceptionBlock(728, (728,) * 3, False) for _ in range(8)),
               XceptionBlock(728, (728, 1024), True), *separable(1024, 1536), nn.ReLU(inplace=True),
               *separable(1536, 2048), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers, *head(2048, classes))


# ---- InceptionV3 and InceptionResNetV2 ----

def shift_norm(channels):
    """Batch normalisation without a factor to train."""
    norm = nn.BatchNorm2d(channels, eps=1e-3)
    norm.weight.requires_grad_(False)
    return norm


class Concatenated(nn.Module):
    def __init__(self, branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)


class ScaledResidual(nn.Module):
    def __init__(self, branches, channels, scale, relu):
        super().__init__()
        inside, width = inception_layers([branches], channels)
        self.layers = nn.Sequential(*inside, nn.Conv2d(width, channels, 1))
        self.scale, self.relu = scale, relu

    def forward(self, x):
        x = torch.add(x, self.layers(x), alpha=self.scale)
        return F.relu(x, inplace=True) if self.relu else x


def inception_layers(table, channels):
    """The layers of a table of inception.py, and how many channels come out."""
    layers = []
    for part in table:
        if part == "max":
            layers.append(nn.MaxPool2d(3, 2))
        elif part == "average":
            layers.append(nn.AvgPool2d(3, 1, 1, count_include_pad=False))
        elif isinstance(part, inception.Convolution):
            layers += [nn.Conv2d(channels, part.filters, part.size, part.stride, part.padding, bias=False),
                       shift_norm(part.filters), nn.ReLU(inplace=True)]
            channels = part.filters
        elif isinstance(part, inception.Branches):
            made = [inception_layers(branch, channels) for branch in part.lists]
            layers.append(Concatenated(nn.Sequential(*branch) for branch, _ in made))
            channels = sum(width for _, width in made)
        else:
            layers.append(ScaledResidual(part.branches, channels, part.scale, part.relu))
    return layers, channels


def inception_network(table, classes):
    layers, channels = inception_layers(table, 3)
    return nn.Sequential(*layers, *head(channels, classes))


# ---- VGG16 ----

def vgg16(classes, size):
    layers, channels = [], 3
    for filters, repeats in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(repeats):
            layers += [nn.Conv2d(channels, filters, 3, 1, 1), nn.ReLU(inplace=True)]
            channels = filters
        layers.append(nn.MaxPool2d(2))
    cells = (size // 32) ** 2 * channels
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(cells, 4096), nn.ReLU(inplace=True), nn.Linear(4096, 4096),
                         nn.ReLU(inplace=True), nn.Linear(4096, classes))


# ---- the small ones ----

def two_convolutions(classes):
    return nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(inplace=True), nn.MaxPool2d(2),
                         nn.Conv2d(32, 64, 3), nn.ReLU(inplace=True), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Dropout(0.5), nn.Linear(1600, classes))


def mlp(classes):
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(inplace=True), nn.Linear(512, classes))


# ---- one family of layers each ----

class Sequences(nn.Module):
    """Images [N, features, steps, 1] as [N, steps, features]: a view of channels_last."""

    def forward(self, x):
        return x.squeeze(3).transpose(1, 2)


class Recurrent(nn.Module):
    """The last output of a recurrent layer."""

    def __init__(self, kind, features, units):
        super().__init__()
        self.layer = kind(features, units, batch_first=True)

    def forward(self, x):
        return self.layer(x)[0][:, -1]


class Attention(nn.Module):
    """nn.MultiheadAttention of one input, as short as it is done by hand."""

    def __init__(self, features, heads):
        super().__init__()
        self.heads = heads
        self.within, self.out = nn.Linear(features, 3 * features), nn.Linear(features, features)

    def forward(self, x):
        batch, steps, features = x.shape
        split = self.within(x).view(batch, steps, 3, self.heads, features // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4).unbind(0)
        seen = F.scaled_dot_product_attention(query, key, value)
        return self.out(seen.transpose(1, 2).reshape(batch, steps, features))


class Encoder(nn.Module):
    def __init__(self, features, heads, wide):
        super().__init__()
        self.attention = Attention(features, heads)
        self.dense = nn.Sequential(nn.Linear(features, wide), nn.ReLU(inplace=True), nn.Linear(wide, features))
        self.norm1, self.norm2 = nn.LayerNorm(features), nn.LayerNorm(features)

    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.dense(x))


class Mean(nn.Module):
    """Over all axes of cells; of sequences [N, steps, features] over the steps."""

    def __init__(self, axes):
        super().__init__()
        self.axes = axes

    def forward(self, x):
        return x.mean(self.axes)


class Volumes(nn.Module):
    """Images [N, 3, 16, 32 * 32] as [N, 3, 16, 32, 32] in the layout of volumes."""

    def __init__(self, layout):
        super().__init__()
        self.format = torch.channels_last_3d if layout == "channels_last" else torch.contiguous_format

    def forward(self, x):
        return x.unflatten(3, (32, 32)).contiguous(memory_format=self.format)


def lstm(classes):
    return nn.Sequential(Sequences(), Recurrent(nn.LSTM, 128, 128), nn.Linear(128, classes))


def gru(classes):
    return nn.Sequential(Sequences(), Recurrent(nn.GRU, 128, 128), nn.Linear(128, classes))


def transformer(classes):
    return nn.Sequential(Sequences(), Encoder(256, 8, 1024), Mean(1), nn.Linear(256, classes))


def conv1d(classes, layout):
    """Where channels come last images of one column, since PyTorch has that layout for images and volumes only."""
    layers, channels = [] if layout == "channels_last" else [nn.Flatten(2)], 16
    for filters in (64, 128, 256):
        if layout == "channels_last":
            layers += [nn.Conv2d(channels, filters, (5, 1), padding=(2, 0)), nn.ReLU(inplace=True),
                       nn.MaxPool2d((2, 1))]
        else:
            layers += [nn.Conv1d(channels, filters, 5, padding=2), nn.ReLU(inplace=True), nn.MaxPool1d(2)]
        channels = filters
    axes = (2, 3) if layout == "channels_last" else 2
    return nn.Sequential(*layers, Mean(axes), nn.Linear(channels, classes))


def conv3d(classes, layout):
    layers, channels = [Volumes(layout)], 3
    for filters in (32, 64, 128):
        layers += [nn.Conv3d(channels, filters, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool3d(2)]
        channels = filters
    model = nn.Sequential(*layers, Mean((2, 3, 4)), nn.Linear(channels, classes))
    return model.to(memory_format=torch.channels_last_3d) if layout == "channels_last" else model


def decoder(classes, layout):
    order = torch.channels_last if layout == "channels_last" else torch.contiguous_format

    class Images(nn.Module):
        def forward(self, x):
            return x.view(-1, 4, 4, 256).permute(0, 3, 1, 2).contiguous(memory_format=order)

    layers, channels = [nn.Flatten(), nn.Linear(128, 4096), nn.ReLU(inplace=True), Images()], 256
    for filters in (128, 64, 32):
        layers += [nn.ConvTranspose2d(channels, filters, 4, 2, 1), nn.ReLU(inplace=True)]
        channels = filters
    return nn.Sequential(*layers, nn.ConvTranspose2d(channels, 3, 4, 2, 1), nn.Tanh(), Mean((2, 3)),
                         nn.Linear(3, classes))


def layer_norm_mlp(classes):
    layers, features = [nn.Flatten()], 784
    for _ in range(3):
        layers += [nn.Linear(features, 512), nn.LayerNorm(512), nn.ReLU(inplace=True)]
        features = 512
    return nn.Sequential(*layers, nn.Linear(512, classes))


def build(name, classes, padding, layout="channels_last", size=224):
    """`size` is that of the images, which VGG16 has dense layers for."""
    padded = {"flowers": flowers, "MobileNetV2": mobilenet_v2, "ResNet50V2": resnet50_v2}
    if name in padded:
        return padded[name](classes, padding)
    if name in ("conv1d", "conv3d", "decoder"):
        return {"conv1d": conv1d, "conv3d": conv3d, "decoder": decoder}[name](classes, layout)
    if name in ("InceptionV3", "InceptionResNetV2"):
        table = inception.inception_v3 if name == "InceptionV3" else inception.inception_resnet_v2
        return inception_network(table(), classes)
    if name == "VGG16":
        return vgg16(classes, size)
    builders = {"mnist": two_convolutions, "mlp": mlp, "ResNet50": resnet50,
                "EfficientNetB0": efficientnet_b0, "DenseNet121": densenet121, "Xception": xception, "lstm": lstm,
                "gru": gru, "transformer": transformer, "layer_norm_mlp": layer_norm_mlp}
    return builders[name](classes)


def initialize(model):
    """Keras's initial weights: glorot_uniform kernels and zero biases."""
    for layer in model.modules():
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


def count_weights(model):
    """As Keras counts them: what is trained, and the moving averages."""
    moving = sum(buffer.numel() for buffer in model.buffers() if buffer.dim() > 0)
    return moving + sum(weights.numel() for weights in model.parameters() if weights.requires_grad)


def main():
    wrong = []
    for name, expected in peer_common.ZOO.items():
        count = count_weights(build(name, 1000, "symmetric"))
        print(f"{name} {count}")
        if count != expected:
            wrong.append(f"{name} has {count} weights, expected {expected}")
    count = count_weights(build("flowers", 5, "keras")[:-1])
    print(f"MobileNetV2 0.35 without its top {count}")
    if count != 410208:
        wrong.append(f"the backbone of flowers has {count} weights, Keras's has 410208")
    for line in wrong:
        print(f"pytorch_networks.py: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
