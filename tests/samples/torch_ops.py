#!/usr/bin/env python3
"""Writes torch_ops.h: what PyTorch computes for a few asymmetric convolutions, poolings and batch normalisations.

  python3 tests/samples/torch_ops.py > tests/samples/torch_ops.h

Inputs are eighths made by a formula that the test repeats, so the convolutions' results are whole 64ths: exact in any
order of summation and in f32. PyTorch pads alike on both sides; TensorFlow's asymmetric padding is done by F.pad."""
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)


def fill(seed, *shape):
    count = 1
    for size in shape:
        count *= size
    i = torch.arange(count)
    return (((i * 7 + seed * 5 + i // 3) % 23 - 11) / 8.0).reshape(shape)


def write(name, tensor, unit=None):
    values = tensor.detach().reshape(-1).tolist()
    if unit:
        assert all((v * unit).is_integer() for v in values)
        kind, texts = "int16_t", [str(int(v * unit)) for v in values]
    else:
        kind, texts = "double", [repr(v) for v in values]
    print(f"static const {kind} {name}[] = {{")
    row = "   "
    for text in texts:
        if len(row) + len(text) + 2 > 118:
            print(row)
            row = "   "
        row += f" {text},"
    print(row + "\n};")


def nchw(x):
    return x.permute(0, 3, 1, 2)


def nhwc(x):
    return x.permute(0, 2, 3, 1)


def conv(name, x_shape, kernel_shape, strides, padding, dilations, groups, depthwise=False):
    x = fill(1, *x_shape).requires_grad_()
    kernel = fill(2, *kernel_shape).requires_grad_()
    height, width, channels, last = kernel_shape
    weights = kernel.reshape(height, width, 1, channels * last) if depthwise else kernel
    top, bottom, left, right = padding
    padded = F.pad(nchw(x), (left, right, top, bottom))
    y = nhwc(F.conv2d(padded, weights.permute(3, 2, 0, 1), None, strides, 0, dilations,
                      channels if depthwise else groups))
    y.backward(fill(3, *y.shape))
    for part, tensor in (("y", y), ("dx", x.grad), ("dkernel", kernel.grad)):
        write(f"{name}_{part}", tensor, 64)


print("/* Made by torch_ops.py with PyTorch " + torch.__version__.split("+")[0] + ". */")
print("#include <stdint.h>\n\n/* clang-format off */")
conv("conv_same", (1, 5, 6, 2), (3, 3, 2, 3), (2, 2), (1, 1, 0, 1), (1, 1), 1)
conv("conv_grouped", (2, 6, 5, 4), (2, 3, 2, 6), (1, 2), (1, 0, 2, 1), (2, 1), 2)
conv("depthwise_multiplied", (1, 5, 4, 3), (3, 2, 3, 2), (2, 1), (1, 1, 0, 1), (1, 1), 1, True)
conv("depthwise", (1, 5, 4, 17), (3, 3, 17, 1), (2, 2), (1, 1, 0, 1), (1, 1), 1, True)
conv("depthwise_dilated", (1, 6, 7, 9), (2, 3, 9, 1), (1, 1), (1, 1, 2, 2), (2, 2), 1, True)

x = fill(1, 1, 5, 6, 3).requires_grad_()
padded = F.pad(nchw(x), (0, 1, 1, 1), value=float("-inf"))
y = nhwc(F.max_pool2d(padded, (3, 3), (2, 2)))
y.backward(fill(3, *y.shape))
write("max_pool_y", y, 8)
write("max_pool_dx", x.grad, 8)

x = fill(1, 2, 5, 4, 3).requires_grad_()
y = nhwc(F.avg_pool2d(nchw(x), (3, 2), (2, 1), (1, 1), count_include_pad=False))
y.backward(fill(3, *y.shape))
write("average_pool_y", y)
write("average_pool_dx", x.grad)

for training in (True, False):
    name = "batch_norm_training" if training else "batch_norm_inference"
    x = fill(1, 3, 2, 3, 5).requires_grad_()
    gamma, beta = fill(2, 5).requires_grad_(), fill(4, 5).requires_grad_()
    if training:
        y = nhwc(F.batch_norm(nchw(x), None, None, gamma, beta, True, 0.1, 1e-3))
        flat = x.reshape(-1, 5)
        write("batch_norm_statistics", torch.stack([flat.mean(0), flat.var(0, unbiased=False)]))
    else:
        mean, variance = fill(5, 5).requires_grad_(), (fill(6, 5) + 2).requires_grad_()
        y = gamma * (x - mean) / torch.sqrt(variance + 1e-3) + beta
    y.backward(fill(3, *y.shape))
    write(f"{name}_y", y)
    write(f"{name}_dx", x.grad)
    write(f"{name}_dgamma", gamma.grad)
    write(f"{name}_dbeta", beta.grad)
    if not training:
        write(f"{name}_dmean", mean.grad)
        write(f"{name}_dvariance", variance.grad)
