// Looks at pages as they open: on a wide screen, on a phone, in dark mode and as they are printed. Nothing may fail
// (browser.js), and axe-core finds nothing serious or critical.
//
//   node tests/browser/look.js PAGE.html...
//
// With LIANA_SCREENSHOTS=FOLDER there are PAGE-wide.png, PAGE-phone.png, PAGE-dark.png and PAGE-print.png.
'use strict';

const path = require('node:path');
const browser = require('./browser.js');

const VIEWS = {
  wide: {},
  phone: { width: 390, height: 844, touch: true },
  dark: { dark: true },
  print: { print: true, width: 794, height: 1123 },
};

browser.check(async (open) => {
  for (const file of process.argv.slice(2)) {
    for (const [name, options] of Object.entries(VIEWS)) {
      const page = await open(file, options);
      if (name !== 'print') await page.accessible();
      // Not from window.innerWidth: a phone zooms out of a page that is too wide.
      const overflow = (await page.evaluate(() => document.documentElement.scrollWidth)) - (options.width || 1280);
      if (name === 'phone') page.expect(overflow > 0, false, `scrolls sideways on a phone, by ${overflow} pixels`);
      await page.picture(`${path.basename(file, '.html')}-${name}`);
      await page.close();
    }
  }
});
