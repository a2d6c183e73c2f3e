// What the page of `liana report --html` does in a browser: values under the pointer, zoom, smoothing, sorting,
// filtering, keys, an update of the data, and names that are hostile.
//
//   node tests/browser/page.js ONE.html TWO.html     of one run with classes; of two runs
'use strict';

const browser = require('./browser.js');

const text = (page, selector) => page.locator(selector).first().textContent();
const first = (page, section) => page.locator(`#${section} .chart svg[role=img]`).first();

// The numbers of the page's data, to compare with what is shown.
const panel = (page) => page.evaluate(() => window.liana.data().curves.panels[0]);
const shown = (value) => String(Number(value.toPrecision(4)));

async function readsValues(page) {
  const chart = first(page, 'curves');
  const { lines } = await panel(page);
  const last = lines[0].y.length;
  await chart.focus();
  await page.keyboard.press('End');
  const said = await text(page, '#live');
  for (const line of lines) page.expect(said.includes(`${line.name} ${shown(line.y[last - 1])}`), true, `'${said}' has ${line.name}`);
  await page.keyboard.press('ArrowLeft');
  page.expect((await text(page, '#live')).startsWith(`epoch ${last - 1}:`), true, 'the arrow goes to the epoch before');
  await page.keyboard.press('Escape');
  const box = await chart.boundingBox();
  await page.mouse.move(box.x + box.width - 14, box.y + box.height / 2);
  const tip = await text(page, '#tip');
  page.expect(tip.includes(`epoch ${last}`) && tip.includes(shown(lines[0].y[last - 1])), true, `the tip '${tip}'`);
  await page.mouse.move(2, 2);
  page.expect(await page.locator('#tip').isHidden(), true, 'the tip goes');
}

async function zooms(page) {
  const chart = first(page, 'curves');
  const before = await chart.innerHTML();
  const box = await chart.boundingBox();
  await page.mouse.move(box.x + box.width * 0.4, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.9, box.y + 70, { steps: 5 });
  await page.mouse.up();
  await page.mouse.move(2, 2);
  page.expect((await chart.innerHTML()) === before, false, 'dragging zooms');
  await page.click('#everything');
  const path = (html) => html.match(/ d="[^"]*"/g).join();
  page.expect(path(await chart.innerHTML()), path(before), 'everything is shown again');
  await page.locator('#smoothing').fill('0.8');
  page.expect(await page.locator('#curves .curve.raw').count() > 0, true, 'smoothing leaves the raw line behind');
  await page.locator('#smoothing').fill('0');
}

// Sorting by a column of numbers, and filtering by a name.
async function sorts(page) {
  const cells = () => page.locator('#classes tbody tr').evaluateAll((rows) => rows.map((row) => Number(row.children[2].textContent)));
  await page.locator('#classes thead button').nth(2).click();
  const falling = await cells();
  page.expect(falling, [...falling].sort((a, b) => b - a), 'recall falls');
  await page.locator('#classes thead button').nth(2).click();
  page.expect(await cells(), [...falling].sort((a, b) => a - b), 'recall rises');
  page.expect(await page.locator('#classes thead th').nth(2).getAttribute('aria-sort'), 'ascending', 'aria-sort');
  const name = await page.evaluate(() => window.liana.data().details[0].classes[0].labels[3]);
  await page.locator('#classes input[type=search]').fill(name);
  page.expect(await text(page, '#classes tbody th'), name, 'the filter finds a class');
  await page.locator('#classes input[type=search]').fill('');
}

async function readsMatrix(page) {
  const { labels, cells } = await page.evaluate(() => window.liana.data().details[0].parts.confusion_matrix);
  const matrix = page.locator('#confusion .matrix svg');
  await matrix.focus();
  await page.keyboard.press('ArrowRight');
  let count = 0;
  for (let i = 0; i < cells.length; i += 3) if (cells[i] === 0 && cells[i + 1] === 0) count = cells[i + 2];
  const said = await text(page, '#live');
  page.expect(said.startsWith(`true ${labels[0]}, predicted ${labels[0]}: ${count},`), true, `'${said}' is the first cell`);
  const before = await matrix.innerHTML();
  await page.locator('#confusion select').selectOption('recall');
  page.expect((await matrix.innerHTML()) === before, false, 'the order changes the matrix');
  await page.locator('#confusion input[type=search]').first().fill(labels[1]);
  page.expect((await matrix.innerHTML()).includes(labels[1].slice(0, 4)), true, 'the filter keeps the class');
}

// An update draws what has changed, and keeps the focus and what was chosen.
async function updates(page) {
  await page.locator('#classes input[type=search]').fill('a');
  await page.locator('#log').focus();
  await page.evaluate(() => {
    const data = structuredClone(window.liana.data());
    data.runs[0].note = 'a note </script><b>';
    data.curves.panels[0].lines[0].y.push(null, 0.123456);
    document.querySelector('#classes').dataset.same = 'yes';
    window.liana.update(data);
  });
  page.expect(await text(page, '#results .note'), 'a note </script><b>', 'the note is text');
  page.expect(await page.locator('#classes').getAttribute('data-same'), 'yes', 'a section with the same data stays');
  page.expect(await page.evaluate(() => document.activeElement.id), 'log', 'the focus stays');
  await first(page, 'curves').focus();
  await page.keyboard.press('End');
  page.expect((await text(page, '#live')).includes('0.1235'), true, 'the new value is drawn');
}

// Names are written in their own direction, and what follows them stands where it would without them.
async function isolates(page) {
  const places = await page.evaluate(() => {
    const found = [];
    const box = (node) => {
      const range = document.createRange();
      range.selectNodeContents(node);
      return [...range.getClientRects()];
    };
    for (const name of document.querySelectorAll('figcaption bdi')) {
      const [before, after] = [name.previousSibling, name.nextSibling];
      if (!before || !after || before.nodeType !== 3 || after.nodeType !== 3) continue;
      const [left, own, right] = [box(before).pop(), box(name)[0], box(after)[0]];
      if (left.top !== right.top) continue; // on two lines
      found.push([name.textContent, left.right <= own.left + 1 && own.right <= right.left + 1]);
    }
    return found;
  });
  page.expect(places.some(([name]) => /[\u0590-\u06ff\u202e]/.test(name)), true, `a name that turns is among ${places.length}`);
  for (const [name, stands] of places) page.expect(stands, true, `${JSON.stringify(name)} leaves its line alone`);
}

// Two fingers that go apart: less is shown, and the middle between them stays.
async function pinches(open, file) {
  const page = await open(file, { width: 390, height: 844, touch: true });
  const marks = () => first(page, 'curves').evaluate((drawing) => [...drawing.querySelectorAll('text[text-anchor=middle]')].map((mark) => Number(mark.textContent)).filter((mark) => mark >= 0));
  const before = await marks();
  await first(page, 'curves').evaluate((drawing) => {
    const box = drawing.getBoundingClientRect();
    const send = (type, pointerId, share) => drawing.dispatchEvent(new PointerEvent(type, {
      pointerId, pointerType: 'touch', bubbles: true, clientX: box.left + box.width * share, clientY: box.top + 60,
    }));
    send('pointerdown', 1, 0.45);
    send('pointerdown', 2, 0.55);
    for (let i = 1; i <= 5; i++) {
      send('pointermove', 1, 0.45 - 0.06 * i);
      send('pointermove', 2, 0.55 + 0.06 * i);
    }
    send('pointerup', 1, 0.15);
    send('pointerup', 2, 0.85);
  });
  const after = await marks();
  page.expect(after[after.length - 1] - after[0] < before[before.length - 1] - before[0], true, `epochs ${after} are fewer than ${before}`);
  page.expect(after.some((mark) => mark > before[0] && mark < before[before.length - 1]), true, 'the middle stays');
  await page.close();
}

browser.check(async (open) => {
  const [one, two] = process.argv.slice(2);
  const page = await open(one);
  for (const step of [readsValues, zooms, sorts, readsMatrix, updates]) await step(page);
  await page.accessible();
  await pinches(open, one);
  const both = await open(two);
  page.expect(await both.locator('#curves .curve.dashed').count() > 0, true, 'one of two runs is dashed');
  page.expect(await both.locator('#differences tbody tr').count() > 0, true, 'differences are listed');
  await isolates(both);
  await both.locator('#detail').selectOption({ index: 1 });
  await both.accessible();
});
