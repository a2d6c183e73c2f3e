/* Line charts: a panel of a figure with its values under the pointer, zoom, smoothing and keys. */

/* Charts that are in the page, to draw again where the window's width changes. */
const charts = new Set();
let wasWide = 0;
function drawCharts() {
  for (const chart of charts) {
    if (chart.root.isConnected) chart.draw();
    else charts.delete(chart);
  }
}
window.addEventListener("resize", () => {
  if (window.innerWidth === wasWide) return;
  wasWide = window.innerWidth;
  requestAnimationFrame(drawCharts);
});
window.addEventListener("beforeprint", drawCharts);
window.addEventListener("afterprint", drawCharts);

/* An exponential moving average without the pull of its first value, as in "Adam" (Kingma and Ba 2015). Gaps stay. */
function smooth(values, keep) {
  if (!(keep > 0)) return values;
  let mean = 0, weight = 0;
  return values.map((value) => {
    if (!isNumber(value)) return null;
    mean = keep * mean + (1 - keep) * value;
    weight = keep * weight + (1 - keep);
    return mean / weight;
  });
}

class Chart {
  /* view: {zoom: [low, high] or null, smoothing, log, hides(line)}, shared by the charts of a group. */
  constructor(panel, view, group) {
    this.panel = panel;
    this.view = view;
    this.group = group || [this];
    this.manyRuns = view.manyRuns;
    this.at = null;
    this.drawing = svg("svg", {tabindex: 0, role: "img", "aria-label": this.describe()});
    this.table = el("div", {hidden: true});
    const name = panel.title;
    this.root = el("figure", {class: "chart"},
      el("figcaption", {}, el("span", {}, named(name)), menu(name, [
        ["Zoom in", () => this.scale(0.5)], ["Zoom out", () => this.scale(2)], ["Show everything", () => this.zoomTo(null)],
        ["Numbers as a table", () => this.showNumbers()],
        ["Save as SVG", () => save(fileName(name) + ".svg", "image/svg+xml", svgText(this.drawing))],
        ["Save as PNG", () => savePng(fileName(name) + ".png", this.drawing)]])),
      this.drawing, this.table);
    this.listen();
    charts.add(this);
  }

  xOf(line, i) {
    return line.x ? line.x[i] : i + 1;
  }
  lines() {
    return this.panel.lines.filter((line) => !this.view.hides(line, this.panel));
  }
  colour(line) {
    return inkOf(line, this.manyRuns);
  }

  /* For screen readers: what is drawn, and the last value of each line. */
  describe() {
    const parts = this.panel.lines.slice(0, 8).map((line) => {
      const known = line.y.filter(isNumber);
      return (line.name || this.panel.title) + (known.length ? ": ends at " + shown(known[known.length - 1]) : ": no values");
    });
    const rest = this.panel.lines.length - parts.length;
    return "Chart of " + this.panel.title + " by " + this.panel.x_label + ". " + parts.join("; ") + (rest > 0 ? "; and " + rest + " more" : "") +
      ". Arrow keys read values, plus and minus zoom, 0 shows everything.";
  }

  /* ---- ranges ---- */

  findRanges(lines) {
    let left = Infinity, right = -Infinity, low = Infinity, high = -Infinity;
    const zoom = this.view.zoom, marks = this.panel.marks || [];
    const takeX = (x) => { if (isNumber(x)) { left = Math.min(left, x); right = Math.max(right, x); } };
    for (const line of lines) for (let i = 0; i < line.y.length; i++) takeX(this.xOf(line, i));
    for (const mark of marks) takeX(mark[0]);
    if (!(left <= right)) [left, right] = [0, 1];
    if (left === right) [left, right] = [left - 0.5, right + 0.5];
    this.full = [left, right];
    if (zoom) [left, right] = [Math.max(left, zoom[0]), Math.min(right, zoom[1])];
    if (!(left < right)) [left, right] = this.full;
    const takeY = (x, y) => {
      if (isNumber(y) && x >= left - 1e-9 && x <= right + 1e-9 && (!this.view.log || y > 0)) { low = Math.min(low, y); high = Math.max(high, y); }
    };
    for (const line of lines) for (let i = 0; i < line.y.length; i++) takeY(this.xOf(line, i), line.y[i]);
    for (const mark of marks) takeY(mark[0], mark[1]);
    if (!(low <= high)) [low, high] = this.view.log ? [0.1, 1] : [0, 1];
    if (this.view.log) [low, high] = [Math.log10(low), Math.log10(high)];
    const room = low === high ? Math.abs(low) * 0.1 || 0.5 : (high - low) * 0.04;
    const isShare = !this.view.log && low >= 0 && high <= 1 && low !== high;
    this.range = {left, right, low: isShare ? Math.max(0, low - room) : low - room, high: isShare ? Math.min(1, high + room) : high + room};
  }
  px(x) {
    return this.box.x + (x - this.range.left) / (this.range.right - this.range.left) * this.box.width;
  }
  py(y) {
    if (this.view.log) y = Math.log10(y);
    return this.box.y + this.box.height * (1 - (y - this.range.low) / (this.range.high - this.range.low));
  }

  /* ---- drawing ---- */

  draw() {
    const width = Math.max(220, this.root.clientWidth || 420), height = Math.round(Math.min(300, Math.max(190, width * 0.6)));
    const lines = this.lines();
    this.box = {x: 50, y: 8, width: width - 62, height: height - 50};
    this.findRanges(lines);
    this.drawing.setAttribute("viewBox", "0 0 " + width + " " + height);
    this.drawing.setAttribute("height", height);
    this.over = svg("g", {});
    const clip = "clip" + (Chart.count = (Chart.count || 0) + 1);
    const curves = svg("g", {"clip-path": "url(#" + clip + ")"}, this.dots(), lines.map((line) => this.curve(line)), this.rings());
    this.drawing.replaceChildren(
      svg("defs", {}, svg("clipPath", {id: clip}, svg("rect", {x: this.box.x - 5, y: this.box.y - 5, width: this.box.width + 10, height: this.box.height + 10}))),
      ...this.axes(), curves, this.over);
    if (this.at !== null) this.mark();
  }

  axes() {
    const {x, y, width, height} = this.box, {left, right, low, high} = this.range, parts = [];
    for (const value of this.view.log ? decadesOf(low, high) : marksOf(low, high, 4)) {
      const at = y + height * (1 - (value - low) / (high - low));
      parts.push(svg("line", {class: "grid", x1: x, x2: x + width, y1: at, y2: at}),
        svg("text", {x: x - 7, y: at + 4, "text-anchor": "end"}, shown(this.view.log ? Math.pow(10, value) : value)));
    }
    for (const value of marksOf(left, right, Math.max(2, Math.floor(width / 80)), this.panel.whole_x)) {
      parts.push(svg("text", {x: this.px(value), y: y + height + 17, "text-anchor": "middle"},
        this.panel.log_x ? shown(Math.pow(10, value)) : shown(value)));
    }
    parts.push(svg("line", {class: "axis", x1: x, x2: x + width, y1: y + height, y2: y + height}),
      svg("text", {x: x + width / 2, y: y + height + 34, "text-anchor": "middle"}, this.panel.x_label || ""));
    if (this.panel.y_label) {
      const middle = y + height / 2;
      parts.push(svg("text", {x: 10, y: middle, "text-anchor": "middle", transform: "rotate(-90 10 " + middle + ")"}, this.panel.y_label));
    }
    return parts;
  }

  path(line, values) {
    let path = "", open = false;
    const alone = [];
    const known = (i) => i >= 0 && i < values.length && isNumber(values[i]) && (!this.view.log || values[i] > 0);
    for (let i = 0; i < values.length; i++) {
      if (!known(i)) { open = false; continue; }
      const x = this.px(this.xOf(line, i)).toFixed(1), y = this.py(values[i]).toFixed(1);
      path += (open ? "L" : "M") + x + " " + y;
      open = true;
      if (!known(i - 1) && !known(i + 1)) alone.push([x, y]);
    }
    return [path, alone];
  }
  curve(line) {
    const stroke = "stroke:" + this.colour(line), kind = "curve" + (line.thin ? " thin" : "") + (line.dashed ? " dashed" : "");
    /* A rate is what it is. */
    const smoothing = this.panel.whole_x && this.panel.title !== "learning rate" ? this.view.smoothing : 0, parts = [];
    const [path, alone] = this.path(line, smooth(line.y, smoothing));
    if (smoothing > 0) parts.push(svg("path", {class: "curve raw", d: this.path(line, line.y)[0], style: stroke}));
    if (path) parts.push(svg("path", {class: kind, d: path, style: stroke}));
    for (const [x, y] of alone) parts.push(svg("circle", {cx: x, cy: y, r: 3, style: "fill:" + this.colour(line)}));
    return parts;
  }
  dots() {
    if (!this.panel.dots) return [];
    return (this.panel.marks || []).map(([x, y]) => svg("circle", {class: "dot", cx: this.px(x).toFixed(1), cy: this.py(y).toFixed(1), r: 2.2, style: "fill:var(--ink-0)"}));
  }
  rings() {
    if (this.panel.dots) return [];
    return (this.panel.marks || []).filter((mark) => isNumber(mark[1]) && (!this.view.log || mark[1] > 0)).map(([x, y, ink]) =>
      svg("circle", {class: "ring", cx: this.px(x), cy: this.py(y), r: 4.5, style: "stroke:var(--ink-" + Math.max(0, ink) + ")"}));
  }

  /* ---- values under the pointer ---- */

  /* Lines that share their x are read together; others, such as ROC curves, by the nearest point. */
  sharesX() {
    return !this.panel.dots && this.panel.lines.every((line) => !line.x || (line.x.length === this.panel.lines[0].y.length &&
      this.panel.lines[0].x && line.x.every((x, i) => x === this.panel.lines[0].x[i])));
  }
  steps() {
    const all = new Set();
    for (const line of this.lines()) for (let i = 0; i < line.y.length; i++) all.add(this.xOf(line, i));
    if (this.panel.dots) for (const mark of this.panel.marks) all.add(mark[0]);
    return [...all].filter((x) => x >= this.range.left - 1e-9 && x <= this.range.right + 1e-9).sort((a, b) => a - b);
  }
  points() {
    const points = [];
    for (const line of this.lines()) line.y.forEach((y, i) => { if (isNumber(y)) points.push({x: this.xOf(line, i), y, line}); });
    if (this.panel.dots) for (const [x, y] of this.panel.marks) points.push({x, y});
    return points.filter((point) => !this.view.log || point.y > 0);
  }
  pointAt(x, y) {
    let best = null, least = Infinity;
    for (const point of this.points()) {
      if (point.x < this.range.left || point.x > this.range.right) continue;
      const distance = Math.hypot(this.px(point.x) - x, this.py(point.y) - y);
      if (distance < least) [least, best] = [distance, point];
    }
    return best;
  }
  /* The values at this.at: [{x, y, line}]. */
  values() {
    if (this.at === null) return [];
    if (this.at.line !== undefined || this.at.alone) return [this.at];
    const found = [];
    for (const line of this.lines()) {
      const i = line.x ? line.x.indexOf(this.at.x) : this.at.x - 1;
      if (i >= 0 && isNumber(line.y[i])) found.push({x: this.at.x, y: line.y[i], line});
    }
    return found;
  }
  mark() {
    const found = this.values(), parts = [];
    if (this.at.line === undefined && !this.at.alone) {
      const x = this.px(this.at.x);
      parts.push(svg("line", {class: "cross", x1: x, x2: x, y1: this.box.y, y2: this.box.y + this.box.height}));
    }
    for (const point of found) {
      if (this.view.log && point.y <= 0) continue;
      parts.push(svg("circle", {class: "spot", cx: this.px(point.x), cy: this.py(point.y), r: 4, style: "fill:" + (point.line ? this.colour(point.line) : "var(--ink-0)")}));
    }
    this.over.replaceChildren(...parts);
  }
  words(found) {
    const name = (point) => (point.line && point.line.name) || this.panel.y_label || this.panel.title;
    return (this.panel.x_label || "x") + " " + shown(this.at.x) + ": " + (found.map((point) => name(point) + " " + shown(point.y)).join(", ") || "no value");
  }
  tip(x, y) {
    const most = 12, bounds = this.drawing.getBoundingClientRect();
    let found = this.values();
    const left = found.length - most;
    if (left > 0) {
      const distance = (point) => Math.abs(this.py(point.y) - (y - bounds.top));
      found = [...found].sort((a, b) => distance(a) - distance(b)).slice(0, most);
    }
    const rows = found.map((point) => [point.line ? this.colour(point.line) : null, (point.line && point.line.name) || this.panel.y_label || this.panel.title, shown(point.y)]);
    if (left > 0) rows.push([null, left + " more lines", ""]);
    if (!rows.length) rows.push([null, "no value", ""]);
    showTip(x, y, (this.panel.x_label || "x") + " " + shown(this.at.x), rows);
  }
  forget() {
    this.at = null;
    this.over.replaceChildren();
    hideTip();
  }

  /* ---- zoom ---- */

  zoomTo(range) {
    this.view.zoom = range;
    for (const chart of this.group) { chart.at = null; chart.draw(); }
    hideTip();
    say(range ? "Shows " + this.panel.x_label + " " + shown(this.range.left) + " to " + shown(this.range.right) : "Shows everything");
  }
  scale(factor) {
    const {left, right} = this.range, middle = this.at ? this.at.x : (left + right) / 2, half = (right - left) * factor / 2;
    const least = this.panel.whole_x ? 1 : (this.full[1] - this.full[0]) / 1000;
    if (2 * half < least) return;
    const from = Math.max(this.full[0], middle - half), to = Math.min(this.full[1], middle + half);
    this.zoomTo(from <= this.full[0] && to >= this.full[1] ? null : [from, to]);
  }

  /* Two fingers: the values that they first touched stay below them. */
  pinch(first, second) {
    const each = (second.value - first.value) / (second.x - first.x);
    if (Math.abs(second.x - first.x) < 12 || !(each > 0)) return;
    const left = first.value - (first.x - this.box.x) * each, right = left + this.box.width * each;
    const least = this.panel.whole_x ? 1 : (this.full[1] - this.full[0]) / 1000;
    if (right - left < least) return;
    this.zoomTo(left <= this.full[0] && right >= this.full[1] ? null : [Math.max(left, this.full[0]), Math.min(right, this.full[1])]);
  }

  /* ---- events ---- */

  place(event) {
    const bounds = this.drawing.getBoundingClientRect();
    return [event.clientX - bounds.left, event.clientY - bounds.top];
  }
  valueAt(x) {
    const {left, right} = this.range;
    return left + (x - this.box.x) / this.box.width * (right - left);
  }
  hover(event) {
    const [x, y] = this.place(event);
    if (this.sharesX()) {
      const wanted = this.valueAt(x), steps = this.steps();
      if (!steps.length) return;
      this.at = {x: steps.reduce((best, step) => Math.abs(step - wanted) < Math.abs(best - wanted) ? step : best)};
    } else {
      this.at = this.pointAt(x, y);
      if (!this.at) return;
      if (!this.at.line) this.at.alone = true;
    }
    this.mark();
    this.tip(event.clientX, event.clientY);
  }
  listen() {
    let from = null;
    const fingers = new Map();
    const lift = (event) => fingers.delete(event.pointerId);
    const shape = svg("rect", {class: "chosen"});
    this.drawing.addEventListener("pointerdown", (event) => {
      if (event.button === 0 && event.pointerType !== "touch") from = this.place(event)[0];
      if (event.pointerType !== "touch") return;
      fingers.set(event.pointerId, {x: this.place(event)[0]});
      if (fingers.size === 1) this.hover(event);
      for (const finger of fingers.values()) finger.value = this.valueAt(finger.x);
    });
    this.drawing.addEventListener("pointermove", (event) => {
      const x = this.place(event)[0], finger = fingers.get(event.pointerId);
      if (finger) finger.x = x;
      if (finger && fingers.size === 2) {
        const [first, second] = [...fingers.values()].sort((a, b) => a.value - b.value);
        this.pinch(first, second);
        return;
      }
      if (from === null || Math.abs(x - from) < 4) { this.hover(event); return; }
      this.drawing.setPointerCapture(event.pointerId);
      const [low, high] = [Math.min(from, x), Math.max(from, x)].map((at) => Math.min(Math.max(at, this.box.x), this.box.x + this.box.width));
      fill(shape, {x: low, y: this.box.y, width: high - low, height: this.box.height}, []);
      this.over.replaceChildren(shape);
      hideTip();
    });
    this.drawing.addEventListener("pointerup", (event) => {
      const x = this.place(event)[0], start = from;
      from = null;
      lift(event);
      if (start === null || Math.abs(x - start) < 4) return;
      const ends = [this.valueAt(Math.min(start, x)), this.valueAt(Math.max(start, x))];
      this.zoomTo(ends);
    });
    this.drawing.addEventListener("pointerleave", (event) => { lift(event); if (from === null) this.forget(); });
    this.drawing.addEventListener("pointercancel", (event) => { lift(event); from = null; this.forget(); });
    this.drawing.addEventListener("dblclick", () => this.zoomTo(null));
    this.drawing.addEventListener("blur", () => this.forget());
    this.drawing.addEventListener("keydown", (event) => this.key(event));
  }
  key(event) {
    const steps = this.steps(), last = steps.length - 1;
    const now = this.at ? steps.findIndex((step) => step >= this.at.x - 1e-9) : -1, stride = event.shiftKey ? 10 : 1;
    const places = {ArrowRight: Math.min(last, now + stride), ArrowLeft: now < 0 ? last : Math.max(0, now - stride), Home: 0, End: last};
    const acts = {"+": () => this.scale(0.5), "=": () => this.scale(0.5), "-": () => this.scale(2), "0": () => this.zoomTo(null), Escape: () => this.forget()};
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (acts[event.key]) acts[event.key]();
    else if (event.key in places && last >= 0) this.readAt(steps[places[event.key]]);
    else return;
    event.preventDefault();
  }
  readAt(x) {
    this.at = {x};
    if (!this.sharesX()) {
      const near = this.points().filter((point) => point.x === x);
      this.at = near.length ? {...near[0], alone: true} : {x};
    }
    const found = this.values(), bounds = this.drawing.getBoundingClientRect();
    this.mark();
    say(this.words(found));
    this.tip(bounds.left + this.px(x), bounds.top + this.box.y + 20);
  }

  /* ---- as a table ---- */

  showNumbers() {
    this.table.hidden = !this.table.hidden;
    if (this.table.hidden) return;
    const label = this.panel.x_label || "x";
    if (this.sharesX()) {
      const lines = this.lines(), steps = this.steps();
      const columns = [{label, number: true}, ...lines.map((line) => ({label: line.name || this.panel.title, number: true}))];
      const rows = steps.map((x) => [x, ...lines.map((line) => line.y[line.x ? line.x.indexOf(x) : x - 1])]);
      this.table.replaceChildren(dataTable("numbers:" + this.panel.title, columns, rows, {name: this.panel.title}));
      return;
    }
    const columns = [{label: "line"}, {label, number: true}, {label: this.panel.y_label || this.panel.title, number: true}];
    const rows = this.points().map((point) => [(point.line && point.line.name) || "", point.x, point.y]);
    this.table.replaceChildren(dataTable("numbers:" + this.panel.title, columns, rows, {name: this.panel.title}));
  }
}

function fileName(title) {
  return title.replace(/[^A-Za-z0-9]+/g, "_").replace(/^_|_$/g, "").slice(0, 60).toLowerCase() || "chart";
}

/* ---- legends ---- */

function sample(line, manyRuns) {
  return svg("svg", {width: 24, height: 10, "aria-hidden": "true"}, svg("path", {class: "curve" + (line.thin ? " thin" : "") + (line.dashed ? " dashed" : ""),
    d: "M1 5H23", style: "stroke:" + inkOf(line, manyRuns)}));
}
/* Buttons that hide and show; items: [key, name, line]. `off` is the set of hidden keys. */
function legend(id, items, off, manyRuns, redraw) {
  const buttons = items.map(([key, name, line]) => el("button", {type: "button", "aria-pressed": String(!off.has(key)), onclick: (event) => {
    if (off.has(key)) off.delete(key);
    else off.add(key);
    event.currentTarget.setAttribute("aria-pressed", String(!off.has(key)));
    redraw();
  }}, sample(line, manyRuns), named(name)));
  const list = el("div", {class: "legend", role: "group", "aria-label": "Lines"}, buttons);
  if (items.length <= 10) return [list];
  const set = (all) => {
    items.forEach(([key], i) => {
      if (buttons[i].hidden) return;
      if (all) off.delete(key);
      else off.add(key);
      buttons[i].setAttribute("aria-pressed", String(all));
    });
    redraw();
  };
  const filter = el("input", {type: "search", placeholder: "Filter " + items.length + " lines", "aria-label": "Filter lines by name", id: id + "-filter"});
  filter.addEventListener("input", () => {
    const wanted = filter.value.toLowerCase();
    items.forEach(([, name], i) => { buttons[i].hidden = !name.toLowerCase().includes(wanted); });
  });
  return [el("div", {class: "controls"}, filter, el("button", {type: "button", onclick: () => set(true)}, "Show all"),
    el("button", {type: "button", onclick: () => set(false)}, "Hide all")), list];
}
