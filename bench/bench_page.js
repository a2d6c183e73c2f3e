// Measures the perspective editor of a page in Chromium (bench_page.sh): moves a corner in each frame.
//   node bench_page.js PAGE.html SECONDS
'use strict';

const browser = require('../tests/browser/browser.js');

// In the page: each frame moves the upper left corner on a circle. The page draws in its own callback of the same frame.
const move = (seconds) => new Promise((done) => {
  const editor = window.liana.perspective;
  const times = [];
  const begin = performance.now();
  const step = (now) => {
    if (times.length) times[times.length - 1] = editor.milliseconds;
    if (now - begin > 1000 * seconds) {
      done({ times: times.slice(1, -1), seconds: (now - begin) / 1000, width: editor.shape.width, height: editor.shape.height });
      return;
    }
    const angle = times.length / 20;
    editor.moveTo(0, 60 + 40 * Math.cos(angle), 60 + 40 * Math.sin(angle));
    times.push(0);
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
});

browser.check(async (open) => {
  const [file, seconds] = process.argv.slice(2);
  const page = await open(file, { motion: true });
  await page.evaluate(move, 0.5);
  const found = await page.evaluate(move, Number(seconds));
  const sorted = found.times.sort((a, b) => a - b);
  const at = (share) => Number(sorted[Math.floor(share * (sorted.length - 1))].toFixed(2));
  console.log(JSON.stringify({
    page: 'perspective', width: found.width, height: found.height, milliseconds_median: at(0.5),
    milliseconds_slowest_tenth: at(0.9), frames_per_second: Number((found.times.length / found.seconds).toFixed(1)),
  }));
});
