// Keys: found by pattern in slices, each with its type, time to live and size, and a preview of its value in pages.

import { ReplyError, Table, bytes, count, el, empty, exact, facts, head, isBytes, note, raw, run, setText, show, span } from './kit.js';

const slice = '500', page = 50, window = 4096;

export default {
  title: 'Keys',
  open(root, path, session) {
    const database = el('select', { 'aria-label': 'Database', on: { change: () => search() } });
    for (let i = 0; i < session.databases; i++) database.append(el('option', { value: i, text: `Database ${i}` }));
    const pattern = el('input', { type: 'search', value: '*', placeholder: 'Pattern, for example user:*', 'aria-label': 'Pattern' });
    const type = el('select', { 'aria-label': 'Type', on: { change: () => search() } },
      [['', 'All types'], ...['string', 'hash', 'list', 'set', 'zset', 'stream'].map(t => [t, t])].map(([value, text]) => el('option', { value, text })));
    const form = el('form', { class: 'row', role: 'search', on: { submit: event => { event.preventDefault(); search(); } } },
      database, pattern, type, el('button', { class: 'main', text: 'Search' }));
    const state = el('p', { role: 'status' });
    const more = el('button', { type: 'button', text: 'More keys', on: { click: () => scan() } });
    const detail = el('section', { class: 'card', 'aria-label': 'Value', tabindex: '-1' }, empty('Choose a key to see its value.'));
    let rows = [], cursor = '0', chosen = null, asked = 0;
    const table = new Table({
      caption: 'Keys', key: k => k.id, none: 'No key found yet.', select: k => k.id === chosen,
      columns: [
        { title: 'Key', wide: true, once: true, show: k => el('button', { type: 'button', class: 'link', on: { click: () => open(k.name) } }, raw(k.name, 120)) },
        { title: 'Type', show: k => k.type }, { title: 'Lives for', num: true, show: k => k.ttl < 0 ? 'ever' : span(k.ttl / 1000) },
        { title: 'Size', num: true, by: k => k.size, show: k => bytes(k.size) },
      ],
    });

    async function search() {
      rows = [];
      cursor = '0';
      table.set(rows);
      await scan();
    }

    /** Continues the scan until a page of keys is found. Each call asks the server for one slice. */
    async function scan() {
      const turn = ++asked, wanted = rows.length + page;
      let looked = 0;
      more.disabled = true;
      try {
        do {
          const words = ['SCAN', cursor, 'MATCH', pattern.value || '*', 'COUNT', slice, ...(type.value ? ['TYPE', type.value] : [])];
          const found = await ask(database.value, words);
          if (turn !== asked) return;
          cursor = String(found[0]);
          looked += Number(slice);
          const names = found[1];
          for (let i = 0; i < names.length; i += page) {
            const some = names.slice(i, i + page);
            const replies = await within(database.value, some.flatMap(name => [['TYPE', name], ['PTTL', name], ['MEMORY', 'USAGE', name]]));
            if (turn !== asked) return;
            rows.push(...some.map((name, n) => ({ id: JSON.stringify(name), name, type: text(replies[3 * n]), ttl: replies[3 * n + 1], size: replies[3 * n + 2] })).filter(k => k.type !== 'none'));
          }
          table.set(rows);
          setText(state, `${exact(rows.length)} keys, about ${count(looked)} looked at in this step …`);
        } while (cursor !== '0' && rows.length < wanted && looked < 100_000);
        setText(state, cursor === '0' ? `${exact(rows.length)} ${rows.length === 1 ? 'key' : 'keys'}, all that match.` : `${exact(rows.length)} keys so far; there may be more.`);
      } catch (failure) {
        setText(state, failure.message);
        cursor = '0';
      }
      more.disabled = false;
      more.hidden = cursor === '0';
    }

    async function open(name) {
      chosen = JSON.stringify(name);
      table.set(rows);
      const db = database.value;
      try {
        const [kind, ttl, size, encoding, idle] = await within(db, [['TYPE', name], ['PTTL', name], ['MEMORY', 'USAGE', name], ['OBJECT', 'ENCODING', name], ['OBJECT', 'IDLETIME', name]]);
        if (kind instanceof ReplyError) throw kind;
        const value = el('div');
        detail.replaceChildren(el('h2', {}, raw(name, 400)));
        if (kind === 'none') return detail.append(empty('The key does not exist any more.'));
        const [length] = await within(db, [[lengthOfType[kind] ?? 'EXISTS', name]]);
        detail.append(facts([
          ['Type', `${kind}, ${text(encoding)}`], ['Lives for', ttl < 0 ? 'ever' : `${span(ttl / 1000)} more`], ['Size', bytes(size)],
          [kind === 'string' ? 'Length' : 'Elements', kind === 'string' ? bytes(length) : exact(length)],
          typeof idle === 'number' && ['Not used for', span(idle)]]), el('h3', { text: 'Value' }), value);
        await (previews[kind] ?? unknown)(value, name, db, length);
      } catch (failure) {
        detail.replaceChildren(el('h2', {}, raw(name, 400)), note(failure.message));
      }
      if (innerWidth <= 900) detail.focus();
    }

    root.append(head('Keys', 'Found by pattern, a slice at a time. The page asks for no more than it shows.'),
      el('div', { class: 'split' }, el('section', { class: 'card', 'aria-label': 'Keys' }, form, state, table.root, el('div', { class: 'row' }, more)), detail));
    if (path.length > 1) { database.value = path[0]; open(JSON.parse(path[1])); }
    search();
    return { close() { asked++; } };
  },
};

const lengthOfType = { string: 'STRLEN', hash: 'HLEN', list: 'LLEN', set: 'SCARD', zset: 'ZCARD', stream: 'XLEN' };

const text = reply => reply instanceof ReplyError ? '–' : String(reply ?? '–');

const unknown = root => root.append(empty('This type has no preview.'));

/** A table that loads pages: next returns rows and whether there are more. */
async function pages(root, caption, columns, next) {
  const rows = [];
  const table = new Table({ caption, columns, key: row => row.at, none: 'It is empty.' });
  const button = el('button', { type: 'button', text: 'Next page', on: { click: load } });
  const state = el('p', { role: 'status' });
  async function load() {
    button.disabled = true;
    try {
      const { found, isMore } = await next();
      for (const row of found) rows.push({ ...row, at: rows.length });
      table.set(rows);
      setText(state, `${exact(rows.length)} shown${isMore ? '' : ', which is all'}.`);
      button.hidden = !isMore;
    } catch (failure) { setText(state, failure.message); }
    button.disabled = false;
  }
  root.append(table.root, el('div', { class: 'row' }, button, state));
  await load();
}

const value = title => ({ title, wide: true, once: true, show: row => raw(row.value, 1000) });

/** Runs commands in a database. Without the right to SELECT they would run in another one. */
async function within(db, commands) {
  const [selected, ...replies] = await run([['SELECT', db], ...commands]);
  if (selected instanceof ReplyError) throw selected;
  return replies;
}

async function ask(db, command) {
  const [reply] = await within(db, [command]);
  if (reply instanceof ReplyError) throw reply;
  return reply;
}

/** Pages of SCAN of one key. */
function scanned(db, command, name, per, row) {
  let cursor = '0';
  return async () => {
    const found = [];
    do {
      const [next, items] = await ask(db, [command, name, cursor, 'COUNT', String(page)]);
      cursor = String(next);
      for (let i = 0; i < items.length; i += per) found.push(row(items, i));
    } while (cursor !== '0' && found.length < page);
    return { found, isMore: cursor !== '0' };
  };
}

/** Pages by position. */
function ranged(db, make, length, rows) {
  let at = 0;
  return async () => {
    const found = rows(await ask(db, make(at, at + page - 1)), at);
    at += page;
    return { found, isMore: at < length };
  };
}

const previews = {
  async string(root, name, db, length) {
    let at = 0;
    const body = el('div', { class: 'terminal', tabindex: '0', role: 'region', 'aria-label': 'Value' }, el('pre'));
    const pre = body.firstChild, button = el('button', { type: 'button', text: 'Next page', on: { click: load } }), state = el('p', { role: 'status' });
    async function load() {
      const part = await ask(db, ['GETRANGE', name, String(at), String(at + window - 1)]);
      pre.append(raw(part, isBytes(part) ? window : part.length));
      at += window;
      button.hidden = at >= length;
      setText(state, `${bytes(Math.min(at, length))} of ${bytes(length)}`);
    }
    root.append(body, el('div', { class: 'row' }, button, state));
    await load();
  },
  hash: (root, name, db) => pages(root, 'Fields', [{ title: 'Field', once: true, wide: true, show: row => raw(row.field, 200) }, value('Value')],
    scanned(db, 'HSCAN', name, 2, (items, i) => ({ field: items[i], value: items[i + 1] }))),
  set: (root, name, db) => pages(root, 'Members', [value('Member')], scanned(db, 'SSCAN', name, 1, (items, i) => ({ value: items[i] }))),
  list: (root, name, db, length) => pages(root, 'Elements', [{ title: 'Index', num: true, show: row => row.index }, value('Element')],
    ranged(db, (from, to) => ['LRANGE', name, String(from), String(to)], length, (items, from) => items.map((item, i) => ({ index: from + i, value: item })))),
  zset: (root, name, db, length) => pages(root, 'Members', [{ title: 'Rank', num: true, show: row => row.index }, { title: 'Score', num: true, show: row => String(row.score) }, value('Member')],
    ranged(db, (from, to) => ['ZRANGE', name, String(from), String(to), 'WITHSCORES'], length,
      (items, from) => Array.isArray(items[0]) ? items.map(([item, score], i) => ({ index: from + i, value: item, score }))
        : items.filter((_, i) => i % 2 === 0).map((item, i) => ({ index: from + i, value: item, score: items[2 * i + 1] })))),
  stream(root, name, db) {
    let from = '-';
    return pages(root, 'Entries', [{ title: 'ID', mono: true, show: row => row.id },
      { title: 'Fields', wide: true, once: true, show: row => el('dl', { class: 'facts' }, row.pairs.map(([field, item]) => [el('dt', {}, raw(field, 100)), el('dd', {}, raw(item, 500))])) }],
    async () => {
      const entries = await ask(db, ['XRANGE', name, from, '+', 'COUNT', String(page)]);
      if (entries.length) from = '(' + entries.at(-1)[0];
      return { isMore: entries.length === page, found: entries.map(([id, words]) => ({ id, pairs: words.reduce((all, word, i) => (i % 2 ? all.at(-1).push(word) : all.push([word]), all), []) })) };
    });
  },
};
