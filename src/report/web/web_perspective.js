// The editor of one perspective: four corners that are dragged, or drawn by the stage random_perspective.

const BOARD_MARGIN = 0.35; // of a side: a corner that is drawn may lie a quarter outside
const CORNER_NAMES = ['Upper left', 'Upper right', 'Lower right', 'Lower left'];
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

class PerspectiveEditor {
  constructor(page) {
    this.page = page;
    this.type = page.types.get('random_perspective');
    this.augmenter = new Augmenter(page.exports);
    this.shape = { height: page.data.inputHeight, width: page.data.inputWidth, channels: page.data.channels };
    this.size = this.shape.height * this.shape.width * this.shape.channels;
    this.dst = this.augmenter.allocate(this.size);
    this.image = 0;
    this.address = { seed: page.data.seed, epoch: 0, position: -1 };
    this.drawn = false; // by the stage; else by hand
    // The stage of the list, if there is one.
    const configured = page.data.list.find((stage) => stage.name === this.type.name);
    this.values = valuesOf(this.type, configured ? configured.options : {});
    this.board = document.getElementById('board');
    this.canvas = document.getElementById('moved');
    this.makeBoard();
    this.makeControls();
    this.reset();
  }

  // ---- the board ----

  makeBoard() {
    const whole = 1 + 2 * BOARD_MARGIN;
    this.board.style.aspectRatio = `${this.shape.width} / ${this.shape.height}`;
    this.canvas.style.left = this.canvas.style.top = `${100 * BOARD_MARGIN / whole}%`;
    this.canvas.style.width = this.canvas.style.height = `${100 / whole}%`;
    this.corners = CORNER_NAMES.map((name, i) => {
      const corner = element('button', { type: 'button', class: 'corner', 'data-corner': i });
      corner.addEventListener('keydown', (event) => this.press(i, event));
      corner.addEventListener('pointerdown', (event) => this.grab(i, event));
      this.board.append(corner);
      return corner;
    });
  }

  press(i, event) {
    const arrow = ARROWS[event.key];
    if (!arrow) return;
    event.preventDefault();
    const step = event.shiftKey ? 10 : 1;
    this.moveTo(i, this.points[2 * i] + step * arrow[0], this.points[2 * i + 1] + step * arrow[1]);
  }

  grab(i, event) {
    const corner = this.corners[i];
    const start = [event.clientX, event.clientY, this.points[2 * i], this.points[2 * i + 1]];
    const scale = this.shape.width / this.canvas.clientWidth;
    const move = (moved) => this.moveTo(i, start[2] + (moved.clientX - start[0]) * scale,
      start[3] + (moved.clientY - start[1]) * scale);
    const end = () => {
      for (const name of ['pointermove', 'pointerup', 'pointercancel']) corner.removeEventListener(name, listeners[name]);
    };
    const listeners = { pointermove: move, pointerup: end, pointercancel: end };
    event.preventDefault();
    corner.focus();
    corner.setPointerCapture(event.pointerId);
    for (const [name, listener] of Object.entries(listeners)) corner.addEventListener(name, listener);
  }

  moveTo(i, x, y) {
    const inside = (value, side) => Math.min(Math.max(value, -BOARD_MARGIN * side), (1 + BOARD_MARGIN) * side);
    const tenth = (value) => Math.round(10 * value) / 10;
    this.points[2 * i] = tenth(inside(x, this.shape.width));
    this.points[2 * i + 1] = tenth(inside(y, this.shape.height));
    this.drawn = false;
    this.later();
  }

  // ---- controls ----

  makeControls() {
    const picker = document.getElementById('perspective-image');
    this.page.data.images.forEach((image, i) => picker.append(element('option', { value: i }, this.page.nameOf(i))));
    picker.addEventListener('change', () => {
      this.image = Number(picker.value);
      this.showOriginal();
      this.later();
    });
    const options = document.getElementById('perspective-options');
    for (const row of this.type.options) {
      options.append(optionField(row, this.values[row.name], (value) => {
        this.values[row.name] = value;
        this.later();
      }));
    }
    document.getElementById('draw').addEventListener('click', () => this.drawNext());
    document.getElementById('reset').addEventListener('click', () => this.reset());
    this.showOriginal();
  }

  showOriginal() {
    this.augmenter.paint(this.page.pixelsOf(this.image), this.shape, document.getElementById('original'));
    document.getElementById('original').setAttribute('aria-label', `The original image: ${this.page.nameOf(this.image)}`);
  }

  reset() {
    const { width, height } = this.shape;
    this.points = [0, 0, width, 0, width, height, 0, height];
    this.drawn = false;
    this.later();
  }

  drawNext() {
    this.address.position++;
    this.drawn = true;
    this.later();
  }

  // ---- drawing ----

  later() {
    if (this.waits) return;
    this.waits = true;
    requestAnimationFrame(() => {
      this.waits = false;
      this.draw();
    });
  }

  // Sets points, matrix and pixels as training does for the address. Returns why it cannot.
  drawByStage() {
    const { augmenter, shape, address } = this;
    augmenter.setList([{ name: this.type.name, options: textsOf(this.type, this.values) }]);
    const refused = augmenter.prepare(shape.height, shape.width, shape.channels);
    if (refused) return refused;
    augmenter.run(address, 1, this.page.pixelsOf(this.image), this.dst);
    const matrix = augmenter.mapping(address);
    this.matrix = matrix || [1, 0, 0, 0, 1, 0, 0, 0, 1];
    this.points = augmenter.pointsOf(this.matrix, shape.width, shape.height);
    this.yaml = augmenter.yaml();
    this.says = `Drawn for seed ${address.seed}, epoch ${address.epoch}, position ${address.position}` +
      `${matrix ? '' : ': the stage is not applied there'}.`;
    return '';
  }

  // The same for the points that stand where they were dragged.
  drawByHand() {
    const { augmenter, shape, values } = this;
    const matrix = augmenter.matrixOf(this.points, shape.width, shape.height);
    if (!matrix) return 'These points are not the corners of a convex shape, so no perspective leads there. Move the corner back.';
    const words = (name) => this.type.options.find((row) => row.name === name).words.indexOf(values[name]);
    augmenter.warp(this.page.pixelsOf(this.image), this.dst, shape, matrix,
      { interpolation: words('interpolation'), fillMode: words('fill_mode'), fill: values.fill });
    this.matrix = matrix;
    const { factor, turn } = augmenter.factorOf(this.points, shape.width, shape.height);
    const needed = Math.ceil(1e4 * factor - 1e-6) / 1e4;
    const most = this.type.options.find((row) => row.name === 'factor').maximum;
    if (needed > most) {
      this.yaml = '';
      this.says = `A corner is moved by ${needed} of a side. random_perspective moves it by at most ${most}.`;
      return '';
    }
    const options = { factor: textOf(needed), turn: textOf(turn), ...textsOf(this.type, values) };
    augmenter.setList([{ name: this.type.name, options: { ...options, factor: textOf(needed), turn: textOf(turn) } }]);
    this.yaml = augmenter.yaml();
    this.says = `A stage that draws such corners: factor ${needed} at least, ${turn ? 'with' : 'without'} turns.`;
    return '';
  }

  draw() {
    const begin = performance.now();
    let refused;
    try {
      refused = this.drawn ? this.drawByStage() : this.drawByHand();
    } catch (error) {
      refused = error.message;
    }
    if (!refused) this.augmenter.paint(this.dst, this.shape, this.canvas);
    this.milliseconds = performance.now() - begin;
    this.show(refused);
  }

  show(refused) {
    const { width, height } = this.shape;
    const status = document.getElementById('perspective-status');
    this.board.classList.toggle('impossible', !!refused);
    status.classList.toggle('problem', !!refused);
    status.textContent = refused || this.says;
    const percent = (value, side) => 100 * (value / side + BOARD_MARGIN) / (1 + 2 * BOARD_MARGIN);
    const places = CORNER_NAMES.map((_, i) => [percent(this.points[2 * i], width), percent(this.points[2 * i + 1], height)]);
    document.querySelector('#outline polygon').setAttribute('points', places.map((place) => place.join(',')).join(' '));
    this.corners.forEach((corner, i) => {
      corner.style.left = `${places[i][0]}%`;
      corner.style.top = `${places[i][1]}%`;
      const at = [this.points[2 * i], this.points[2 * i + 1]].map((value) => Math.round(value));
      corner.setAttribute('aria-label', `${CORNER_NAMES[i]} corner of the image, at ${at[0]} right, ${at[1]} down`);
    });
    if (refused) return;
    document.getElementById('moved-caption').textContent =
      `${this.page.nameOf(this.image)}, transformed in ${this.milliseconds.toFixed(1)} ms`;
    document.getElementById('perspective-yaml').textContent = this.yaml || 'no stage';
    // A factor of all nine changes nothing: the last one is shown as 1.
    const cells = this.matrix.map((value) => element('td', {}, Number((value / this.matrix[8]).toPrecision(6)).toString()));
    const rows = [0, 3, 6].map((first) => element('tr', {}, ...cells.slice(first, first + 3)));
    document.getElementById('matrix').replaceChildren(...rows);
  }
}
