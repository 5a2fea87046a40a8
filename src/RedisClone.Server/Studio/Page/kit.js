// Elements, numbers and calls. Every text goes to the page as text: nothing here, nor elsewhere, sets markup.

export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  return fill(node, props, children);
}

export function svg(tag, props = {}, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), props, children);
}

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === 'on') for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    else if (name === 'text') node.textContent = value;
    else node.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children.flat(3)) if (child !== null && child !== undefined && child !== false) node.append(child);
  return node;
}

// ---- numbers ----

export function count(value, digits = 1) {
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  const size = Math.abs(value);
  if (size < 1000) return trim(value.toFixed(size < 10 && !Number.isInteger(value) ? digits + 1 : size < 100 && !Number.isInteger(value) ? digits : 0));
  for (const [factor, unit] of [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']])
    if (size >= factor) return trim((value / factor).toFixed(digits)) + ' ' + unit;
  return String(value);
}

export function exact(value) {
  return value === null || value === undefined || Number.isNaN(value) ? '–' : Number(value).toLocaleString('en-US');
}

export function bytes(value, digits = 1) {
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let size = Math.abs(value), unit = 0;
  while (size >= 1024 && unit < units.length - 1) { size /= 1024; unit++; }
  return (value < 0 ? '−' : '') + trim(size.toFixed(unit === 0 || size >= 100 ? 0 : digits)) + ' ' + units[unit];
}

export function seconds(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  if (value === 0) return '0 s';
  if (value < 1e-3) return trim((value * 1e6).toFixed(value < 1e-5 ? 1 : 0)) + ' µs';
  if (value < 1) return trim((value * 1e3).toFixed(value < .01 ? 2 : value < .1 ? 1 : 0)) + ' ms';
  return trim(value.toFixed(value < 10 ? 2 : 1)) + ' s';
}

export function span(value) {
  if (value === null || value === undefined || Number.isNaN(value) || value < 0) return '–';
  const s = Math.floor(value), d = Math.floor(s / 86400), h = Math.floor(s / 3600) % 24, m = Math.floor(s / 60) % 60;
  if (d > 0) return `${d} d ${h} h`;
  if (h > 0) return `${h} h ${m} min`;
  if (m > 0) return `${m} min ${s % 60} s`;
  return `${s} s`;
}

export const percent = value => value === null || value === undefined || Number.isNaN(value) ? '–' : trim(value.toFixed(value < 10 ? 1 : 0)) + ' %';

export function clock(unix, withDate = false) {
  const date = new Date(unix * 1000);
  const time = date.toLocaleTimeString('en-GB');
  return withDate ? date.toLocaleDateString('en-CA') + ' ' + time : time;
}

const trim = text => text.includes('.') ? text.replace(/\.?0+$/, '') : text;

// ---- names and values ----

/** Bytes that are no text, as a reply shows them. */
export const isBytes = value => value !== null && typeof value === 'object' && typeof value.b === 'string';

export const lengthOf = value => isBytes(value) ? Math.floor(value.b.length * 3 / 4) : typeof value === 'string' ? value.length : 0;

/** A name or value in a form in which nothing in it acts: control characters and marks of direction become visible. */
export function show(value, most = 256) {
  if (isBytes(value)) {
    const raw = atob(value.b.slice(0, Math.ceil(most / 3) * 4));
    let text = '';
    for (const c of raw.slice(0, most)) {
      const code = c.charCodeAt(0);
      text += c === '\\' ? '\\\\' : code >= 32 && code < 127 ? c : '\\x' + code.toString(16).padStart(2, '0');
    }
    return cut(text, raw.length > most || value.b.length > raw.length * 2, lengthOf(value));
  }
  const text = String(value);
  const part = text.slice(0, most).replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    c => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
  return cut(part, text.length > most, text.length);
}

const cut = (text, isCut, length) => isCut ? `${text} … (${bytes(length)})` : text;

export const raw = (value, most) => el('span', { class: 'raw mono', text: show(value, most) });

// ---- calls ----

export class ReplyError extends Error {}

let signedOut = () => {};
export function whenSignedOut(handler) { signedOut = handler; }

async function ask(path, body) {
  let response;
  try {
    response = await fetch('api/' + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  } catch {
    throw new Error('The server does not answer.');
  }
  if (response.ok) return response;
  if (response.status === 401 && path !== 'session') signedOut();
  let answer;
  try { answer = await response.json(); } catch { answer = {}; }
  throw new Error(answer.error || `The server answered with the status ${response.status}.`);
}

export const post = async (path, body = {}) => (await ask(path, body)).json();

export const download = async path => (await ask(path, {})).blob();

/** Runs commands of a screen. An error reply becomes a ReplyError in the array. */
export async function run(commands) {
  return (await post('call', { commands })).map(plain);
}

export function plain(reply) {
  if (Array.isArray(reply)) return reply.map(plain);
  if (reply === null || typeof reply !== 'object') return reply;
  if ('x' in reply) return new ReplyError(reply.x);
  if ('o' in reply) return reply.o;
  if ('n' in reply) return reply.n;
  if ('s' in reply) return reply.s.map(plain);
  if ('m' in reply) {
    const map = new Map();
    for (let i = 0; i < reply.m.length; i += 2) {
      const key = plain(reply.m[i]);
      map.set(isBytes(key) ? show(key) : key, plain(reply.m[i + 1]));
    }
    return map;
  }
  return reply;
}

/** The sections of INFO as one object; numbers are numbers. */
export async function info(...sections) {
  const [text] = await run([['INFO', ...sections]]);
  if (text instanceof ReplyError) throw text;
  return fields(text);
}

export function fields(text) {
  const all = {};
  for (const line of text.split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon < 0 || line.startsWith('#')) continue;
    const value = line.slice(colon + 1), number = Number(value);
    all[line.slice(0, colon)] = value !== '' && Number.isFinite(number) ? number : value;
  }
  return all;
}

/** The parts of a line such as calls=1,usec=2. */
export const parts = text => Object.fromEntries(String(text).split(',').map(part => {
  const at = part.indexOf('=');
  const value = part.slice(at + 1);
  return [part.slice(0, at), value !== '' && Number.isFinite(Number(value)) ? Number(value) : value];
}));

// ---- pieces of screens ----

export function tiles(names) {
  const root = el('dl', { class: 'tiles' }), values = {};
  for (const [id, title] of Object.entries(names)) {
    const value = el('dd', { text: '–' }), sub = el('dd', { class: 'sub' });
    values[id] = { value, sub };
    root.append(el('div', { class: 'tile' }, el('dt', { text: title }), value, sub));
  }
  return { root, set(id, text, sub = '') { setText(values[id].value, text); setText(values[id].sub, sub); } };
}

export function facts(rows) {
  return el('dl', { class: 'facts' }, rows.filter(Boolean).map(([name, value]) =>
    [el('dt', { text: name }), el('dd', {}, value instanceof Node ? value : document.createTextNode(String(value)))]));
}

export function card(title, ...content) {
  return el('section', { class: 'card', 'aria-label': title }, el('h2', { text: title }), content);
}

export function setText(node, text) { if (node.textContent !== text) node.textContent = text; }

export const tag = (text, kind = '') => el('span', { class: 'tag ' + kind, text });

export const note = (text, kind = 'bad') => el('p', { class: 'note ' + kind, role: 'alert', text });

export const empty = text => el('p', { class: 'empty', text });

export function head(title, lead, ...tools) {
  return el('div', { class: 'head' }, el('h1', { text: title }), el('p', { class: 'lead', text: lead }), tools);
}

export function choice(label, options, chosen, pick) {
  const buttons = options.map(([value, text]) => el('button', {
    type: 'button', 'aria-pressed': String(value === chosen), text,
    on: { click: () => {
      buttons.forEach((button, i) => button.setAttribute('aria-pressed', String(options[i][0] === value)));
      pick(value);
    } },
  }));
  return el('div', { class: 'choice', role: 'group', 'aria-label': label }, buttons);
}

/** Asks a question; resolves to true if the answer is the action. */
export function confirm(question, action) {
  return new Promise(resolve => {
    const dialog = el('dialog', { 'aria-label': question });
    const end = answer => { dialog.close(); dialog.remove(); resolve(answer); };
    dialog.append(el('p', { class: 'raw', text: question }), el('div', { class: 'row' },
      el('button', { type: 'button', autofocus: true, text: 'Cancel', on: { click: () => end(false) } }),
      el('button', { type: 'button', class: 'danger', text: action, on: { click: () => end(true) } })));
    dialog.addEventListener('cancel', event => { event.preventDefault(); end(false); });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/**
 * A table whose rows keep their place and focus when their values change.
 * A column has a title, show (text or node), and if it can be sorted by, by. A cell of a column with once is made once for a row.
 */
export class Table {
  constructor({ caption, columns, key, sort, none = 'Nothing here.', select }) {
    Object.assign(this, { columns, key, none, select });
    this.sort = sort ?? null;
    this.rows = [];
    this.known = new Map();
    this.heads = columns.map((column, i) => {
      const title = column.by ? el('button', { type: 'button', text: column.title, on: { click: () => this.sortBy(i) } }) : column.title;
      return el('th', { scope: 'col', class: column.num ? 'num' : '', title: column.help }, title);
    });
    this.body = el('tbody');
    this.table = el('table', {}, el('caption', { class: 'hidden-text', text: caption }), el('thead', {}, el('tr', {}, this.heads)), this.body);
    this.message = empty(none);
    this.scroll = el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption }, this.table);
    this.root = el('div', {}, this.scroll, this.message);
    this.scroll.hidden = true;
    this.markSort();
  }

  sortBy(i) {
    this.sort = this.sort?.[0] === i ? [i, -this.sort[1]] : [i, this.columns[i].num ? -1 : 1];
    this.markSort();
    this.set(this.rows);
  }

  markSort() {
    this.heads.forEach((th, i) => {
      if (this.sort?.[0] === i) th.setAttribute('aria-sort', this.sort[1] < 0 ? 'descending' : 'ascending');
      else th.removeAttribute('aria-sort');
    });
  }

  set(rows) {
    this.rows = rows;
    if (this.sort) {
      const by = this.columns[this.sort[0]].by, direction = this.sort[1];
      rows = [...rows].sort((a, b) => {
        const x = by(a), y = by(b);
        return (typeof x === 'number' && typeof y === 'number' ? x - y : String(x).localeCompare(String(y))) * direction;
      });
    }
    const seen = new Set();
    let at = this.body.firstChild;
    for (const row of rows) {
      const key = this.key(row);
      seen.add(key);
      let known = this.known.get(key);
      if (!known) this.known.set(key, known = this.make());
      this.update(known, row);
      if (known.tr === at) at = at.nextSibling;
      else this.body.insertBefore(known.tr, at);
    }
    for (const [key, known] of this.known) if (!seen.has(key)) { known.tr.remove(); this.known.delete(key); }
    this.scroll.hidden = rows.length === 0;
    this.message.hidden = rows.length > 0;
  }

  make() {
    const cells = this.columns.map(column => el('td', { class: [column.num && 'num', column.mono && 'mono', column.wide && 'wide', column.tight && 'tight'].filter(Boolean).join(' ') }));
    return { tr: el('tr', {}, cells), cells, made: [] };
  }

  update(known, row) {
    this.columns.forEach((column, i) => {
      if (column.once && known.made[i]) return;
      const value = column.show(row);
      if (value instanceof Node) known.cells[i].replaceChildren(value);
      else setText(known.cells[i], value === null || value === undefined ? '–' : String(value));
      known.made[i] = true;
    });
    if (this.select) known.tr.setAttribute('aria-selected', String(this.select(row)));
  }
}
