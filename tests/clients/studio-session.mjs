// Signing in to the studio, and the two ends of a session: signing out, and a change of the user.
//   node studio-session.mjs HTTP-PORT REDIS-PORT      (default has the password main; the user ann has the password secret)

import assert from 'node:assert/strict';
import axe from 'axe-core';
import Redis from 'ioredis';
import { chromium } from 'playwright-core';

const [, , http, port] = process.argv;
const redis = new Redis(port, '127.0.0.1', { password: 'main' });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
const on = await browser.newPage({ viewport: { width: 390, height: 844 } });
const faults = [];
on.setDefaultTimeout(20_000);
on.on('pageerror', error => faults.push(String(error)));

async function signIn(password) {
  await on.waitForSelector('#content[data-ready="sign-in"]');
  await on.fill('input[name=user]', 'ann');
  await on.fill('input[name=password]', password);
  await on.keyboard.press('Enter');
}

await on.goto(`http://127.0.0.1:${http}/studio/`);
await signIn('wrong');
await on.waitForSelector('[role=alert]:has-text("WRONGPASS")');
await on.evaluate(axe.source + '; undefined');
const found = await on.evaluate(() => axe.run());
assert.deepEqual(found.violations.filter(v => ['serious', 'critical'].includes(v.impact)).map(v => v.id), []);
await signIn('secret');
await on.waitForSelector('#content[data-ready="now"]');

// The cookie is out of reach of scripts, and worth nothing after signing out.
assert.equal(await on.evaluate(() => document.cookie), '');
const cookies = await on.context().cookies();
assert.ok(cookies[0].httpOnly && cookies[0].sameSite === 'Strict');
await on.click('button:text-is("Sign out")');
await on.waitForSelector('#content[data-ready="sign-in"]');
await on.context().addCookies(cookies);
await on.reload();
await on.waitForSelector('#content[data-ready="sign-in"]');

// A change of the user ends the session of a page that is open.
await signIn('secret');
await on.waitForSelector('#content[data-ready="now"]');
await redis.call('ACL', 'SETUSER', 'ann', '-@dangerous');
await on.waitForSelector('#content[data-ready="sign-in"]');
await on.waitForSelector('[role=alert]:has-text("The session has ended")');

await browser.close();
redis.disconnect();
assert.deepEqual(faults, []);
console.log('tour complete');
