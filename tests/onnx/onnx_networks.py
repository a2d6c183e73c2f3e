#!/usr/bin/env python3
"""Writes small networks of PyTorch as ONNX files, by both exporters, with what onnxruntime makes of them:
onnx_networks.py FOLDER [torchvision]. tests/onnx/test_onnx_networks.c reads them. Weights are drawn: nothing is fetched.

Of each network NAME.case.json says the shape of the input as liana has it, NAME.x holds the input and NAME.y the first
output, as float32 (ids: int32). cnn_step.* holds one update."""
import glob
import json
import os
import sys
import types
import warnings

warnings.filterwarnings("ignore")
folder, which = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "small"
peers = os.environ.get("LIANA_PEERS") or os.path.expanduser(
    os.path.join(os.environ.get("XDG_CACHE_HOME", "~/.cache"), "liana-peers"))
sys.path += glob.glob(os.path.join(peers, "onnx/lib/python3*/site-packages")) + [os.path.join(peers, "networks")]
sys.modules["torchvision._meta_registrations"] = types.ModuleType("torchvision._meta_registrations")
import numpy as np
import onnxruntime
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(1)


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.conv2, self.fc = nn.Conv2d(8, 12, 3, stride=2, padding=1), nn.Linear(12 * 4 * 4, 10)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = F.max_pool2d(torch.relu(self.conv2(x)), 2)
        return self.fc(torch.flatten(x, 1))


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.bn0, self.pool = nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.MaxPool2d(3, 2, 1)
        self.c1, self.b1 = nn.Conv2d(8, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16)
        self.c2, self.b2 = nn.Conv2d(16, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16)
        self.down, self.fc = nn.Sequential(nn.Conv2d(8, 16, 1, 2, bias=False), nn.BatchNorm2d(16)), nn.Linear(16, 5)

    def forward(self, x):
        x = self.pool(torch.relu(self.bn0(self.stem(x))))
        y = self.b2(self.c2(torch.relu(self.b1(self.c1(x)))))
        return self.fc(F.adaptive_avg_pool2d(torch.relu(y + self.down(x)), 1).flatten(1))


class Depthwise(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 1), nn.ReLU6(), nn.Conv2d(8, 16, 3, 2, 1, groups=8), nn.Hardswish(),
                                  nn.Conv2d(16, 4, 1, groups=2), nn.SiLU(), nn.Dropout(0.2), nn.PReLU(4),
                                  nn.AvgPool2d(3, 2, 1, count_include_pad=False), nn.Hardsigmoid())
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        return self.fc(self.body(x).mean([2, 3]))


class Recurrent(nn.Module):
    def __init__(self, kind, both):
        super().__init__()
        self.rnn = kind(6, 8, num_layers=2, batch_first=True, bidirectional=both)
        self.fc = nn.Linear(16 if both else 8, 3)

    def forward(self, x):
        return self.fc(self.rnn(x)[0][:, -1])


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(50, 16)
        self.encoder = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, activation="gelu")
        self.fc = nn.Linear(16, 4)

    def forward(self, x):
        return self.fc(self.encoder(self.table(x)).mean(1))


class Steps(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.b1, self.c2 = nn.Conv1d(4, 8, 5, padding=2), nn.BatchNorm1d(8), nn.Conv1d(8, 8, 3, dilation=2)
        self.fc = nn.Linear(8 * 12, 3)

    def forward(self, x):
        return self.fc(F.leaky_relu(self.c2(torch.relu(self.b1(self.c1(x))))).flatten(1))


class Transposed(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.norm, self.up = nn.Conv2d(3, 8, 3, 2, 1), nn.GroupNorm(2, 8), nn.ConvTranspose2d(8, 4, 4, 2, 1)
        self.last = nn.ConvTranspose2d(4, 2, 3, 2, 1, output_padding=1)

    def forward(self, x):
        x = torch.relu(self.norm(self.down(x)))
        y = torch.cat([torch.relu(self.up(x)), F.interpolate(x, scale_factor=2)], 1)
        return self.last(y[:, 2:6])


class Joined(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, 2, 1), nn.Conv2d(16, 8, 1)
        self.shuffle = nn.PixelShuffle(2)

    def forward(self, x):
        a = torch.relu(self.a(x))
        b = F.interpolate(self.b(a), scale_factor=2, mode="bilinear", align_corners=False)
        left, right = torch.split(self.c(torch.cat([F.avg_pool2d(a, 3, 1, 1), b], 1)), 4, 1)
        return torch.softmax(self.shuffle(left * torch.sigmoid(right)).permute(0, 2, 3, 1).reshape(-1, 64, 16), -1)


class Volume(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv3d(2, 4, 3, padding=1), nn.Linear(4, 3)

    def forward(self, x):
        return self.fc(F.max_pool3d(torch.relu(self.conv(x)), 2).mean([2, 3, 4]))


class Groups(nn.Module):
    """Groups, and edges that are mirrored or repeated."""
    def __init__(self):
        super().__init__()
        self.edge, self.mirror = nn.ReplicationPad2d((1, 2, 0, 3)), nn.ReflectionPad2d(2)
        self.up = nn.ConvTranspose2d(6, 4, 3, 2, 1, output_padding=1, groups=2)
        self.down = nn.Conv2d(3, 6, 3, 2)
        self.deep = nn.ConvTranspose2d(4, 4, 2, 2, groups=4, bias=False)

    def forward(self, x):
        return self.deep(torch.relu(self.up(self.down(self.edge(self.mirror(x))))))


class Strided(nn.Module):
    """One kernel in convolutions of different strides and dilations."""
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 3, 3, 3) / 4)

    def forward(self, x):
        a, b = F.conv2d(x, self.weight, padding=1), F.conv2d(x, self.weight, padding=1, stride=2)
        c = F.conv2d(x, self.weight, padding=2, dilation=2)
        return (a + c).mean([2, 3]) + b.mean([2, 3])


class Started(nn.Module):
    """States that begin with what follows from the data, and with numbers that are not zeros."""
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 8)
        self.lstm = nn.LSTM(6, 4, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(8, 5, batch_first=True)

    def forward(self, x):
        h, c = torch.split(torch.tanh(self.first(x[:, 0])), 4, 1)
        y, _ = self.lstm(x, (torch.stack([h, c]), torch.stack([c, h])))
        z, last = self.gru(y, torch.full((1, x.shape[0], 5), 0.25))
        return torch.cat([z[:, -1], last[0]], 1)


@torch.jit.script
def walk(x: torch.Tensor, kernel: torch.Tensor, inner: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    h = torch.zeros(x.size(0), inner.size(0))
    for i in range(x.size(1)):
        new = torch.tanh(torch.matmul(x[:, i], kernel) + bias + torch.matmul(h, inner))
        if i % 2 == 0:
            h = new
        else:
            h = 0.5 * (h + new)
    return h


class Walk(nn.Module):
    """A loop and a condition as nodes of the file."""
    def __init__(self):
        super().__init__()
        self.kernel, self.inner = nn.Parameter(torch.randn(6, 5)), nn.Parameter(torch.randn(5, 5) / 3)
        self.bias, self.last = nn.Parameter(torch.randn(5) / 3), nn.Linear(5, 2)

    def forward(self, x):
        return self.last(walk(x, self.kernel, self.inner, self.bias))


def dense():
    return nn.Sequential(nn.Linear(5, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 2),
                         nn.Softmax(-1))


def networks():
    if which == "torchvision":
        import torchvision
        images = torch.randn(2, 3, 64, 64)
        yield "mobilenet_v2", torchvision.models.mobilenet_v2(num_classes=10), images
        yield "resnet18", torchvision.models.resnet18(num_classes=10), images
        yield "convnext", torchvision.models.ConvNeXt([torchvision.models.convnext.CNBlockConfig(8, 12, 1),
                                                       torchvision.models.convnext.CNBlockConfig(12, None, 1)],
                                                      num_classes=10), images
        return
    images = torch.randn(3, 3, 16, 16)
    yield "cnn", Convolutions(), images
    yield "residual", Residual(), torch.randn(2, 3, 32, 32)
    yield "depthwise", Depthwise(), images
    yield "lstm", Recurrent(nn.LSTM, True), torch.randn(3, 7, 6)
    yield "gru", Recurrent(nn.GRU, False), torch.randn(3, 7, 6)
    yield "rnn", Recurrent(nn.RNN, False), torch.randn(3, 7, 6)
    yield "encoder", Encoder(), torch.randint(0, 50, (3, 6))
    yield "dense", dense(), torch.randn(4, 5)
    yield "steps", Steps(), torch.randn(2, 4, 16)
    yield "transposed", Transposed(), images
    yield "joined", Joined(), images
    yield "volume", Volume(), torch.randn(2, 2, 6, 6, 6)
    yield "groups", Groups(), images
    yield "strided", Strided(), images
    yield "started", Started(), torch.randn(3, 7, 6)
    yield "walk", Walk(), torch.randn(3, 7, 6)


def draw(network):
    """Normalisations of a new network do nothing; these do."""
    for module in network.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d)):
            nn.init.normal_(module.running_mean, 0, 0.2)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.LayerNorm, nn.GroupNorm)):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, 0, 0.2)


def channels_last(values, is_image):
    return np.ascontiguousarray(np.moveaxis(values, 1, -1) if is_image else values)


def write(name, values):
    dtype = np.int32 if values.dtype == np.int64 else np.float32
    np.ascontiguousarray(values.astype(dtype)).tofile(os.path.join(folder, name))


def export(network, x, path, kind):
    given = dict(input_names=["x"], output_names=["y"], verbose=False)
    if kind == "fixed":
        torch.onnx.export(network, (x[:1],), path, dynamo=False, opset_version=17, **given)
    elif kind == "script":
        torch.onnx.export(network, (x,), path, dynamo=False, opset_version=14, dynamic_axes={"x": {0: "batch"}}, **given)
    else:
        batch = torch.export.Dim("batch", min=2, max=64)
        torch.onnx.export(network, (x,), path, dynamo=True, dynamic_shapes=({0: batch},), **given)


def write_case(name, network, x):
    is_image = x.dtype != torch.int64 and x.ndim > 2 and not name in ("lstm", "gru", "rnn", "started", "walk")
    for kind in ("script", "fixed") if name == "walk" else ("script", "dynamo", "fixed"):
        path = os.path.join(folder, f"{name}_{kind}.onnx")
        export(network, x, path, kind)
        session = onnxruntime.InferenceSession(path)
        rows = [session.run(None, {"x": x[i:i + 1].numpy()})[0] for i in range(len(x))]
        y = np.concatenate(rows) if kind == "fixed" else session.run(None, {"x": x.numpy()})[0]
        write(f"{name}_{kind}.y", channels_last(y, y.ndim > 3))
    given = channels_last(x.numpy(), is_image)
    write(f"{name}.x", given)
    with open(os.path.join(folder, f"{name}.case.json"), "w") as file:
        json.dump({"shape": list(given.shape), "is_ids": x.dtype == torch.int64}, file)


def write_step():
    """One update by SGD; batch normalisation stays in the file."""
    torch.manual_seed(2)
    network, x, labels = Convolutions(), torch.randn(6, 3, 16, 16), torch.tensor([1, 4, 0, 9, 9, 3])
    draw(network)
    path = os.path.join(folder, "cnn_step.onnx")
    torch.onnx.export(network, (x,), path, dynamo=False, opset_version=14, input_names=["x"], output_names=["y"],
                      dynamic_axes={"x": {0: "batch"}}, training=torch.onnx.TrainingMode.TRAINING,
                      do_constant_folding=False)
    network.train()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    F.cross_entropy(network(x), labels).backward()
    optimizer.step()
    state = {name: tensor.detach().numpy() for name, tensor in network.state_dict().items()}
    write("cnn_step.x", channels_last(x.numpy(), True))
    write("cnn_step.labels", labels.numpy())
    for conv in ("conv1", "conv2"):
        write(f"cnn_step.{conv}.kernel", state[f"{conv}.weight"].transpose(2, 3, 1, 0))
        write(f"cnn_step.{conv}.bias", state[f"{conv}.bias"])
    rows = state["fc.weight"].reshape(10, 12, 4, 4).transpose(2, 3, 1, 0).reshape(-1, 10)
    write("cnn_step.fc.kernel", rows)
    write("cnn_step.fc.bias", state["fc.bias"])
    names = {"gamma": "weight", "beta": "bias", "moving_mean": "running_mean", "moving_variance": "running_var"}
    for own, theirs in names.items():
        write(f"cnn_step.bn1.{own}", state[f"bn1.{theirs}"])


def write_walk_step():
    """The same of a loop, whose steps share their weights."""
    torch.manual_seed(3)
    network, x, labels = Walk(), torch.randn(5, 7, 6), torch.tensor([1, 0, 0, 1, 1])
    export(network, x, os.path.join(folder, "walk_step.onnx"), "script")
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    F.cross_entropy(network(x), labels).backward()
    optimizer.step()
    write("walk_step.x", x.numpy())
    write("walk_step.labels", labels.numpy())
    weights = [network.kernel, network.bias, network.inner, network.last.weight.T, network.last.bias]
    write("walk_step.weights", np.concatenate([weight.detach().numpy().ravel() for weight in weights]))


for case in networks():
    draw(case[1])
    case[1].eval()
    write_case(*case)
if which != "torchvision":
    write_step()
    write_walk_step()
