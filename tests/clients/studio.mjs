// The studio in a browser, on a server under load: every screen in two widths and two themes, without a serious fault of
// accessibility (axe) and without an error in the page. With a third argument, it also writes the screenshots to that folder.
//   node studio.mjs HTTP-PORT REDIS-PORT [FOLDER]

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import axe from 'axe-core';
import Redis from 'ioredis';
import { chromium } from 'playwright-core';
import { fill, hostile, load } from './studio-data.mjs';

const [, , http, port, folder] = process.argv;
const url = `http://127.0.0.1:${http}/studio/`;
const screens = ['now', 'commands', 'memory', 'shards', 'durability', 'clients', 'replication', 'keys', 'console', 'config', 'recovery', 'support'];
const sizes = { wide: { width: 1280, height: 900 }, narrow: { width: 390, height: 844 } };
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';

await fill(port);
const stopLoad = load(port);
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--force-color-profile=srgb'] });
const problems = [];
if (folder) mkdirSync(folder, { recursive: true });

async function page(size, theme) {
  const context = await browser.newContext({ viewport: sizes[size], colorScheme: theme, reducedMotion: 'reduce' });
  const opened = await context.newPage();
  opened.setDefaultTimeout(20_000);
  opened.on('pageerror', error => problems.push(`${opened.url()}: ${error}`));
  opened.on('console', message => { if (['error', 'warning'].includes(message.type())) problems.push(`${opened.url()}: ${message.text()}`); });
  opened.on('dialog', dialog => { problems.push(`${opened.url()}: a dialog: ${dialog.message()}`); dialog.dismiss(); });
  return opened;
}

const ready = (on, screen) => on.waitForSelector(`#content[data-ready="${screen}"]`);

/** Fails if axe finds a serious fault, or if the page is wider than the window. */
async function check(on, what) {
  await on.evaluate(axe.source + '; undefined');
  const found = await on.evaluate(() => axe.run(document, { resultTypes: ['violations'] }));
  const serious = found.violations.filter(v => ['serious', 'critical'].includes(v.impact));
  assert.deepEqual(serious.map(v => `${v.id}: ${v.nodes.slice(0, 3).map(n => n.html + ' ' + n.failureSummary).join(' | ')}`), [], what);
  const [wide, room] = await on.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(wide <= room, `${what} is ${wide} pixels wide in a window of ${room}`);
}

/** What each screen must show of the server under load. */
const shows = {
  async now(on) {
    await on.waitForFunction(() => document.querySelectorAll('.plot path[d*="L"]').length >= 6);
    assert.match(await on.textContent('.tile:has-text("Commands a second") dd'), /^[\d.]+( k)?$/);
  },
  async commands(on) {
    await on.waitForSelector('td:text-is("GET")');
    await on.waitForSelector('section[aria-label="Slow log"] td:has-text("EVAL")');
  },
  memory: on => on.waitForSelector('td:has-text("Keys and values")'),
  async shards(on) {
    await on.waitForFunction(() => document.querySelector('canvas').getAttribute('aria-label').includes('Busiest'));
  },
  durability: on => on.waitForFunction(() => document.querySelectorAll('.plot path[d*="L"]').length >= 4),
  clients: on => on.waitForSelector('td:text-is("worker-3")'),
  replication: on => on.waitForSelector('dd:text-is("Primary")'),
  async keys(on) {
    await on.waitForSelector('tbody tr');
  },
  console: on => on.waitForSelector('input[role=combobox]'),
  config: on => on.waitForSelector('td:text-is("appendfsync")'),
  recovery: on => on.waitForSelector('dt:text-is("Process started")'),
  support: on => on.waitForSelector('button:text-is("Make a bundle")'),
};

// Two of the four combinations have each width and each theme. The screenshots are of all four.
for (const size of Object.keys(sizes)) {
  for (const theme of folder ? ['light', 'dark'] : size === 'wide' ? ['light'] : ['dark']) {
    const on = await page(size, theme);
    const began = performance.now();
    await on.goto(url);
    await ready(on, 'now');
    if (size === 'wide' && theme === 'light') {
      const painted = await on.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
      console.log(`first paint after ${Math.round(painted)} ms, data after ${Math.round(performance.now() - began)} ms`);
    }
    for (const screen of screens) {
      await on.evaluate(to => { location.hash = to; }, screen);
      await ready(on, screen);
      await shows[screen](on);
      await check(on, `${screen}, ${size}, ${theme}`);
      if (folder) await on.screenshot({ path: `${folder}/${screen}-${size}-${theme}.png`, fullPage: size === 'narrow' });
    }
    await on.context().close();
  }
}

// ---- what a person does ----

const on = await page('wide', 'light');
await on.goto(url + '#keys');
await ready(on, 'keys');

// Hostile names are text: each is shown, none acts.
for (const pattern of ['<*', '*evil*', '*nul', '*rtl']) {
  await on.fill('input[aria-label="Pattern"]', pattern);
  await on.click('button:text-is("Search")');
  await on.waitForFunction(() => document.querySelector('#content p[role=status]').textContent.includes('all that match'));
  await on.locator('tbody .link').first().click();
  await on.waitForSelector('section[aria-label="Value"] h2');
}
await on.fill('input[aria-label="Pattern"]', 'long name*');
await on.click('button:text-is("Search")');
await on.locator('tbody .link:has-text("long name")').click();
await on.waitForSelector('section[aria-label="Value"] h2:has-text("1 MB")');
for (const [name, title] of [['hash of names', 'Fields'], ['scores of names', 'Members'], ['stream of names', 'Entries']]) {
  await on.fill('input[aria-label="Pattern"]', name);
  await on.click('button:text-is("Search")');
  await on.locator(`tbody .link:has-text("${name}")`).click();
  await on.waitForSelector(`section[aria-label="Value"] [aria-label="${title}"] tbody tr`);
  const text = await on.textContent('section[aria-label="Value"]');
  assert.ok(text.includes(hostile[0]) && text.includes('\\u202eevil') && text.includes('\\xff\\xfe'), `${name} shows: ${text}`);
  assert.equal(await on.locator('main img').count(), 0);
  await check(on, name);
}
// Pages of a large value.
await on.fill('input[aria-label="Pattern"]', 'big:hash');
await on.click('button:text-is("Search")');
await on.locator('tbody .link:has-text("big:hash")').click();
const rows = on.locator('section[aria-label="Value"] tbody tr');
await rows.first().waitFor();
const before = await rows.count();
await on.click('section[aria-label="Value"] button:text-is("Next page")');
await on.waitForFunction(n => document.querySelectorAll('section[aria-label="Value"] tbody tr').length > n, before);

// The console, with the keyboard alone.
await on.evaluate(() => { location.hash = 'console'; });
await ready(on, 'console');
const prompt = on.locator('input[role=combobox]');
await prompt.focus();
await on.keyboard.type('config g');
await on.waitForSelector('[role=option]:has-text("CONFIG GET")');
await on.keyboard.press('Tab');
await on.keyboard.type('maxclients');
await on.keyboard.press('Enter');
await on.waitForSelector('.terminal:has-text("\\"maxclients\\" => \\"10000\\"")');
await on.keyboard.type('SET "a b" \'<i>x</i>\'');
await on.keyboard.press('Enter');
await on.waitForSelector('.terminal p:text-is("OK")');
await on.keyboard.press('ArrowUp');
assert.equal(await prompt.inputValue(), 'SET "a b" \'<i>x</i>\'');
await prompt.fill('GET "a b"');
await on.keyboard.press('Enter');
await on.waitForSelector('.terminal p:text-is("\\"<i>x</i>\\"")');
await prompt.fill('SUBSCRIBE news');
await on.keyboard.press('Enter');
await on.waitForSelector('.terminal p.error:has-text("cannot run this command")');
await check(on, 'console with replies');
if (folder) await on.screenshot({ path: `${folder}/console-used.png` });

// Ending a client: the dialog, and its effect.
await on.evaluate(() => { location.hash = 'clients'; });
await ready(on, 'clients');
await on.fill('input[type=search]', 'waiting');
await on.waitForFunction(() => document.querySelectorAll('section[aria-label="Clients"] tbody tr').length === 1);
await on.click('button:text-is("Kill")');
await check(on, 'the question before a kill');
await on.click('dialog button:text-is("Kill")');
await on.waitForSelector('p[role=status]:has-text("was ended")');

// A sample of keys finds the large one, and leaves none out.
const redis = new Redis(port, '127.0.0.1');
const keys = await redis.dbsize();
redis.disconnect();
await on.evaluate(() => { location.hash = 'memory'; });
await ready(on, 'memory');
await on.click('button:text-is("Sample keys")');
await on.waitForSelector('[aria-label="Largest keys of the sample"] td:has-text("big:hash")');
await on.waitForSelector('button:text-is("Sample keys")');
const looked = await on.textContent('section[aria-label="Big keys"] p[role=status]');
assert.match(looked, /which is all of them/);
assert.ok(Number(looked.split(' keys')[0].replace(/\D/g, '')) >= keys, `${keys} keys: ${looked}`);

// The support bundle is a zip.
await on.evaluate(() => { location.hash = 'support'; });
await ready(on, 'support');
const [bundle] = await Promise.all([on.waitForEvent('download'), on.click('button:text-is("Make a bundle")')]);
assert.match(bundle.suggestedFilename(), /^support-bundle-.*\.zip$/);
assert.equal(readFileSync(await bundle.path()).subarray(0, 2).toString(), 'PK');
await on.waitForSelector('p[role=status]:has-text("The browser has the bundle")');

// A plot can be read with the keyboard.
await on.evaluate(() => { location.hash = 'now'; });
await ready(on, 'now');
await on.waitForFunction(() => document.querySelectorAll('.plot path[d*="L"]').length >= 6);
await on.locator('.plot svg').first().focus();
await on.keyboard.press('ArrowLeft');
assert.match(await on.locator('.plot svg').first().getAttribute('aria-label'), /^Throughput at \d\d:\d\d:\d\d: commands a second /);

await browser.close();
stopLoad();
assert.deepEqual(problems, []);
console.log('tour complete');
