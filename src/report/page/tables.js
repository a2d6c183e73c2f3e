/* Tables that can be sorted and filtered, and bars in them. */

function compare(a, b) {
  const numbers = [a, b].map(isNumber);
  if (numbers[0] && numbers[1]) return a - b;
  if (numbers[0] !== numbers[1]) return numbers[0] ? -1 : 1;
  return String(a ?? "").localeCompare(String(b ?? ""), "en", {numeric: true});
}

/* columns: [{label, number, bar (a colour), show(value, row)}]; rows: lists of values, the first of them names. options: {name,
 * filter: the names' word, or nothing, sort: [column, descending], most: rows at first}. */
function dataTable(id, columns, rows, options) {
  const state = choice("table:" + id, {sort: options.sort || null, filter: "", all: false});
  const most = options.most || 200, largest = columns.map((column, i) => column.bar ? Math.max(0, ...rows.map((row) => isNumber(row[i]) ? row[i] : 0)) : 0);
  const body = el("tbody"), count = el("span", {role: "status"});
  const heads = columns.map((column, i) => {
    const button = el("button", {type: "button", id: "sort-" + id + "-" + i, onclick: () => {
      const [now, falling] = state.sort || [-1, false];
      state.sort = now === i ? [i, !falling] : [i, Boolean(column.number)];
      draw();
    }}, named(column.label));
    return el("th", {scope: "col", class: column.number && !column.bar ? "number" : null}, button);
  });
  const more = el("button", {type: "button", class: "more", onclick: () => { state.all = true; draw(); }});

  function cell(column, value, i, row) {
    const words = column.show ? column.show(value, row) : isNumber(value) || column.number ? shown(value) : value;
    if (column.bar) {
      const width = largest[i] > 0 && isNumber(value) ? 100 * value / largest[i] : 0;
      return el("td", {class: "bar"}, el("span", {}, el("i", {style: "width:" + width.toFixed(1) + "%;background:" + column.bar}), el("span", {class: "number"}, words)));
    }
    if (i === 0) return el("th", {scope: "row", class: column.number ? "number" : null}, named(words));
    return el("td", {class: column.number ? "number" : column.code ? "value" : null}, words && words.nodeType ? words : named(words));
  }
  function draw() {
    const wanted = state.filter.toLowerCase();
    let list = wanted ? rows.filter((row) => row.some((value) => typeof value === "string" && value.toLowerCase().includes(wanted))) : rows;
    if (state.sort) {
      const [column, falling] = state.sort, sign = falling ? -1 : 1;
      /* Values that are missing stay at the end. */
      list = [...list].sort((a, b) => isNumber(a[column]) === isNumber(b[column]) ? sign * compare(a[column], b[column]) : compare(a[column], b[column]));
    }
    heads.forEach((head, i) => {
      if (state.sort && state.sort[0] === i) head.setAttribute("aria-sort", state.sort[1] ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    const visible = state.all ? list : list.slice(0, most);
    body.replaceChildren(...visible.map((row) => el("tr", {}, columns.map((column, i) => cell(column, row[i], i, row)))));
    count.textContent = wanted ? list.length + " of " + rows.length : "";
    more.hidden = visible.length === list.length;
    more.textContent = "Show all " + list.length + " rows";
  }
  const parts = [];
  if (options.filter && rows.length > 8) {
    const input = el("input", {type: "search", id: "filter-" + id, placeholder: "Filter " + options.filter, "aria-label": "Filter " + options.filter + ": " + options.name, value: state.filter,
      oninput: (event) => { state.filter = event.currentTarget.value; draw(); }});
    parts.push(el("div", {class: "controls"}, input, count));
  }
  draw();
  parts.push(el("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": options.name},
    el("table", {}, el("caption", {class: "unseen"}, options.name), el("thead", {}, el("tr", {}, heads)), body)), more);
  return el("div", {}, parts);
}

/* Numbers by name, such as examples by class: a table with a bar for each. */
function barTable(id, bars, inks) {
  const show = bars.percent ? percent : shown;
  const columns = [{label: bars.word || "class"}, ...bars.series.map((series, i) => ({label: series.name, number: true, bar: (inks || ["var(--ink-0)", "var(--ink-1)"])[i % 2], show}))];
  const rows = bars.labels.map((label, i) => [label, ...bars.series.map((series) => series.values[i])]);
  const sort = bars.sorted === false ? null : [1, true];
  return [bars.mark ? el("p", {class: "about"}, "The line of the picture: " + bars.mark_label + ".") : null,
    dataTable(id, columns, rows, {name: bars.title, filter: "names", sort, most: 400})];
}
