// A cluster with ioredis: node ioredis-cluster.mjs ROUNDS PORT ... Writes "ready" after the first round, counts in many slots while slots
// move and nodes fail over, and exits with status 0 and "tour complete" if no answer was wrong and no error remained after the retries.
import assert from 'node:assert/strict';
import Redis from 'ioredis';

const [rounds, ...ports] = process.argv.slice(2);
const cluster = new Redis.Cluster(ports.map(port => ({ host: '127.0.0.1', port: Number(port) })), {
  maxRedirections: 64, retryDelayOnFailover: 200, retryDelayOnClusterDown: 200, slotsRefreshTimeout: 5000,
});
cluster.on('error', () => {});
for (let round = 1; round <= Number(rounds); round++) {
  for (let i = 0; i < 20; i++) {
    assert.equal(await cluster.set(`js:${i}`, round), 'OK');
    assert.equal(await cluster.get(`js:${i}`), `${round}`);
  }
  if (round === 1) console.log('ready');
}
assert.equal(await cluster.mset('{a}1', '1', '{a}2', '2'), 'OK');
assert.deepEqual(await cluster.mget('{a}1', '{a}2', '{a}3'), ['1', '2', null]);
assert.deepEqual(await cluster.multi().incr('{a}1').get('{a}2').exec(), [[null, 2], [null, '2']]);
console.log('tour complete');
cluster.disconnect();
