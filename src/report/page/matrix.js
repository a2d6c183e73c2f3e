/* Confusion matrices: rows are true classes, columns predicted ones. */

const MOST_DRAWN = 150;

/* counts by row: [{column: count}], with what each class has in all. */
function readMatrix(matrix) {
  const size = matrix.labels.length, rows = Array.from({length: size}, () => new Map()), support = new Array(size).fill(0), said = new Array(size).fill(0);
  for (let i = 0; i + 2 < matrix.cells.length; i += 3) {
    const [row, column, count] = matrix.cells.slice(i, i + 3);
    rows[row].set(column, count);
    support[row] += count;
    said[column] += count;
  }
  const recall = support.map((all, i) => all > 0 ? (rows[i].get(i) || 0) / all : NaN);
  return {labels: matrix.labels, rows, support, said, recall};
}
/* [true, predicted, count, share of the true class], the most frequent first. */
function confusions(read) {
  const list = [];
  read.rows.forEach((row, i) => row.forEach((count, k) => { if (i !== k) list.push([read.labels[i], read.labels[k], count, count / read.support[i]]); }));
  return list.sort((a, b) => b[2] - a[2] || b[3] - a[3]);
}
function confusionTable(id, list) {
  return dataTable(id, [{label: "true class"}, {label: "predicted"}, {label: "examples", number: true}, {label: "share", number: true, show: percent}],
    list, {name: "Which class is taken for which", filter: "classes", sort: [2, true], most: 100});
}

const ORDERS = {
  listed: ["as listed", () => 0],
  recall: ["worst first", (read) => (a, b) => compare(read.recall[a], read.recall[b])],
  support: ["most examples first", (read) => (a, b) => read.support[b] - read.support[a]],
  name: ["by name", (read) => (a, b) => compare(read.labels[a], read.labels[b])],
};

class MatrixView {
  constructor(id, matrix) {
    this.read = readMatrix(matrix);
    this.state = choice("matrix:" + id, {order: "listed", filter: "", shares: true, wrong: false});
    this.drawing = svg("svg", {tabindex: 0, role: "img"});
    this.holder = el("div", {class: "matrix"}, this.drawing);
    this.note = el("p", {class: "about", role: "status"});
    this.at = null;
    this.root = el("div", {}, this.controls(id), this.note, this.holder);
    this.listen();
    charts.add(this);
  }
  controls(id) {
    const state = this.state, again = () => { this.at = null; this.draw(); };
    const order = el("select", {id: id + "-order", onchange: (event) => { state.order = event.currentTarget.value; again(); }},
      Object.entries(ORDERS).map(([key, [word]]) => el("option", {value: key, selected: key === state.order}, word)));
    const filter = el("input", {type: "search", id: id + "-filter", placeholder: "Filter classes", "aria-label": "Filter classes of the matrix", value: state.filter,
      oninput: (event) => { state.filter = event.currentTarget.value; again(); }});
    const box = (key, word) => el("label", {}, el("input", {type: "checkbox", checked: state[key], onchange: (event) => { state[key] = event.currentTarget.checked; again(); }}), word);
    return el("div", {class: "controls"}, filter, el("label", {for: id + "-order"}, "Order"), order, box("shares", "shares of the true class"), box("wrong", "mistakes alone"),
      menu("confusion matrix", [["Save as SVG", () => save("confusion_matrix.svg", "image/svg+xml", svgText(this.drawing))], ["Save as PNG", () => savePng("confusion_matrix.png", this.drawing)]]));
  }

  /* The classes that are drawn: those of the filter, and what they are taken for. */
  classes() {
    const {labels, rows, support, said} = this.read, wanted = this.state.filter.toLowerCase();
    let list = labels.map((_, i) => i).filter((i) => support[i] > 0 || said[i] > 0);
    if (wanted) {
      const hit = new Set(list.filter((i) => labels[i].toLowerCase().includes(wanted))), near = new Set(hit);
      for (const i of list) rows[i].forEach((_, k) => { if (hit.has(i)) near.add(k); else if (hit.has(k)) near.add(i); });
      list = list.filter((i) => near.has(i));
    }
    const all = list.length;
    if (all > MOST_DRAWN) list = [...list].sort(ORDERS.recall[1](this.read)).slice(0, MOST_DRAWN);
    if (this.state.order !== "listed") list.sort(ORDERS[this.state.order][1](this.read));
    else list.sort((a, b) => a - b);
    this.note.textContent = all > MOST_DRAWN ? "The " + MOST_DRAWN + " worst of " + all + " classes; filter to see others." :
      wanted ? all + " classes: those of the filter, and what they are taken for." : "";
    return list;
  }

  draw() {
    const order = this.order = this.classes(), count = order.length, wide = Math.max(240, this.holder.clientWidth || 600);
    const longest = Math.max(0, ...order.map((i) => this.read.labels[i].length));
    const room = Math.min(wide * 0.3, 24 + (count > 60 ? 4.4 : 6.2) * Math.min(longest, 24));
    const cell = this.cell = Math.max(6, Math.min(44, Math.floor((wide - room - 12) / Math.max(1, count))));
    const withNames = cell >= 8, left = this.left = withNames ? room : 28, top = this.top = withNames ? Math.min(room, 120) + 14 : 28;
    const side = cell * count, width = left + side + 10, height = top + side + 8;
    fill(this.drawing, {width, height, viewBox: "0 0 " + width + " " + height, "aria-label": this.describe()}, []);
    this.cursor = svg("rect", {class: "cursor", width: cell, height: cell, visibility: "hidden"});
    const frame = svg("rect", {class: "frame", x: left - .5, y: top - .5, width: side + 1, height: side + 1});
    this.drawing.replaceChildren(...this.words(withNames, room), frame, ...this.cells(), this.cursor);
  }
  words(withNames, most) {
    const {left, top, cell, order} = this, parts = [svg("text", {x: left, y: 11}, "predicted \u2192"),
      svg("text", {x: 10, y: top + 34, transform: "rotate(-90 10 " + (top + 34) + ")", "text-anchor": "middle"}, "\u2190 true")];
    const size = Math.min(11, cell - 1), letters = Math.floor((most - 10) / (size * .58));
    /* By characters: half of an emoji is none. */
    const cut = (name) => name.length > letters ? [...name].slice(0, Math.max(1, letters - 1)).join("") + "\u2026" : name;
    if (!withNames) return parts;
    order.forEach((index, i) => {
      const name = cut(this.read.labels[index]), middle = i * cell + cell / 2 + size / 3, style = "font-size:" + size + "px;unicode-bidi:plaintext";
      parts.push(svg("text", {x: left - 5, y: top + middle, "text-anchor": "end", style}, name),
        svg("text", {x: left + middle, y: top - 5, transform: "rotate(-90 " + (left + middle) + " " + (top - 5) + ")", style}, name));
    });
    return parts;
  }
  cells() {
    const parts = [], {rows, support} = this.read, {order, cell, left, top, state} = this, place = new Map(order.map((index, i) => [index, i]));
    let most = 0;
    for (const index of order) rows[index].forEach((count, k) => { if (place.has(k) && !(state.wrong && k === index)) most = Math.max(most, state.shares ? count / support[index] : count); });
    order.forEach((index, y) => rows[index].forEach((count, k) => {
      const x = place.get(k);
      if (x === undefined || (state.wrong && k === index)) return;
      const value = state.shares ? count / support[index] : count, strength = Math.max(.07, Math.sqrt(value / most) * .82);
      parts.push(svg("rect", {x: left + x * cell, y: top + y * cell, width: cell - (cell > 8 ? 1 : 0), height: cell - (cell > 8 ? 1 : 0),
        style: "fill:" + (k === index ? "var(--good)" : "var(--bad)") + ";fill-opacity:" + strength.toFixed(3)}));
      if (cell >= 28) parts.push(svg("text", {class: "cell-text", x: left + x * cell + cell / 2, y: top + y * cell + cell / 2 + 3.5}, state.shares ? Math.round(100 * value) + "%" : shown(count)));
    }));
    return parts;
  }
  describe() {
    const right = this.read.rows.reduce((sum, row, i) => sum + (row.get(i) || 0), 0), all = this.read.support.reduce((a, b) => a + b, 0);
    return "Confusion matrix of " + this.order.length + " classes: " + shown(right) + " of " + shown(all) + " examples are right. Arrow keys read cells; the table of confusions has the same numbers.";
  }

  text(y, x) {
    const {labels, rows, support} = this.read, row = this.order[y], column = this.order[x], count = rows[row].get(column) || 0;
    return [labels[row], labels[column], shown(count), percent(support[row] > 0 ? count / support[row] : NaN)];
  }
  show(y, x, clientX, clientY) {
    const [truth, said, count, share] = this.text(y, x);
    fill(this.cursor, {x: this.left + x * this.cell, y: this.top + y * this.cell, visibility: "visible"}, []);
    showTip(clientX, clientY, count + " examples, " + share + " of the true class", [[null, "true", truth], [null, "predicted", said]]);
  }
  hide() {
    this.cursor.setAttribute("visibility", "hidden");
    hideTip();
  }
  listen() {
    const at = (event) => {
      const bounds = this.drawing.getBoundingClientRect(), x = Math.floor((event.clientX - bounds.left - this.left) / this.cell), y = Math.floor((event.clientY - bounds.top - this.top) / this.cell);
      const inside = x >= 0 && y >= 0 && x < this.order.length && y < this.order.length;
      if (inside) this.show(y, x, event.clientX, event.clientY);
      else this.hide();
    };
    this.drawing.addEventListener("pointermove", at);
    this.drawing.addEventListener("pointerdown", at);
    this.drawing.addEventListener("pointerleave", () => this.hide());
    this.drawing.addEventListener("blur", () => this.hide());
    this.drawing.addEventListener("keydown", (event) => {
      const moves = {ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0]}, move = moves[event.key];
      if (!move || !this.order.length) return;
      const last = this.order.length - 1, from = this.at || [0, -move[1]];
      this.at = [Math.min(last, Math.max(0, from[0] + move[0])), Math.min(last, Math.max(0, from[1] + move[1]))];
      const bounds = this.drawing.getBoundingClientRect(), [truth, said, count, share] = this.text(...this.at);
      this.show(...this.at, bounds.left + this.left + this.at[1] * this.cell, bounds.top + this.top + this.at[0] * this.cell);
      say("true " + truth + ", predicted " + said + ": " + count + ", " + share + " of the true class");
      event.preventDefault();
    });
  }
}
