// Data and load for the tests of the studio: every type, names that would do harm if a page took them for markup, and clients
// that do something all the time.

import Redis from 'ioredis';

export const hostile = [
  '<img src=x onerror="document.title=1">', '<script>document.title=1</script>', '\u202Eevil\u202C gpj.exe', '"\'&<>`', 'line\nbreak\ttab\u0000nul',
  '💥 emoji ‏rtl', Buffer.from([0xff, 0xfe, 0x00, 0x41]),
];

export async function fill(port) {
  const redis = new Redis(port, '127.0.0.1');
  const pipeline = redis.pipeline();
  for (const name of hostile) {
    pipeline.set(name, name);
    pipeline.hset('hash of names', name, name);
    pipeline.zadd('scores of names', 1.5, name);
    pipeline.xadd('stream of names', '*', name, name);
  }
  pipeline.set('long name ' + 'x'.repeat(1 << 20), '1');
  pipeline.set('report:2026', 'The quick brown fox jumps over the lazy dog. '.repeat(400), 'EX', 90_000);
  for (let i = 0; i < 3000; i++) {
    pipeline.set(`user:${i}:name`, `Name ${i}`);
    if (i % 3 === 0) pipeline.hset(`session:${i}`, 'user', i, 'agent', 'test', 'seen', Date.now());
    if (i % 10 === 0) pipeline.expire(`session:${i}`, 3600 + i);
    if (i % 5 === 0) pipeline.rpush('queue:mail', `message ${i}`);
    if (i % 4 === 0) pipeline.zadd('scores', i, `player:${i}`);
    if (i % 6 === 0) pipeline.sadd('tags', `tag:${i}`);
  }
  pipeline.hset('big:hash', ...Array.from({ length: 4000 }, (_, i) => [`field:${i}`, 'v'.repeat(50)]).flat());
  await pipeline.exec();
  // The slow log keeps it: no other command takes as long, also on a slow machine.
  await redis.eval("local s = 0 for i = 1, 20000000 do s = s + i end return s", 0);
  await redis.get('none').catch(() => {});
  await redis.incr('report:2026').catch(() => {});
  redis.disconnect();
}

/** Sends mixed commands until the returned function is called. */
export function load(port) {
  const clients = Array.from({ length: 6 }, (_, i) => new Redis(port, '127.0.0.1', { connectionName: `worker-${i}` }));
  const listener = new Redis(port, '127.0.0.1', { connectionName: 'listener' });
  listener.subscribe('news');
  const waiting = new Redis(port, '127.0.0.1', { connectionName: 'waiting' });
  waiting.blpop('never', 0).catch(() => {});
  let n = 0;
  const timer = setInterval(() => {
    for (const client of clients) {
      const pipeline = client.pipeline();
      for (let i = 0; i < 20; i++, n++) {
        pipeline.set(`user:${n % 3000}:name`, `Name ${n}`);
        pipeline.get(`user:${(n * 7) % 4000}:name`);
        if (i % 4 === 0) { pipeline.zadd('scores', n % 1000, `player:${n % 500}`); pipeline.hincrby(`session:${n % 300}`, 'seen', 1); }
        if (i % 10 === 0) { pipeline.lrange('queue:mail', 0, 20); pipeline.publish('news', String(n)); pipeline.zrange('scores', 0, 50); }
      }
      pipeline.exec().catch(() => {});
    }
  }, 25);
  return () => { clearInterval(timer); for (const client of [...clients, listener, waiting]) client.disconnect(); };
}
