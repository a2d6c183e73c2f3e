/* The page: its head, its sections, and how new data are drawn. */

const SECTIONS = [
  ["now", "Now", liveNow, (data) => data.live],
  ["results", "Results", results, (data) => data.runs],
  ["curves", "Curves", curves, (data) => data.curves],
  ["differences", "Differences", differences, (data) => data.differences],
  ["validation", "Validation", validation, (data) => data.details],
  ["classes", "Classes", classes, (data) => data.details],
  ["confusion", "Confusion matrix", confusion, (data) => data.details],
  ["probabilities", "Probabilities", probabilities, (data) => data.details],
  ["numbers", "Predicted and true", numbers, (data) => data.details],
  ["importance", "Importance of columns", importance, (data) => data.details],
  ["pictures", "Predictions", pictures, (data) => data.details],
  ["training-data", "Training data", trainingData, (data) => data.details],
  ["schedule", "Schedule", schedule, (data) => data.schedule],
  ["timing", "Timing", timing, (data) => data.times],
  ["repeat", "How to repeat", repeat, (data) => data.runs],
];

let current = null;
const drawn = new Map(); /* by section: the data that it shows */

/* The first measure of the validation, else of the training, that tells how good a run is. */
function headFacts(data) {
  const run = data.runs[0], facts = [];
  if (data.runs.length > 1) return [];
  for (const one of run.measures) if (facts.length < 4 && isNumber(one.best)) facts.push(["best " + one.name, shown(one.best), "in epoch " + one.epoch]);
  if (isNumber(run.total_seconds)) facts.push(["training", seconds(run.total_seconds), run.epochs + (run.epochs === 1 ? " epoch" : " epochs")]);
  if (isNumber(run.examples_per_second)) facts.push(["examples a second", shown(run.examples_per_second), "in later epochs"]);
  return facts;
}
function drawHead(data) {
  const one = data.runs.length === 1, run = data.runs[0];
  const about = one ? [run.facts.model, run.epochs + (run.epochs === 1 ? " epoch" : " epochs"), run.facts.device].filter(Boolean).join(" \u00b7 ") : data.runs.length + " runs";
  const facts = headFacts(data);
  document.title = data.title;
  byId("head").replaceChildren(el("h1", {}, named(data.title)), el("p", {}, about + " \u00b7 liana " + data.version),
    ...(facts.length ? [el("dl", {class: "facts"}, facts.map(([name, value, note]) => el("div", {}, el("dt", {}, named(name)), el("dd", {}, value, el("small", {}, note)))))] : []));
}

/* Draws the sections whose data are not those that they show. What the reader has chosen stays, and so does the focus. */
function render(all) {
  const data = current, focus = document.activeElement && document.activeElement.id, links = [];
  drawHead(data);
  for (const [id, title, make, of] of SECTIONS) {
    const text = JSON.stringify(of(data) ?? null), there = byId(id);
    if (!all && drawn.get(id) === text) continue;
    drawn.set(id, text);
    const made = make(data);
    const section = made ? el("section", {id, "aria-labelledby": id + "-title"}, el("h2", {id: id + "-title"}, title), made) : el("section", {id, hidden: true});
    if (there) there.replaceWith(section);
    else byId("main").append(section);
  }
  for (const [id, title] of SECTIONS) if (!byId(id).hidden) links.push(el("li", {}, el("a", {href: "#" + id}, title)));
  byId("nav").replaceChildren(el("ul", {}, links));
  drawCharts();
  if (focus && byId(focus)) byId(focus).focus({preventScroll: true});
  watch();
}

/* Marks the section that is being read. */
let observer = null;
function watch() {
  if (observer) observer.disconnect();
  const links = new Map([...document.querySelectorAll("#nav a")].map((link) => [link.hash.slice(1), link]));
  observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      links.forEach((link) => link.removeAttribute("aria-current"));
      const link = links.get(entry.target.id);
      if (link) link.setAttribute("aria-current", "true");
    }
  }, {rootMargin: "-15% 0px -75% 0px"});
  for (const section of document.querySelectorAll("main > section")) if (!section.hidden) observer.observe(section);
}

/* A page that is served while a run trains calls update with each new state of the data. */
window.liana = {
  update(data) {
    current = data;
    render(false);
    startLive(data);
  },
  data() {
    return current;
  },
};
window.liana.update(JSON.parse(byId("data").textContent));
