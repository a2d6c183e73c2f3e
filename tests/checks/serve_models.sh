#!/bin/sh
# Makes models for tests of `liana serve`: models/images/1, whose classes are flowers, and models/table/1, which computes
# x0 - x1; photo.jpg; a certificate with its key.
#   serve_models.sh BUILD_FOLDER FOLDER
set -eu
liana=$1/liana
cd "$2"
"$liana" synth flowers classes=3 images=60 image_size=48 --out data >/dev/null
"$liana" train 'data.train=data/train/*.tfrec' 'data.validation=data/val/*.tfrec' train.epochs=1 train.batch_size=8 \
    'model.layers=[{Conv2D: {filters: 8, kernel_size: 5, strides: 2}}, GlobalAveragePooling2D, {Dense: {units: 3, activation: softmax}}]' \
    --out run >log 2>&1 || { cat log >&2; exit 1; }
mkdir -p models/images models/table/1 documented/half_plus_three/123
python3 - <<'END'
import json
import struct

# A JPEG of the drawn data; models with one Dense layer, as liana_model_save writes them: table, with the weights 1 and -1,
# and half_plus_three of TensorFlow Serving's documents.
import glob
records = open(sorted(glob.glob('data/train/*.tfrec'))[0], 'rb').read()
start = records.index(b'\xff\xd8\xff')
open('photo.jpg', 'wb').write(records[start:records.index(b'\xff\xd9', start) + 2])
def dense(folder, shape, kernel, bias):
    layers = [{'class_name': 'InputLayer', 'config': {'batch_shape': [None, *shape], 'dtype': 'float32', 'name': 'x'}},
              {'class_name': 'Reshape', 'config': {'name': 'row', 'target_shape': [len(kernel)]}},
              {'class_name': 'Dense', 'config': {'name': 'dense', 'units': 1, 'activation': 'linear'}}]
    json.dump({'class_name': 'Sequential', 'config': {'name': 'dense', 'layers': layers}, 'keras_version': '3.0.0'},
              open(folder + '/model.json', 'w'))
    size = 4 * len(kernel)
    header = json.dumps({'dense/kernel': {'dtype': 'F32', 'shape': [len(kernel), 1], 'data_offsets': [0, size]},
                         'dense/bias': {'dtype': 'F32', 'shape': [1], 'data_offsets': [size, size + 4]}}).encode()
    header += b' ' * (-len(header) % 8)
    values = struct.pack(f'<{len(kernel) + 1}f', *kernel, bias)
    open(folder + '/weights.safetensors', 'wb').write(struct.pack('<Q', len(header)) + header + values)


dense('models/table/1', [2], [1, -1], 0)
dense('documented/half_plus_three/123', [], [0.5], 3)
END
cp -r run models/images/1
"$liana" export run --to exported >/dev/null
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out certificate.pem -days 2 -subj /CN=localhost 2>/dev/null
