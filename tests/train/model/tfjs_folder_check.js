// Loads layers models as TensorFlow.js's own readers do, and compares their predictions.
//
//   node tfjs_folder_check.js CASE.json...
//
// A case (tests/train/model/test_tfjs_folder.c writes it): {"folder", "inputs": [{"shape", "dtype", "values"}], "outputs":
// [number, ...], "tolerance"}. Shards are read in the order of the manifest, as its reader of files and of http does.
'use strict';

const fs = require('fs');
const path = require('path');
const tf = require('@tensorflow/tfjs-core');
require('@tensorflow/tfjs-backend-cpu');
const layers = require('@tensorflow/tfjs-layers');

function readFolder(folder) {
  const json = JSON.parse(fs.readFileSync(path.join(folder, 'model.json'), 'utf8'));
  const shards = json.weightsManifest.flatMap((group) => group.paths);
  for (const name of shards) {
    const size = fs.statSync(path.join(folder, name)).size;
    if (size > 4 << 20) throw new Error(`${name} has ${size} bytes`);
  }
  const bytes = Buffer.concat(shards.map((name) => fs.readFileSync(path.join(folder, name))));
  return {
    modelTopology: json.modelTopology,
    format: json.format,
    generatedBy: json.generatedBy,
    convertedBy: json.convertedBy,
    userDefinedMetadata: json.userDefinedMetadata,
    weightSpecs: json.weightsManifest.flatMap((group) => group.weights),
    weightData: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length),
  };
}

async function check(file) {
  const {folder, inputs, outputs, tolerance} = JSON.parse(fs.readFileSync(file, 'utf8'));
  const model = await layers.loadLayersModel({load: async () => readFolder(folder)});
  const tensors = inputs.map(({shape, dtype, values}) => tf.tensor(values, shape, dtype));
  const found = model.predict(tensors.length > 1 ? tensors : tensors[0]).dataSync();
  let worst = found.length === outputs.length ? 0 : Infinity;
  outputs.forEach((value, i) => {
    const difference = Math.abs(found[i] - value);
    if (!(difference <= worst)) worst = difference;
  });
  console.log(`${path.basename(file)}: ${outputs.length} numbers, greatest difference ${worst}`);
  return worst <= tolerance ? 0 : 1;
}

async function main() {
  tf.enableProdMode(); // or it advertises a faster backend
  await tf.setBackend('cpu');
  let failures = 0;
  for (const file of process.argv.slice(2)) failures += await check(file);
  process.exitCode = failures || process.argv.length < 3 ? 1 : 0;
}
main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
