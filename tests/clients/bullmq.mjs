// Queues with BullMQ: node bullmq.mjs PORT. Exits with status 0 and "tour complete" if all jobs ran as expected.
import assert from 'node:assert/strict';
import { FlowProducer, Queue, QueueEvents, Worker } from 'bullmq';

const connection = { host: '127.0.0.1', port: Number(process.argv[2]), maxRetriesPerRequest: null };
const open = [];
const keep = thing => { thing.on('error', () => {}); open.push(thing); return thing; };
const queue = name => keep(new Queue(name, { connection }));
const worker = (name, work, options = {}) => keep(new Worker(name, work, { connection, drainDelay: 1, ...options }));
const until = async condition => { while (!await condition()) await new Promise(resolve => setTimeout(resolve, 20)); };

async function jobsAreDoneOnceByAnyWorker() {
  const jobs = queue('plain'), events = keep(new QueueEvents('plain', { connection }));
  await events.waitUntilReady();
  const done = new Map();
  const work = async job => { done.set(job.id, (done.get(job.id) ?? 0) + 1); return job.data.n * 2; };
  worker('plain', work, { concurrency: 5 });
  worker('plain', work, { concurrency: 5 });
  const added = await jobs.addBulk(Array.from({ length: 200 }, (_, n) => ({ name: 'double', data: { n } })));
  const first = await added[0].waitUntilFinished(events);
  assert.equal(first, 0);
  await until(async () => await jobs.getCompletedCount() === 200);
  assert.equal(done.size, 200);
  assert.ok([...done.values()].every(times => times === 1));
  assert.equal(await jobs.getJobCountByTypes('waiting', 'active', 'failed'), 0);
}

async function prioritiesAndRetries() {
  const jobs = queue('priorities');
  for (const priority of [3, 1, 2]) await jobs.add('job', { priority }, { priority });
  await jobs.add('flaky', {}, { attempts: 3, backoff: { type: 'fixed', delay: 50 }, priority: 4 });
  const order = [];
  worker('priorities', async job => {
    order.push(job.data.priority ?? 'flaky');
    if (job.name === 'flaky' && job.attemptsMade < 2) throw new Error('again');
  });
  await until(async () => await jobs.getCompletedCount() === 4);
  assert.deepEqual(order, [1, 2, 3, 'flaky', 'flaky', 'flaky']);
}

async function delayedJobsComeWhenTheirTimeHasCome() {
  const jobs = queue('delayed'), due = [];
  const begun = Date.now();
  await jobs.addBulk([{ name: 'late', data: {}, opts: { delay: 600 } }, { name: 'early', data: {}, opts: { delay: 200 } }]);
  assert.equal(await jobs.getDelayedCount(), 2);
  worker('delayed', async job => due.push([job.name, Date.now() - begun]));
  await until(() => due.length === 2);
  assert.deepEqual(due.map(([name]) => name), ['early', 'late']);
  assert.ok(due[0][1] >= 200 && due[1][1] >= 600, JSON.stringify(due));
}

async function aRateIsNotExceeded() {
  const jobs = queue('limited'), times = [];
  await jobs.addBulk(Array.from({ length: 6 }, () => ({ name: 'job', data: {} })));
  worker('limited', async () => times.push(Date.now()), { limiter: { max: 2, duration: 800 } });
  await until(() => times.length === 6);
  // Three windows of two jobs each. At least one complete window is between the first and the last job.
  assert.ok(times[5] - times[0] >= 800, JSON.stringify(times));
}

async function jobsRepeat() {
  const jobs = queue('repeated');
  let runs = 0;
  worker('repeated', async () => { runs++; });
  await jobs.add('tick', {}, { repeat: { every: 150 } });
  await until(() => runs >= 3);
  const [repeating] = await jobs.getRepeatableJobs();
  assert.equal(repeating.name, 'tick');
  await jobs.removeRepeatableByKey(repeating.key);
  assert.deepEqual(await jobs.getRepeatableJobs(), []);
}

async function aFlowWaitsForItsChildren() {
  const flows = keep(new FlowProducer({ connection })), order = [];
  worker('children', async job => { order.push('child'); return job.data.n; }, { concurrency: 3 });
  worker('parents', async job => { order.push('parent'); return Object.values(await job.getChildrenValues()).reduce((a, b) => a + b, 0); });
  const parents = queue('parents'), events = keep(new QueueEvents('parents', { connection }));
  await events.waitUntilReady();
  const flow = await flows.add({ name: 'sum', queueName: 'parents', children: [1, 2, 3].map(n => ({ name: 'n', queueName: 'children', data: { n } })) });
  await until(async () => await (await parents.getJob(flow.job.id)).isCompleted());
  assert.equal((await parents.getJob(flow.job.id)).returnvalue, 6);
  assert.deepEqual(order, ['child', 'child', 'child', 'parent']);
}

async function aStalledJobIsTakenUpByAnother() {
  const jobs = queue('stalled');
  // A worker that takes a job and then neither renews its lock nor finishes the job.
  const lost = new Worker('stalled', null, { connection, lockDuration: 300, skipLockRenewal: true, skipStalledCheck: true });
  lost.on('error', () => {});
  await jobs.add('job', {});
  const taken = await lost.getNextJob('lost');
  assert.equal(taken.name, 'job');
  const finished = [];
  worker('stalled', async job => finished.push(job.id), { stalledInterval: 300, lockDuration: 2000 });
  await until(() => finished.length === 1);
  assert.equal(finished[0], taken.id);
  await lost.close(true);
}

await (await queue('plain').client).flushall();
await Promise.all([
  jobsAreDoneOnceByAnyWorker(), prioritiesAndRetries(), delayedJobsComeWhenTheirTimeHasCome(), aRateIsNotExceeded(), jobsRepeat(), aFlowWaitsForItsChildren(),
  aStalledJobIsTakenUpByAnother(),
]);
await Promise.all(open.map(thing => thing.close()));
console.log('tour complete');
process.exit(0);
