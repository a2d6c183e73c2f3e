"""onnxruntime's run, without any HTTP, for bench/serve.sh: predictions a second with batches of one size.

    serve_peer.py MODEL.onnx BATCH SECONDS THREADS"""
import json
import sys
import time

import numpy
import onnxruntime

model, batch, seconds, threads = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = threads
session = onnxruntime.InferenceSession(model, options, providers=['CPUExecutionProvider'])
(given,) = session.get_inputs()
shape = [batch] + [size for size in given.shape[1:]]
images = numpy.random.default_rng(1).random(shape, dtype=numpy.float32) * 2 - 1
for _ in range(3):
    session.run(None, {given.name: images})
begin = time.perf_counter()
count = 0
while time.perf_counter() - begin < seconds:
    session.run(None, {given.name: images})
    count += batch
print(json.dumps({'batch': batch, 'predictions_per_second': round(count / (time.perf_counter() - begin), 1)}))
