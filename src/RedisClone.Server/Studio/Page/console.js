// A console with the rights of the user who signed in. Names of commands complete from the server's own table.

import { el, head, isBytes, post, setText, show } from './kit.js';

const most = 200_000;     // characters of one reply that are shown

export default {
  title: 'Console',
  open(root, path, session) {
    const output = el('div', { class: 'terminal mono', tabindex: '0', role: 'log', 'aria-label': 'Replies' });
    const options = el('ul', { class: 'options', id: 'options', role: 'listbox', 'aria-label': 'Commands', hidden: true });
    const input = el('input', {
      type: 'text', role: 'combobox', 'aria-label': 'Command', 'aria-controls': 'options', 'aria-expanded': 'false', 'aria-autocomplete': 'list',
      autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false', placeholder: 'A command, for example INFO server',
    });
    const button = el('button', { class: 'main', text: 'Run' });
    const hint = el('p', { class: 'hint', id: 'hint' });
    const form = el('form', { class: 'prompt', on: { submit: event => { event.preventDefault(); submit(); } } }, options, input, button);
    let table = [], found = [], at = -1, before = [], back = 0;
    post('commands').then(all => { table = all; suggest(); }, () => {});

    function suggest() {
      const words = input.value.trimStart().toUpperCase();
      const exactly = table.filter(([name]) => (words + ' ').startsWith(name + ' ')).sort((a, b) => b[0].length - a[0].length)[0];
      found = words ? table.filter(([name]) => name.startsWith(words)).slice(0, 8) : [];
      if (found.length === 1 && found[0][0] === words) found = [];
      at = -1;
      options.replaceChildren(...found.map(([name, , , what], i) => el('li', {
        id: `option${i}`, role: 'option', 'aria-selected': 'false', on: { pointerdown: event => { event.preventDefault(); take(i); } },
      }, name, el('small', { text: what }))));
      options.hidden = found.length === 0;
      input.setAttribute('aria-expanded', String(found.length > 0));
      input.removeAttribute('aria-activedescendant');
      setText(hint, exactly ? `${exactly[0]} ${exactly[1]} – ${exactly[3]}` : 'Tab completes a name. The arrow keys choose a suggestion, or bring back an earlier command.');
    }

    function choose(i) {
      at = (i + found.length) % found.length;
      [...options.children].forEach((option, n) => option.setAttribute('aria-selected', String(n === at)));
      options.children[at].scrollIntoView({ block: 'nearest' });
      input.setAttribute('aria-activedescendant', `option${at}`);
    }

    function take(i) {
      input.value = found[i][0] + ' ';
      suggest();
    }

    function close() {
      options.hidden = true;
      input.setAttribute('aria-expanded', 'false');
      found = [];
      at = -1;
    }

    function recall(step) {
      back = Math.max(0, Math.min(before.length, back + step));
      input.value = back ? before[before.length - back] : '';
    }

    async function submit() {
      if (at >= 0) return take(at);
      const line = input.value.trim();
      if (!line) return;
      close();
      output.append(el('p', { class: 'said raw', text: '> ' + show(line, 2000) }));
      before.push(line);
      back = 0;
      input.value = '';
      let command;
      try { command = split(line); } catch (failure) { return print(failure.message, true); }
      if (command[0].toUpperCase() === 'CLEAR') return output.replaceChildren();
      button.disabled = true;
      try {
        const [reply] = await post('call', { console: true, commands: [command] });
        print(format(reply).slice(0, most), Boolean(reply && typeof reply === 'object' && 'x' in reply));
      } catch (failure) { print(failure.message, true); }
      button.disabled = false;
    }

    function print(text, isError = false) {
      output.append(el('p', { class: 'raw' + (isError ? ' error' : ''), text }));
      while (output.childElementCount > 400) output.firstChild.remove();
      output.scrollTop = output.scrollHeight;
    }

    input.addEventListener('input', suggest);
    input.addEventListener('blur', close);
    input.addEventListener('keydown', event => {
      if (event.key === 'Tab' && found.length && !event.shiftKey) { event.preventDefault(); take(Math.max(0, at)); }
      else if (event.key === 'Escape') close();
      else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
        event.preventDefault();
        const step = event.key === 'ArrowDown' ? 1 : -1;
        if (found.length) choose(at < 0 && step < 0 ? -1 : at + step);
        else recall(-step);
      }
    });
    root.append(head('Console', `Commands run as the user ${session.user}. CLEAR empties the screen.`), output, form, hint);
    suggest();
    input.focus({ preventScroll: true });
    return {};
  },
};

/** Splits a line into words as redis-cli does: quotes keep blanks, and double quotes know escapes. */
export function split(line) {
  const words = [];
  let i = 0;
  while (i < line.length) {
    while (line[i] === ' ') i++;
    if (i >= line.length) break;
    let bytes = [], quote = '';
    const put = c => bytes.push(...new TextEncoder().encode(c));
    for (; i < line.length; i++) {
      const c = String.fromCodePoint(line.codePointAt(i));
      if (!quote && c === ' ') break;
      if (!quote && bytes.length === 0 && (c === '"' || c === "'")) { quote = c; continue; }
      if (quote && c === quote) { quote = 'end'; i++; break; }
      if (quote === '"' && c === '\\' && i + 1 < line.length) {
        const hex = /^x([0-9a-fA-F]{2})/.exec(line.slice(i + 1));
        if (hex) { bytes.push(parseInt(hex[1], 16)); i += 3; continue; }
        put({ n: '\n', r: '\r', t: '\t', b: '\b', a: '\x07' }[line[i + 1]] ?? line[i + 1]);
        i++;
        continue;
      }
      put(c);
      i += c.length - 1;
    }
    if (quote && quote !== 'end') throw new Error('A quote is not closed.');
    words.push(word(new Uint8Array(bytes)));
  }
  return words;
}

/** Bytes that are no text are sent as such. */
function word(bytes) {
  try { return new TextDecoder('utf-8', { fatal: true }).decode(bytes); } catch { return { b: btoa(String.fromCharCode(...bytes)) }; }
}

/** A reply as redis-cli shows it. */
export function format(reply, indent = '') {
  if (reply === null) return '(nil)';
  if (typeof reply === 'boolean') return reply ? '(true)' : '(false)';
  if (typeof reply === 'number') return (Number.isInteger(reply) ? '(integer) ' : '(double) ') + reply;
  if (typeof reply === 'string') return reply.includes('\n') ? show(reply.replaceAll('\r\n', '\n'), most) : `"${show(reply, most).replaceAll('"', '\\"')}"`;
  if (isBytes(reply)) return `"${show(reply, most)}"`;
  if ('x' in reply) return '(error) ' + show(reply.x, 4000);
  if ('o' in reply) return show(reply.o, 4000);
  if ('n' in reply) return '(number) ' + reply.n;
  const items = Array.isArray(reply) ? reply : reply.m ?? reply.s;
  if (items.length === 0) return reply.m ? '(empty hash)' : '(empty array)';
  const lines = [], pairs = Boolean(reply.m), rows = pairs ? items.length / 2 : items.length, width = String(rows).length;
  for (let i = 0; i < rows; i++) {
    const mark = String(i + 1).padStart(width) + (pairs ? '# ' : reply.s ? '~ ' : ') '), inner = indent + ' '.repeat(mark.length);
    lines.push((i ? indent : '') + mark + (pairs ? format(items[2 * i], inner) + ' => ' + format(items[2 * i + 1], inner) : format(items[i], inner)));
  }
  return lines.join('\n');
}
