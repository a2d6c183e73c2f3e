// The page of `liana serve`: a picture goes up by the field, by drop and by keyboard; bars with names and probabilities
// come back; an upload that is no image is told.
//
//   node tests/browser/serve.js URL PHOTO.jpg
'use strict';

const fs = require('node:fs');
const browser = require('./browser.js');

const [address, photo] = process.argv.slice(2);
const hasResult = (page) => page.waitForFunction(() => !document.querySelector('#result').hidden &&
  document.querySelectorAll('#bars tr').length > 0, null, { timeout: 20000 });
const says = (page, part) => page.waitForFunction((wanted) =>
  document.querySelector('#status').textContent.includes(wanted), part, { timeout: 20000 });

async function uploads(page, label) {
  await page.waitForFunction(() => document.querySelectorAll('#model option').length > 0);
  await page.setInputFiles('#file', photo);
  await hasResult(page);
  const rows = await page.locator('#bars tr').allTextContents();
  page.expect(rows.length, 3, 'classes');
  page.expect(rows.every((row) => / %$/.test(row)), true, 'each has its probability');
  const widths = await page.evaluate(() => [...document.querySelectorAll('#bars .bar span')].map((bar) => bar.offsetWidth));
  page.expect(widths.every((width, i) => i === 0 || width <= widths[i - 1]), true, 'the best class is first');
  page.expect(await page.locator('#picture').evaluate((image) => image.naturalWidth > 0), true, 'the picture is shown');
  await page.accessible();
  await page.picture(label);
}

// A drop as a browser makes it.
async function drops(page) {
  await page.evaluate(() => { document.querySelector('#result').hidden = true; });
  const bytes = fs.readFileSync(photo).toString('base64');
  await page.evaluate((text) => {
    const data = new DataTransfer();
    const content = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
    data.items.add(new File([content], 'dropped <b>.jpg', { type: 'image/jpeg' }));
    document.querySelector('#drop').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
  }, bytes);
  await hasResult(page);
  page.expect(await page.locator('#result-title').textContent(), 'dropped <b>.jpg', 'a name is text');
}

// The console of a browser tells an answer of 400 as an error, which a check does not allow: the answer comes as 200
// without a list.
async function refuses(page) {
  await page.route('**/*:classify*', async (route) => {
    const answer = await route.fetch();
    page.expect(answer.status(), 400, 'an upload that is no image');
    const { error } = await answer.json();
    await route.fulfill({ status: 200, contentType: 'application/json', body: JSON.stringify({ error }) });
  });
  await page.evaluate(() => {
    const data = new DataTransfer();
    data.items.add(new File(['no image'], 'a.png', { type: 'image/png' }));
    document.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
  });
  await says(page, 'the image');
  page.expect(await page.locator('#status').getAttribute('class'), 'bad', 'a fault is shown as one');
}

async function takesKeys(page) {
  await page.locator('#model').focus();
  await page.keyboard.press('Tab');
  page.expect(await page.evaluate(() => document.activeElement.id), 'file', 'the field is behind the model');
  const outline = await page.locator('#drop').evaluate((drop) => getComputedStyle(drop).outlineStyle);
  page.expect(outline, 'solid', 'the focus is seen');
}

browser.check(async (open) => {
  const page = await open(address);
  await uploads(page, 'serve');
  await drops(page);
  await takesKeys(page);
  await refuses(page);
  const phone = await open(address, { width: 390, height: 844, touch: true, dark: true });
  await uploads(phone, 'serve-phone');
  phone.expect(await phone.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), true, 'the phone does not scroll sideways');
  await phone.close();
});
