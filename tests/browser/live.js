// The live page: values come, buttons act between updates, a page from elsewhere may not ask.
//
//   node tests/browser/live.js URL RUN     of a training that goes on for a while, and its folder
'use strict';

const fs = require('node:fs');
const browser = require('./browser.js');

const [address, run] = process.argv.slice(2);
const state = (page) => page.locator('#live-runs .about').first().textContent();
const waitFor = (page, word) => page.waitForFunction((wanted) => {
  const found = document.querySelector('#live-runs .about');
  return found && found.textContent.includes(wanted);
}, word, { timeout: 20000 });
const checkpoints = () => fs.readdirSync(`${run}/checkpoints`).filter((name) => /^step-\d+$/.test(name));
const updates = (page) => page.evaluate(() => liveRuns[0].points.length);

async function shows(page) {
  await waitFor(page, 'training');
  const before = await updates(page);
  await page.waitForFunction((count) => liveRuns[0].points.length > count + 2, before, { timeout: 20000 });
  const points = await page.evaluate(() => liveRuns[0].points.map((point) => point[0]));
  page.expect(points.every((step, i) => i === 0 || step > points[i - 1]), true, 'updates ascend');
  page.expect(await page.locator('#now .chart').count() >= 3, true, 'loss, accuracy and the rate are drawn');
  const epochs = () => page.evaluate(() => window.liana.data().runs[0].epochs);
  const known = await epochs();
  await page.waitForFunction((count) => window.liana.data().runs[0].epochs > count, known, { timeout: 30000 });
  page.expect(await page.locator('#curves .chart').count() > 0, true, 'curves of epochs are drawn');
}

async function pauses(page) {
  await page.locator('#live-0-pause').focus();
  await page.keyboard.press('Enter');
  await waitFor(page, 'paused');
  page.expect(await page.locator('#live-0-pause').isDisabled(), true, 'it is paused already');
  const step = await page.evaluate(() => liveRuns[0].run.global_step);
  await page.waitForTimeout(1500);
  page.expect(await page.evaluate(() => liveRuns[0].run.global_step), step, 'the update while it is paused');
  await page.picture('live-paused');
  await page.accessible();
  await page.click('#live-0-continue');
  await waitFor(page, 'training');
}

async function saves(page) {
  const before = checkpoints();
  await page.click('#live-0-checkpoint');
  for (let i = 0; i < 100 && checkpoints().every((name) => before.includes(name)); i++) await page.waitForTimeout(100);
  page.expect(checkpoints().some((name) => !before.includes(name)), true, 'there is a new checkpoint');
}

browser.check(async (open) => {
  const page = await open(address);
  await shows(page);
  await pauses(page);
  await saves(page);
  await page.picture('live');
  const phone = await open(address, { width: 390, height: 844, touch: true, dark: true });
  await waitFor(phone, 'training');
  await phone.picture('live-phone');
  await phone.accessible();
  phone.expect(await phone.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), true, 'the phone does not scroll sideways');
  await phone.close();
  await page.click('#live-0-stop');
  await waitFor(page, 'ended');
  page.expect(await page.locator('#live-0-stop').isHidden(), true, 'a training that has ended has no buttons');
});
