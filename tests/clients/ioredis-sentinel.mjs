// A failover with ioredis: node ioredis-sentinel.mjs NAME HEIR SENTINEL ... Writes "ready", and exits with status 0 and "tour complete"
// once it has written to the server on port HEIR.
import assert from 'node:assert/strict';
import Redis from 'ioredis';

const [name, heir, ...ports] = process.argv.slice(2);
const redis = new Redis({ name, sentinels: ports.map(port => ({ host: '127.0.0.1', port: Number(port) })), maxRetriesPerRequest: null });
redis.on('error', () => {});
assert.equal(await redis.set('before', '1'), 'OK');
console.log('ready');
const port = async () => /tcp_port:(\d+)/.exec(await redis.info('server'))?.[1];
for (;;) {
  try {
    if (await port() === heir && await redis.set('after', '2') === 'OK') break;
  } catch { /* the server goes, or is not the primary yet */ }
  await new Promise(resolve => setTimeout(resolve, 50));
}
assert.equal(await redis.get('before'), '1');
assert.equal(await redis.get('after'), '2');
console.log('tour complete');
redis.disconnect();
