/* The sections of a page: each makes its elements from the data, or nothing. */

/* ---- figures ---- */

const NEVER = {smoothing: 0, log: false, zoom: null};

/* A figure without controls: its panels, and a legend where there are several lines. */
function plainFigure(id, figure, runs) {
  const manyRuns = figure.by_run && runs > 7, off = choice("off:" + id, new Set()), lines = new Map();
  for (const panel of figure.panels) for (const line of panel.lines) if (line.name) lines.set(line.name, line);
  const views = figure.panels.map((panel, i) => choice("view:" + id + i, {zoom: null, smoothing: 0, log: false}));
  const made = figure.panels.map((panel, i) => new Chart(panel, Object.assign(views[i], {manyRuns, hides: (line) => off.has(line.name)})));
  const items = [...lines].map(([name, line]) => [name, name, line]);
  return [items.length > 1 ? legend(id, items, off, manyRuns, () => made.forEach((chart) => chart.draw())) : null,
    el("div", {class: "charts few"}, made.map((chart) => chart.root))];
}

/* Curves of classes: at first those of all classes together and of the worst three. */
function curvesOfClasses(id, figure) {
  const lines = figure.panels[0].lines, classes = lines.filter((line) => line.ink >= 0);
  choice("off:" + id, new Set(classes.slice(4).map((line) => line.name)));
  return plainFigure(id, figure, 1);
}

/* Which part of a training a line shows; nothing: the whole, such as the learning rate. */
function partOf(line, panel, figure) {
  if (panel.title === "learning rate") return "";
  if (figure.by_run) return line.dashed ? "training" : "validation";
  return line.ink === 0 ? "training" : "validation";
}

function curves(data) {
  const figure = data.curves, runs = data.runs.length, manyRuns = figure && figure.by_run && runs > 7;
  if (!figure || !figure.panels.some((panel) => panel.lines.length)) return null;
  const view = choice("view:curves", {zoom: null, smoothing: 0, log: false}), off = choice("off:curves", new Set());
  view.manyRuns = manyRuns;
  view.hides = (line, panel) => off.has("run " + line.run) || off.has(partOf(line, panel, figure));
  const made = [], redraw = () => made.forEach((chart) => chart.draw());
  for (const panel of figure.panels) if (panel.lines.length) made.push(new Chart(panel, view, made));
  const amount = el("output", {for: "smoothing"}, view.smoothing.toFixed(2));
  const slider = el("input", {type: "range", id: "smoothing", min: 0, max: 0.98, step: 0.02, value: view.smoothing, oninput: (event) => {
    view.smoothing = Number(event.currentTarget.value);
    amount.textContent = view.smoothing.toFixed(2);
    redraw();
  }});
  const log = el("label", {}, el("input", {type: "checkbox", id: "log", checked: view.log, onchange: (event) => { view.log = event.currentTarget.checked; redraw(); }}), "logarithmic");
  const every = el("button", {type: "button", id: "everything", onclick: () => made[0].zoomTo(null)}, "Show everything");
  const parts = figure.by_run ? [["training", "training", {ink: -1, dashed: true}], ["validation", "validation", {ink: -1}]] :
    [["training", "training", {ink: 0}], ["validation", "validation", {ink: 1}]];
  const ofRuns = runs > 1 ? data.runs.map((run, i) => ["run " + i, run.name, figure.by_run ? {run: i, ink: i % 7} : {ink: -1, dashed: i === 0}]) : [];
  return [el("p", {class: "about"}, "Drag over a chart to zoom, double-click to see everything. With the keyboard: arrows read values, + and \u2212 zoom, 0 resets."),
    el("div", {class: "controls"}, el("label", {for: "smoothing"}, "Smoothing"), slider, amount, log, every),
    legend("parts", parts, off, false, redraw), ofRuns.length ? legend("runs", ofRuns, off, manyRuns, redraw) : null,
    el("div", {class: "charts"}, made.map((chart) => chart.root))];
}

function schedule(data) {
  return data.schedule ? plainFigure("schedule", data.schedule, data.runs.length) : null;
}
function timing(data) {
  if (!data.times || !data.times.panels.length) return null;
  return [el("p", {class: "about"}, "Waiting for input means that reading and decoding were slower than computing."), plainFigure("times", data.times, data.runs.length)];
}

/* ---- runs ---- */

function results(data) {
  const measures = [];
  for (const run of data.runs) for (const one of run.measures) if (!measures.includes(one.name)) measures.push(one.name);
  const notes = data.runs.filter((run) => run.note).map((run) => el("p", {class: "note"}, data.runs.length > 1 ? [named(run.name), ": "] : null, run.note));
  if (!measures.length) return notes.length ? notes : null;
  if (data.runs.length === 1) {
    const rows = data.runs[0].measures.map((one) => [one.name, one.last, one.best, one.epoch]);
    return [notes, dataTable("results", [{label: "measure"}, {label: "last epoch", number: true}, {label: "best", number: true}, {label: "in epoch", number: true}], rows, {name: "Results"})];
  }
  const columns = [{label: "run"}, {label: "epochs", number: true}, ...measures.map((name) => ({label: name + ", best", number: true})),
    {label: "seconds an epoch", number: true}];
  const rows = data.runs.map((run) => [run.name, run.epochs, ...measures.map((name) => (run.measures.find((one) => one.name === name) || {}).best), run.seconds]);
  return [notes, dataTable("results", columns, rows, {name: "Results of the runs", filter: "runs"}),
    data.left_out ? el("p", {class: "about"}, data.left_out + ".") : null];
}

function differences(data) {
  if (data.runs.length < 2) return null;
  if (!data.differences.length) return el("p", {class: "about"}, "All settings are the same.");
  if (data.runs.length <= 6) {
    const columns = [{label: "setting"}, ...data.runs.map((run) => ({label: run.name, code: true}))];
    return dataTable("differences", columns, data.differences.map((one) => [one.key, ...one.values]), {name: "Settings that differ", filter: "settings"});
  }
  const columns = [{label: "run"}, ...data.differences.map((one) => ({label: one.key, code: true}))];
  return dataTable("differences", columns, data.runs.map((run, i) => [run.name, ...data.differences.map((one) => one.values[i])]), {name: "Settings that differ", filter: "runs"});
}

function code(text, word) {
  const button = el("button", {type: "button", "aria-label": "Copy " + word, onclick: async () => {
    try {
      await navigator.clipboard.writeText(text);
      say("Copied");
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(block);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  }}, "Copy");
  const block = el("pre", {tabindex: 0, role: "region", "aria-label": word}, el("code", {}, text));
  return el("div", {class: "code"}, button, block);
}
function repeat(data) {
  return data.runs.map((run, i) => {
    const facts = el("dl", {class: "facts words"}, Object.entries(run.facts || {}).map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, named(String(value))))));
    const parts = [i === 0 || data.runs.length <= 6 ? facts : null, code(run.command, "the command"), el("details", {}, el("summary", {}, "The configuration"), code(run.config, "the configuration"))];
    if (data.runs.length === 1) return parts;
    return el("details", {open: i === 0}, el("summary", {}, named(run.name)), parts);
  });
}

/* ---- predictions ---- */

/* Which run the sections below are about. */
function detailOf(data) {
  const list = data.details || [];
  return list.length ? list[Math.min(choice("detail", {index: 0}).index, list.length - 1)] : null;
}
function chooser(data) {
  const list = data.details || [];
  if (list.length < 2) return null;
  const state = choice("detail", {index: 0});
  return el("div", {class: "controls"}, el("label", {for: "detail"}, "Run"), el("select", {id: "detail", onchange: (event) => { state.index = event.currentTarget.selectedIndex; render(true); }},
    list.map((detail, i) => el("option", {selected: i === state.index}, data.runs[detail.run].name))));
}

function partsOf(detail, kind, ending) {
  const ends = (name) => name === ending || name.endsWith("_" + ending);
  return Object.entries(detail.parts || {}).filter(([name, part]) => part && part.kind === kind && (!ending || ends(name)));
}
function heading(name, ending, words) {
  const of = name === ending ? "" : name.slice(0, -ending.length - 1);
  return el("h3", {}, words, of ? [": ", named(of)] : null);
}

function validation(data) {
  const detail = detailOf(data);
  if (!detail) return null;
  const notes = (detail.notes || []).map((note) => el("p", {class: "note"}, note)), values = detail.validation || [];
  if (!notes.length && !values.length && !chooser(data)) return null;
  return [chooser(data), notes, values.length ? el("dl", {class: "facts"}, values.map(([name, value]) => el("div", {}, el("dt", {}, named(name)), el("dd", {}, shown(value))))) : null];
}
function classes(data) {
  const detail = detailOf(data), parts = [];
  if (!detail) return null;
  for (const table of detail.classes || []) {
    const several = detail.classes.length > 1, columns = [{label: "class"}], lists = [table.labels];
    for (const [key, label] of [["precision", "precision"], ["recall", "recall"], ["f1_score", "F1"], ["support", "examples"], ["auc", "ROC area"], ["average_precision", "average precision"]]) {
      if (!table[key]) continue;
      columns.push({label, number: true, show: key === "support" ? shown : (value) => isNumber(value) ? value.toFixed(3) : "\u2013"});
      lists.push(table[key]);
    }
    if (several) parts.push(el("h3", {}, named(table.output)));
    parts.push(dataTable("classes:" + table.output, columns, table.labels.map((_, i) => lists.map((list) => list[i])), {name: "Numbers by class", filter: "classes", most: 400}));
  }
  return parts.length ? parts : null;
}
function confusion(data) {
  const detail = detailOf(data), parts = [];
  if (!detail) return null;
  for (const [name, matrix] of partsOf(detail, "matrix", "confusion_matrix")) {
    const view = new MatrixView(name, matrix), list = confusions(view.read);
    if (name !== "confusion_matrix") parts.push(heading(name, "confusion_matrix", "Output"));
    parts.push(el("p", {class: "about"}, matrix.title + ". Rows are true classes, columns predicted ones; green is right, red is wrong."),
      el("div", {class: matrix.labels.length > 30 ? "beside stacked" : "beside"}, view.root, list.length ? el("div", {}, el("h3", {}, "Most frequent confusions"), confusionTable("confusions:" + name, list.slice(0, 500))) : null));
  }
  for (const table of detail.classes || []) {
    if (!table.confusions) continue;
    const list = [];
    for (let i = 0; i + 2 < table.confusions.length; i += 3) {
      const [truth, said, count] = table.confusions.slice(i, i + 3);
      list.push([table.labels[truth], table.labels[said], count, count / table.support[truth]]);
    }
    parts.push(el("p", {class: "about"}, "There are too many classes for a matrix. These are the most frequent confusions."), confusionTable("confusions:" + table.output, list));
  }
  return parts.length ? parts : null;
}
function probabilities(data) {
  const detail = detailOf(data), parts = [];
  if (!detail) return null;
  const words = {roc: "Receiver operating characteristic", precision_recall: "Precision and recall", reliability: "Reliability of the probabilities"};
  for (const ending of Object.keys(words)) {
    for (const [name, figure] of partsOf(detail, "figure", ending)) {
      parts.push(heading(name, ending, words[ending]));
      if (figure.title) parts.push(el("p", {class: "about"}, figure.title + "."));
      parts.push(ending === "reliability" ? plainFigure(name, figure, 1) : curvesOfClasses(name, figure));
    }
  }
  return parts.length ? parts : null;
}
function numbers(data) {
  const detail = detailOf(data), parts = [];
  if (!detail) return null;
  for (const [name, figure] of partsOf(detail, "figure", "predicted")) parts.push(name !== "predicted" ? heading(name, "predicted", "Output") : null, plainFigure(name, figure, 1));
  return parts.length ? parts : null;
}
function importance(data) {
  const detail = detailOf(data), found = detail ? partsOf(detail, "bars", "importance") : [];
  if (!found.length) return null;
  return found.map(([name, bars]) => [el("p", {class: "about"}, bars.title + ". The values of a column are exchanged between examples, so the model cannot use them."),
    barTable(name, {...bars, word: "column"})]);
}

/* ---- images ---- */

function image(item) {
  const hasTruth = item.truth !== undefined, right = item.truth === item.predicted, small = Math.max(item.width, item.height) <= 64;
  const what = hasTruth ? "predicted " + item.predicted + ", true " + item.truth : item.predicted;
  const picture = item.src ? el("img", {src: item.src, width: item.width, height: item.height, decoding: "async", class: small ? "small" : null, alt: what + (item.note ? ", " + item.note : "")}) :
    el("p", {class: "note"}, "The image is missing.");
  const lines = [el("b", {}, named(item.predicted))];
  if (hasTruth && !right) lines.push("true: ", named(item.truth));
  if (isNumber(item.confidence)) lines.push(lines.length > 1 ? ", " : "", percent(item.confidence) + " sure");
  if (hasTruth && !right && isNumber(item.truth_probability)) lines.push(", " + percent(item.truth_probability) + " for the true class");
  if (item.note) lines.push(item.note);
  return el("figure", {class: hasTruth ? right ? "right" : "wrong" : null, title: item.id ? "record " + item.id : null}, picture, el("figcaption", {}, lines));
}
function imageGrid(images) {
  const style = images.columns && images.name === "augmented" ? "grid-template-columns:repeat(" + images.columns + ",minmax(4.6rem,8.5rem))" : null;
  return el("div", {class: "images" + (style ? " rows" : ""), style, tabindex: style ? 0 : null, role: style ? "group" : null, "aria-label": style ? images.title : null}, images.items.map(image));
}
function pictures(data) {
  const detail = detailOf(data), parts = [];
  if (!detail) return null;
  const words = {mistakes: "The worst mistakes", uncertain: "The least certain predictions", predictions: "Chosen evenly from all"};
  for (const [name, word] of Object.entries(words)) {
    const images = detail.parts && detail.parts[name];
    if (images && images.items.length) parts.push(el("h3", {}, word), el("p", {class: "about"}, images.title + "."), imageGrid(images));
  }
  return parts.length ? parts : null;
}

/* ---- data ---- */

/* Each two columns, the closest first. */
function correlationTable(found) {
  const {labels, values} = found, rows = [];
  for (let i = 0; i < labels.length; i++) {
    for (let k = i + 1; k < labels.length; k++) {
      const value = values[i * labels.length + k];
      if (isNumber(value)) rows.push([labels[i], labels[k], value]);
    }
  }
  rows.sort((a, b) => Math.abs(b[2]) - Math.abs(a[2]));
  return dataTable("correlations", [{label: "column"}, {label: "other column"}, {label: "correlation", number: true, show: (value) => value.toFixed(3)}], rows, {name: "Correlations of columns", filter: "columns", most: 100});
}
function trainingData(data) {
  const detail = detailOf(data), parts = [];
  if (!detail) return null;
  const own = detail.data || {}, add = (word, ...more) => parts.push(el("h3", {}, word), ...more);
  if (own.sampling) add("Examples of each class, before and after", barTable("sampling", own.sampling, ["var(--grey-ink)", "var(--ink-0)"]), el("p", {class: "about"}, own.sampling.title + "."));
  if (own.labels) add("Shares of the classes", barTable("labels", own.labels));
  if (own.samples && own.samples.items.length) add("Samples", el("p", {class: "about"}, own.samples.title + "."), imageGrid(own.samples));
  if (own.augmented && own.augmented.items.length) add("Before and after augmentation", el("p", {class: "about"}, own.augmented.title + "."), imageGrid(own.augmented));
  if (own.sizes) {
    add("Sizes of the images", el("p", {class: "about"}, own.sizes.title + "; the model takes " + own.sizes.target.map(shown).join(" \u00d7 ") + "."));
    if (own.sizes.points.length > 1) parts.push(dataTable("sizes", [{label: "width", number: true}, {label: "height", number: true}, {label: "images", number: true, bar: "var(--ink-0)"}], own.sizes.points, {name: "Sizes of the images", sort: [2, true], most: 20}));
  }
  for (const [name, bars] of Object.entries(own)) {
    if (name.startsWith("column-")) add(["Column ", named(bars.title)], barTable(name, {...bars, word: "value", sorted: false}));
  }
  if (own.correlations) add("Correlations", el("p", {class: "about"}, own.correlations.title + ": from \u22121 to 1 between numbers, from 0 to 1 where a category takes part."), correlationTable(own.correlations));
  return parts.length ? parts : null;
}
