'use strict';
// What ends: workers in whatever they are doing, processes in handlers, and what nothing refers to any more.
const assert = require('node:assert/strict');
const { test } = require('node:test');
const { existsSync, readdirSync } = require('node:fs');
const { once } = require('node:events');
const { Worker } = require('node:worker_threads');
const { Queue, VirtualQueue, memoryUsed } = require('..');
const { collected, run } = require('./helping');

/** A worker with a queue. */
const worker = (program, options) => new Worker(`
  const chime = require(${JSON.stringify(require.resolve('..'))}), { parentPort } = require('worker_threads');
  const queue = new chime.Queue(); ${program}`, { eval: true, ...options });

test('workers end while their queues are watched', async () => {
  const endings = {
    'queue.after(1, () => process.exit(3))': 3,
    'queue.every(0.1, () => {}); setImmediate(() => process.exit(4))': 4,
    'const v = new chime.VirtualQueue(); v.every(1, () => process.exit(5)); v.advance(100)': 5,
    'for (let i = 0; i < 50; i++) new chime.Queue().every(1, () => {}); queue.after(3, () => process.exit(6))': 6,
    'queue.after(1, () => queue.close())': 0,
    'queue.after(3_600_000, () => {}).unref()': 0,
    'const v = new chime.VirtualQueue(); v.every(1, () => process.exit(8)); v.advance(1e12)': 8,
    'queue.after(1, () => { throw new Error("mine"); }); queue.every(1, () => {})': 1,
  };
  for (const [program, code] of Object.entries(endings)) {
    const one = worker(program);
    one.on('error', (error) => assert.equal(error.message, 'mine'));
    assert.equal(await new Promise((resolve) => one.on('exit', resolve)), code, program);
  }
});

test('workers are terminated in handlers, between them, and before anything has begun', async () => {
  const programs = [
    'queue.every(0.05, () => parentPort.postMessage(0))',
    'queue.every(1, () => { parentPort.postMessage(0); for (;;); }); queue.every(1, () => {})',
    'const v = new chime.VirtualQueue(); v.every(1, () => parentPort.postMessage(0)); for (;;) { try { v.advance(100); } catch {} }',
    'const v = new chime.VirtualQueue(); v.every(1, () => parentPort.postMessage(0)); v.advance(1e12)',
    'const ticks = async () => { for await (const tick of queue.ticks(0.1)) parentPort.postMessage(0); }; ticks(); ticks()',
  ];
  for (const program of programs) {
    for (let round = 0; round < 5; round++) {
      const one = worker(program);
      await once(one, 'message');
      assert.equal(await one.terminate(), 1, program);
    }
  }
  await Promise.all(Array.from({ length: 8 }, () => worker('queue.every(1, () => {})').terminate()));
});

test('processes end inside handlers, and with timers armed', () => {
  const ends = (program, status, stdout = '') => assert.deepEqual(run(program), { status, stdout, stderr: '' }, program);
  ends('queue.after(1, () => process.exit(3)); queue.every(1, () => {})', 3);
  ends('queue.every(1, () => {}); process.exit(4)', 4);
  ends('new chime.VirtualQueue().after(1, () => process.exit(5)).queue.advance(1)', 5);
  ends(`new (require('worker_threads').Worker)(\`
    const v = new (require(${JSON.stringify(require.resolve('..'))}).VirtualQueue)();
    v.every(1, (tick) => tick.sequence === 5 && require('worker_threads').parentPort.postMessage(0)); v.advance(1e12)\`,
  { eval: true }).on('message', () => process.exit(6))`, 6);
  ends("process.on('exit', () => { queue.after(1, () => {}); queue.close(); console.log(queue.close()); })", 0, 'ignored\n');
  ends('queue.every(1, () => process.kill(process.pid, "SIGTERM"))', 'SIGTERM');
});

test('a circle of an object and its own timer is collected at rest, in every way to rest', async () => {
  const queues = [new Queue(), new VirtualQueue()];
  let gone = 0;
  const registry = new FinalizationRegistry(() => gone++);
  class Session {
    constructor(queue, schedule, ending) {
      this.timer = queue.start(schedule, this.expire.bind(this));
      ending(this.timer);
      registry.register(this);
    }
    expire() {}
  }
  const ways = [
    [{ first: 0 }, () => {}], [{ interval: 0.1, limit: 2 }, () => {}], [{ first: 1000 }, (timer) => timer.cancel()],
    [{ first: 1000 }, (timer) => timer.suspend()], [{ first: 1000 }, (timer) => timer.release()],
    [{ first: Infinity }, () => {}], [{ first: 0 }, (timer) => timer.fire()],
  ];
  for (const queue of queues) {
    for (const [schedule, ending] of ways) for (let index = 0; index < 100; index++) new Session(queue, schedule, ending);
  }
  queues[1].advance(1);
  await collected(() => gone === 1400);
  await collected(() => queues.every((queue) => queue.stats().timers === 0 && queue.timers().length === 0));
  for (const queue of queues) queue.close();
});

test('a timer that runs is not collected, nor is its queue', async () => {
  let ticks = 0, isGone = false, isDone = false;
  const registry = new FinalizationRegistry(() => {
    isGone = true;
  });
  registry.register({});
  new Queue().every(1, (tick) => ++ticks && isDone && tick.timer.queue.close());
  await collected(() => isGone);
  const seen = ticks;
  await collected(() => ticks > seen);
  isDone = true;
});

test('queues that nothing refers to are ended, with their descriptors', { skip: !existsSync('/proc/self/fd') }, async () => {
  const descriptors = () => readdirSync('/proc/self/fd').length;
  const round = async () => {
    const before = descriptors();
    for (let index = 0; index < 100; index++) {
      new Queue().after(3_600_000, () => {}).cancel();
      new VirtualQueue().every(1, () => {});
    }
    assert.ok(descriptors() >= before + 100);
    await collected(() => descriptors() < before + 10);
  };
  await round();
  const memory = memoryUsed();
  await round();
  await collected(() => memoryUsed() < memory + 1_000_000);
});

test('timers that come and go leave nothing behind', async () => {
  const queue = new VirtualQueue();
  const round = () => {
    for (let index = 0; index < 20_000; index++) queue.after(index, () => {}).release();
    for (let index = 0; index < 20_000; index++) queue.after(1, () => {});
    queue.advance(20_000);
  };
  round();
  await collected(() => queue.stats().timers === 0);
  const memory = memoryUsed();
  round();
  await collected(() => queue.stats().timers === 0);
  assert.ok(memoryUsed() <= memory + 4096);
});
