'use strict';
// Queues in Node's own loop: what comes, in which order, and for how long Node stays.
const assert = require('node:assert/strict');
const { test } = require('node:test');
const { AsyncLocalStorage, executionAsyncId } = require('node:async_hooks');
const { Queue } = require('..');
const { run } = require('./helping');

test('timers tick in the loop, never early, also by a Date', async () => {
  for (const clock of ['monotonic', 'boottime', 'wall']) {
    const queue = new Queue({ clock, label: clock });
    const ticks = [];
    for await (const tick of queue.ticks({ interval: 2, limit: 3 })) ticks.push(tick);
    assert.deepEqual([ticks.reduce((sum, { missed }) => sum + 1 + missed, 0), queue.clock], [3, clock]);
    for (const { scheduledNs, actualNs } of ticks) assert.ok(actualNs >= scheduledNs);
    queue.close();
  }
  const queue = new Queue({ clock: 'wall' });
  const date = new Date(Date.now() + 5);
  await new Promise((resolve) => queue.at(date, resolve));
  assert.ok(Date.now() >= date.getTime());
  queue.close();
});

test('an earlier timer comes first, whenever it is added', async () => {
  const queue = new Queue(), seen = [];
  const far = queue.after(3_600_000, () => seen.push('far'));
  await queue.sleep(1);
  await new Promise((resolve) => queue.after(1, resolve));
  far.release();
  assert.deepEqual(seen, []);
  queue.close();
});

test('each tick has its microtasks, its storage, and leaves the next one its own', async () => {
  const queue = new Queue(), storage = new AsyncLocalStorage(), seen = [];
  for (const name of ['a', 'b']) {
    storage.run(name, () => queue.after(0, async () => {
      seen.push(storage.getStore());
      assert.notEqual(executionAsyncId(), 0);
      await null;
      seen.push(`${storage.getStore()} microtask`);
      await new Promise(setImmediate);
      seen.push(`${storage.getStore()} immediate`);
    }));
  }
  await queue.sleep(0);
  await new Promise((resolve) => setTimeout(resolve));
  assert.deepEqual(seen, ['a', 'a microtask', 'b', 'b microtask', 'a immediate', 'b immediate']);
  queue.close();
});

test('what a handler throws is an uncaught exception, and the other ticks come', () => {
  const program = `
    process.on('uncaughtException', (error) => console.log(error.message));
    for (const name of ['one', 'two']) queue.after(1, () => { throw new Error(name); });
    queue.after(1, async () => { throw new Error('rejected'); });
    queue.runSoon(() => { throw new Error('soon'); });
    queue.after(2, () => console.log('two later'));`;
  assert.deepEqual(run(program), { status: 0, stdout: 'soon\none\ntwo\nrejected\ntwo later\n', stderr: '' });
  const { status, stdout, stderr } = run(`
    queue.after(1, () => { throw new Error('mine'); });
    queue.after(1, () => console.log('not any more'));`);
  assert.deepEqual([status, stdout], [1, '']);
  assert.match(stderr, /Error: mine\n {4}at/);
});

test('what is uncaught has the storage and the domain of its handler', () => {
  const program = `
    const storage = new (require('async_hooks').AsyncLocalStorage)(), own = require('domain').create();
    process.on('uncaughtException', (error) => console.log(error.message, storage.getStore()));
    const failing = (name) => () => { throw new Error(name); };
    storage.run('mine', () => { queue.runSoon(failing('soon')); queue.after(1, failing('tick')); });
    own.on('error', (error) => console.log(error.message, 'in its domain'));
    own.run(() => queue.after(2, failing('another')));
    queue.after(3, () => console.log(storage.getStore(), process.domain?.members.length));`;
  assert.deepEqual(run(program), { status: 0, stdout: 'soon mine\ntick mine\nanother in its domain\nundefined undefined\n', stderr: '' });
});

test('Node stays for what is to come, and for nothing else', () => {
  const ends = (program) => assert.deepEqual(run(`${program}; process.on('exit', () => console.log('end'));`),
    { status: 0, stdout: 'end\n', stderr: '' }, program);
  ends('queue.after(3_600_000, () => {}).cancel()');
  ends('queue.after(3_600_000, () => {}).release()');
  ends('queue.after(3_600_000, () => {}).suspend()');
  ends('queue.after(3_600_000, () => {}).unref()');
  ends('queue.after(3_600_000, () => {}, { ref: false })');
  ends('queue.after(3_600_000, () => {}); queue.unref()');
  ends('queue.after(3_600_000, () => {}); queue.close()');
  ends('queue.after(Infinity, () => {})');
  ends('queue.after(1, () => {}).restartAfter(Infinity)');
  ends('queue.every(1, (tick) => tick.timer.reschedule({ first: Infinity }))');
  ends('queue.create(() => {}).activate({ first: 0 })');
  ends('queue.every(1, (tick) => tick.sequence === 3 && tick.timer.cancel())');
  ends("queue.start({ interval: 1, limit: 2, missed: 'delay' }, () => {})");
  ends('queue.every(3_600_000, () => queue.close()).fire()');
  ends('for (const end of [queue.close, () => {}]) queue.runSoon(end.bind(queue))');
  ends('queue.sleep(3_600_000, { ref: false })');
  const stays = (program) => assert.deepEqual(run(program), { status: 0, stdout: 'tick\n', stderr: '' }, program);
  stays("queue.after(20, () => console.log('tick'))");
  stays("queue.create(() => console.log('tick')).fire()");
  stays("queue.unref(); queue.after(20, () => console.log('tick')); queue.ref()");
  stays("queue.after(20, () => console.log('tick')).unref().ref()");
  stays("const t = queue.after(20, () => console.log('tick')); t.suspend(); setImmediate(() => t.resume())");
  stays("process.once('beforeExit', () => queue.after(20, () => console.log('tick')))");
  stays("queue.after(1, (tick) => tick.sequence < 2 ? tick.timer.fire() : console.log('tick'))");
  stays("queue.start({ interval: 1, missed: 'delay' }, (tick) => { if (tick.sequence === 3) { console.log('tick'); queue.close(); } })");
});

test('a thousand timers that restart each other at zero starve nothing', async () => {
  const queue = new Queue();
  let turns = 0;
  for (let index = 0; index < 1000; index++) queue.after(0, (tick) => tick.timer.restartAfter(0));
  while (turns < 20) {
    await new Promise(setImmediate);
    turns++;
  }
  await new Promise((resolve) => setTimeout(resolve, 1));
  queue.close();
});
