// The page of augmentations in a browser: its pixels are those that training gives (test_augment_page.c), to the byte,
// and corners are moved by keys, mouse and touch.
//   node page_check.js PAGE.html EXPECTED.json
'use strict';

const fs = require('node:fs');
const browser = require('../../browser/browser.js');

const [file, expectedFile] = process.argv.slice(2);
const expected = JSON.parse(fs.readFileSync(expectedFile, 'utf8'));

// Red, green and blue of canvases, as base64.
const pixelsOf = (page, selector) => page.$$eval(selector, (canvases) => canvases.map((canvas) => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let binary = '';
  for (let i = 0; i < data.length; i++) if (i % 4 < 3) binary += String.fromCharCode(data[i]);
  return btoa(binary);
}));

// Longer than it takes to draw; a page that does not draw fails.
const frames = (page) => page.evaluate(() => new Promise((done) => {
  requestAnimationFrame(() => requestAnimationFrame(done));
}));
const gridIsDone = (page) => page.waitForFunction(() =>
  document.getElementById('grid').dataset.done === String(window.liana.list.drawing));

function expectPixels(page, found, wanted, what) {
  page.expect(found.length, wanted.length, `${what}: the number of pictures`);
  for (let i = 0; i < wanted.length; i++) {
    if (found[i] === wanted[i]) continue;
    const [a, b] = [found[i], wanted[i]].map((text) => Buffer.from(text, 'base64'));
    const at = a.findIndex((value, k) => value !== b[k]);
    page.expect(a[at], b[at], `${what}, picture ${i} of ${wanted.length}, byte ${at} of ${b.length}`);
  }
}

async function checkGrid(open) {
  const page = await open(file);
  await page.fill('#num-epochs', '3');
  await gridIsDone(page);
  page.expect(await page.inputValue('#num-images'), '4', 'images shown');
  expectPixels(page, await pixelsOf(page, '#grid canvas[data-epoch]'), expected.grid, 'the configured list');
  page.expect(await page.textContent('#list-yaml'), [
    'augment:', '  - random_perspective', '  - random_brightness', '  - cutout:', '      fill: 128',
    '      probability: 1', '  - random_flip', ''].join('\n'), 'the YAML of the list');

  // A slider, and its number, change the pictures.
  const slider = page.locator('fieldset[data-stage=random_brightness] input[type=range]').first();
  await slider.focus();
  await slider.fill('0.5');
  await gridIsDone(page);
  page.expect(await page.inputValue('fieldset[data-stage=random_brightness] input[data-option=factor]'), '0.5', 'the number');
  expectPixels(page, await pixelsOf(page, '#grid canvas[data-epoch]'), expected.lighter, 'after a slider');

  // What the module refuses is said, and the pictures come back afterwards.
  await page.fill('fieldset[data-stage=random_brightness] input[data-option=factor]', '7');
  await frames(page);
  page.expect(/factor: found the number 7(\.0)?, expected a number from 0\.0 to 1\.0/.test(await page.textContent('#list-status')),
    true, `a refused option: ${await page.textContent('#list-status')}`);
  await page.fill('fieldset[data-stage=random_brightness] input[data-option=factor]', '0.5');
  await gridIsDone(page);
  expectPixels(page, await pixelsOf(page, '#grid canvas[data-epoch]'), expected.lighter, 'after a refusal');

  // All stages can be added, and each gives pictures or says why not.
  const names = await page.$$eval('#add-name option', (options) => options.map((option) => option.value));
  for (const name of names) {
    await page.selectOption('#add-name', name);
    await page.click('#add button');
    await frames(page);
    const status = await page.textContent('#list-status');
    page.expect(/images, [0-9.]+ ms each|quarter turns need square images/.test(status), true, `${name}: ${status}`);
    await page.click('#stages li:last-child [data-move=remove]');
  }
  await page.click('#stages li:nth-child(2) [data-move=earlier]');
  page.expect(await page.$$eval('#stages fieldset', (all) => all.map((one) => one.dataset.stage)),
    ['random_brightness', 'random_perspective', 'cutout', 'random_flip'], 'the order after a move');
  await page.accessible();
  await page.picture('augment-list');
  await page.close();
}

async function checkPerspective(open) {
  const page = await open(file, { dark: true });
  await frames(page);
  expectPixels(page, await pixelsOf(page, '#moved'), await pixelsOf(page, '#original'), 'corners that are not moved');
  for (const [i, wanted] of expected.perspective.entries()) {
    await page.click('#draw');
    await frames(page);
    expectPixels(page, await pixelsOf(page, '#moved'), [wanted], `random draw ${i}`);
    page.expect((await page.textContent('#perspective-status')).trim(), `Drawn for seed 7, epoch 0, position ${i}.`, 'the address');
  }
  await page.picture('augment-perspective-dark');

  // By keys: one pixel, with Shift ten.
  await page.click('#reset');
  await page.focus('[data-corner="0"]');
  for (const key of ['Shift+ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowDown', 'ArrowDown', 'ArrowDown']) await page.keyboard.press(key);
  await frames(page);
  expectPixels(page, await pixelsOf(page, '#moved'), expected.corner, 'a corner moved by keys');
  page.expect(await page.getAttribute('[data-corner="0"]', 'aria-label'), 'Upper left corner of the image, at 12 right, 3 down', 'its label');
  page.expect(await page.textContent('#perspective-yaml'),
    ['augment:', '  - random_perspective:', '      factor: 0.25', '      turn: false', ''].join('\n'), 'the stage');
  page.expect((await page.$$('#matrix td')).length, 9, 'cells of the matrix');

  // Points that are no perspective are refused, and the picture stays.
  for (let i = 0; i < 6; i++) await page.keyboard.press('Shift+ArrowRight');
  for (let i = 0; i < 4; i++) await page.keyboard.press('Shift+ArrowDown');
  await frames(page);
  page.expect(/no perspective leads there/.test(await page.textContent('#perspective-status')), true, 'a refused perspective');
  await page.picture('augment-perspective-refused');
  await page.close();
}

// The distance in pixels of the image that a drag of this many pixels of the page is.
async function drag(page, corner, move) {
  const box = await page.locator(`[data-corner="${corner}"]`).boundingBox();
  const canvas = await page.locator('#moved').boundingBox();
  await move(box.x + box.width / 2, box.y + box.height / 2);
  await frames(page);
  const width = await page.$eval('#moved', (image) => image.width);
  return width / canvas.width;
}

async function checkPointers(open) {
  const page = await open(file);
  const scale = await drag(page, 1, async (x, y) => {
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x - 15, y + 9);
    await page.mouse.move(x - 30, y + 18);
    await page.mouse.up();
  });
  const near = (found, wanted) => Math.abs(found - wanted) < 0.2;
  const points = await page.evaluate(() => window.liana.perspective.points);
  page.expect(near(points[2], 48 - 30 * scale) && near(points[3], 18 * scale), true, `dragged by the mouse to ${points.slice(2, 4)}`);
  await page.close();

  const phone = await open(file, { width: 390, height: 844, touch: true });
  await phone.locator('#board').scrollIntoViewIfNeeded();
  const session = await phone.context().newCDPSession(phone);
  const touch = (type, x, y) => session.send('Input.dispatchTouchEvent', { type, touchPoints: type === 'touchEnd' ? [] : [{ x, y }] });
  const top = await phone.evaluate(() => window.scrollY);
  const phoneScale = await drag(phone, 2, async (x, y) => {
    await touch('touchStart', x, y);
    for (let i = 1; i <= 5; i++) await touch('touchMove', x - 4 * i, y - 6 * i);
    await touch('touchEnd');
  });
  const moved = await phone.evaluate(() => window.liana.perspective.points);
  phone.expect(near(moved[4], 48 - 20 * phoneScale) && near(moved[5], 36 - 30 * phoneScale), true, `dragged by touch to ${moved.slice(4, 6)}`);
  phone.expect(await phone.evaluate(() => window.scrollY), top, 'the page does not scroll with a corner');
  await phone.picture('augment-phone');
  await phone.close();
}

// Names are text, whatever is in them.
async function checkNames(open) {
  const page = await open(file);
  const options = await page.$$eval('#perspective-image option', (all) => all.map((one) => one.textContent));
  page.expect(options.some((text) => text.includes('<!--<script>alert(1)')), true, 'a name with HTML');
  page.expect(options.some((text) => text.includes('"quoted" & \'so\'')), true, 'a name with quotes');
  page.expect(options.some((text) => text.includes('🌹 玫瑰')), true, 'a name with an emoji');
  await page.close();
}

browser.check(async (open) => {
  await checkGrid(open);
  await checkPerspective(open);
  await checkPointers(open);
  await checkNames(open);
});
