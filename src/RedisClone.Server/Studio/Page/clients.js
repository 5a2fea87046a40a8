// Clients: largest, oldest, by command and by address; and ending one.

import { ReplyError, Table, bytes, card, confirm, count, el, exact, head, run, setText, show, span, tag, tiles } from './kit.js';

const shown = 500;

/** The fields of a line of CLIENT LIST. The server lets no name contain a blank. */
const parse = line => Object.fromEntries(line.split(' ').map(part => {
  const at = part.indexOf('=');
  return [part.slice(0, at), part.slice(at + 1)];
}));

export default {
  title: 'Clients',
  open(root) {
    const top = tiles({ all: 'Clients', memory: 'Their memory', unread: 'Unread output', blocked: 'Blocked' });
    const filter = el('input', { type: 'search', placeholder: 'Address, name, user or command', 'aria-label': 'Filter', on: { input: () => draw() } });
    const message = el('p', { role: 'status' });
    const number = name => c => Number(c[name]) || 0;
    const table = new Table({
      caption: 'Clients', key: c => c.id, sort: [8, -1], none: 'No client matches.',
      columns: [
        { title: 'Id', num: true, by: number('id'), show: c => c.id }, { title: 'Address', mono: true, by: c => c.addr, show: c => c.addr },
        { title: 'Name', by: c => c.name, show: c => show(c.name || '–', 40) }, { title: 'User', by: c => c.user, show: c => show(c.user, 40) },
        { title: 'Command', mono: true, by: c => c.cmd, show: c => c.cmd }, { title: 'Age', num: true, by: number('age'), show: c => span(Number(c.age)) },
        { title: 'Idle', num: true, by: number('idle'), show: c => span(Number(c.idle)) },
        { title: 'Unread output', num: true, by: c => Number(c.omem) + Number(c.obl), show: c => bytes(Number(c.omem) + Number(c.obl)) },
        { title: 'Memory', num: true, by: number('tot-mem'), show: c => bytes(Number(c['tot-mem'])) },
        { title: 'Flags', show: c => flags(c) },
        { title: 'End', once: true, show: c => el('button', { type: 'button', class: 'small danger', text: 'Kill', 'aria-label': `Kill client ${c.id}`, on: { click: () => kill(c) } }) },
      ],
    });
    const groupBy = (caption, of) => ({ of, table: new Table({
      caption, key: g => g.name, none: 'None.', sort: [1, -1],
      columns: [{ title: caption.split(' by ')[1].replace(/^./, c => c.toUpperCase()), mono: true, show: g => g.name, by: g => g.name },
        { title: 'Clients', num: true, by: g => g.n, show: g => exact(g.n) }, { title: 'Memory', num: true, by: g => g.memory, show: g => bytes(g.memory) }] }) });
    const groups = [groupBy('Clients by address', c => c.addr.replace(/:\d+$/, '')), groupBy('Clients by command', c => c.cmd)];
    let all = [];

    function draw() {
      const words = filter.value.toLowerCase();
      const found = words ? all.filter(c => [c.addr, c.name, c.user, c.cmd, c.id].some(text => text.toLowerCase().includes(words))) : all;
      const by = table.columns[table.sort[0]].by;
      const best = found.length > shown ? [...found].sort((a, b) => (by(b) > by(a) ? 1 : -1) * -table.sort[1]).slice(0, shown) : found;
      table.set(best);
      setText(message, found.length > shown ? `${exact(shown)} of ${exact(found.length)} are shown, in the order of the table.` : '');
      for (const group of groups) {
        const sums = new Map();
        for (const c of found) {
          const name = group.of(c), sum = sums.get(name) ?? { name, n: 0, memory: 0 };
          sum.n++;
          sum.memory += Number(c['tot-mem']);
          sums.set(name, sum);
        }
        group.table.set([...sums.values()].sort((a, b) => b.n - a.n).slice(0, 50));
      }
    }

    async function kill(c) {
      if (!await confirm(`End the connection of client ${c.id} at ${c.addr}${c.name ? ` (${show(c.name, 40)})` : ''}? Its running command is not undone.`, 'Kill')) return;
      const [reply] = await run([['CLIENT', 'KILL', 'ID', c.id]]);
      setText(message, reply instanceof ReplyError ? reply.message : reply ? `Client ${c.id} was ended.` : `Client ${c.id} has already gone.`);
      await view.refresh();
    }

    const view = {
      every: 2000,
      async refresh() {
        const [text] = await run([['CLIENT', 'LIST']]);
        if (text instanceof ReplyError) throw text;
        all = text.trim().split('\n').filter(Boolean).map(parse);
        const sum = of => all.reduce((n, c) => n + of(c), 0);
        top.set('all', exact(all.length), `${exact(new Set(all.map(c => c.addr.replace(/:\d+$/, ''))).size)} addresses`);
        top.set('memory', bytes(sum(c => Number(c['tot-mem']))), `largest ${bytes(Math.max(0, ...all.map(c => Number(c['tot-mem']))))}`);
        top.set('unread', bytes(sum(c => Number(c.omem) + Number(c.obl))), `${count(all.filter(c => Number(c.omem) > 0).length)} do not keep up`);
        top.set('blocked', exact(all.filter(c => c.flags.includes('b')).length), 'wait in a command');
        const status = message.textContent;
        draw();
        if (!message.textContent) setText(message, status);
      },
    };
    root.append(head('Clients', 'Who is connected, what they do, and what they hold.'), top.root,
      el('section', { class: 'card', 'aria-label': 'Clients' }, el('div', { class: 'row' }, filter), message, table.root),
      el('div', { class: 'grid' }, groups.map(group => card(group.table.scroll.getAttribute('aria-label'), group.table.root))));
    return view;
  },
};

function flags(c) {
  const names = { S: 'replica', M: 'primary', b: 'blocked', P: 'subscriber', x: 'transaction', d: 'watched key changed', t: 'tracking', u: 'unblocked', O: 'monitor' };
  return el('span', {}, [...c.flags].filter(f => names[f]).map(f => [tag(names[f], f === 'b' || f === 'd' ? 'warn' : ''), ' ']));
}
