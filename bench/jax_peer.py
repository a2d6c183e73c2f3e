#!/usr/bin/env python3
"""What JAX makes of the networks that liana is measured on: images per second, for bench.sh.

    jax_peer.py MODEL [--infer] [--precision float32|bfloat16] [--depthwise groups|taps] [--unroll N]
                [--export FILE]

jax_networks.py has the networks; the step is one jitted function of uint8 images (their scaling, the network, its
gradients, Adam), whose buffers are given on from step to step. Under bfloat16 weights, their gradients' sums and batch
normalisation's statistics stay float32. scripts/install-peers.sh installs JAX. peer_common.py says how steps are timed.
"""
import functools
import sys

import peer_common

try:
    import numpy
    import jax
    import jax.numpy as jnp
except ImportError as missing:
    peer_common.missing("jax_peer.py", missing, "scripts/install-peers.sh jax installs it")
import jax_networks


def forward(options, task, weights, moving, images, key, train):
    dtype = jnp.dtype(options.precision)
    scope = jax_networks.Scope(weights, moving, key, train, dtype, options.depthwise == "taps", options.unroll)
    x = (images.astype(jnp.float32) * task.scale + task.offset).astype(dtype)
    outputs = jax_networks.NETWORKS[options.model](scope, x, task.classes)
    return outputs.astype(jnp.float32), scope.moved


def adam(weight, gradient, mean, square, step, rate):
    mean = 0.9 * mean + 0.1 * gradient
    square = 0.999 * square + 0.001 * jnp.square(gradient)
    corrected = rate * jnp.sqrt(1 - 0.999 ** step) / (1 - 0.9 ** step)
    return weight - corrected * mean / (jnp.sqrt(square) + 1e-7), mean, square


def training_step(options, task, weights, moving):
    def loss_of(weights, moving, images, labels, key):
        outputs, moved = forward(options, task, weights, moving, images, key, True)
        chosen = jnp.take_along_axis(jax.nn.log_softmax(outputs), labels[:, None], 1)
        return -jnp.mean(chosen), moved

    @functools.partial(jax.jit, donate_argnums=0)
    def update(state, images, labels):
        weights, means, squares, moving, key, step = state
        key, used = jax.random.split(key)
        (loss, moving), gradients = jax.value_and_grad(loss_of, has_aux=True)(weights, moving, images, labels, used)
        results = [adam(*each, step, task.rate) for each in zip(weights, gradients, means, squares)]
        weights, means, squares = ([result[i] for result in results] for i in range(3))
        return (weights, means, squares, moving, key, step + 1), loss

    zeros = jax.jit(lambda weights: [jnp.zeros_like(weight) for weight in weights])
    state = (weights, zeros(weights), zeros(weights), moving, jax.random.key(2), jnp.float32(1))

    def run(images, labels):
        nonlocal state
        state, loss = update(state, images, labels)
        return float(loss)

    def export(images, labels):
        return update.lower(state, images, labels).as_text()
    run.export = export
    return run


def inference_step(options, task, weights, moving):
    @jax.jit
    def answer(weights, moving, images):
        outputs, _ = forward(options, task, weights, moving, images, None, False)
        return jnp.max(jax.nn.softmax(outputs))
    return lambda images, _: float(answer(weights, moving, images))


def batches_for(options, task):
    random = numpy.random.default_rng(1)
    if options.input == "synthetic":
        shape = (task.batch, *task.shape)
        batch = (jnp.asarray(random.integers(0, 256, shape, numpy.uint8)),
                 jnp.asarray(random.integers(0, task.classes, task.batch, numpy.int32)))
        while True:
            yield batch
    images, labels = peer_common.read_mnist(numpy, options.input)
    images, labels = images[..., None], labels.astype(numpy.int32)
    while True:
        order = random.permutation(len(images))
        for begin in range(0, len(images) - task.batch + 1, task.batch):
            chosen = order[begin:begin + task.batch]
            yield images[chosen], labels[chosen]


def main():
    parser = peer_common.parser(__doc__.split("\n")[0])
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--depthwise", choices=("groups", "taps"), default="groups",
                        help="depthwise convolutions: XLA's in groups, or a product for each tap")
    parser.add_argument("--unroll", type=int, default=1, help="steps of a recurrent layer that are one step of the loop")
    parser.add_argument("--export", metavar="FILE", help="write the update as StableHLO, and measure nothing")
    options = parser.parse_args()
    if options.input != "synthetic" and options.model not in ("mnist", "mlp"):
        parser.error("--input is for mnist and mlp; JAX has no reader of its own for TFRecords")
    peer_common.limit_threads(options.threads)
    task = peer_common.Task(options)
    weights, moving = jax.device_put(jax_networks.create(options.model, task.shape, task.classes))
    make = inference_step if options.infer else training_step
    run = make(options, task, weights, moving)
    if options.export:
        with open(options.export, "w") as file:
            file.write(run.export(*next(batches_for(options, task))))
        return None
    setting = f"jit {options.precision} {options.depthwise} unroll {options.unroll}"
    measured = peer_common.time_steps(options, batches_for(options, task), run)
    peer_common.report("JAX", jax.__version__, setting, options, task.batch, measured)


if __name__ == "__main__":
    sys.exit(main())
