// Fields for the options of a stage, made from its table: names, ranges, defaults and sentences are liana's own.

let numIds = 0;

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, '');
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// As YAML has it; the module reads it back.
function textOf(value) {
  return Array.isArray(value) ? `[${value.join(', ')}]` : String(value);
}

function isSame(a, b) {
  return textOf(a) === textOf(b);
}

// The values of a stage as texts, those alone that differ from the defaults.
function textsOf(type, values) {
  const texts = {};
  for (const row of type.options) {
    const value = values[row.name];
    if (row.required || !isSame(value, row.default)) texts[row.name] = textOf(value);
  }
  return texts;
}

// All values of a stage: the given ones, else the defaults. A pair may be given as one number. A size that must be
// given is that of the images.
function valuesOf(type, given, size) {
  const values = {};
  for (const row of type.options) {
    let value = row.name in given ? given[row.name] : row.required && row.kind === 'pair' ? size : row.default;
    if (row.kind === 'pair' && !Array.isArray(value)) value = [value, value];
    values[row.name] = value;
  }
  return values;
}

// A slider has steps of a round number; where a range is wide, or spans magnitudes, it has none or equal factors.
function sliderOf(row) {
  if (!('minimum' in row)) return null;
  const { minimum, maximum } = row;
  if (row.kind === 'int') {
    return maximum - minimum > 2000 ? null : { minimum, maximum, step: 1, to: (x) => x, from: (x) => x };
  }
  if (minimum > 0 && maximum / minimum >= 1000) {
    const low = Math.log10(minimum);
    const high = Math.log10(maximum);
    const from = (x) => Number((10 ** x).toPrecision(2));
    return { minimum: low, maximum: high, step: 0.01, to: (x) => Math.log10(x), from };
  }
  const step = 10 ** Math.floor(Math.log10((maximum - minimum) / 50));
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  return { minimum, maximum, step, to: (x) => x, from: (x) => Number(x.toFixed(digits)) };
}

function numberField(row, value, described, change) {
  const id = `option-${numIds++}`;
  const range = 'minimum' in row ? row : {};
  const field = element('input', {
    id, type: 'number', step: row.kind === 'int' ? 1 : 'any', min: range.minimum, max: range.maximum,
    'aria-describedby': described, 'data-option': row.name,
  });
  field.value = value === null ? '' : value;
  const parts = [element('label', { for: id }, row.name), field];
  const slider = sliderOf(row);
  let bar = null;
  if (slider) {
    bar = element('input', {
      type: 'range', min: slider.minimum, max: slider.maximum, step: slider.step, 'aria-label': `${row.name}, slider`,
      oninput: () => {
        field.value = slider.from(Number(bar.value));
        change(Number(field.value));
      },
    });
    bar.value = slider.to(value === null ? row.minimum : value);
    parts.push(bar);
  }
  field.addEventListener('input', () => {
    // An empty field is "not given" where the default is; else the module says what it expects.
    const given = field.value === '' ? null : Number(field.value);
    if (given === null && row.default !== null) return;
    if (bar && given !== null) bar.value = slider.to(given);
    change(given);
  });
  return parts;
}

function pairField(row, value, described, change) {
  const names = ['height', 'width'];
  const fields = value.map((number, i) => {
    const field = element('input', {
      type: 'number', min: row.minimum, max: row.maximum, step: 1, 'aria-label': `${row.name}, ${names[i]}`,
      'aria-describedby': described, 'data-option': row.name,
      oninput: () => {
        if (fields.every((other) => other.value !== '')) change(fields.map((other) => Number(other.value)));
      },
    });
    field.value = number;
    return field;
  });
  return [element('span', { class: 'name' }, row.name), element('span', { class: 'pair' }, ...fields)];
}

function wordField(row, value, described, change) {
  const id = `option-${numIds++}`;
  const field = element('select', {
    id, 'aria-describedby': described, 'data-option': row.name, onchange: () => change(field.value),
  }, ...row.words.map((word) => element('option', { value: word }, word)));
  field.value = value;
  return [element('label', { for: id }, row.name), field];
}

function boolField(row, value, described, change) {
  const id = `option-${numIds++}`;
  const field = element('input', {
    id, type: 'checkbox', 'aria-describedby': described, 'data-option': row.name, onchange: () => change(field.checked),
  });
  field.checked = value;
  return [element('label', { for: id }, row.name), field];
}

// `change(value)` is called with each new value.
function optionField(row, value, change) {
  const described = `doc-${numIds++}`;
  const makers = { int: numberField, float: numberField, pair: pairField, enum: wordField, bool: boolField };
  const maker = makers[row.kind];
  const parts = maker ? maker(row, value, described, change)
    : [element('span', { class: 'name' }, row.name), element('code', {}, textOf(value))];
  return element('div', { class: 'option' }, ...parts, element('small', { id: described }, row.doc));
}
