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
mkdir -p models/images models/table/1
python3 - <<'END'
import json
import struct

# A JPEG of the drawn data; table: a Dense layer with the weights 1 and -1, as liana_model_save writes it.
import glob
records = open(sorted(glob.glob('data/train/*.tfrec'))[0], 'rb').read()
start = records.index(b'\xff\xd8\xff')
open('photo.jpg', 'wb').write(records[start:records.index(b'\xff\xd9', start) + 2])
layers = [{'class_name': 'InputLayer', 'config': {'batch_shape': [None, 2], 'dtype': 'float32', 'name': 'x'}},
          {'class_name': 'Dense', 'config': {'name': 'dense', 'units': 1, 'activation': 'linear', 'use_bias': False}}]
json.dump({'class_name': 'Sequential', 'config': {'name': 'table', 'layers': layers}, 'keras_version': '3.0.0'},
          open('models/table/1/model.json', 'w'))
header = json.dumps({'dense/kernel': {'dtype': 'F32', 'shape': [2, 1], 'data_offsets': [0, 8]}}).encode()
header += b' ' * (-len(header) % 8)
open('models/table/1/weights.safetensors', 'wb').write(struct.pack('<Q', len(header)) + header + struct.pack('<ff', 1, -1))
END
cp -r run models/images/1
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out certificate.pem -days 2 -subj /CN=localhost 2>/dev/null
