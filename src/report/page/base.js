"use strict";
/* Shared words of a page's scripts: elements, numbers, colours, the tip, and the state that drawing again keeps. */

/* What the reader has chosen: zoom, order, filters. It outlives an update of the data. */
const chosen = new Map();
function choice(key, otherwise) {
  if (!chosen.has(key)) chosen.set(key, otherwise);
  return chosen.get(key);
}

/* ---- elements ---- */

/* Texts become text nodes, never HTML. */
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child.nodeType ? child : document.createTextNode(child));
  }
  return element;
}
function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}
function svg(tag, attributes, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}
/* A name from the data, which may be written from right to left. */
function named(text) {
  return el("bdi", {class: "name"}, text);
}
function byId(id) {
  return document.getElementById(id);
}

/* ---- numbers ---- */

function isNumber(value) {
  return typeof value === "number" && Number.isFinite(value);
}
/* Four digits: 0.9132, 1.2e-5, 12,345. */
function shown(value) {
  if (!isNumber(value)) return "\u2013";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e15) return value.toLocaleString("en-US");
  if (size >= 1e6 || (size < 1e-3 && size > 0)) return value.toExponential(2).replace("e+", "e");
  if (size >= 1000) return value.toLocaleString("en-US", {maximumFractionDigits: 0});
  return String(Number(value.toPrecision(4)));
}
function percent(share) {
  return isNumber(share) ? (100 * share).toFixed(share > 0 && share < 0.001 ? 2 : 1) + "%" : "\u2013";
}
function seconds(value) {
  if (!isNumber(value)) return "\u2013";
  if (value < 90) return shown(Number(value.toPrecision(3))) + " s";
  const minutes = Math.round(value / 60);
  return minutes < 90 ? minutes + " min" : (value / 3600).toFixed(1) + " h";
}

/* A step of 1, 2 or 5 times a power of ten, for about `wanted` marks. */
function stepOf(low, high, wanted) {
  const rough = (high - low) / wanted, power = Math.pow(10, Math.floor(Math.log10(rough)));
  const digit = rough / power;
  return power * (digit < 1.5 ? 1 : digit < 3.5 ? 2 : digit < 7.5 ? 5 : 10);
}
function marksOf(low, high, wanted, whole) {
  let step = stepOf(low, high, wanted);
  if (whole) step = Math.max(1, Math.round(step));
  const marks = [];
  if (!(step > 0)) return [low];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) marks.push(Number((i * step).toPrecision(12)));
  return marks;
}
function decadesOf(low, high) {
  const marks = [];
  for (let power = Math.floor(low); power <= Math.ceil(high); power++) {
    for (const digit of high - low < 2 ? [1, 2, 5] : [1]) {
      const place = power + Math.log10(digit);
      if (place >= low - 1e-9 && place <= high + 1e-9) marks.push(place);
    }
  }
  return marks;
}

/* ---- colours ---- */

/* The seven inks of the pictures; more runs than that go around the circle of hues. */
function inkOf(line, manyRuns) {
  if (manyRuns) return "hsl(" + Math.round(line.run * 137.508) % 360 + " 60% var(--run-light))";
  return line.ink < 0 ? "var(--grey-ink)" : "var(--ink-" + line.ink + ")";
}

/* ---- tip and voice ---- */

/* rows: [colour, name, value]. */
function showTip(x, y, title, rows) {
  const tip = byId("tip");
  tip.replaceChildren(el("b", {}, title), ...rows.map(([colour, name, value]) =>
    el("div", {}, colour && el("i", {style: "background:" + colour}), named(name), el("span", {}, value))));
  tip.hidden = false;
  const box = tip.getBoundingClientRect(), gap = 14;
  const left = x + gap + box.width > window.innerWidth ? x - gap - box.width : x + gap;
  tip.style.left = Math.max(4, left) + "px";
  tip.style.top = Math.max(4, Math.min(y + gap, window.innerHeight - box.height - 4)) + "px";
}
function hideTip() {
  byId("tip").hidden = true;
}
function say(text) {
  byId("live").textContent = text;
}

/* ---- files ---- */

function save(name, type, content) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], {type}));
  el("a", {href: url, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
/* A copy of a drawing with its colours written out, since a file has no style sheet. */
function svgText(drawing) {
  const copy = drawing.cloneNode(true), from = [drawing, ...drawing.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
  const wanted = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size", "text-anchor"];
  to.forEach((element, i) => {
    const style = getComputedStyle(from[i]);
    for (const name of wanted) element.style.setProperty(name, style.getPropertyValue(name));
  });
  const box = drawing.getBoundingClientRect(), back = getComputedStyle(document.body).backgroundColor;
  copy.setAttribute("width", box.width);
  copy.setAttribute("height", box.height);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.prepend(svg("rect", {width: box.width, height: box.height, fill: back}));
  return new XMLSerializer().serializeToString(copy);
}
function savePng(name, drawing) {
  const box = drawing.getBoundingClientRect(), scale = 2, image = new Image();
  const url = URL.createObjectURL(new Blob([svgText(drawing)], {type: "image/svg+xml"}));
  image.onload = () => {
    const canvas = el("canvas", {width: box.width * scale, height: box.height * scale});
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save(name, "image/png", blob));
    URL.revokeObjectURL(url);
  };
  image.src = url;
}
/* The options of a figure; items: [word, function]. */
function menu(of, items) {
  const details = el("details", {class: "menu"}, el("summary", {"aria-label": "Options: " + of, title: "Options"}, "\u22ef"));
  details.append(el("div", {}, items.map(([word, act]) => el("button", {type: "button", onclick: () => {
    details.open = false;
    details.firstChild.focus();
    act();
  }}, word))));
  details.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !details.open) return;
    details.open = false;
    details.firstChild.focus();
  });
  details.addEventListener("focusout", (event) => {
    if (event.relatedTarget && !details.contains(event.relatedTarget)) details.open = false;
  });
  return details;
}
document.addEventListener("pointerdown", (event) => {
  for (const open of document.querySelectorAll("details.menu[open]")) if (!open.contains(event.target)) open.open = false;
});
