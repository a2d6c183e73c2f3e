// liana's augmentation in WebAssembly, as JavaScript calls it (augment_module.h). All of the computing is there.
'use strict';

function bytesOfBase64(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

// A view of the module's memory is void once the memory has grown, so each use makes its own.
class Augmenter {
  constructor(exports) {
    this.exports = exports;
    this.web = this.claim(exports.liana__web_create());
  }

  static async load(base64) {
    const module = await WebAssembly.compile(bytesOfBase64(base64));
    // The C library names calls of a system that a page does not have. None is made.
    const imports = {};
    for (const { module: from, name } of WebAssembly.Module.imports(module)) {
      imports[from] = imports[from] || {};
      imports[from][name] = () => {
        throw new Error(`the module calls ${name}, which a page does not have`);
      };
    }
    const instance = await WebAssembly.instantiate(module, imports);
    instance.exports._initialize();
    return instance.exports;
  }

  // ---- memory ----

  claim(place) {
    if (!place) throw new Error('this page is out of memory: show fewer or smaller images');
    return place;
  }

  allocate(size) {
    return this.claim(this.exports.malloc(Math.max(size, 1)));
  }

  release(place) {
    this.exports.free(place);
  }

  bytes(place, size) {
    return new Uint8Array(this.exports.memory.buffer, place, size);
  }

  doubles(place, count) {
    return new Float64Array(this.exports.memory.buffer, place, count);
  }

  put(bytes) {
    const place = this.allocate(bytes.length);
    this.bytes(place, bytes.length).set(bytes);
    return place;
  }

  text(place) {
    if (!place) return '';
    const memory = new Uint8Array(this.exports.memory.buffer);
    return new TextDecoder().decode(memory.subarray(place, memory.indexOf(0, place)));
  }

  // Calls with texts in the places of strings.
  withTexts(texts, call) {
    const places = texts.map((text) => this.put(new TextEncoder().encode(`${text}\0`)));
    try {
      return call(...places);
    } finally {
      for (const place of places) this.release(place);
    }
  }

  // Calls with room for doubles, of which the first ones are given. Returns what the call returns, and the doubles.
  withDoubles(given, count, call) {
    const place = this.allocate(8 * count);
    this.doubles(place, given.length).set(given);
    try {
      const result = call(place);
      return { result, numbers: Array.from(this.doubles(place, count)) };
    } finally {
      this.release(place);
    }
  }

  // ---- the list ----

  // Stages are {name, options: {option: text}}.
  setList(stages) {
    this.exports.liana__web_clear(this.web);
    for (const stage of stages) {
      this.withTexts([stage.name], (name) => this.exports.liana__web_add_stage(this.web, name));
      for (const [option, text] of Object.entries(stage.options)) {
        this.withTexts([option, text], (a, b) => this.exports.liana__web_set_option(this.web, a, b));
      }
    }
  }

  yaml() {
    return this.text(this.exports.liana__web_yaml(this.web));
  }

  // Why the list cannot be; '' if it can.
  prepare(height, width, channels) {
    const status = this.exports.liana__web_prepare(this.web, height, width, channels);
    return status ? this.text(this.exports.liana__web_message(this.web)) : '';
  }

  inputSize() {
    return [this.exports.liana__web_input_height(this.web), this.exports.liana__web_input_width(this.web)];
  }

  // Augments the images at `src` into `dst`. Returns each one's share of itself and its partner.
  run(address, count, src, dst) {
    const notes = this.allocate(8 * count);
    try {
      const status = this.exports.liana__web_run(this.web, BigInt(address.seed), BigInt(address.epoch),
        BigInt(address.position), count, src, dst, notes, notes + 4 * count);
      if (status) throw new Error(this.text(this.exports.liana__web_message(this.web)));
      const memory = this.exports.memory.buffer;
      return {
        shares: Array.from(new Float32Array(memory, notes, count)),
        partners: Array.from(new Int32Array(memory, notes + 4 * count, count)),
      };
    } finally {
      this.release(notes);
    }
  }

  // ---- perspective: points are [x, y] four times ----

  // The matrix that is drawn for an address; null: the stage is not applied there.
  mapping(address) {
    const { result, numbers } = this.withDoubles([], 9, (matrix) => this.exports.liana__web_mapping(this.web,
      BigInt(address.seed), BigInt(address.epoch), BigInt(address.position), matrix));
    return result ? numbers : null;
  }

  matrixOf(points, width, height) {
    const { result, numbers } = this.withDoubles(points, 8 + 9, (place) =>
      this.exports.liana__web_matrix_of(place, width, height, place + 64));
    return result ? numbers.slice(8) : null;
  }

  pointsOf(matrix, width, height) {
    const { numbers } = this.withDoubles(matrix, 9 + 8, (place) =>
      this.exports.liana__web_points_of(place, width, height, place + 72));
    return numbers.slice(9);
  }

  factorOf(points, width, height) {
    let turn = false;
    const { result } = this.withDoubles(points, 8 + 1, (place) => {
      const factor = this.exports.liana__web_factor_of(place, width, height, place + 64);
      turn = this.bytes(place + 64, 1)[0] !== 0;
      return factor;
    });
    return { factor: result, turn };
  }

  warp(src, dst, shape, matrix, sampling) {
    this.withDoubles(matrix, 9, (place) => this.exports.liana__web_warp(src, dst, shape.height, shape.width,
      shape.channels, place, sampling.interpolation, sampling.fillMode, sampling.fill));
  }

  // Draws an image of the module's memory on a canvas, in its own size.
  paint(pixels, shape, canvas) {
    const count = shape.height * shape.width;
    const rgba = this.allocate(4 * count);
    this.exports.liana__web_paint(pixels, count, shape.channels, rgba);
    const colours = new Uint8ClampedArray(this.exports.memory.buffer, rgba, 4 * count);
    if (canvas.width !== shape.width) canvas.width = shape.width;
    if (canvas.height !== shape.height) canvas.height = shape.height;
    canvas.getContext('2d').putImageData(new ImageData(colours, shape.width, shape.height), 0, 0);
    this.release(rgba);
  }
}
