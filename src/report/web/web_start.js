// Opens the page: its data, the module and the images in the module's memory.

class AugmentPage {
  constructor(data, exports) {
    this.data = data;
    this.exports = exports;
    this.types = new Map(data.stages.map((type) => [type.name, type]));
    // All images lie one behind the other, as a shard does.
    const loader = new Augmenter(exports);
    this.imageSize = data.inputHeight * data.inputWidth * data.channels;
    this.pixels = loader.allocate(this.imageSize * data.images.length);
    data.images.forEach((image, i) => {
      loader.bytes(this.pixelsOf(i), this.imageSize).set(bytesOfBase64(image.pixels));
      image.pixels = null;
    });
  }

  pixelsOf(image) {
    return this.pixels + image * this.imageSize;
  }

  nameOf(image) {
    const { label, record } = this.data.images[image];
    return label ? `${label} (record ${record})` : `record ${record}`;
  }

  describe() {
    const { data } = this;
    const count = data.images.length;
    document.getElementById('about').textContent =
      `${data.title}: ${count} of ${data.numRecords} training images, ${data.inputHeight} x ${data.inputWidth} x ${data.channels} ` +
      `(height x width x channels), changed by liana's own code in this page.`;
    document.getElementById('version').textContent = `Written by liana ${data.version}.`;
  }
}

// A browser may refuse the clipboard to a file; then the text is selected, and the user copies it.
function copyText(button) {
  const text = document.getElementById(button.dataset.copy);
  const select = () => window.getSelection().selectAllChildren(text);
  if (!navigator.clipboard) {
    select();
    return;
  }
  navigator.clipboard.writeText(text.textContent).then(() => {
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  }, select);
}

async function start() {
  const data = JSON.parse(document.getElementById('data').textContent);
  const exports = await Augmenter.load(document.getElementById('module').textContent);
  const page = new AugmentPage(data, exports);
  document.getElementById('main').hidden = false;
  page.describe();
  for (const button of document.querySelectorAll('[data-copy]')) button.addEventListener('click', () => copyText(button));
  page.perspective = new PerspectiveEditor(page);
  page.list = new StageList(page);
  window.liana = page;
}

start().catch((error) => {
  const failure = document.getElementById('failure');
  failure.hidden = false;
  failure.textContent = `The page cannot be opened in this browser: ${error.message}`;
  throw error;
});
