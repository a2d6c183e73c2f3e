// The list of stages: fields for every option, and the images as training would get them.

class StageList {
  constructor(page) {
    this.page = page;
    this.augmenter = new Augmenter(page.exports);
    this.before = { height: page.data.inputHeight, width: page.data.inputWidth, channels: page.data.channels };
    this.after = { height: page.data.height, width: page.data.width, channels: page.data.channels };
    this.dst = this.augmenter.allocate(this.after.height * this.after.width * this.after.channels * page.data.images.length);
    this.stages = page.data.list.map((stage) => this.makeStage(stage.name, stage.options));
    this.drawing = 0;
    this.makeControls();
    this.showStages();
    this.changed();
  }

  makeStage(name, options) {
    const type = this.page.types.get(name);
    return { type, values: valuesOf(type, options, [this.before.height, this.before.width]) };
  }

  // ---- fields ----

  makeControls() {
    const names = document.getElementById('add-name');
    for (const type of this.page.types.values()) names.append(element('option', { value: type.name }, type.name));
    document.getElementById('add').addEventListener('submit', (event) => {
      event.preventDefault();
      this.stages.push(this.makeStage(names.value, {}));
      this.showStages();
      this.changed();
    });
    const numImages = this.page.data.images.length;
    this.fields = {};
    for (const id of ['seed', 'epoch', 'num-epochs', 'num-images']) {
      this.fields[id] = document.getElementById(id);
      this.fields[id].addEventListener('input', () => this.changed());
    }
    this.fields.seed.value = this.page.data.seed;
    this.fields['num-images'].max = numImages;
    this.fields['num-images'].value = Math.min(numImages, 4);
    document.getElementById('addresses').addEventListener('submit', (event) => {
      event.preventDefault();
      this.fields.epoch.value = this.number('epoch') + this.number('num-epochs');
      this.changed();
    });
  }

  // A whole number of a field, within its range.
  number(id) {
    const field = this.fields[id];
    const value = Math.floor(Number(field.value)) || 0;
    return Math.max(Number(field.min), field.max === '' ? value : Math.min(value, Number(field.max)));
  }

  // A seed has more bits than a number of JavaScript.
  seed() {
    const text = this.fields.seed.value.trim();
    return /^-?\d+$/.test(text) ? text : this.page.data.seed;
  }

  showStages(focus) {
    const items = this.stages.map((stage, i) => this.stageItem(stage, i));
    document.getElementById('stages').replaceChildren(...items);
    const wanted = focus && document.querySelector(`#stages li:nth-child(${focus.index + 1}) [data-move="${focus.move}"]`);
    if (wanted && !wanted.disabled) wanted.focus();
    else if (focus) document.getElementById('add-name').focus();
  }

  stageItem(stage, i) {
    const { type } = stage;
    const move = (name, label, enabled, act) => element('button', {
      type: 'button', class: 'quiet', 'data-move': name, disabled: !enabled, 'aria-label': `${label}: ${type.name}`, onclick: act,
    }, label);
    const shift = (by) => () => {
      this.stages.splice(i + by, 0, ...this.stages.splice(i, 1));
      this.showStages({ index: i + by, move: by < 0 ? 'earlier' : 'later' });
      this.changed();
    };
    const remove = () => {
      this.stages.splice(i, 1);
      this.showStages({ index: Math.min(i, this.stages.length - 1), move: 'remove' });
      this.changed();
    };
    const fields = type.options.map((row) => optionField(row, stage.values[row.name], (value) => {
      stage.values[row.name] = value;
      this.changed();
    }));
    const missing = type.missing ? [element('p', { class: 'doc problem' }, `Not applied here: ${type.missing}.`)] : [];
    return element('li', {}, element('fieldset', { 'data-stage': type.name },
      element('legend', {}, `${i + 1}. ${type.name}`), element('p', { class: 'doc' }, type.doc), ...missing,
      element('div', { class: 'moves' }, move('earlier', 'Earlier', i > 0, shift(-1)),
        move('later', 'Later', i + 1 < this.stages.length, shift(1)), move('remove', 'Remove', true, remove)),
      fields.length ? element('details', { open: true }, element('summary', {}, 'Options'), ...fields) : ''));
  }

  // ---- pictures ----

  problem(text) {
    const status = document.getElementById('list-status');
    status.classList.toggle('problem', !!text);
    if (text) status.textContent = text;
  }

  // Prepares the list that the fields say. A stage that a page cannot run keeps its place: the draws of a stage depend
  // on it. False: the list is refused, and the reason is shown.
  prepare() {
    const { augmenter } = this;
    const plain = this.stages.map(({ type, values }) => ({ name: type.name, options: textsOf(type, values) }));
    augmenter.setList(plain);
    document.getElementById('list-yaml').textContent = augmenter.yaml();
    augmenter.setList(plain.map((stage, i) => this.stages[i].type.missing
      ? { name: 'random_invert', options: { probability: '0' } } : stage));
    const refused = augmenter.prepare(this.after.height, this.after.width, this.after.channels);
    if (refused) {
      this.problem(refused);
      return false;
    }
    const [height, width] = augmenter.inputSize();
    if (height === this.before.height && width === this.before.width) return true;
    this.problem(`The list begins with images of ${height} x ${width} (height x width), but those of this page are ` +
      `${this.before.height} x ${this.before.width}. liana data makes a page for the new list.`);
    return false;
  }

  changed() {
    const drawing = ++this.drawing;
    requestAnimationFrame(() => {
      if (drawing === this.drawing && this.prepare()) this.drawAll(drawing);
    });
  }

  makeGrid(count, epoch, numEpochs) {
    const grid = document.getElementById('grid');
    const key = [count, epoch, numEpochs].join();
    if (grid.dataset.key === key) return;
    grid.dataset.key = key;
    grid.style.gridTemplateColumns = `repeat(${1 + numEpochs}, minmax(0, 1fr))`;
    const heads = ['original', ...Array.from({ length: numEpochs }, (_, k) => `epoch ${epoch + k}`)];
    const cells = heads.map((text) => element('div', { class: 'column' }, text));
    for (let i = 0; i < count; i++) {
      heads.forEach((head, k) => {
        const canvas = element('canvas', {
          role: 'img', 'aria-label': `${this.page.nameOf(i)}, ${head}`, 'data-image': i, 'data-epoch': k ? epoch + k - 1 : null,
        });
        cells.push(element('figure', {}, canvas, element('figcaption', {}, k ? '' : this.page.data.images[i].label)));
      });
    }
    grid.replaceChildren(...cells);
    grid.querySelectorAll('canvas:not([data-epoch])').forEach((canvas, i) => {
      this.augmenter.paint(this.page.pixelsOf(i), this.before, canvas);
    });
  }

  // One epoch in each frame, so that a slider follows the hand. A newer change ends it.
  drawAll(drawing) {
    const count = Math.max(1, this.number('num-images'));
    const numEpochs = Math.max(1, this.number('num-epochs'));
    const epoch = this.number('epoch');
    this.makeGrid(count, epoch, numEpochs);
    let milliseconds = 0;
    const drawEpoch = (k) => {
      if (drawing !== this.drawing) return;
      const begin = performance.now();
      try {
        this.drawEpoch(epoch + k, count);
      } catch (error) {
        this.problem(error.message);
        return;
      }
      milliseconds += performance.now() - begin;
      if (k + 1 < numEpochs) {
        requestAnimationFrame(() => drawEpoch(k + 1));
        return;
      }
      this.problem('');
      document.getElementById('list-status').textContent =
        `${count * numEpochs} images, ${(milliseconds / (count * numEpochs)).toFixed(1)} ms each. ` +
        `Position of image i in epoch e: ${count} e + i, both from 0.`;
      document.getElementById('grid').dataset.done = drawing;
    };
    drawEpoch(0);
  }

  drawEpoch(epoch, count) {
    const size = this.after.height * this.after.width * this.after.channels;
    const address = { seed: this.seed(), epoch, position: epoch * count };
    const { shares, partners } = this.augmenter.run(address, count, this.page.pixelsOf(0), this.dst);
    document.querySelectorAll(`#grid canvas[data-epoch="${epoch}"]`).forEach((canvas, i) => {
      this.augmenter.paint(this.dst + i * size, this.after, canvas);
      const mixed = shares[i] < 1 ? `+ ${Math.round(100 * (1 - shares[i]))}% ${this.page.nameOf(partners[i])}` : '';
      canvas.nextElementSibling.textContent = mixed;
    });
  }
}
