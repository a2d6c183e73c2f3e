// What the site of the documents does in a browser: the search, by pointer and by keyboard, and the sidebar.
//
//   node tests/browser/site.js SITE
'use strict';

const path = require('node:path');
const browser = require('./browser.js');

const site = path.resolve(process.argv[2]);
// What people look for, and where the first place found must be.
const SEARCHES = [
  ['train.epochs', /reference\/configuration\.html#train\.epochs$/],
  ['early stopping', /reference\/callbacks\.html#earlystopping/],
  ['liana_fit', /reference\/c\/train\.html#liana_fit$/],
  ['Conv2D', /reference\/layers\.html#conv2d/],
  ['LIANA_THREADS', /environment\.html#LIANA_THREADS$/],
  ['--resume-from', /reference\/subcommands\.html#train--resume-from$/],
  ['MobileNetV2', /reference\/models\.html#mobilenetv2/],
  ['exit codes', /reference\/exit-codes\.html#|configuration\.html#exit-codes/],
];

const results = (page) => page.locator('#site-results li a');
const search = async (page, words) => {
  await page.locator('#site-search').fill(words);
  await page.waitForFunction((query) => document.getElementById('site-results').dataset.query === query, words);
};

async function finds(open) {
  const page = await open(path.join(site, 'docs/index.html'));
  for (const [words, wanted] of SEARCHES) {
    await search(page, words);
    const first = (await results(page).count()) ? await results(page).first().evaluate((link) => link.href) : 'nothing';
    page.expect(wanted.test(first), true, `'${words}' leads to ${first}, expected ${wanted}`);
  }
  await search(page, 'qqxyzzy');
  page.expect(await results(page).count(), 0, 'a word that is nowhere');
  page.expect((await page.locator('#site-results p').textContent()).includes('qqxyzzy'), true, 'what was not found is said');
  await search(page, '<img src=x onerror=alert(1)> [(');
  await search(page, '');
  page.expect(await page.locator('#site-results').isHidden(), true, 'without words there are no results');
  await page.close();
}

async function takesKeys(open) {
  const page = await open(path.join(site, 'docs/guides/training.html'));
  await page.keyboard.press('/');
  page.expect(await page.evaluate(() => document.activeElement.id), 'site-search', 'the key / goes to the search');
  await page.keyboard.type('liana_dense');
  await page.waitForFunction(() => document.getElementById('site-results').dataset.query === 'liana_dense');
  await page.picture('site-search');
  await page.keyboard.press('ArrowDown');
  page.expect(await page.evaluate(() => document.activeElement.tagName), 'A', 'the arrow goes to the first result');
  await page.keyboard.press('Escape');
  page.expect(await page.locator('#site-results').isHidden(), true, 'Escape closes the results');
  await page.locator('#site-search').fill('liana_dense');
  await page.waitForFunction(() => !document.getElementById('site-results').hidden);
  await Promise.all([page.waitForURL(/layers-core\.html#liana_dense/), page.keyboard.press('Enter')]);
  page.expect(await page.locator('h3:target, h2:target').count(), 1, 'Enter opens the first result, at its heading');
  await page.close();
}

async function leads(open) {
  const page = await open(path.join(site, 'index.html'));
  await page.waitForURL(/docs\/index\.html$/);
  page.expect(await page.locator('nav a[aria-current]').count(), 1, 'the sidebar marks this page');
  await page.locator('main a[href="reference/configuration.html"]').first().click();
  await page.waitForURL(/configuration\.html$/);
  page.expect(await page.locator('nav details[open] summary').first().textContent(), 'Reference', 'the group of the page is open');
  await page.close();
}

browser.check(async (open) => {
  await finds(open);
  await takesKeys(open);
  await leads(open);
});
