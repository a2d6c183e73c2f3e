// Opens pages of this machine in a headless Chromium, for checks: pages that liana writes must open from disk, without
// a network and without an error, and be usable with a keyboard and a screen reader.
//
//   const browser = require('./browser.js');
//   browser.check(async (open) => {
//     const page = await open('page.html', { width: 390, height: 844, dark: true });
//     await page.click('button');           // Playwright's page
//     await page.accessible();              // axe-core finds nothing serious or critical
//     await page.picture('after-a-click');  // with LIANA_SCREENSHOTS=FOLDER: FOLDER/after-a-click.png
//     page.expect(value, wanted, 'what it is');
//   });
//
// `check` ends the process with 0, or with 1 and the reasons. An error in a page's console, an uncaught error and a
// request to anything but a file (or, of a page that liana serves, its own server) fail the check, at its end. NODE_PATH leads to the peer's packages
// (scripts/install-peers.sh browser), PATH to Debian's chromium. It runs with Debian 12's Node 18.
'use strict';

const child = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const url = require('node:url');
const util = require('node:util');

// Where Chromium is. Its own lookup would want the browser that playwright's installer downloads.
function findChromium() {
  const found = child.spawnSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' });
  if (found.status !== 0) throw new Error('chromium is missing (scripts/install-packages.sh --peers)');
  return found.stdout.trim();
}

// A user of /tmp alone, without a sandbox of its own: root has none in Chromium, nor have most containers.
const ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--force-color-profile=srgb'];

// What axe-core says of one rule: the rule, its help, and the first elements.
function describe(violation) {
  const targets = violation.nodes.slice(0, 5).map((node) => `    ${node.target.join(' ')}: ${node.failureSummary}`);
  return `${violation.id} (${violation.impact}): ${violation.help}\n${targets.join('\n')}`;
}

// Adds to a page of Playwright's what checks need besides. `origin`: of a page that liana serves, which may ask for more.
function equip(page, name, failures, origin) {
  const fail = (text) => failures.push(`${name}: ${text}`);
  page.on('console', (message) => {
    if (message.type() === 'error') fail(`an error in the console: ${message.text()}`);
  });
  page.on('pageerror', (error) => fail(`an uncaught error: ${error.stack || error}`));
  page.on('request', (request) => {
    if (!/^(file|data|blob|about):/.test(request.url()) && !request.url().startsWith(origin)) fail(`asks for ${request.url()}; a page is one file`);
  });
  page.expect = (found, wanted, what) => {
    if (util.isDeepStrictEqual(found, wanted)) return;
    fail(`${what}: found ${util.inspect(found, { depth: 6 })}, expected ${util.inspect(wanted, { depth: 6 })}`);
  };
  page.accessible = async () => {
    // Not as an element: a page may forbid further scripts.
    await page.evaluate(fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8'));
    // A page from disk may not read the text of its style sheet, which axe-core would ask for.
    const found = await page.evaluate(() =>
      window.axe.run(document, { resultTypes: ['violations'], preload: !document.querySelector('link[rel=stylesheet]') }));
    if (found.passes.length === 0) fail('axe-core has looked at nothing');
    for (const violation of found.violations) {
      if (violation.impact === 'serious' || violation.impact === 'critical') fail(describe(violation));
    }
  };
  page.picture = async (label) => {
    const folder = process.env.LIANA_SCREENSHOTS;
    if (folder) await page.screenshot({ path: path.join(folder, `${label}.png`), fullPage: true });
  };
  return page;
}

// Runs `steps(open)`, and ends the process. `open(file, options)` gives a page once it has loaded. Options: width,
// height (1280 x 800), dark, print, touch (a phone's), scale (pixels of the screen for one of the page), motion (not
// reduced).
async function run(steps) {
  const { chromium } = require('playwright-core');
  const failures = [];
  const browser = await chromium.launch({ executablePath: findChromium(), args: ARGUMENTS });
  try {
    await steps(async (file, options = {}) => {
      const served = /^http:\/\/127\.0\.0\.1:\d+\//.exec(file);
      const context = await browser.newContext({
        viewport: { width: options.width || 1280, height: options.height || 800 },
        colorScheme: options.dark ? 'dark' : 'light',
        reducedMotion: options.motion ? 'no-preference' : 'reduce',
        deviceScaleFactor: options.scale || 1,
        hasTouch: !!options.touch,
        isMobile: !!options.touch,
        offline: !served,
      });
      const page = equip(await context.newPage(), served ? 'live' : path.basename(file), failures, served ? served[0] : 'file:');
      if (options.print) await page.emulateMedia({ media: 'print' });
      await page.goto(served ? file : url.pathToFileURL(path.resolve(file)).href, { waitUntil: 'load' });
      return page;
    });
  } finally {
    await browser.close();
  }
  return failures;
}

exports.check = async function check(steps) {
  let failures;
  try {
    failures = await run(steps);
  } catch (error) {
    failures = [error.stack || String(error)];
  }
  for (const failure of failures) console.error(failure);
  process.exit(failures.length ? 1 : 0);
};
