// Runs the module of the page in Node, on cases with the bytes that liana's own call gives (test_augment_module.c), and
// with the page's own binding.
//   node module_check.js MODULE.wasm CASES.json
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');

const binding = path.join(__dirname, '../../../src/report/web/web_module.js');
const Augmenter = vm.runInThisContext(`${fs.readFileSync(binding, 'utf8')}\nAugmenter;`, { filename: binding });

function check(augmenter, wanted) {
  const src = augmenter.put(Buffer.from(wanted.src, 'base64'));
  const expected = Buffer.from(wanted.dst, 'base64');
  const dst = augmenter.allocate(expected.length);
  augmenter.setList(wanted.list);
  const refused = augmenter.prepare(wanted.height, wanted.width, wanted.channels);
  if (refused) return refused;
  const { shares } = augmenter.run(wanted, wanted.count, src, dst);
  const found = augmenter.bytes(dst, expected.length);
  for (let i = 0; i < wanted.count; i++) {
    if (Math.abs(shares[i] - wanted.shares[i]) > 1e-6) return `share ${i} is ${shares[i]}, expected ${wanted.shares[i]}`;
  }
  for (let i = 0; i < expected.length; i++) {
    if (Math.abs(found[i] - expected[i]) > wanted.tolerance) return `byte ${i} is ${found[i]}, expected ${expected[i]}`;
  }
  augmenter.release(src);
  augmenter.release(dst);
  return '';
}

async function main() {
  const [module, file] = process.argv.slice(2);
  const exports = await Augmenter.load(fs.readFileSync(module).toString('base64'));
  const augmenter = new Augmenter(exports);
  const cases = JSON.parse(fs.readFileSync(file, 'utf8'));
  let failures = 0;
  for (const wanted of cases) {
    const reason = check(augmenter, wanted);
    if (reason) console.error(`${wanted.text}, ${wanted.channels} channels: ${reason}`);
    failures += reason ? 1 : 0;
  }
  // A page has no system to call, and the least that it needs is exported.
  const names = Object.keys(exports).filter((name) => !name.startsWith('liana__web_')).sort();
  const known = ['_initialize', 'free', 'malloc', 'memory'];
  if (names.join() !== known.join()) {
    console.error(`the module exports ${names}, expected ${known} and liana__web_*`);
    failures++;
  }
  console.log(`${cases.length} cases`);
  process.exit(failures || cases.length === 0 ? 1 : 0);
}

main();
