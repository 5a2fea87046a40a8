// Where time goes: commands, slow log, latency events; and the load of the shards and event loops.

import { ReplyError, Table, bytes, card, choice, clock, count, el, empty, exact, fields, head, note, parts, percent, post, raw, run, seconds, setText, show, span, tiles } from './kit.js';
import { History, Plot, rangeChoice } from './plot.js';

const families = ['string', 'hash', 'list', 'set', 'sorted-set', 'stream', 'generic', 'pubsub', 'scripting', 'server'];

export const commands = {
  title: 'Commands',
  open(root) {
    const table = new Table({
      caption: 'Commands by time', key: c => c.name, sort: [2, -1], none: 'No command was called yet.',
      columns: [
        { title: 'Command', mono: true, by: c => c.name, show: c => c.name.toUpperCase().replace('|', ' ') },
        { title: 'Now', num: true, by: c => c.rate, show: c => c.rate ? count(c.rate) + '/s' : '–', help: 'Calls in the last second' },
        { title: 'Share of time', num: true, by: c => c.usec, show: c => el('span', {}, percent(c.share), el('span', { class: 'share', 'aria-hidden': 'true' }, bar(c.share))) },
        { title: 'Calls', num: true, by: c => c.calls, show: c => exact(c.calls) },
        { title: 'Mean', num: true, by: c => c.usec_per_call, show: c => seconds(c.usec_per_call / 1e6) },
        { title: 'p50', num: true, by: c => c.p50 ?? -1, show: c => seconds(c.p50 / 1e6) },
        { title: 'p99', num: true, by: c => c.p99 ?? -1, show: c => seconds(c.p99 / 1e6) },
        { title: 'p99.9', num: true, by: c => c['p99.9'] ?? -1, show: c => seconds(c['p99.9'] / 1e6) },
        { title: 'Failed', num: true, by: c => c.failed_calls, show: c => exact(c.failed_calls) },
        { title: 'Refused', num: true, by: c => c.rejected_calls, show: c => exact(c.rejected_calls) },
      ],
    });
    const slow = new Table({
      caption: 'Slow log', key: e => e.id, none: 'No slow command.',
      columns: [
        { title: 'When', tight: true, show: e => clock(e.at, true), by: e => e.id }, { title: 'Took', num: true, by: e => e.usec, show: e => seconds(e.usec / 1e6) },
        { title: 'Command', wide: true, once: true, show: e => el('span', {}, e.words.map(word => [raw(word, 120), ' '])) },
        { title: 'Client', mono: true, show: e => show(e.client) + (e.name ? ` (${show(e.name)})` : '') },
      ],
    });
    const events = new Table({
      caption: 'Latency events', key: e => e[0], none: 'No event exceeded the threshold.',
      columns: [
        { title: 'Event', mono: true, show: e => e[0] }, { title: 'Last time', tight: true, show: e => clock(e[1], true) },
        { title: 'Last', num: true, show: e => seconds(e[2] / 1e3) }, { title: 'Longest', num: true, show: e => seconds(e[3] / 1e3) },
      ],
    });
    const plot = new Plot('Latency p99 by family', seconds, ['string', 'hash', 'list', 'sorted-set', 'scripting'].map(family =>
      ({ name: `redisclone_command_latency_seconds{family="${family}",quantile="0.99"}`, title: family })));
    const history = new History([plot]);
    const family = new Table({
      caption: 'Latency by family', key: f => f.name, none: 'latency-tracking is off, or no command was called.',
      columns: [{ title: 'Family', show: f => f.name }, { title: 'Calls', num: true, show: f => exact(f.count) },
        ...['p50', 'p90', 'p99', 'p99.9', 'p99.99'].map(p => ({ title: p, num: true, show: f => seconds(f[p] / 1e6) }))],
    });
    const about = el('p'), aboutEvents = el('p');
    let before = new Map(), at = 0;
    const view = {
      every: 1000,
      async refresh() {
        const [[text, log, latest, limits]] = await Promise.all([
          run([['INFO', 'commandstats', 'latencystats'], ['SLOWLOG', 'GET', '128'], ['LATENCY', 'LATEST'], ['CONFIG', 'GET', 'slowlog-log-slower-than', 'latency-monitor-threshold']]),
          history.load()]);
        if (text instanceof ReplyError) throw text;
        const now = performance.now(), of = fields(text), all = [];
        for (const [name, value] of Object.entries(of)) {
          if (!name.startsWith('cmdstat_')) continue;
          const c = { name: name.slice(8), ...parts(value), ...parts(of['latency_percentiles_usec_' + name.slice(8)] ?? '') };
          c.rate = before.has(c.name) ? Math.max(0, c.calls - before.get(c.name)) / ((now - at) / 1000) : 0;
          all.push(c);
        }
        before = new Map(all.map(c => [c.name, c.calls]));
        at = now;
        const total = all.reduce((sum, c) => sum + c.usec, 0) || 1;
        for (const c of all) c.share = 100 * c.usec / total;
        table.set(all);
        family.set(Object.entries(of).filter(([name]) => name.startsWith('latency_family_usec_')).map(([name, value]) => ({ name: name.slice(20), ...parts(value) })));
        const value = name => limits instanceof Map ? Number(limits.get(name)) : NaN;
        if (log instanceof ReplyError) setText(about, log.message);
        else {
          slow.set(log.map(e => ({ id: e[0], at: e[1], usec: e[2], words: e[3], client: e[4], name: e[5] })));
          setText(about, Number.isFinite(value('slowlog-log-slower-than')) ? `Commands that took ${seconds(value('slowlog-log-slower-than') / 1e6)} or longer.` : '');
        }
        if (latest instanceof ReplyError) setText(aboutEvents, latest.message);
        else {
          events.set(latest);
          setText(aboutEvents, value('latency-monitor-threshold') > 0 ? `Events that took ${value('latency-monitor-threshold')} ms or longer.`
            : 'The monitor is off. CONFIG SET latency-monitor-threshold 10 turns it on.');
        }
      },
    };
    root.append(head('Commands', 'Where time goes: which commands take it, and which of them were slow.', rangeChoice(history, choice, () => view.refresh())),
      plot.root, card('Commands by time', table.root), card('Latency by family', family.root),
      el('div', { class: 'grid' },
        el('section', { class: 'card', 'aria-label': 'Slow log' }, el('div', { class: 'headline' }, el('h2', { text: 'Slow log' }), about), slow.root),
        el('section', { class: 'card', 'aria-label': 'Latency events' }, el('div', { class: 'headline' }, el('h2', { text: 'Latency events' }), aboutEvents), events.root)));
    return view;
  },
};

function bar(share) {
  const node = el('i');
  node.style.width = Math.min(100, share) + '%';
  return node;
}

export const shards = {
  title: 'Shards',
  open(root) {
    const top = tiles({ rate: 'Holds a second', imbalance: 'Imbalance', moved: 'Moved to workers', waits: 'Found a shard busy' });
    const canvas = el('canvas', { role: 'img', height: '10' });
    const most = el('span', { text: '0/s' });
    const table = new Table({
      caption: 'Shards', key: s => s.i, sort: [1, -1], none: 'No shards.',
      columns: [
        { title: 'Shard', num: true, by: s => s.i, show: s => s.i }, { title: 'Now', num: true, by: s => s.rate, show: s => count(s.rate) + '/s' },
        { title: 'Keys', num: true, by: s => s.keys, show: s => exact(s.keys) }, { title: 'Used', num: true, by: s => s.used, show: s => bytes(s.used) },
        { title: 'Slack', num: true, by: s => s.slack, show: s => bytes(s.slack), help: 'Reserved and not in use' },
        { title: 'Holds', num: true, by: s => s.holds, show: s => exact(s.holds) }, { title: 'Waited', num: true, by: s => s.waits, show: s => exact(s.waits) },
        { title: 'Queued', num: true, by: s => s.queued, show: s => exact(s.queued) },
      ],
    });
    const loops = new Table({
      caption: 'Event loops', key: l => l.i, none: 'This transport has no event loops.',
      columns: [
        { title: 'Loop', num: true, show: l => l.i }, { title: 'Connections', num: true, show: l => exact(l.connections) },
        { title: 'Rounds', num: true, show: l => count(l.roundRate) + '/s' }, { title: 'Receives a round', num: true, show: l => l.perRound },
        { title: 'Unsent', num: true, show: l => bytes(l.unsent) },
        { title: 'Moved away', num: true, show: l => count(l.moved) },
      ],
    });
    let before = null, at = 0;
    const view = {
      every: 1000,
      async refresh() {
        const [of, [text]] = await Promise.all([post('shards'), run([['INFO', 'shards']])]);
        const last = of.seconds.at(-1) ?? [], now = performance.now(), waited = of.shards.reduce((sum, s) => sum + s.waits, 0);
        const sum = last.reduce((a, b) => a + b, 0);
        top.set('rate', count(sum), `over ${of.shards.length} shards`);
        top.set('imbalance', '× ' + of.imbalance.toFixed(2), 'busiest shard to the mean');
        top.set('moved', exact(text instanceof ReplyError ? null : fields(text).commands_moved), 'commands since the start');
        top.set('waits', exact(waited), 'since the start');
        heat(canvas, of.seconds);
        setText(most, count(Math.max(1, ...of.seconds.flat())) + '/s');
        const busiest = last.indexOf(Math.max(...last));
        canvas.setAttribute('aria-label', sum ? `Load of ${of.shards.length} shards over a minute. Busiest now: shard ${busiest} with ${count(last[busiest])} a second.` : `Load of ${of.shards.length} shards over a minute: idle.`);
        table.set(of.shards.map((s, i) => ({ ...s, i, rate: last[i] ?? 0 })));
        loops.set(of.loops.map((l, i) => {
          const b = before?.[i], rounds = b ? l.rounds - b.rounds : 0;
          return { ...l, i, roundRate: b ? rounds / ((now - at) / 1000) : 0, perRound: rounds > 0 ? ((l.receives - b.receives) / rounds).toFixed(2) : '–' };
        }));
        before = of.loops;
        at = now;
      },
    };
    root.append(head('Shards', 'How the work spreads. Each column is a second, each line a shard; a bright line is a hot shard.'), top.root,
      card('Load of the last minute', canvas, el('p', { class: 'scale' }, '0', el('span', { class: 'ramp' }), most)),
      el('div', { class: 'grid' }, card('Shards', table.root), card('Event loops', loops.root)));
    return view;
  },
};

function heat(canvas, rows) {
  const shardCount = rows[0]?.length ?? 0;
  if (!shardCount) return;
  const height = Math.max(4, Math.min(14, Math.floor(360 / shardCount)));
  canvas.width = rows.length;
  canvas.height = shardCount;
  canvas.style.height = shardCount * height + 'px';
  const [r, g, b] = getComputedStyle(document.documentElement).getPropertyValue('--heat').trim().split(' ').map(Number);
  const context = canvas.getContext('2d'), image = context.createImageData(rows.length, shardCount);
  const most = Math.max(1, ...rows.flat());
  rows.forEach((row, x) => row.forEach((value, y) => image.data.set([r, g, b, value ? 16 + 239 * Math.sqrt(value / most) : 0], 4 * (y * rows.length + x))));
  context.putImageData(image, 0, 0);
}
