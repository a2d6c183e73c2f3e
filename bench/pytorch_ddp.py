#!/usr/bin/python3
"""What PyTorch makes of a network in several processes: images per second of all of them, for bench_cluster.sh.

Runs under PyTorch 1.13 (Debian's) and PyTorch 2. Each process has one thread and its share of the batch, and
torch.nn.parallel.DistributedDataParallel adds the gradients up over gloo, as PyTorch's guide says. Networks, optimizer and
input are those of pytorch_peer.py. --processes 1 trains the same batch in one process with --threads threads, without
DistributedDataParallel.

    pytorch_ddp.py MobileNetV2                        2 processes, on one batch that is always there
    pytorch_ddp.py flowers --input 'PATH/*.tfrec'     JPEGs that were decoded before the first step
"""
import os
import sys
import time

import peer_common

try:
    import torch
    import torch.nn.functional as F
except ImportError as missing:
    peer_common.missing("pytorch_ddp.py", missing, "scripts/install-packages.sh --bench installs what it needs")
import pytorch_networks
import pytorch_peer


def batches_for(options, task, size):
    if options.input != "synthetic":
        return pytorch_peer.batches_of(pytorch_peer.Flowers(options.input, True), size, 0)
    height, width, channels = task.shape
    shape = (channels, height, width)
    return pytorch_peer.synthetic_batches(size, shape, task.classes, options.layout, False)


def measure(options, rank):
    """Seconds of steps of the whole batch."""
    task = peer_common.Task(options)
    layout = pytorch_peer.LAYOUTS[options.layout]
    torch.manual_seed(1)
    model = pytorch_networks.build(options.model, task.classes, "keras", size=task.shape[0])
    pytorch_networks.initialize(model)
    model = model.to(memory_format=layout).train()
    trained = torch.nn.parallel.DistributedDataParallel(model) if options.processes > 1 else model
    optimizer = pytorch_peer.adam(model, task.rate)
    batches = batches_for(options, task, task.batch // options.processes)

    def step(images, labels):
        images = images.to(torch.float32, memory_format=layout).mul_(task.scale).add_(task.offset)
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(trained(images), labels).backward()
        optimizer.step()

    # All processes take the same number of steps.
    seconds, total = [], options.warmup + options.steps
    begin = time.perf_counter()
    for _ in range(total):
        step(*next(batches))
        end = time.perf_counter()
        seconds.append(end - begin)
        begin = end
    return task.batch, (seconds[options.warmup:], seconds[0], 0.0)


def run_process(rank, options):
    torch.set_num_threads(options.threads if options.processes == 1 else 1)
    if options.processes > 1:
        torch.distributed.init_process_group("gloo", rank=rank, world_size=options.processes)
    measured = measure(options, rank)
    if rank == 0:
        how = f"DistributedDataParallel, {options.processes} processes" if options.processes > 1 else "one process"
        peer_common.report("PyTorch", torch.__version__, f"{how} {options.layout}", options, *measured)
    if options.processes > 1:
        torch.distributed.destroy_process_group()


def main():
    parser = peer_common.parser(__doc__.split("\n")[0])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--port", default="29517", help="where the processes meet")
    parser.add_argument("--layout", choices=tuple(pytorch_peer.LAYOUTS), default="channels_last")
    options = parser.parse_args()
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=options.port)
    if options.processes == 1:
        run_process(0, options)
    else:
        torch.multiprocessing.spawn(run_process, args=(options,), nprocs=options.processes)


if __name__ == "__main__":
    sys.exit(main())
