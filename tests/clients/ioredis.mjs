// A tour with ioredis: node ioredis.mjs PORT. Exits with status 0 and "tour complete" if all replies are as expected.
import assert from 'node:assert/strict';
import Redis from 'ioredis';

const port = Number(process.argv[2]);
const redis = new Redis({ port, host: '127.0.0.1', maxRetriesPerRequest: 1 });
const commands = new Set(await redis.call('COMMAND', 'LIST'));

await redis.flushall();
assert.equal(await redis.ping(), 'PONG');
assert.equal(await redis.set('greeting', 'hello', 'EX', 1000), 'OK');
assert.equal(await redis.get('greeting'), 'hello');
const ttl = await redis.ttl('greeting');
assert.ok(ttl > 0 && ttl <= 1000);
assert.equal(await redis.get('nothing'), null);
assert.equal(await redis.incrby('counter', 41), 41);
assert.equal(await redis.incr('counter'), 42);
const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
await redis.set(Buffer.from('bytes\0\r\n'), bytes);
assert.deepEqual(await redis.getBuffer(Buffer.from('bytes\0\r\n')), bytes);
const large = 'x'.repeat(3_000_000);
await redis.set('large', large);
assert.equal(await redis.get('large'), large);
await redis.mset({ a: '1', b: '2', c: '3' });
assert.deepEqual(await redis.mget('a', 'b', 'missing', 'c'), ['1', '2', null, '3']);
assert.equal(await redis.setbit('bits', 7, 1), 0);
assert.equal(await redis.bitcount('bits'), 1);
await assert.rejects(redis.incr('greeting'), /ERR value is not an integer or out of range/);
await assert.rejects(redis.call('NOSUCH', 'x'), /ERR unknown command 'NOSUCH', with args beginning with: 'x'/);

// Many requests are in flight, and their replies arrive in order.
const pipeline = redis.pipeline();
for (let i = 0; i < 2000; i++) pipeline.set(`p:${i}`, i).get(`p:${i}`);
const results = await pipeline.exec();
results.forEach(([error, value], i) => assert.ok(!error && value === (i % 2 ? String((i - 1) / 2) : 'OK')));

// Transactions with and without a conflict.
assert.deepEqual(await redis.multi().set('t', 1).incr('t').get('t').exec(), [[null, 'OK'], [null, 2], [null, '2']]);
const other = redis.duplicate();
await redis.watch('t');
await other.set('t', 'changed');
assert.equal(await redis.multi().set('t', 'lost').exec(), null);
assert.equal(await redis.get('t'), 'changed');

// A scan finds all keys.
const seen = new Set();
for await (const keys of redis.scanStream({ match: 'p:*', count: 100 })) keys.forEach(key => seen.add(key));
assert.equal(seen.size, 2000);

if (commands.has('rpush')) {
  assert.equal(await redis.rpush('list', 'a', 'b', 'c'), 3);
  assert.deepEqual(await redis.lrange('list', 0, -1), ['a', 'b', 'c']);
  const waiting = other.blpop('queue', 30);
  await redis.rpush('queue', 'job');
  assert.deepEqual(await waiting, ['queue', 'job']);
}
if (commands.has('hset')) {
  await redis.hset('hash', { name: 'x', size: 3 });
  assert.deepEqual(await redis.hgetall('hash'), { name: 'x', size: '3' });
}
if (commands.has('sadd')) {
  await redis.sadd('set', 'a', 'b', 'a');
  assert.deepEqual((await redis.smembers('set')).sort(), ['a', 'b']);
}
if (commands.has('zadd')) {
  await redis.zadd('scores', 1, 'one', 2, 'two', 1.5, 'between');
  assert.deepEqual(await redis.zrange('scores', 0, -1), ['one', 'between', 'two']);
}
if (commands.has('eval')) assert.equal(await redis.eval('return redis.call("GET", KEYS[1]) .. ARGV[1]', 1, 'greeting', '!'), 'hello!');
if (commands.has('subscribe')) {
  const received = new Promise(resolve => other.on('message', (channel, message) => resolve([channel, message])));
  await other.subscribe('news');
  assert.equal(await redis.publish('news', 'today'), 1);
  assert.deepEqual(await received, ['news', 'today']);
}

await other.quit();
await redis.quit();
console.log('tour complete');
