/* A page that liana serves while runs train: where they are now, values as they come, and buttons. */

const liveRuns = []; /* {name, run, points} */
let liveSource = null, liveLost = false;

const LIVE_STATES = {
  unknown: "no process trains it, or it was started without --live", training: "training", validating: "validating",
  paused: "paused", stopping: "stopping after this update", ended: "ended",
};
const LIVE_ACTIONS = [["pause", "Pause"], ["continue", "Go on"], ["checkpoint", "Checkpoint now"], ["stop", "Stop"]];

/* ---- what the server says ---- */

function startLive(data) {
  if (!data.live || liveSource) return;
  liveSource = new EventSource(data.live.events);
  liveSource.addEventListener("page", (event) => window.liana.update(JSON.parse(event.data)));
  liveSource.addEventListener("now", (event) => takeNow(JSON.parse(event.data)));
  liveSource.addEventListener("open", () => { liveLost = false; showLive(); });
  liveSource.addEventListener("error", () => {
    liveLost = true;
    if (liveRuns.length && liveRuns.every((own) => own.run.state === "ended")) liveSource.close();
    showLive();
  });
}

function takeNow(message) {
  message.runs.forEach((run, i) => {
    const own = liveRuns[i] || (liveRuns[i] = {points: []});
    if (own.run && own.run.state !== run.state) say(run.name + ": " + LIVE_STATES[run.state]);
    if (run.anew) own.points = [];
    const last = own.points.length ? own.points[own.points.length - 1][0] : -1;
    for (const point of run.points) if (point[0] > last) own.points.push(point);
    own.run = run;
  });
  showLive();
}

/* ---- a run ---- */

async function askRun(index, action, button) {
  button.disabled = true;
  try {
    const answer = await fetch(current.live.control + "?run=" + index + "&action=" + action, {method: "POST"});
    say(await answer.text());
  } catch {
    say("liana does not answer.");
  }
  button.disabled = false;
}

/* The elements of a run are made once, so that the focus stays on a button. */
function liveCard(index) {
  const card = {name: el("h3", {}), state: el("p", {class: "about"}), facts: el("dl", {class: "facts"}),
    bar: el("progress", {max: 1, value: 0, "aria-label": "The epoch's updates"})};
  card.buttons = LIVE_ACTIONS.map(([action, word]) => {
    const button = el("button", {type: "button", id: "live-" + index + "-" + action, onclick: () => askRun(index, action, button)}, word);
    return button;
  });
  card.root = el("div", {class: "live"}, card.name, card.state, card.bar, card.facts, el("div", {class: "controls"}, card.buttons));
  return card;
}
function fillCard(card, own) {
  const run = own.run, steps = run.steps || 0;
  const facts = run.names.map((name, i) => [name.replace(/_/g, " "), shown(run.last[i])]);
  if (isNumber(run.examples_per_second)) facts.push(["examples a second", shown(run.examples_per_second)]);
  if (isNumber(run.input_wait)) facts.push(["waiting for input", percent(run.input_wait)]);
  const place = run.epoch ? ", epoch " + run.epoch + (run.epochs ? " of " + run.epochs : "") + ", " + (run.state === "validating" ? "batch " : "update ") + shown(run.step) + (steps ? " of " + shown(steps) : "") : "";
  card.name.replaceChildren(named(run.name));
  card.state.textContent = (liveLost && run.state !== "ended" ? "liana does not answer; " : "") + LIVE_STATES[run.state] + place;
  card.bar.hidden = !steps;
  card.bar.value = steps ? run.step / steps : 0;
  card.facts.replaceChildren(...facts.map(([name, value]) => el("div", {}, el("dt", {}, named(name)), el("dd", {}, value))));
  card.facts.hidden = !facts.length;
  const answers = run.state !== "ended" && run.state !== "unknown";
  card.buttons.forEach((button) => { button.hidden = !answers; });
  card.buttons[0].disabled = run.state === "paused";
  card.buttons[1].disabled = run.state !== "paused";
}

/* ---- values ---- */

/* A panel for each value that a run has, with a line for each run. */
function liveFigure() {
  const names = [], panels = [];
  for (const own of liveRuns) for (const name of own.run.names) if (!names.includes(name)) names.push(name);
  for (const name of names) {
    const lines = [];
    liveRuns.forEach((own, i) => {
      const at = own.run.names.indexOf(name);
      if (at < 0 || !own.points.length) return;
      lines.push({name: own.run.name, run: i, ink: i % 7, x: own.points.map((point) => point[0]), y: own.points.map((point) => point[at + 1])});
    });
    if (lines.length) panels.push({title: name.replace(/_/g, " "), x_label: "update", whole_x: true, lines});
  }
  return {panels};
}

let liveCards = [], liveCharts = [], liveLegend = null;
function showLive() {
  const box = byId("live-runs"), manyRuns = liveRuns.length > 7;
  if (!box || !liveRuns.length) return;
  if (liveCards.length !== liveRuns.length || !box.contains(liveCards[0].root)) {
    liveCards = liveRuns.map((own, i) => liveCard(i));
    liveCharts = [];
    box.replaceChildren(...liveCards.map((card) => card.root));
  }
  liveRuns.forEach((own, i) => fillCard(liveCards[i], own));
  const figure = liveFigure(), holder = byId("live-charts"), view = choice("view:live", {zoom: null, smoothing: 0, log: false});
  view.manyRuns = manyRuns;
  view.hides = () => false;
  if (liveCharts.length !== figure.panels.length || !holder.contains(liveCharts[0].root)) {
    liveCharts = [];
    for (const panel of figure.panels) liveCharts.push(new Chart(panel, view, liveCharts));
    holder.replaceChildren(...liveCharts.map((chart) => chart.root));
  }
  liveCharts.forEach((chart, i) => {
    chart.panel = figure.panels[i];
    chart.drawing.setAttribute("aria-label", chart.describe());
    chart.draw();
  });
}

function liveNow(data) {
  if (!data.live) return null;
  const many = data.runs.length > 1;
  requestAnimationFrame(showLive);
  return [el("div", {id: "live-runs", class: many ? "side" : null}, el("p", {class: "about"}, "Waiting for liana.")),
    el("div", {id: "live-charts", class: "charts"})];
}
