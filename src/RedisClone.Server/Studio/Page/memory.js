// Where memory goes: by part, by type, and the largest keys of a sample.

import { ReplyError, Table, bytes, card, choice, count, el, empty, exact, facts, fields, head, parts, percent, raw, run, setText, show, tiles } from './kit.js';
import { History, Plot, rangeChoice } from './plot.js';

const slice = 100, most = 10000;

export default {
  title: 'Memory',
  open(root) {
    const top = tiles({ used: 'Used', resident: 'Resident', peak: 'Peak', limit: 'Limit', slack: 'Fragmentation', heap: 'Managed heap' });
    const plot = new Plot('Memory', bytes, [
      { name: 'redis_memory_used_bytes', title: 'used' }, { name: 'redis_memory_used_rss_bytes', title: 'resident' },
      { name: 'redis_allocator_active_bytes', title: 'reserved' }, { name: 'redisclone_gc_heap_bytes', title: 'managed heap' }]);
    const collector = new Plot('Garbage collector', percent, [
      { name: 'redisclone_gc_pause_seconds_total', title: 'paused', factor: 100 }]);
    const history = new History([plot, collector]);
    const stack = el('div', { class: 'stack', 'aria-hidden': 'true' });
    const table = new Table({
      caption: 'Memory by part', key: p => p.name,
      columns: [{ title: 'Part', show: p => el('span', {}, el('i', { class: 'key c' + p.color }), ' ', p.name) },
        { title: 'Bytes', num: true, show: p => bytes(p.size) }, { title: 'Share', num: true, show: p => percent(p.share) },
        { title: 'What it is', wide: true, show: p => p.what }],
    });
    const buffers = new Table({
      caption: 'Buffers by size', key: c => c.name, sort: [2, -1], none: 'No buffer.',
      columns: [{ title: 'Size', num: true, by: c => c.size, show: c => c.size === Infinity ? 'whole pages' : bytes(c.size) },
        { title: 'In use', num: true, by: c => c.used, show: c => exact(c.used) }, { title: 'Bytes', num: true, by: c => c.bytes, show: c => bytes(c.bytes) },
        { title: 'Slack', num: true, by: c => c.slack, show: c => bytes(c.slack), help: 'Reserved for this size and not in use' }],
    });
    const kernel = el('div'), doctor = el('p');
    const view = {
      every: 2000,
      async refresh() {
        const [[text, advice]] = await Promise.all([run([['INFO', 'memory', 'process', 'buffers'], ['MEMORY', 'DOCTOR']]), history.load()]);
        if (text instanceof ReplyError) throw text;
        const of = fields(text);
        top.set('used', bytes(of.used_memory), `${bytes(of.used_memory_dataset)} of data`);
        top.set('resident', bytes(of.used_memory_rss), `× ${of.mem_fragmentation_ratio} of used`);
        top.set('peak', bytes(of.used_memory_peak), of.used_memory_peak_perc + ' in use');
        top.set('limit', of.maxmemory ? bytes(of.maxmemory) : 'none', of.maxmemory ? of.maxmemory_policy : `the machine has ${bytes(of.total_system_memory)}`);
        top.set('slack', '× ' + of.allocator_frag_ratio, `${bytes(of.allocator_frag_bytes)} reserved and not in use`);
        top.set('heap', bytes(of.managed_heap), `${bytes(of.gc_committed)} committed`);
        const list = [
          ['Keys and values', of.used_memory_dataset, 0, 'what clients stored'],
          ['Indexes', of.used_memory_overhead - of.mem_clients_normal - of.mem_clients_slaves - of.used_memory_vm_total, 1, 'the tables in which keys are found'],
          ['Clients', of.mem_clients_normal, 2, 'requests and replies in buffers'], ['Replicas', of.mem_clients_slaves, 3, 'the stream that replicas have not read'],
          ['Scripts', of.used_memory_vm_total, 4, 'the interpreter of Lua'], ['Slack', of.allocator_frag_bytes, 5, 'reserved pages between the buffers'],
        ].map(([name, size, color, what]) => ({ name, size: Math.max(0, size), color, what }));
        const sum = list.reduce((all, p) => all + p.size, 0) || 1;
        for (const p of list) p.share = 100 * p.size / sum;
        table.set(list);
        stack.replaceChildren(...list.filter(p => p.share > .3).map(p => {
          const piece = el('i', { class: 'c' + p.color });
          piece.style.width = p.share + '%';
          return piece;
        }));
        kernel.replaceChildren(facts([
          ['Not backed by a file', bytes(of.rss_anonymous)], ['Of mapped files', bytes(of.rss_files)], ['In huge pages', bytes(of.rss_huge_pages)],
          ['Written by this process', bytes(of.rss_dirty)], ['In swap space', bytes(of.swapped)]]));
        buffers.set(Object.entries(of).filter(([name]) => name.startsWith('buffers_')).map(([name, value]) => {
          const size = Number(name.slice(8));
          return { name, size: Number.isNaN(size) ? Infinity : size, ...parts(value) };
        }));
        setText(doctor, advice instanceof ReplyError ? advice.message : advice);
      },
      close() { sample.stop(); },
    };
    const sample = sampler();
    root.append(head('Memory', 'What fills it, and how much of it is data.', rangeChoice(history, choice, () => view.refresh())), top.root,
      el('div', { class: 'grid' }, plot.root, collector.root),
      card('Memory by part', stack, el('br'), table.root),
      el('div', { class: 'grid' }, card('What the kernel counts', kernel), card('Advice', doctor)),
      card('Buffers by size', buffers.root), sample.root);
    return view;
  },
};

/** Samples keys in slices. The server is never asked for more than one slice, and the page can stop at any time. */
function sampler() {
  const table = new Table({
    caption: 'Largest keys of the sample', key: k => k.id, none: 'No sample yet.',
    columns: [{ title: 'Key', wide: true, once: true, show: k => el('a', { href: '#keys/0/' + encodeURIComponent(JSON.stringify(k.name)) }, raw(k.name, 80)) },
      { title: 'Type', show: k => k.type }, { title: 'Size', num: true, show: k => bytes(k.size) }],
  });
  const types = new Table({
    caption: 'Sample by type', key: t => t.type, none: 'No sample yet.',
    columns: [{ title: 'Type', show: t => t.type }, { title: 'Keys', num: true, show: t => exact(t.keys) }, { title: 'Size', num: true, show: t => bytes(t.size) },
      { title: 'Mean', num: true, show: t => bytes(t.size / t.keys) }],
  });
  const state = el('p', { role: 'status' }), progress = el('progress', { max: most, value: 0, 'aria-label': 'Keys sampled' });
  const button = el('button', { type: 'button', class: 'main', text: 'Sample keys', on: { click: () => running ? stop() : start() } });
  let running = false;
  const stop = () => { running = false; setText(button, 'Sample keys'); };

  async function start() {
    running = true;
    setText(button, 'Stop');
    const largest = [], byType = new Map();
    let cursor = '0', seen = 0;
    try {
      do {
        const [, scanned] = await run([['SELECT', '0'], ['SCAN', cursor, 'COUNT', String(slice)]]);
        if (scanned instanceof ReplyError) throw scanned;
        cursor = String(scanned[0]);
        // SCAN may return more names than it was asked for.
        const names = scanned[1];
        for (let from = 0; from < names.length; from += slice) {
          const some = names.slice(from, from + slice);
          const replies = await run(some.flatMap(name => [['TYPE', name], ['MEMORY', 'USAGE', name]]));
          some.forEach((name, i) => {
            const type = replies[2 * i], size = replies[2 * i + 1];
            if (typeof size !== 'number') return;
            const sum = byType.get(type) ?? { type, keys: 0, size: 0 };
            sum.keys++;
            sum.size += size;
            byType.set(type, sum);
            largest.push({ id: JSON.stringify(name), name, type, size });
          });
        }
        seen += names.length;
        largest.sort((a, b) => b.size - a.size).splice(20);
        table.set(largest);
        types.set([...byType.values()].sort((a, b) => b.size - a.size));
        progress.value = seen;
        setText(state, `${exact(seen)} keys of database 0 looked at.`);
      } while (running && cursor !== '0' && seen < most);
      progress.value = most;
      setText(state, `${exact(seen)} keys of database 0 looked at${cursor === '0' ? ', which is all of them' : ''}.`);
    } catch (failure) {
      setText(state, failure.message);
    }
    stop();
  }
  const root = el('section', { class: 'card', 'aria-label': 'Big keys' },
    el('div', { class: 'headline' }, el('h2', { text: 'Big keys' }), el('p', { text: `Looks at up to ${count(most)} keys, ${slice} at a time.` }), button),
    progress, state, el('div', { class: 'grid' }, table.root, types.root));
  return { root, stop: () => { running = false; } };
}
