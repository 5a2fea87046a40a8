// Troubles of docs/operations.md, each produced on purpose and found by what the page shows alone. With a third argument, it writes
// the pictures of that page to the folder.
//   node studio-troubles.mjs HTTP-PORT REDIS-PORT [FOLDER]

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import net from 'node:net';
import Redis from 'ioredis';
import { chromium } from 'playwright-core';

const [, , http, port, folder] = process.argv;
const redis = new Redis(port, '127.0.0.1', { connectionName: 'operator' });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--force-color-profile=srgb'] });
const on = await browser.newPage({ viewport: { width: 1280, height: 900 }, colorScheme: 'light', reducedMotion: 'reduce' });
on.setDefaultTimeout(60_000);
if (folder) mkdirSync(folder, { recursive: true });

async function open(screen) {
  await on.evaluate(to => { location.hash = to; }, screen);
  await on.waitForSelector(`#content[data-ready="${screen}"]`);
}

/** Waits until the screen Now lists a finding, and returns what it says. */
async function finding(title) {
  await open('now');
  const item = on.locator(`.notes li:has(strong:text-is("${title}"))`);
  await item.waitFor();
  return item.textContent();
}

const picture = name => folder && on.screenshot({ path: `${folder}/${name}.png` });

/** Repeats an action until the returned function is called. */
function repeat(milliseconds, action) {
  const timer = setInterval(() => action().catch(() => {}), milliseconds);
  return () => clearInterval(timer);
}

await on.goto(`http://127.0.0.1:${http}/studio/`);
await on.waitForSelector('#content[data-ready="now"]');
const seen = [];

async function trouble(name, find) {
  await find();
  seen.push(name);
  console.log(`found: ${name}`);
}

await trouble('a hot key', async () => {
  const clients = Array.from({ length: 4 }, () => new Redis(port, '127.0.0.1'));
  const stop = repeat(10, () => Promise.all(clients.map(client => {
    const pipeline = client.pipeline();
    for (let i = 0; i < 200; i++) pipeline.incr('page:views');
    return pipeline.exec();
  })));
  assert.match(await finding('One shard does most of the work.'), /hot key/);
  await open('shards');
  await on.waitForFunction(() => document.querySelector('canvas').getAttribute('aria-label').includes('Busiest'));
  await on.waitForTimeout(2000);
  await picture('hot-key');
  // The console names the key.
  await open('console');
  for (const line of ['HOTKEYS START METRICS 1 CPU DURATION 10', 'HOTKEYS GET']) {
    await on.locator('input[role=combobox]').fill(line);
    await on.keyboard.press('Enter');
    await on.waitForTimeout(1000);
  }
  await on.waitForSelector('.terminal:has-text("page:views")');
  stop();
  for (const client of clients) client.disconnect();
});

await trouble('a big key', async () => {
  await redis.rpush('queue:forgotten', ...Array.from({ length: 20_000 }, (_, i) => `message ${i} ${'x'.repeat(100)}`));
  for (let i = 0; i < 200; i++) await redis.set(`user:${i}`, `Name ${i}`);
  await open('memory');
  await on.click('button:text-is("Sample keys")');
  await on.waitForSelector('[aria-label="Largest keys of the sample"] tbody tr:first-child td:has-text("queue:forgotten")');
  await on.waitForSelector('button:text-is("Sample keys")');
  await on.locator('section[aria-label="Big keys"]').scrollIntoViewIfNeeded();
  await picture('big-key');
});

await trouble('a slow subscriber', async () => {
  const slow = net.connect(Number(port), '127.0.0.1');
  slow.write('CLIENT SETNAME slow-reader\r\nSUBSCRIBE news\r\n');
  await new Promise(resolve => slow.once('data', resolve));
  slow.pause();
  const stop = repeat(20, () => redis.publish('news', 'x'.repeat(100_000)));
  assert.match(await finding('A client does not read its output.'), /Clients/);
  await open('clients');
  await on.click('section[aria-label="Clients"] th:has-text("Unread output") button');
  const first = on.locator('section[aria-label="Clients"] tbody tr').first();
  await first.locator('td:text-is("slow-reader")').waitFor();
  await picture('slow-subscriber');
  stop();
  slow.destroy();
});

await trouble('a client that leaks connections', async () => {
  await redis.config('SET', 'maxclients', '60');
  const leaked = Array.from({ length: 54 }, () => net.connect(Number(port), '127.0.0.1'));
  for (const socket of leaked) socket.on('error', () => {});
  assert.match(await finding('Nearly all connections are in use.'), /leak/);
  await open('clients');
  const row = on.locator('[aria-label="Clients by address"] tbody tr').first();
  await row.locator('td:text-is("127.0.0.1")').waitFor();
  assert.ok(Number(await row.locator('td').nth(1).textContent()) > 50);
  await picture('leaked-connections');
  for (const socket of leaked) socket.destroy();
  // The next trouble needs the memory without them.
  while (Number(/connected_clients:(\d+)/.exec(await redis.info('clients'))[1]) >= leaked.length) await new Promise(done => setTimeout(done, 20));
  await redis.config('SET', 'maxclients', '10000');
});

await trouble('full memory', async () => {
  const used = Number(/used_memory:(\d+)/.exec(await redis.info('memory'))[1]);
  await redis.config('SET', 'maxmemory', String(Math.floor(used * 1.02)));
  assert.match(await finding('Memory is nearly full.'), /refused/);
  await picture('full-memory');
  await redis.config('SET', 'maxmemory', '0');
});

await trouble('a blocked script', async () => {
  const script = new Redis(port, '127.0.0.1');
  script.eval('while true do end', 0).catch(() => {});
  await open('now').catch(() => {});
  await on.waitForSelector('#content [role=alert]:has-text("BUSY")');
  await redis.call('SCRIPT', 'KILL');
  await on.waitForFunction(() => !document.querySelector('#content [role=alert]'));
  script.disconnect();
});

await trouble('a slow disk', async () => {
  // Each flush of the server takes longer: strace delays the system call.
  const pid = /process_id:(\d+)/.exec(await redis.info('server'))[1];
  const slow = spawn('strace', ['-f', '-p', pid, '-o', '/dev/null', '-e', 'trace=fsync,fdatasync', '-e', 'inject=fsync,fdatasync:delay_enter=120000']);
  const stop = repeat(20, () => redis.set('order', String(Date.now())));
  assert.match(await finding('Flushes are slow.'), /Durability/);
  await open('durability');
  const flush = on.locator('.tile:has-text("Flush p99") dd').first();
  await on.waitForTimeout(5000);
  assert.match(await flush.textContent(), /^(\d{3} ms|[\d.]+ s)$/);
  await picture('slow-disk');
  stop();
  slow.kill('SIGINT');
});

await browser.close();
redis.disconnect();
console.log(`${seen.length} troubles found`);
