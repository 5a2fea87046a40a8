// Scripts and locks with ioredis and redlock: node ioredis-scripts.mjs PORT. Exits with status 0 and "tour complete" if all
// replies are as expected.
import assert from 'node:assert/strict';
import Redis from 'ioredis';
import Redlock from 'redlock';

const port = Number(process.argv[2]);
const clients = [];
const connect = () => {
  const client = new Redis({ port, host: '127.0.0.1', maxRetriesPerRequest: 1 });
  client.defineCommand('takeTokens', { numberOfKeys: 1, lua: `
    local left = tonumber(redis.call('GET', KEYS[1]) or ARGV[2])
    if left < tonumber(ARGV[1]) then return {0, left} end
    redis.call('SET', KEYS[1], left - ARGV[1])
    return {1, left - ARGV[1]}` });
  client.defineCommand('moveAll', { numberOfKeys: 2, lua: `
    local moved = 0
    while redis.call('LMOVE', KEYS[1], KEYS[2], 'LEFT', 'RIGHT') do moved = moved + 1 end
    redis.call('PUBLISH', 'moved', moved)
    return moved` });
  client.defineCommand('undeclared', { numberOfKeys: 0, lua: `
    for i = 1, tonumber(ARGV[1]) do redis.call('SET', 'undeclared:' .. i, i) end
    return redis.status_reply('DONE')` });
  clients.push(client);
  return client;
};
const redis = connect();
await redis.flushall();
await redis.script('FLUSH');

// Commands that are scripts, in a pipeline with other commands. ioredis loads the scripts that the server does not have.
const pipeline = redis.pipeline();
for (let i = 0; i < 500; i++) pipeline.takeTokens('bucket', 3, 1000).get('bucket').rpush('from', i);
const results = await pipeline.exec();
assert.equal(results.length, 1500);
for (let i = 0; i < 500; i++) {
  const left = Math.max(1000 - 3 * (i + 1), 1);
  assert.deepEqual(results[3 * i], [null, [i < 333 ? 1 : 0, left]]);
  assert.deepEqual(results[3 * i + 1], [null, String(left)]);
  assert.deepEqual(results[3 * i + 2], [null, i + 1]);
}
assert.deepEqual(await redis.multi().moveAll('from', 'to').llen('to').undeclared(50).exec(), [[null, 500], [null, 500], [null, 'DONE']]);
assert.equal((await redis.keys('undeclared:*')).length, 50);
assert.deepEqual((await redis.lrange('to', 0, -1)).map(Number), Array.from({ length: 500 }, (_, i) => i));

// Many clients take tokens from one bucket at the same time. No token is taken twice.
await redis.set('shared', 100);
const others = Array.from({ length: 8 }, connect);
const taken = await Promise.all(others.flatMap(client => Array.from({ length: 25 }, () => client.takeTokens('shared', 1, 0))));
assert.equal(taken.filter(([ok]) => ok === 1).length, 100);
assert.equal(await redis.get('shared'), '0');

// Only a lock makes reading and writing atomic. No increment is lost.
const perClient = 10;
await redis.set('guarded', 0);
await Promise.all(others.map(async client => {
  const locks = new Redlock([client], { retryCount: -1, retryDelay: 10, retryJitter: 10 });
  for (let i = 0; i < perClient; i++) {
    const lock = await locks.lock('lock:guarded', 60_000);
    const value = Number(await client.get('guarded'));
    await client.set('guarded', value + 1);
    await lock.unlock();
  }
}));
assert.equal(await redis.get('guarded'), String(others.length * perClient));

// Any client can take an expired lock, and its first owner can neither release nor extend it.
const locks = new Redlock([redis], { retryCount: 0 });
const forgotten = await locks.lock('lock:forgotten', 1500);
while (await redis.exists('lock:forgotten')) await new Promise(resolve => setTimeout(resolve, 10));
const mine = await locks.lock('lock:forgotten', 60_000);
await assert.rejects(forgotten.unlock());
await assert.rejects(locks.lock('lock:forgotten', 1000));
const extended = await mine.extend(120_000);
assert.ok(await redis.pttl('lock:forgotten') > 60_000);
await extended.unlock();
assert.equal(await redis.exists('lock:forgotten'), 0);

await Promise.all(clients.map(client => client.quit()));
console.log('tour complete');
