// Compares liana's layers with TensorFlow.js, layer by layer.
//
//   node tfjs_compare.js TOLERANCE FOLDER...
//
// Each folder holds what liana computed (tests/layers/test_tfjs.c writes it):
//   model.json     the architecture as Keras 2's to_json()
//   manifest.json  {"input": TENSOR, "weights": [TENSOR, ...], "layers": [TENSOR, ...]} with TENSOR = {"name", "shape",
//                  "offset"}: a place in data.bin, counted in numbers
//   data.bin       float32, little-endian
// TensorFlow.js loads the architecture and the weights (both must fit exactly) and computes every layer's result from
// the input. A layer passes where |liana - tfjs| <= TOLERANCE * max(1, greatest |tfjs| of the layer) for each number.
'use strict';

const fs = require('fs');
const path = require('path');
const tf = require('@tensorflow/tfjs-core');
require('@tensorflow/tfjs-backend-cpu');
const layers = require('@tensorflow/tfjs-layers');

// TensorFlow.js has no `keepdims` for these two; the options that it has are its own.
function poolingWithKeepdims(className, reduce) {
  const cls = class extends layers.layers.Layer {
    constructor(config) {
      super(config);
      this.keepdims = config.keepdims === true;
    }
    computeOutputShape(shape) {
      return this.keepdims ? [shape[0], 1, 1, shape[3]] : [shape[0], shape[3]];
    }
    call(inputs) {
      return tf.tidy(() => reduce(Array.isArray(inputs) ? inputs[0] : inputs, [1, 2], this.keepdims));
    }
  };
  cls.className = className;
  return cls;
}
tf.serialization.registerClass(poolingWithKeepdims('GlobalAveragePooling2D', tf.mean));
tf.serialization.registerClass(poolingWithKeepdims('GlobalMaxPooling2D', tf.max));

// TensorFlow.js has no Normalization; this is Keras 2's.
class Normalization extends layers.layers.Layer {
  static className = 'Normalization';
  build(shape) {
    const channels = [shape[shape.length - 1]];
    this.mean = this.addWeight('mean', channels, 'float32', layers.initializers.zeros(), null, false);
    this.variance = this.addWeight('variance', channels, 'float32', layers.initializers.ones(), null, false);
    this.addWeight('count', [], 'float32', layers.initializers.zeros(), null, false);
    super.build(shape);
  }
  call(inputs) {
    return tf.tidy(() => {
      const deviation = tf.maximum(tf.sqrt(this.variance.read()), 1e-7);
      return tf.div(tf.sub(Array.isArray(inputs) ? inputs[0] : inputs, this.mean.read()), deviation);
    });
  }
}
tf.serialization.registerClass(Normalization);

async function compareFolder(folder, tolerance) {
  const manifest = JSON.parse(fs.readFileSync(path.join(folder, 'manifest.json'), 'utf8'));
  const architecture = JSON.parse(fs.readFileSync(path.join(folder, 'model.json'), 'utf8'));
  const bytes = fs.readFileSync(path.join(folder, 'data.bin'));
  const numbers = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  const count = (shape) => shape.reduce((product, size) => product * size, 1);
  const read = (tensor) => numbers.slice(tensor.offset, tensor.offset + count(tensor.shape));

  const weightData = new Float32Array(manifest.weights.reduce((sum, tensor) => sum + count(tensor.shape), 0));
  let filled = 0;
  for (const tensor of manifest.weights) {
    weightData.set(read(tensor), filled);
    filled += count(tensor.shape);
  }
  const model = await layers.loadLayersModel({
    load: async () => ({
      modelTopology: architecture,
      weightSpecs: manifest.weights.map(({name, shape}) => ({name, shape, dtype: 'float32'})),
      weightData: weightData.buffer,
    }),
  });
  if (model.layers.length !== manifest.layers.length) {
    console.error(`${folder}: ${model.layers.length} layers in TensorFlow.js, ${manifest.layers.length} in liana`);
    return 1;
  }
  const every = layers.model({
    inputs: model.inputs,
    outputs: manifest.layers.map(({name}) => model.getLayer(name).output),
  });
  const results = [every.predict(tf.tensor(read(manifest.input), manifest.input.shape))].flat();
  let failures = 0;
  let worst = 0;
  manifest.layers.forEach((layer, index) => {
    const expected = results[index].dataSync();
    const found = read(layer);
    if (JSON.stringify(results[index].shape) !== JSON.stringify(layer.shape)) {
      console.error(`${folder}: layer '${layer.name}': shape [${layer.shape}], TensorFlow.js has [${results[index].shape}]`);
      failures++;
      return;
    }
    const greatest = expected.reduce((most, value) => Math.max(most, Math.abs(value)), 1);
    let at = 0;
    for (let i = 0; i < expected.length; i++) {
      if (!(Math.abs(found[i] - expected[i]) <= Math.abs(found[at] - expected[at]))) at = i;
    }
    const error = Math.abs(found[at] - expected[at]) / greatest;
    worst = Math.max(worst, error);
    if (!(error <= tolerance)) {
      console.error(`${folder}: layer '${layer.name}': element ${at} is ${found[at]}, TensorFlow.js has ${expected[at]}`);
      failures++;
    }
  });
  console.log(`${path.basename(folder)}: ${manifest.layers.length} layers, greatest error ${worst.toExponential(1)}`);
  return failures;
}

async function main() {
  const [tolerance, ...folders] = process.argv.slice(2);
  tf.enableProdMode(); // or it advertises a faster backend
  await tf.setBackend('cpu');
  let failures = 0;
  for (const folder of folders) failures += await compareFolder(folder, Number(tolerance));
  process.exitCode = failures || folders.length === 0 ? 1 : 0;
}
main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
