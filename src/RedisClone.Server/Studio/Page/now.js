// What happens now: the most important figures, what is wrong, and how it came to this.

import { bytes, choice, count, el, exact, head, info, parts, percent, seconds, setText, span, tiles } from './kit.js';
import { History, Plot, rangeChoice } from './plot.js';

const latency = quantile => `redisclone_command_latency_seconds{family="all",quantile="${quantile}"}`;

export default {
  title: 'Now',
  open(root) {
    const throughput = new Plot('Throughput', v => count(v), [{ name: 'redis_commands_processed_total', title: 'commands a second' }]);
    const latencies = new Plot('Latency of commands', seconds, [
      { name: latency('0.5'), title: 'p50' }, { name: latency('0.99'), title: 'p99' }, { name: latency('0.999'), title: 'p99.9' },
      { name: latency('0.9999'), title: 'p99.99' }]);
    const network = new Plot('Network', v => bytes(v) + '/s', [
      { name: 'redis_net_output_bytes_total', title: 'sent' }, { name: 'redis_net_input_bytes_total', title: 'received' }]);
    const memory = new Plot('Memory', bytes, [
      { name: 'redis_memory_used_bytes', title: 'used' }, { name: 'redis_memory_used_rss_bytes', title: 'resident' },
      { name: 'redisclone_gc_heap_bytes', title: 'managed heap' }]);
    const processor = new Plot('Processor time', percent, [
      { name: 'redis_cpu_user_seconds_total', title: 'user', factor: 100 }, { name: 'redis_cpu_sys_seconds_total', title: 'system', factor: 100 },
      { name: 'redisclone_gc_pause_seconds_total', title: 'collector pauses', factor: 100 }]);
    const clients = new Plot('Clients', v => count(v), [
      { name: 'redis_connected_clients', title: 'connected' }, { name: 'redis_blocked_clients', title: 'blocked' },
      { name: 'redis_pubsub_clients', title: 'subscribing' }]);
    const plots = [throughput, latencies, network, memory, processor, clients];
    const history = new History(plots);
    const top = tiles({ ops: 'Commands a second', p99: 'Latency p99', clients: 'Clients', memory: 'Used memory', hits: 'Hit rate', keys: 'Keys', risk: 'Not durable', up: 'Running for' });
    const notes = el('ul', { class: 'notes', 'aria-label': 'Findings' });
    const view = {
      every: 1000,
      before: null,
      async refresh() {
        const [of] = await Promise.all([info('default', 'journal', 'shards'), history.load()]);
        show(top, of, view.before, history);
        const found = findings(of, view.before);
        const text = found.map(f => f.join()).join();
        if (text !== view.shown) notes.replaceChildren(...found.map(([kind, title, what]) => el('li', { class: kind }, el('strong', { text: title }), what)));
        view.shown = text;
        view.before = of;
      },
    };
    root.append(
      head('Now', 'What the server does at this moment, and what needs attention.', rangeChoice(history, choice, () => view.refresh())),
      notes, top.root, el('div', { class: 'grid' }, plots.map(plot => plot.root)));
    return view;
  },
};

function show(top, of, before, history) {
  top.set('ops', count(history.latest('redis_commands_processed_total') ?? of.instantaneous_ops_per_sec), `${exact(of.total_commands_processed)} in all`);
  top.set('p99', seconds(history.latest(latency('0.99'))), 'in the last second');
  top.set('clients', exact(of.connected_clients), `${exact(of.blocked_clients)} blocked, at most ${exact(of.maxclients)}`);
  top.set('memory', bytes(of.used_memory), of.maxmemory ? `${percent(100 * of.used_memory / of.maxmemory)} of ${bytes(of.maxmemory)}` : 'no limit');
  const hits = of.keyspace_hits - (before?.keyspace_hits ?? 0), misses = of.keyspace_misses - (before?.keyspace_misses ?? 0);
  const overall = of.keyspace_hits + of.keyspace_misses;
  top.set('hits', hits + misses > 0 ? percent(100 * hits / (hits + misses)) : '–', overall ? `${percent(100 * of.keyspace_hits / overall)} since the start` : 'no lookup yet');
  let keys = 0, expiring = 0;
  for (const [name, value] of Object.entries(of)) if (/^db\d+$/.test(name)) { const db = parts(value); keys += db.keys; expiring += db.expires; }
  top.set('keys', count(keys), `${count(expiring)} with an expiry`);
  top.set('risk', of.aof_enabled ? bytes(of.journal_bytes_at_risk) : count(of.rdb_changes_since_last_save), of.aof_enabled ? 'of the journal' : 'changes since the last snapshot');
  top.set('up', span(of.uptime_in_seconds), `process ${of.process_id}`);
}

/** What is wrong: how bad, a title, and what to do. */
export function findings(of, before) {
  const grew = name => before && of[name] > before[name];
  const found = [];
  const add = (isSo, kind, title, what) => { if (isSo) found.push([kind, title, what]); };
  add(of.loading, 'warn', 'Loading data.', `${of.loading_loaded_perc} % of ${bytes(of.loading_total_bytes)}, about ${span(of.loading_eta_seconds)} left.`);
  add(of.aof_last_write_status === 'err', 'bad', 'Writes are refused.', 'The journal cannot be written. Free space on its disk; the log names the reason.');
  add(of.rdb_last_bgsave_status === 'err', 'bad', 'The last snapshot failed.', 'Look at the log for the reason, then run BGSAVE.');
  add(of.aof_last_bgrewrite_status === 'err', 'bad', 'The last rewrite of the journal failed.', 'Look at the log for the reason.');
  add(of.role === 'slave' && of.master_link_status !== 'up', 'bad', 'The primary is not reachable.', 'This replica serves old data. See Replication.');
  add(of.maxmemory > 0 && of.used_memory > .95 * of.maxmemory, 'warn', 'Memory is nearly full.',
    of.maxmemory_policy === 'noeviction' ? 'Writes are refused at the limit. See Memory for what fills it.' : 'Keys are evicted. See Memory for what fills it.');
  add(grew('evicted_keys'), 'warn', 'Keys are being evicted.', `${count(of.evicted_keys - (before?.evicted_keys ?? 0))} in the last second.`);
  add(grew('rejected_connections'), 'bad', 'Clients are being refused.', `maxclients is ${exact(of.maxclients)}. See Clients for who holds the connections.`);
  add(of.connected_clients > .9 * of.maxclients, 'warn', 'Nearly all connections are in use.', 'A client may leak them. See Clients, sorted by address.');
  add(grew('client_output_buffer_limit_disconnections'), 'warn', 'A slow reader was disconnected.', 'It did not read its replies or messages fast enough. See Clients, sorted by unread output.');
  add(of.client_recent_max_output_buffer > 1 << 20, 'warn', 'A client does not read its output.', `${bytes(of.client_recent_max_output_buffer)} wait for it. See Clients, sorted by unread output.`);
  add(grew('aof_delayed_fsync'), 'warn', 'The disk is slow.', 'A flush of the journal took longer than a second. See Durability.');
  const flush = of.journal_flush_usec ? parts(of.journal_flush_usec) : null;
  add(flush && flush.p99 > 50_000, 'warn', 'Flushes are slow.', `One in a hundred takes ${seconds(flush?.p99 / 1e6)}. See Durability.`);
  add(of.shard_imbalance > 8 && of.shards > 1, 'warn', 'One shard does most of the work.', 'A hot key, or few keys. See Shards and Keys.');
  add(grew('unexpected_error_replies') || grew('internal_errors'), 'bad', 'The server has hit a bug.', 'The log has the details.');
  if (found.length === 0) found.push(['good', 'Nothing needs attention.', '']);
  return found;
}
