// A tour with node-redis: node node-redis.mjs PORT. Exits with status 0 and "tour complete" if all replies are as expected.
import assert from 'node:assert/strict';
import { commandOptions, createClient, WatchError } from 'redis';

const url = `redis://127.0.0.1:${process.argv[2]}`;
const redis = createClient({ url, name: 'tour' });
redis.on('error', error => { throw error; });
await redis.connect();
const commands = new Set(await redis.sendCommand(['COMMAND', 'LIST']));

await redis.flushAll();
assert.equal(await redis.ping(), 'PONG');
assert.equal(await redis.clientGetName(), 'tour');
assert.equal(await redis.set('greeting', 'hello', { EX: 1000, NX: true }), 'OK');
assert.equal(await redis.set('greeting', 'again', { NX: true }), null);
assert.equal(await redis.get('greeting'), 'hello');
assert.equal(await redis.incrBy('counter', 42), 42);
assert.equal(await redis.incrByFloat('float', 10.5), '10.5');
const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
await redis.set('bytes', bytes);
assert.deepEqual(await redis.get(commandOptions({ returnBuffers: true }), 'bytes'), bytes);
await redis.mSet({ a: '1', b: '2' });
assert.deepEqual(await redis.mGet(['a', 'b', 'missing']), ['1', '2', null]);
assert.equal(await redis.exists(['a', 'b', 'missing']), 2);
assert.equal(await redis.rename('a', 'z'), 'OK');
assert.equal(await redis.copy('z', 'y'), true);
assert.equal(await redis.type('y'), 'string');
assert.equal(await redis.expire('y', 1000), true);
assert.equal(await redis.persist('y'), true);
assert.equal(await redis.del(['y', 'z']), 2);
await assert.rejects(redis.incr('greeting'), /value is not an integer/);

// node-redis pipelines the requests of one turn of the event loop.
const many = await Promise.all(Array.from({ length: 2000 }, (_, i) => redis.incr('together').then(value => value === i + 1)));
assert.ok(many.every(Boolean));

assert.deepEqual(await redis.multi().set('t', '1').incr('t').exec(), ['OK', 2]);
const other = redis.duplicate();
await other.connect();
await redis.watch('t');
await other.set('t', 'changed');
await assert.rejects(redis.multi().set('t', 'lost').exec(), WatchError);

const seen = [];
for await (const key of redis.scanIterator({ COUNT: 10 })) seen.push(key);
assert.ok(seen.includes('greeting') && seen.includes('together'));

if (commands.has('rpush')) {
  await redis.rPush('list', ['a', 'b', 'c']);
  assert.deepEqual(await redis.lRange('list', 0, -1), ['a', 'b', 'c']);
  const waiting = other.blPop('queue', 30);
  await redis.rPush('queue', 'job');
  assert.deepEqual({ ...(await waiting) }, { key: 'queue', element: 'job' });
}
if (commands.has('hset')) {
  await redis.hSet('hash', { name: 'x', size: '3' });
  assert.deepEqual({ ...(await redis.hGetAll('hash')) }, { name: 'x', size: '3' });
}
if (commands.has('zadd')) {
  await redis.zAdd('scores', [{ score: 1, value: 'one' }, { score: 2.5, value: 'two' }]);
  assert.deepEqual((await redis.zRangeWithScores('scores', 0, -1)).map(e => [e.value, e.score]), [['one', 1], ['two', 2.5]]);
}
if (commands.has('eval')) assert.equal(await redis.eval('return ARGV[1]', { arguments: ['x'] }), 'x');
if (commands.has('subscribe')) {
  const received = new Promise(resolve => other.subscribe('news', resolve).then(() => redis.publish('news', 'today')));
  assert.equal(await received, 'today');
}

await other.disconnect();
await redis.quit();
console.log('tour complete');
