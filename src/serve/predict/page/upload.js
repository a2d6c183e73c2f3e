// The page of a server of predictions: a picture goes up, names and probabilities come back as bars.
'use strict';

const byId = (id) => document.getElementById(id);
const needsToken = document.body.dataset.token === 'yes';
const shownClasses = 10;
let turn = 0;

function say(text, bad) {
  byId('status').textContent = text;
  byId('status').classList.toggle('bad', Boolean(bad));
}

// Texts of the server are text nodes, never HTML.
function add(parent, name, text, className) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  parent.append(element);
  return element;
}

async function ask(path, options) {
  const headers = { ...(options && options.headers) };
  if (needsToken) headers.Authorization = `Bearer ${byId('token').value}`;
  const answer = await fetch(path, { ...options, headers });
  const body = await answer.json().catch(() => ({ error: `the server answered ${answer.status}` }));
  if (!answer.ok || body.error) throw new Error(body.error || `the server answered ${answer.status}`);
  return body;
}

async function listModels() {
  const { models } = await ask('/v1/models');
  const before = byId('model').value;
  byId('model').replaceChildren();
  for (const model of models.filter((each) => each.takes_images)) {
    const option = add(byId('model'), 'option', model.name);
    option.value = model.name;
    option.selected = model.name === before;
  }
  const any = byId('model').options.length > 0;
  byId('file').disabled = !any;
  say(any ? '' : 'This server has no model of images. Its models are asked with JSON.', !any);
}

function percent(value) {
  return `${(100 * value).toFixed(value > 0 && value < 0.001 ? 3 : 1)} %`;
}

function draw(classes) {
  byId('bars').replaceChildren();
  for (const [name, score] of classes) {
    const row = add(byId('bars'), 'tr');
    add(row, 'th', name).scope = 'row';
    const bar = add(add(row, 'td'), 'div', undefined, 'bar');
    bar.setAttribute('aria-hidden', 'true');
    add(bar, 'span').style.width = `${Math.min(100, Math.max(0, 100 * score))}%`;
    add(row, 'td', percent(score), 'value');
  }
}

// Of pictures that come one after the other, only the last one's answer is shown.
async function predict(file) {
  const own = ++turn;
  const model = byId('model').value;
  if (!file || !model) return;
  say('The picture is predicted ...');
  try {
    const begin = performance.now();
    const body = await ask(`/v1/models/${encodeURIComponent(model)}:classify?top=${shownClasses}`,
      { method: 'POST', body: file, headers: { 'Content-Type': file.type || 'application/octet-stream' } });
    if (own !== turn) return;
    const best = body.results[0][0];
    URL.revokeObjectURL(byId('picture').src);
    byId('picture').src = URL.createObjectURL(file);
    byId('result-title').textContent = file.name || 'Result';
    draw(body.results[0]);
    byId('result').hidden = false;
    say(`${best[0]}, ${percent(best[1])} (${Math.round(performance.now() - begin)} ms)`);
  } catch (error) {
    if (own === turn) say(error.message, true);
  }
}

function takeDrops(target) {
  for (const name of ['dragenter', 'dragover']) {
    target.addEventListener(name, (event) => { event.preventDefault(); byId('drop').classList.add('over'); });
  }
  for (const name of ['dragleave', 'drop']) {
    target.addEventListener(name, () => byId('drop').classList.remove('over'));
  }
  target.addEventListener('drop', (event) => { event.preventDefault(); predict(event.dataTransfer.files[0]); });
  target.addEventListener('paste', (event) => { if (event.clipboardData.files.length) predict(event.clipboardData.files[0]); });
}

byId('token-row').hidden = !needsToken;
byId('form').addEventListener('submit', (event) => event.preventDefault());
byId('file').addEventListener('change', () => { predict(byId('file').files[0]); byId('file').value = ''; });
byId('token').addEventListener('change', () => listModels().catch((error) => say(error.message, true)));
takeDrops(document);
if (needsToken) {
  say('This server asks for its token.');
} else {
  listModels().catch((error) => say(error.message, true));
}
