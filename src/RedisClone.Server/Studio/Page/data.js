// The journal, snapshots, the recovery of the last start, and replication.

import { Table, bytes, card, choice, clock, el, empty, exact, facts, head, info, parts, percent, post, seconds, span, tag, tiles } from './kit.js';
import { History, Plot, rangeChoice } from './plot.js';

const ok = (state, good, bad) => state === 'ok' ? tag(good, 'good') : tag(bad, 'bad');

export const durability = {
  title: 'Durability',
  open(root) {
    const top = tiles({ risk: 'Not durable', flush: 'Flush p99', group: 'Group p50', snapshot: 'Last snapshot' });
    const risk = new Plot('Bytes not durable yet', bytes, [{ name: 'redisclone_journal_at_risk_bytes', title: 'at risk' }, { name: 'redis_aof_buffer_length', title: 'not written' }]);
    const flush = new Plot('Flushes of the journal', seconds, [
      { name: 'redisclone_journal_flush_seconds{quantile="0.5"}', title: 'p50' }, { name: 'redisclone_journal_flush_seconds{quantile="0.99"}', title: 'p99' },
      { name: 'redisclone_journal_flush_seconds{quantile="0.9999"}', title: 'p99.99' }]);
    const group = new Plot('Groups of the journal', bytes, [
      { name: 'redisclone_journal_group_bytes{quantile="0.5"}', title: 'p50' }, { name: 'redisclone_journal_group_bytes{quantile="0.99"}', title: 'p99' }]);
    const disk = new Plot('Disk', v => bytes(v) + '/s', [
      { name: 'redisclone_disk_written_bytes_total', title: 'written' }, { name: 'redisclone_disk_read_bytes_total', title: 'read' }]);
    const history = new History([risk, flush, group, disk]);
    const running = el('div'), journal = el('div'), snapshots = el('div');
    const view = {
      every: 1000,
      async refresh() {
        const [of] = await Promise.all([info('persistence', 'journal', 'progress'), history.load()]);
        const flushes = of.journal_flush_usec ? parts(of.journal_flush_usec) : {}, groups = of.journal_group_bytes ? parts(of.journal_group_bytes) : {};
        top.set('risk', of.aof_enabled ? bytes(of.journal_bytes_at_risk) : 'journal off', of.aof_enabled ? `${bytes(of.aof_buffer_length)} not written` : `${exact(of.rdb_changes_since_last_save)} changes since the last snapshot`);
        top.set('flush', seconds(flushes.p99 / 1e6), `${exact(of.journal_flushes ?? null)} flushes`);
        top.set('group', bytes(groups.p50), `${exact(of.journal_groups ?? null)} groups`);
        top.set('snapshot', of.rdb_last_save_time ? span(Date.now() / 1000 - of.rdb_last_save_time) + ' ago' : '–', of.rdb_last_bgsave_status === 'ok' ? `${exact(of.rdb_saves)} in all` : 'failed');
        running.replaceChildren(...work(of));
        journal.replaceChildren(of.aof_enabled ? facts([
          ['Last write', ok(of.aof_last_write_status, 'succeeded', 'failed: writes are refused')], ['Last rewrite', ok(of.aof_last_bgrewrite_status, 'succeeded', 'failed')],
          ['Size', bytes(of.aof_current_size)], ['After the last rewrite', bytes(of.aof_base_size)], ['Last rewrite took', of.aof_last_rewrite_time_sec < 0 ? 'none yet' : span(of.aof_last_rewrite_time_sec)],
          ['Slow flushes', `${exact(of.aof_delayed_fsync)} longer than a second`]]) : empty('The journal is off. CONFIG SET appendonly yes turns it on.'));
        snapshots.replaceChildren(facts([
          ['Last snapshot', of.rdb_last_save_time ? clock(of.rdb_last_save_time, true) : 'none'], ['Its state', ok(of.rdb_last_bgsave_status, 'succeeded', 'failed')],
          ['It took', of.rdb_last_bgsave_time_sec < 0 ? '–' : span(of.rdb_last_bgsave_time_sec)], ['Changes since', exact(of.rdb_changes_since_last_save)]]));
      },
    };
    root.append(head('Durability', 'What a crash would lose, and how the disk keeps up.', rangeChoice(history, choice, () => view.refresh())), top.root,
      card('Running now', running), el('div', { class: 'grid' }, [risk, flush, group, disk].map(plot => plot.root)),
      el('div', { class: 'grid' }, card('Journal', journal), card('Snapshots', snapshots)));
    return view;
  },
};

const kinds = {
  work_load: 'Loading', work_snapshot: 'Snapshot', work_rewrite: 'Rewrite of the journal', work_backup: 'Backup', work_copy_for_replicas: 'Copy for replicas',
  work_copy_from_primary: 'Copy from the primary', work_slot_export: 'Export of slots', work_slot_import: 'Import of slots',
};

/** The long work that is running, each with its progress. */
function work(of) {
  const rows = [];
  for (const [name, title] of Object.entries(kinds)) {
    const w = parts(of[name] ?? '');
    if (!w.running) continue;
    const amount = value => w.unit === 'bytes' ? bytes(value) : exact(value) + ' keys';
    const left = w.seconds_left >= 0 ? `about ${span(w.seconds_left)} left` : 'time left unknown';
    rows.push(el('h3', { text: title }), el('progress', { max: 1, value: w.total ? w.done / w.total : 0, 'aria-label': title }),
      el('p', { text: (w.total ? `${percent(100 * w.done / w.total)}: ${amount(w.done)} of ${amount(w.total)}` : amount(w.done)) + `, ${amount(w.rate)} a second, ${left}` }));
  }
  return rows.length ? rows : [empty('No snapshot, rewrite, copy or load is running.')];
}

export const replication = {
  title: 'Replication',
  open(root) {
    const top = tiles({ role: 'Role', replicas: 'Replicas', offset: 'Offset', backlog: 'Backlog' });
    const link = el('div');
    const table = new Table({
      caption: 'Replicas', key: r => r.name, none: 'No replica follows this server.',
      columns: [
        { title: 'Address', mono: true, show: r => `${r.ip}:${r.port}` },
        { title: 'State', show: r => tag(r.state === 'online' ? 'follows' : r.state === 'send_bulk' ? 'takes the full copy' : 'waits for the full copy', r.state === 'online' ? 'good' : 'warn') },
        { title: 'Behind', num: true, by: r => r.behind, show: r => bytes(r.behind) }, { title: 'Last word', num: true, by: r => r.lag, show: r => span(r.lag) + ' ago' },
        { title: 'Offset', num: true, show: r => exact(r.offset) },
      ],
    });
    const view = {
      every: 1000,
      async refresh() {
        const of = await info('replication');
        const replicas = Object.entries(of).filter(([name]) => /^slave\d+$/.test(name)).map(([name, value]) => {
          const r = parts(value);
          return { name, ...r, behind: of.master_repl_offset - r.offset };
        });
        top.set('role', of.role === 'slave' ? 'Replica' : 'Primary', of.role === 'slave' ? `of ${of.master_host}:${of.master_port}` : '');
        top.set('replicas', exact(replicas.length), replicas.length ? `${bytes(Math.max(...replicas.map(r => r.behind)))} behind at most` : '');
        top.set('offset', exact(of.master_repl_offset), `history ${String(of.master_replid).slice(0, 8)}`);
        top.set('backlog', bytes(of.repl_backlog_histlen), `of ${bytes(of.repl_backlog_size)}`);
        table.set(replicas);
        if (of.role !== 'slave') link.replaceChildren(empty('This server follows no other.'));
        else {
          const syncs = of.master_sync_in_progress, total = of.master_sync_total_bytes;
          link.replaceChildren(facts([
            ['Primary', `${of.master_host}:${of.master_port}`], ['Link', of.master_link_status === 'up' ? tag('up', 'good') : tag('down', 'bad')],
            of.master_link_status !== 'up' && ['Down for', span(of.master_link_down_since_seconds)], ['Last word', span(of.master_last_io_seconds_ago) + ' ago'],
            syncs && ['Full copy', total ? `${of.master_sync_perc} % of ${bytes(total)}` : 'begins']]),
          ...(syncs ? [el('progress', { max: 100, value: of.master_sync_perc ?? 0, 'aria-label': 'Full copy' })] : []));
        }
      },
    };
    root.append(head('Replication', 'Who follows whom, and how far behind.'), top.root, card('Replicas', table.root), card('Primary', link));
    return view;
  },
};

export const recovery = {
  title: 'Recovery',
  open(root) {
    const body = el('div');
    const outcomes = { clean: tag('complete', 'good'), cut: tag('the end was cut', 'warn'), absent: tag('there was no journal'), refused: tag('refused', 'bad') };
    const table = new Table({
      caption: 'Files of the journal', key: f => f.name, none: 'No file.',
      columns: [{ title: 'File', mono: true, show: f => f.name }, { title: 'Length', num: true, show: f => bytes(f.length) },
        { title: 'Used', num: true, show: f => bytes(f.kept) }, { title: 'Changes', num: true, show: f => exact(f.units) },
        { title: 'Ends', show: f => f.sealed ? 'complete' : f.kept < f.length ? 'with padding, or cut' : 'open' }],
    });
    root.append(head('Recovery', 'What the last start read from the disk, and whether anything was lost.'), body);
    return {
      async refresh() {
        const of = await post('recovery'), journal = of.journal;
        body.replaceChildren(card('Last start', facts([
          ['Process started', clock(of.startedAt / 1000, true)], ['Loading', of.loading ? tag('still running', 'warn') : `took ${seconds(of.milliseconds / 1000)}`],
          ['Source', journal ? 'journal' : of.keysLoaded ? 'snapshot' : 'nothing was loaded'],
          ['Keys of the snapshot', exact(of.keysLoaded)], ['Expired meanwhile', exact(of.keysExpired)],
          journal && ['Outcome', outcomes[journal.outcome]], journal && ['Position', exact(journal.position)],
          journal?.outcome === 'cut' && ['Lost', `${bytes(journal.cut)} of ${journal.file} from offset ${exact(journal.offset)}: ${journal.reason}`]])),
        ...(journal ? [card('Files of the journal', table.root)] : []));
        if (journal) table.set(journal.files);
      },
    };
  },
};
