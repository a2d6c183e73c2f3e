#!/usr/bin/env python3
"""Writes networks of torchvision and timm as safetensors files, with what they make of two images: torch_networks.py FOLDER.
tests/train/checkpoint/test_foreign_weights.c reads them. Weights are drawn: nothing is fetched."""
import json
import os
import struct
import sys
import types

# torchvision registers operators of its compiled part, which no network here needs, and which is for another build of torch.
sys.modules["torchvision._meta_registrations"] = types.ModuleType("torchvision._meta_registrations")
import numpy as np
import timm
import torch
import torchvision

CLASSES = 10
MEAN, DEVIATION = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])


def save(path, state):
    """The format's description in a few lines: github.com/huggingface/safetensors."""
    header, data = {}, b""
    dtypes = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64"}
    for name, tensor in state.items():
        tensor = tensor.detach().contiguous()
        raw = tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor
        piece = raw.numpy().tobytes()
        offsets = [len(data), len(data) + len(piece)]
        header[name] = {"dtype": dtypes[tensor.dtype], "shape": list(tensor.shape), "data_offsets": offsets}
        data += piece
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def draw(network):
    """Batch normalisations of a new network do nothing; these do."""
    for name, values in network.named_buffers():
        if name.endswith("running_mean"):
            values.normal_(0, 0.1)
        if name.endswith("running_var"):
            values.uniform_(0.5, 1.5)
    for name, values in network.named_parameters():
        if values.dim() == 1 and name.endswith("weight"):
            values.data.uniform_(0.5, 1.5)
        elif values.dim() == 1:
            values.data.normal_(0, 0.1)
    return network.eval()


def write(folder, name, network, size, dtype=None, old_names=False, mean=MEAN, deviation=DEVIATION, prefix=""):
    torch.manual_seed(1)
    network = draw(network)
    if dtype:
        network.load_state_dict({k: v.to(dtype).to(v.dtype) for k, v in network.state_dict().items()})
    state = network.state_dict()
    if dtype:
        state = {k: v.to(dtype) if v.is_floating_point() else v for k, v in state.items()}
    if prefix:
        state = {prefix + k: v for k, v in state.items()}
    if old_names:
        for kind in "norm1", "norm2", "conv1", "conv2":
            pieces = (f".{kind}.", f".{kind[:4]}.{kind[4]}.")
            state = {k.replace(*pieces) if "denselayer" in k else k: v for k, v in state.items()}
    save(f"{folder}/{name}.safetensors", state)
    images = np.random.default_rng(3).integers(0, 256, (2, size, size, 3)).astype(np.float32)
    normalised = ((images / 255 - mean) / deviation).astype(np.float32)
    with torch.no_grad():
        answers = torch.softmax(network(torch.from_numpy(normalised.transpose(0, 3, 1, 2).copy())), 1)
    (normalised if "densenet" in name else images).tofile(f"{folder}/{name}.input")
    answers.numpy().tofile(f"{folder}/{name}.output")


folder = sys.argv[1]
vision = torchvision.models
write(folder, "densenet121", vision.densenet121(num_classes=CLASSES), 64)
write(folder, "densenet121_old", vision.densenet121(num_classes=CLASSES), 64, old_names=True)
write(folder, "densenet169_timm", timm.create_model("densenet169", num_classes=CLASSES), 64, prefix="module.")
write(folder, "densenet201_f16", vision.densenet201(num_classes=CLASSES), 33, torch.float16)
write(folder, "tf_efficientnet_b0", timm.create_model("tf_efficientnet_b0", num_classes=CLASSES), 64)
write(folder, "tf_efficientnet_b1_bf16", timm.create_model("tf_efficientnet_b1", num_classes=CLASSES), 75, torch.bfloat16)
write(folder, "tf_efficientnet_b3", timm.create_model("tf_efficientnet_b3", num_classes=CLASSES), 48)
for name, network in (
    ("resnet50", vision.resnet50),
    ("mobilenet_v2", vision.mobilenet_v2),
    ("efficientnet_b0", vision.efficientnet_b0),
):
    save(f"{folder}/{name}.safetensors", network(num_classes=CLASSES).state_dict())
for name in "resnet50", "resnetv2_50", "mobilenetv2_100", "efficientnet_b0":
    save(f"{folder}/{name}_timm.safetensors", timm.create_model(name, num_classes=CLASSES).state_dict())
# The folder of a hub: the configuration says how images are normalised.
half = np.float32([0.5, 0.5, 0.5])
os.mkdir(f"{folder}/hub")
write(f"{folder}/hub", "model", timm.create_model("tf_efficientnet_b0", num_classes=CLASSES), 64, mean=half, deviation=half)
with open(f"{folder}/hub/config.json", "w") as file:
    json.dump({"architecture": "tf_efficientnet_b0", "pretrained_cfg": {"mean": [0.5] * 3, "std": [0.5] * 3}}, file)
os.mkdir(f"{folder}/other")
os.link(f"{folder}/efficientnet_b0_timm.safetensors", f"{folder}/other/model.safetensors")
with open(f"{folder}/other/config.json", "w") as file:
    json.dump({"architecture": "efficientnet_b0", "num_classes": CLASSES}, file)
torch.save(vision.densenet121(num_classes=CLASSES).state_dict(), f"{folder}/network.pth")
torch.save({"a": torch.zeros(2)}, f"{folder}/old.pt", _use_new_zipfile_serialization=False)
