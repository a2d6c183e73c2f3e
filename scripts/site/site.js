// The search: words are looked for in titles, headings and text of all pages. The index is read when it is first needed; it is
// a script, since pages that are opened from disk may not fetch files.
'use strict';

const MOST_RESULTS = 30;
const input = document.getElementById('site-search');
const results = document.getElementById('site-results');
const said = results.querySelector('p');
const list = results.querySelector('ol');
const up = document.body.dataset.up;
let loading = null;

function load() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = `${up}/search-index.js`;
    script.onload = () => {
      const index = window.lianaSearchIndex;
      index.lower = index.sections.map(([page, , heading, text]) => ({
        title: index.pages[page][1].toLowerCase(),
        heading: heading.toLowerCase(),
        text: text.toLowerCase(),
      }));
      resolve(index);
    };
    script.onerror = reject;
    document.head.append(script);
  });
  return loading;
}

// The weight of one word in one section; 0: it is not there.
function weigh(word, { title, heading, text }) {
  let weight = 0;
  if (heading === word) weight += 200;
  else if (heading.split(/\s+/).includes(word) || heading.split(/[^\p{L}\p{N}_]+/u).includes(word)) weight += 60;
  else if (heading.startsWith(word)) weight += 40;
  else if (heading.includes(word)) weight += 20;
  if (title.includes(word)) weight += 10;
  const at = text.indexOf(word);
  if (at >= 0) weight += at < 200 ? 6 : 3;
  return weight;
}

function find(index, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [];
  if (!words.length) return { words, found };
  index.lower.forEach((section, at) => {
    let sum = section.heading === words.join(' ') ? 200 : 0;
    for (const word of words) {
      const weight = weigh(word, section);
      if (!weight) return;
      sum += weight;
    }
    found.push({ at, sum });
  });
  found.sort((a, b) => b.sum - a.sum || a.at - b.at);
  return { words, found };
}

// Text with the words in <mark>, from a little before the first of them. Everything is text, nothing is HTML.
function excerpt(text, words) {
  const lower = text.toLowerCase();
  const first = Math.min(...words.map((word) => lower.indexOf(word)).filter((at) => at >= 0));
  const start = Number.isFinite(first) ? Math.max(0, first - 60) : 0;
  const piece = text.slice(start, start + 180);
  const paragraph = document.createElement('div');
  if (start) paragraph.append('… ');
  const pattern = new RegExp(`(${words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|')})`, 'gi');
  piece.split(pattern).forEach((part, at) => {
    if (at % 2 === 0) return paragraph.append(part);
    const mark = document.createElement('mark');
    mark.textContent = part;
    return paragraph.append(mark);
  });
  return paragraph;
}

function row(index, at, words) {
  const [page, anchor, heading, text] = index.sections[at];
  const [file, title, group] = index.pages[page];
  const item = document.createElement('li');
  const link = document.createElement('a');
  link.href = `${up}/${file}#${anchor}`;
  link.textContent = heading;
  const place = document.createElement('span');
  place.className = 'place';
  place.textContent = ` ${group}: ${title}`;
  item.append(link, place, excerpt(text, words));
  return item;
}

async function show() {
  const query = input.value;
  results.dataset.query = query.trim() ? '' : query;
  if (!query.trim()) {
    results.hidden = true;
    return;
  }
  const index = await load();
  if (query !== input.value) return; // typed on
  const { words, found } = find(index, query);
  said.textContent = found.length === 0 ? `Nothing has all of: ${words.join(', ')}`
    : `${found.length} ${found.length === 1 ? 'place' : 'places'}${found.length > MOST_RESULTS ? `, the best ${MOST_RESULTS}` : ''}`;
  list.replaceChildren(...found.slice(0, MOST_RESULTS).map(({ at }) => row(index, at, words)));
  results.hidden = false;
  results.dataset.query = query; // for tests: what is shown
}

function close() {
  results.hidden = true;
}

input.addEventListener('focus', load);
input.addEventListener('input', show);
input.form.addEventListener('submit', (event) => {
  event.preventDefault();
  list.querySelector('a')?.click();
});
list.addEventListener('click', close);
document.addEventListener('keydown', (event) => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName);
  if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    input.focus();
  } else if (event.key === 'Escape' && !results.hidden) {
    close();
    input.focus();
  } else if ((event.key === 'ArrowDown' || event.key === 'ArrowUp') && !results.hidden) {
    const links = [...list.querySelectorAll('a')];
    const next = links.indexOf(document.activeElement) + (event.key === 'ArrowDown' ? 1 : -1);
    event.preventDefault();
    (links[next] ?? input).focus();
  }
});
document.addEventListener('click', (event) => {
  if (!results.contains(event.target) && event.target !== input) close();
});
