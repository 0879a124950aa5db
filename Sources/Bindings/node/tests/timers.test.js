'use strict';
// What timers do, on virtual time.
const assert = require('node:assert/strict');
const { test } = require('node:test');
const { AsyncLocalStorage } = require('node:async_hooks');
const { inspect } = require('node:util');
const { Queue, VirtualQueue, State, memoryUsed } = require('..');
const { collected, failsWith, run } = require('./helping');

test('ticks come at exactly their deadlines, in order, and say what they are', () => {
  const queue = new VirtualQueue({ start: 1_700_000_000_123 }), seen = [];
  queue.every(10, (tick) => seen.push(['every', Number(tick.scheduledNs - 1_700_000_000_123_000_000n), tick.sequence, tick.missed, tick.kind]));
  queue.after(10, (tick) => seen.push(['after', tick.scheduled === tick.actual, tick.timer.state]));
  queue.at(1_700_000_000_123_000_001n, () => seen.push('at'));
  queue.advance(20.5);
  assert.deepEqual(seen, ['at', ['every', 10_000_000, 1, 0, 'due'], ['after', true, 'finished'], ['every', 20_000_000, 2, 0, 'due']]);
  assert.equal(queue.nowNs(), 1_700_000_000_143_500_000n);
  assert.equal(queue.clock, 'virtual');
});

test('each call takes a timer from state to state, and says what came of it', () => {
  const queue = new VirtualQueue(), ticks = [];
  const timer = queue.create((tick) => ticks.push(`${tick.kind} ${queue.now()}`), { label: 'idle' });
  const steps = [
    [() => timer.cancel(), 'ignored', State.IDLE], [() => timer.fire(), 'ok', State.IDLE],
    [() => timer.activate({ first: 10, interval: 20, limit: 3 }), 'ok', State.RUNNING], [() => timer.activate(), 'ignored', State.RUNNING],
    [() => timer.suspend(), 'ok', State.SUSPENDED], [() => timer.resume(), 'ok', State.RUNNING],
    [() => timer.postpone(15), 'ok', State.RUNNING], [() => timer.postponeTo(12n), 'ok', State.RUNNING],
    [() => timer.reschedule({ first: 5 }), 'ok', State.RUNNING], [() => timer.cancel(), 'ok', State.CANCELLED],
    [() => timer.restartAfter(7), 'ok', State.RUNNING], [() => timer.restartAt(8), 'ok', State.RUNNING],
    [() => timer.restart({ at: 30 }), 'ok', State.RUNNING], [() => timer.fire(), 'ok', State.RUNNING],
  ];
  for (const [call, outcome, state] of steps) assert.deepEqual([call(), timer.state], [outcome, state], String(call));
  assert.deepEqual([timer.nextDeadline, timer.remaining, queue.nextDeadline > 0], [30, 30, false]);
  assert.match(timer.explain(), /30 ms/);
  assert.match(queue.dump(), /idle/);
  queue.advance(40);
  assert.deepEqual(ticks, ['fired 0', 'due 30']);
  const { state, sequence, nextDeadline, busy, hasSchedule } = timer.info();
  assert.deepEqual([state, sequence, nextDeadline, busy, hasSchedule], ['finished', 2, Infinity, false, true]);
  assert.deepEqual([queue.stats().ticks, queue.stats().timers], [2, 0]); // at rest Chime has none
  assert.deepEqual([timer.release(), timer.release()], ['ok', 'ignored']);
  failsWith('INVALID_HANDLE', () => timer.state);
  failsWith('INVALID_HANDLE', () => timer.cancel(), /^the timer was released$/);
});

test('the schedule is obeyed: limit, missed, delay, remaining, jitter, leeway', () => {
  const run = (schedule, handler = () => {}, options = {}) => {
    const queue = new VirtualQueue(options), seen = [];
    const timer = queue.start(schedule, (tick) => {
      seen.push([tick.scheduled, tick.missed]);
      handler(queue, timer);
    });
    queue.advance(50);
    return seen;
  };
  assert.deepEqual(run({ interval: 10, limit: 2 }), [[10, 0], [20, 0]]);
  assert.deepEqual(run({ first: 0, interval: 20 }), [[0, 0], [20, 0], [40, 0]]);
  assert.deepEqual(run({ interval: 10 }, (queue) => queue.now() < 15 && queue.jump(25)), [[10, 0], [30, 1], [40, 0], [50, 0]]);
  assert.deepEqual(run({ interval: 10, missed: 'delay' }, (queue) => queue.jump(15)), [[10, 0], [35, 0]]);
  const jittered = run({ interval: 10, jitter: 5 }, undefined, { seed: 7 });
  assert.deepEqual(run({ interval: 10, jitter: 5 }, undefined, { seed: 7n }), jittered);
  assert.notDeepEqual(run({ interval: 10, jitter: 5 }, undefined, { seed: 8 }), jittered);
  const queue = new VirtualQueue({ honourLeeway: true }), at = [];
  for (const delay of [11, 12]) queue.start({ first: delay, leeway: 8 }, () => at.push(queue.nowNs()));
  const kept = queue.start({ first: 30, resume: 'remaining' }, () => at.push('kept'));
  queue.advance(25);
  assert.equal(at[0], at[1]);
  kept.suspend();
  queue.advance(100);
  assert.equal(kept.remaining, 5);
  kept.resume();
  queue.advance(5);
  assert.equal(at[2], 'kept');
});

test('a handler may do anything to its own timer, and to its queue', () => {
  const queue = new VirtualQueue(), seen = [];
  const again = queue.after(1, (tick) => seen.push('again') === 1 && tick.timer.restartAfter(1));
  queue.every(1, (tick) => seen.push(tick.timer.cancel()));
  queue.every(1, (tick) => seen.push(tick.timer.release()));
  queue.after(5, () => failsWith('WOULD_DEADLOCK', () => queue.advance(1)));
  queue.advance(6);
  assert.deepEqual(seen, ['again', 'running', 'running', 'again']);
  again.restartAfter(0);
  queue.after(0, () => seen.push(queue.close()));
  queue.after(0, () => assert.fail('a tick of a queue that was closed'));
  failsWith('SHUT_DOWN', () => queue.advance(1));
  assert.deepEqual(seen.slice(4), ['again', 'running']);
  assert.equal(queue.close(), 'ignored');
  failsWith('INVALID_HANDLE', () => queue.after(1, () => {}), /^the queue was closed$/);
  assert.equal(again.release(), 'ignored');
});

test('an outcome says whether something was changed, inside the handler and outside', () => {
  const queue = new VirtualQueue(), seen = [];
  const calls = ({ timer }) => seen.push(timer.postpone(1), timer.suspend(), timer.cancel(), timer.restartAfter(9), timer.cancel(), timer.cancel());
  const last = queue.after(1, calls);
  queue.advance(1);
  assert.deepEqual(seen, ['ignored', 'ignored', 'ignored', 'running', 'running', 'ignored']);
  assert.deepEqual([last.cancel(), last.restartAfter(9), last.cancel(), last.state], ['ignored', 'ok', 'ok', 'cancelled']);
});

test('handlers that throw lose no tick, and advance throws what they have thrown', () => {
  const queue = new VirtualQueue();
  let ticks = 0;
  const failing = (error) => () => {
    ticks++;
    throw error;
  };
  const one = new Error('one');
  queue.after(1, failing(one));
  for (let index = 0; index < 4; index++) queue.after(1, () => ticks++);
  queue.runSoon(() => ticks++);
  assert.throws(() => queue.advance(5), (error) => error === one);
  assert.deepEqual([ticks, queue.now()], [6, 5]);
  for (const error of [one, undefined, 'text']) queue.after(1, failing(error));
  assert.throws(() => queue.advance(5), (error) => error instanceof AggregateError && assert.deepEqual(error.errors, [one, undefined, 'text']) === undefined);
  const deep = () => deep() + 1;
  queue.after(1, deep);
  queue.after(1, () => ticks++);
  assert.throws(() => queue.advance(5), RangeError);
  assert.equal(ticks, 10);
  const again = queue.after(0, (tick) => tick.timer.restartAfter(0));
  failsWith('LIMIT', () => queue.advance(1));
  again.release();
  queue.advance(1);
});

test('advanceAsync goes on after what a handler throws, and past a clock that a handler moves', async () => {
  const queue = new VirtualQueue(), seen = [];
  queue.runSoon(() => seen.push('soon'));
  await queue.advanceAsync(0);
  queue.every(1, ({ sequence }) => {
    seen.push(sequence);
    if (sequence % 2 === 0) throw sequence;
  });
  await assert.rejects(queue.advanceAsync(5), ({ errors }) => assert.deepEqual(errors, [2, 4]) === undefined);
  await assert.rejects(queue.advanceAsync(1), (error) => error === 6);
  assert.deepEqual([seen, queue.now()], [['soon', 1, 2, 3, 4, 5, 6], 6]);
  queue.after(0.5, () => queue.jump(10));
  queue.after(8.5, () => seen.push('beyond the end'));
  await queue.advanceAsync(1);
  assert.deepEqual([seen.slice(7), queue.now()], [[7, 'beyond the end'], 16.5]);
  queue.after(0, () => {
    queue.close();
    throw 'closed';
  });
  await assert.rejects(queue.advanceAsync(1), (error) => error === 'closed');
});

test('functions run in order, before ticks; handlers see the storage of their makers', () => {
  const queue = new VirtualQueue(), seen = [], storage = new AsyncLocalStorage();
  storage.run('after', () => queue.after(0, () => seen.push(storage.getStore())));
  for (const name of ['first', 'second']) storage.run(name, () => queue.runSoon(() => seen.push(storage.getStore())));
  queue.advance(0);
  assert.deepEqual(seen, ['first', 'second', 'after']);
});

test('a function that is called looks at none that wait', () => {
  const queue = new VirtualQueue(), seen = [], { [Symbol.iterator]: iterator } = Map.prototype;
  let looks = 0;
  for (let index = 0; index < 100; index++) queue.runSoon(() => seen.push(index));
  Map.prototype[Symbol.iterator] = function () {
    looks++;
    return iterator.call(this);
  };
  try {
    queue.advance(0);
  } finally {
    Map.prototype[Symbol.iterator] = iterator;
  }
  assert.deepEqual([seen, looks], [Array.from({ length: 100 }, (_, index) => index), 0]);
});

test('sleepers and loops over ticks end with their time, their signal, their limit, their queue', async () => {
  const queue = new VirtualQueue(), seen = [], controller = new AbortController();
  const loop = async (name, ticks) => {
    try {
      for await (const tick of ticks) seen.push(`${name} ${tick.scheduled}`);
      seen.push(`${name} ended`);
    } catch (error) {
      seen.push(`${name} ${error.name}`);
    }
  };
  const sleeper = async (name, ...delays) => {
    try {
      for (const delay of delays) seen.push(`${name} ${(await queue.sleep(delay, { signal: controller.signal })).actual}`);
    } catch (error) {
      seen.push(`${name} ${error.name}`);
    }
  };
  const all = [loop('limit', queue.ticks({ interval: 10, limit: 2 })), loop('signal', queue.ticks(15, { signal: controller.signal })),
    loop('queue', queue.ticks(25)), sleeper('sleeper', 5, 6n * 1_000_000n, 100)];
  await queue.advanceAsync(29);
  assert.deepEqual(seen.splice(0), ['sleeper 5', 'limit 10', 'sleeper 11', 'signal 15', 'limit 20', 'limit ended', 'queue 25']);
  controller.abort();
  await Promise.all([all[1], all[3]]);
  assert.deepEqual(seen.splice(0).sort(), ['signal AbortError', 'sleeper AbortError']);
  const last = queue.sleep(1000);
  queue.close();
  await assert.rejects(last, { code: 'CHIME_ERROR_SHUT_DOWN' });
  await all[2];
  assert.deepEqual(seen, ['queue ended']);
});

test('advanceAsync gives up at an instant that promises do not let end', async () => {
  const queue = new VirtualQueue();
  let rounds = 0, isOver = false;
  const loop = async () => {
    for (; !isOver; rounds++) await queue.sleep(0);
  };
  const looping = loop();
  await assert.rejects(queue.advanceAsync(5), { code: 'CHIME_ERROR_LIMIT' });
  isOver = true;
  assert.ok(rounds >= 999 && queue.now() === 0, String(rounds));
  await Promise.all([looping, queue.advanceAsync(5)]);
  assert.equal(queue.now(), 5);
});

test('advanceAsync does all that promises have to do after each tick, as the loop does', async () => {
  const program = (queue) => new Promise((resolve) => {
    const seen = [];
    const tick = (name, then) => () => {
      seen.push(name);
      Promise.resolve().then(() => process.nextTick(() => seen.push(`${name} then`) && then?.()));
    };
    for (const name of ['soon', 'sooner']) queue.runSoon(tick(name));
    queue.create(tick('fired')).fire();
    const at = queue.nowNs() + 5_000_000n; // of all others one deadline, however slow the machine is
    queue.at(at, tick('A', () => dropped.cancel()));
    const dropped = queue.at(at, tick('dropped'));
    queue.at(at, tick('B', () => queue.after(0, tick('at once', () => resolve(seen)))));
    queue.at(at, tick('C', () => queue.runSoon(tick('function'))));
    queue.advanceAsync?.(7);
  });
  const virtual = await program(new VirtualQueue());
  assert.deepEqual(virtual, ['soon', 'sooner', 'fired', 'A', 'B', 'C', 'function', 'at once'].flatMap((name) => [name, `${name} then`]));
  assert.deepEqual(await program(new Queue()), virtual);
});

test('advanceAsync keeps nothing of timers that have ended', () => {
  const program = `
    const virtual = new chime.VirtualQueue(), used = () => (gc(), process.memoryUsage().heapUsed), [first, last] = [3000, 30_000];
    let count = 0, before;
    const next = () => {
      count++;
      if (count === first) before = used();
      if (count < last) return virtual.after(1, next);
      const grown = (used() - before) / (last - first);
      console.log(grown < 30 ? 'nothing' : grown);
    };
    virtual.after(1, next);
    virtual.advanceAsync(last);`;
  assert.deepEqual(run(program, '--expose-gc'), { status: 0, stdout: 'nothing\n', stderr: '' });
});

test('in advanceAsync, too, resume takes back what the program has suspended', async () => {
  const queue = new VirtualQueue(), seen = [];
  queue.runSoon(() => {
    seen.push(queue.resume(), queue.suspend(), queue.resume(), queue.resume());
    Promise.resolve().then(() => seen.push('promise'));
  });
  queue.runSoon(() => seen.push('next', queue.suspend()));
  queue.runSoon(() => seen.push('held'));
  await queue.advanceAsync(1);
  seen.push(queue.resume(), queue.resume());
  await queue.advanceAsync(1);
  assert.deepEqual(seen, ['ignored', 'running', 'ok', 'ignored', 'promise', 'next', 'running', 'ok', 'ignored', 'held']);
});

test('advanceAsync counts what makes itself due over the whole call, and not what is due beside it', async () => {
  const queue = new VirtualQueue(), seen = { many: 0, chain: 0 };
  for (let count = 0; count < 2500; count++) queue.after(3, () => seen.many++);
  const chain = () => ++seen.chain < 1000 && queue.after(0, chain);
  queue.after(3, chain);
  await queue.advanceAsync(5);
  assert.deepEqual([seen, queue.now()], [{ many: 2500, chain: 1000 }, 5]);
  const endless = {
    sleeper: (other, again) => other.sleep(0).then(() => again() && endless.sleeper(other, again)),
    functions: (other, again) => other.runSoon(() => again() && endless.functions(other, again)),
    fired: (other, again) => other.create(({ timer }) => again() && timer.fire()).fire(),
    past: (other, again) => other.at(-1, ({ timer }) => again() && Promise.resolve().then(() => timer.restartAt(-1))),
    slow: (other, again) => other.after(2, ({ timer }) => again() && other.jump(1) === undefined && timer.restartAfter(0)),
  };
  for (const [name, begin] of Object.entries(endless)) {
    const other = new VirtualQueue();
    let rounds = 0, isOver = false;
    for (let count = 0; count < 5; count++) other.every(1, () => {});
    begin(other, () => !isOver && ++rounds);
    await assert.rejects(other.advanceAsync(2.5), { code: 'CHIME_ERROR_LIMIT' }, name);
    assert.ok(rounds >= 1000 && rounds < 1010, `${name}: ${rounds}`);
    isOver = true;
    await other.advanceAsync(2.5);
  }
});

test('a timer at rest costs nothing of Chime, and a limit counts what can still tick', () => {
  const queue = new VirtualQueue({ timerLimit: 10 });
  let ticks = 0;
  const next = () => ++ticks < 200_000 && queue.after(1, next);
  queue.after(1, next);
  const before = memoryUsed();
  queue.advance(200_000);
  assert.deepEqual([ticks, queue.stats().timers, memoryUsed() - before], [200_000, 0, 0]);
  const kept = [];
  const ways = [
    () => queue.after(0, () => {}), () => queue.create(() => {}), () => queue.every(1, ({ timer }) => timer.cancel()),
    () => queue.start({ interval: 0.1, limit: 2 }, () => {}), () => queue.start({ interval: 1, limit: 5 }, ({ timer }) => timer.release()),
  ];
  for (const way of ways) for (let count = 0; count < 20; count++) kept.push(way()) && queue.advance(1);
  for (let count = 0; count < 20; count++) kept.push(queue.after(5, () => {})) && kept.at(-1).cancel();
  assert.equal(queue.stats().timers, 0);
  for (const timer of kept.slice(0, 10)) timer.restartAfter(1);
  failsWith('LIMIT', () => queue.after(1, () => {}));
  failsWith('LIMIT', () => kept[10].restartAfter(1));
  queue.advance(1);
  assert.deepEqual([kept[10].restartAfter(1), queue.stats().timers], ['ok', 1]);
});

test('a timer at rest is what it was: calls, queries, ticks', () => {
  const queue = new VirtualQueue(), seen = [], generations = new Set();
  const timer = queue.create((tick) => {
    seen.push([tick.kind, tick.sequence, queue.now()]);
    assert.equal(tick.generation, timer.generation);
  });
  const full = { interval: 10, leeway: 2, jitter: 1, limit: 2, missed: 'coalesce', resume: 'coalesce' };
  const steps = [
    // call, outcome, state, then what ticks in the next 100 ms
    [() => timer.cancel(), 'ignored', 'idle'], [() => timer.suspend(), 'ignored', 'idle'], [() => timer.resume(), 'ignored', 'idle'],
    [() => timer.postpone(5), 'ignored', 'idle'], [() => timer.postponeTo(5), 'ignored', 'idle'],
    [() => timer.setInterval(5), 'ignored', 'idle'], [() => timer.fire(), 'ok', 'idle', [['fired', 1, 0]]],
    [() => timer.reschedule({ first: 3 }), 'ok', 'idle'], [() => timer.fire(), 'ok', 'idle', [['fired', 2, 100]]],
    [() => timer.activate(), 'ok', 'running', [['due', 1, 203]]],
    [() => timer.fire(), 'ok', 'finished', [['fired', 2, 300]]], [() => timer.fire() && timer.restartAfter(4), 'ok', 'running', [['due', 1, 404]]],
    [() => timer.restart(), 'ok', 'running', [['due', 1, 504]]], [() => timer.restartAt(650), 'ok', 'running', [['due', 1, 650]]],
    [() => timer.restart() && timer.cancel(), 'ok', 'cancelled'], [() => timer.fire(), 'ignored', 'cancelled'],
    [() => timer.restart(full) && timer.cancel(), 'ok', 'cancelled'], [() => timer.setInterval(20), 'ok', 'cancelled'],
    [() => timer.reschedule({ interval: 10, limit: 2 }), 'ok', 'cancelled'],
    [() => timer.activate(), 'ok', 'running', [['due', 1, 710], ['due', 2, 720]]],
    [() => timer.fire() && timer.cancel(), 'ok', 'finished'], [() => timer.setInterval(7), 'ok', 'finished'],
    [() => timer.restart(), 'ok', 'running', [['due', 1, 810], ['due', 2, 817]]],
  ];
  for (const [call, outcome, state, ticks = []] of steps) {
    assert.deepEqual([call(), timer.state], [outcome, state], String(call));
    generations.add(timer.generation);
    if (ticks.length > 0) {
      queue.advance(100);
      assert.deepEqual(seen.splice(0), ticks, String(call));
    }
    if (timer.state !== 'running') assert.deepEqual([timer.nextDeadline, timer.remaining, queue.stats().timers], [Infinity, Infinity, 0]);
  }
  const { generation, ...info } = timer.info();
  assert.deepEqual(info, {
    state: 'finished', sequence: 2, missed: 0, limit: 2, dueCount: 2, busy: false, hasSchedule: true, nextDeadline: Infinity, interval: 7,
    leeway: 0, jitter: 0,
  });
  assert.deepEqual([...generations], [...generations].sort((one, other) => one - other));
  assert.match(timer.explain(), /finished/);
  const wrong = [{ interval: 1, leeway: 2 }, { interval: 1, jitter: 2 }, { at: 1, resume: 'remaining' }];
  for (const schedule of wrong) {
    for (const call of [() => timer.reschedule(schedule), () => timer.activate(schedule)]) failsWith('INVALID_ARGUMENT', call);
  }
  timer.reschedule({ first: 1, resume: 'remaining' });
  failsWith('INVALID_ARGUMENT', () => timer.restartAt(5));
  for (const call of [() => timer.setInterval(0), () => timer.postpone(-1), () => queue.create(() => {}).reschedule()]) failsWith('INVALID_ARGUMENT', call);
  queue.close();
  for (const call of [() => timer.state, () => timer.restart(), () => timer.fire(), () => timer.schedule, () => queue.create(() => {})]) {
    failsWith('INVALID_HANDLE', call, /closed/);
  }
  assert.equal(timer.release(), 'ignored');
});

test('a schedule is checked at rest after collections, too', async () => {
  const queue = new VirtualQueue(), timer = queue.every(10, () => {});
  timer.cancel();
  assert.equal(timer.reschedule({ interval: 20 }), 'ok'); // checks by a timer of its own
  const watched = new VirtualQueue(); // younger than that one's queue
  let isCollected = false;
  const registry = new FinalizationRegistry(() => {
    isCollected = true;
  });
  registry.register(watched.create(() => {}), undefined);
  await collected(() => isCollected);
  assert.deepEqual([timer.reschedule({ interval: 30 }), timer.setInterval(40), timer.schedule.interval], ['ok', 'ok', 40]);
  failsWith('INVALID_ARGUMENT', () => timer.reschedule({ interval: 1, leeway: 2 }));
});

test('an extra tick changes nothing but the sequence, at rest, too', () => {
  const queue = new VirtualQueue();
  const timer = queue.start({ interval: 10, limit: 5 }, () => {});
  queue.jump(35);
  queue.advance(15);
  const before = timer.info();
  assert.deepEqual([before.state, before.sequence, before.missed, before.dueCount], ['finished', 3, 2, 5]);
  assert.equal(timer.fire(), 'ok');
  assert.deepEqual(timer.info(), before);
  queue.advance(0);
  assert.deepEqual(timer.info(), { ...before, sequence: 4 });
  assert.equal(timer.fire(), 'ok');
  assert.equal(timer.reschedule({ interval: 10, limit: 5 }), 'ok'); // counts anew
  assert.deepEqual([timer.info().missed, timer.info().dueCount], [2, 0]);
  queue.advance(0);
  assert.equal(timer.restart(), 'ok');
  assert.deepEqual([timer.info().sequence, timer.info().missed], [0, 0]);
  const once = queue.start({ first: 5, limit: 3 }, () => {});
  const running = once.schedule;
  queue.advance(5);
  assert.deepEqual(once.schedule, running); // one tick needs no limit
});

test('a timer gives the schedule that it has, running and at rest', () => {
  const queue = new VirtualQueue(), timer = queue.create(() => {});
  assert.equal(timer.schedule, undefined);
  const none = { interval: 0, leeway: 0, jitter: 0, limit: 0, missed: 'coalesce', resume: 'coalesce' };
  const steps = [
    [() => timer.reschedule({ first: 3 }), { first: 3, ...none }], [() => timer.restart(), { first: 3, ...none }],
    [() => timer.restartAfter(5), { first: 5, ...none }], [() => timer.restartAt(9), { at: 9, ...none }],
    [() => timer.postpone(50), { at: 9, ...none }], [() => timer.cancel(), { at: 9, ...none }],
    [() => timer.restart({ interval: 10, leeway: 8, jitter: 6, limit: 7 }), { ...none, first: 10, interval: 10, leeway: 8, jitter: 6, limit: 7 }],
    [() => timer.setInterval(5), { ...none, first: 10, interval: 5, leeway: 5 - 1e-6, jitter: 5, limit: 7 }],
    [() => timer.cancel() && timer.setInterval(4), { ...none, first: 10, interval: 4, leeway: 4 - 1e-6, jitter: 4, limit: 7 }],
    [() => timer.restart({ at: 5, interval: 1, missed: 'delay' }), { ...none, at: 5, interval: 1, missed: 'delay' }],
    [() => timer.restart({ first: Infinity, resume: 'remaining' }), { ...none, first: Infinity, resume: 'remaining' }],
  ];
  for (const [call, schedule] of steps) assert.deepEqual([call(), timer.schedule], ['ok', schedule], String(call));
  assert.equal(timer.restart(timer.schedule), 'ok');
});

test('a handler sees the storage of the call that has started its timer at rest, as with refresh()', () => {
  const queue = new VirtualQueue(), seen = [], storage = new AsyncLocalStorage();
  const timer = storage.run('made', () => queue.after(5, () => seen.push(storage.getStore())));
  const calls = [() => timer.restartAfter(5), () => timer.restart(), () => timer.restartAt(queue.now()), () => timer.activate(), () => timer.fire()];
  storage.run('moved', calls[0]); // not at rest
  queue.advance(5);
  for (const [index, call] of calls.entries()) {
    storage.run(index, call);
    queue.advance(5);
  }
  assert.deepEqual(seen, ['made', 0, 1, 2, 3, 4]);
});

test('advanceAsync stands where its signal aborts', async () => {
  const queue = new VirtualQueue(), controller = new AbortController();
  let ticks = 0;
  queue.every(1, () => ++ticks === 3 && controller.abort('mine'));
  await assert.rejects(queue.advanceAsync(10, { signal: controller.signal }), (error) => error === 'mine');
  assert.deepEqual([ticks, queue.now()], [3, 3]);
  await queue.advanceAsync(2);
  assert.deepEqual([ticks, queue.now()], [5, 5]);
});

test('a suspended queue calls nothing until it is resumed, as often as it was suspended', async () => {
  const queue = new VirtualQueue(), seen = [];
  queue.every(10, ({ missed }) => seen.push(missed));
  queue.runSoon(() => seen.push('soon'));
  assert.deepEqual([queue.resume(), queue.suspend(), queue.suspend(), queue.resume()], ['ignored', 'ok', 'ok', 'ok']);
  queue.advance(25);
  await queue.advanceAsync(10);
  assert.deepEqual([seen.splice(0), queue.now(), queue.nextDeadline], [[], 35, Infinity]);
  queue.resume();
  queue.after(8, () => seen.push(queue.suspend()));
  await queue.advanceAsync(30);
  assert.deepEqual([seen, queue.now(), queue.resume()], [['soon', 2, 0, 'running'], 65, 'ok']);
  const real = new Queue(), order = [];
  real.suspend();
  real.once(0, () => order.push('tick') && real.close());
  await new Promise((resolve) => setTimeout(resolve, 5));
  order.push(real.resume());
  while (order.length < 2) await new Promise(setImmediate);
  assert.deepEqual(order, ['ok', 'tick']);
});

test('once leaves nothing: neither natively nor for a limit', async () => {
  const queue = new VirtualQueue({ timerLimit: 10 });
  let ticks = 0;
  const next = (tick) => ++ticks < 2000 && queue.once(1, next) === undefined && tick.timer.state;
  queue.once(1, next);
  for (let count = 0; count < 8; count++) queue.once(5000, () => ticks++, { label: 'last' });
  queue.advance(5000);
  assert.deepEqual([ticks, queue.stats().timers], [2008, 0]);
  queue.once(1, ({ timer }) => ticks++ === 2008 && timer.restartAfter(7)); // as long as it runs again, it is there
  queue.advance(8);
  assert.deepEqual([ticks, queue.stats().timers], [2010, 0]);
  failsWith('INVALID_ARGUMENT', () => queue.once(-1, () => {}));
  failsWith('INVALID_ARGUMENT', () => queue.once(1));
  const real = new Queue();
  await new Promise((resolve) => real.once(1, resolve));
  real.close();
});

test('advanceAsync ends under fake timers, and where others have moved the clock', async () => {
  const before = globalThis.setImmediate;
  globalThis.setImmediate = () => {};
  try {
    for (const move of [() => {}, (queue) => queue.advance(10), (queue) => queue.jump(10)]) {
      const queue = new VirtualQueue();
      let ticks = 0;
      queue.every(2, () => ticks++);
      const promise = queue.advanceAsync(3);
      move(queue);
      await promise;
      assert.ok(ticks > 0);
      queue.close();
    }
  } finally {
    globalThis.setImmediate = before;
  }
});

test('an advance without end is refused, and to the next deadline as long as there is one comes to the end', async () => {
  const queue = new VirtualQueue();
  const timer = queue.every(1, (tick) => tick.sequence === 5 && tick.timer.cancel());
  for (const endless of [Infinity, 1e300, 2n ** 63n - 1n, 2n ** 70n]) {
    failsWith('INVALID_ARGUMENT', () => queue.advance(endless));
    await assert.rejects(queue.advanceAsync(endless), { code: 'CHIME_ERROR_INVALID_ARGUMENT', message: /needs an end/ });
  }
  assert.deepEqual([timer.info().sequence, queue.now()], [0, 0]);
  while (queue.nextDeadline < Infinity) queue.advance(queue.nextDeadline - queue.now());
  assert.deepEqual([timer.info().sequence, queue.now()], [5, 5]);
});

test('a Date of another realm is a Date', () => {
  const queue = new Queue({ clock: 'wall' });
  queue.at(require('node:vm').runInNewContext('new Date(8e15)'), () => {}).release();
  queue.close();
});

test('a time of today reads back as the millisecond that it is', () => {
  const start = Date.UTC(2026, 10, 29), queue = new VirtualQueue({ start: new Date(start) }), read = [], asked = [];
  for (let later = 1; later <= 256; later++) { // a double has room for each millisecond, and not for its nanoseconds
    const date = new Date(start + later);
    const timer = queue.at(date, (tick) => read.push(tick.scheduled, tick.actual, queue.now()));
    read.push(timer.nextDeadline, timer.info().nextDeadline, timer.schedule.at);
    asked.push(...Array(6).fill(date.getTime()));
  }
  queue.advance(300);
  assert.deepEqual(read.sort(), asked.sort());
  // Between two of them it is the nearest double, on either side of zero, and reads back as the nanosecond that had room before.
  for (const [at, milliseconds] of [[1_795_910_400_001_500_000n, 1_795_910_400_001.5], [-1_795_910_400_001_000_000n, -1_795_910_400_001]]) {
    const timer = queue.create(() => {});
    timer.restartAt(at);
    assert.equal(timer.schedule.at, milliseconds);
  }
  for (const nanoseconds of [1n, 999_999n, 1_000_001n, 123_456_789_123_457n, BigInt(Number.MAX_SAFE_INTEGER)]) {
    const timer = queue.create(() => {});
    timer.restartAt(nanoseconds);
    timer.restartAt(timer.schedule.at);
    assert.equal(timer.schedule.at, Number(nanoseconds) / 1e6);
  }
});

test('virtual time that begins with a Date takes Dates, as the wall clock does', () => {
  const queue = new VirtualQueue({ start: new Date('2026-03-28T12:00:00Z') }), seen = [];
  const timer = queue.at(new Date('2026-03-29T00:30:00Z'), (tick) => {
    seen.push(new Date(tick.scheduled).toISOString());
    if (seen.length < 3) tick.timer.restartAt(new Date(tick.scheduled + 86_400_000));
  });
  queue.advance(7 * 86_400_000);
  assert.deepEqual(seen, [29, 30, 31].map((day) => `2026-03-${day}T00:30:00.000Z`));
  timer.restart({ at: new Date('2026-04-05T00:00:00Z') });
  assert.deepEqual([timer.postponeTo(new Date('2026-04-06T00:00:00Z')), queue.clock, queue.now()], ['ok', 'virtual', Date.UTC(2026, 3, 4, 12)]);
  assert.equal(timer.remaining, 1.5 * 86_400_000);
  failsWith('INVALID_ARGUMENT', () => new VirtualQueue({ start: new Date(NaN) }), /start must not be NaN/);
  failsWith('INVALID_ARGUMENT', () => new VirtualQueue().at(new Date(), () => {}), /\{ start: date \}/);
  failsWith('INVALID_ARGUMENT', () => new Queue().at(new Date(), () => {}), /\{ clock: 'wall' \}/);
});

test('a tick can be logged as JSON', () => {
  const queue = new VirtualQueue(), lines = [];
  const { generation } = queue.after(1.5, (tick) => lines.push(JSON.stringify({ tick })));
  queue.advance(2);
  assert.deepEqual(lines, [`{"tick":{"kind":"due","generation":${generation},"sequence":1,"missed":0,"scheduled":1.5,"actual":1.5}}`]);
});

test('a queue, and a timer of one that was closed, say what they are', () => {
  for (const [type, name] of [[Queue, 'Queue'], [VirtualQueue, 'VirtualQueue']]) {
    const queue = new type({ label: 'idle' }), running = queue.after(1, () => {}), idle = queue.create(() => {});
    assert.deepEqual([inspect(queue), inspect(new type())], [`${name} { 'idle', 1 timer }`, `${name} { 0 timers }`]);
    queue.close();
    assert.equal(inspect(queue), `${name} { 'idle', closed }`);
    for (const timer of [running, idle]) {
      for (const call of [() => timer.state, () => timer.cancel(), () => timer.restart({ first: 1 }), () => timer.info(), () => timer.schedule]) {
        failsWith('INVALID_HANDLE', call, /^the queue was closed$/);
      }
      assert.equal(timer.release(), 'ignored');
    }
  }
});

test('a queue lists its timers: those that run, that are suspended, that are to tick once more', () => {
  for (const queue of [new Queue(), new VirtualQueue()]) {
    const lists = (what, ...timers) => assert.deepEqual(new Set(queue.timers()), new Set(timers), what);
    lists('none');
    const timer = queue.after(1000, () => {}), other = queue.every(1000, () => {}), idle = queue.create(() => {});
    queue.once(1000, () => {});
    const nobodys = queue.timers().find((one) => one !== timer && one !== other);
    lists('running', timer, other, nobodys);
    const steps = [
      [() => timer.suspend(), timer], [() => timer.restartAfter(Infinity), timer], [() => timer.suspend(), timer],
      [() => timer.resume(), timer], [() => timer.cancel()], [() => timer.restart(), timer], [() => timer.release()],
      [() => idle.fire(), idle], [() => idle.cancel()], [() => idle.restartAfter(Infinity), idle], [() => idle.release()],
    ];
    for (const [call, ...more] of steps) {
      call();
      lists(String(call), other, nobodys, ...more);
    }
    assert.equal(queue.timers().length, queue.stats().timers);
    other.suspend();
    queue.close();
    failsWith('INVALID_HANDLE', () => queue.timers(), /closed/);
  }
  const queue = new VirtualQueue();
  const last = queue.after(1, (tick) => assert.deepEqual(queue.timers(), []) && tick.timer.restartAfter(1));
  queue.advance(1);
  assert.deepEqual([queue.timers(), last.state], [[], 'finished']);
});

test('a loop over ticks waits while its timer is suspended', async () => {
  const queue = new VirtualQueue(), seen = [];
  const loop = (async () => {
    for await (const tick of queue.ticks({ interval: 10, limit: 3 })) {
      seen.push(tick.scheduled);
      if (seen.length === 1) tick.timer.suspend();
    }
    seen.push('ended');
  })();
  await queue.advanceAsync(12);
  const [suspended] = queue.timers();
  await queue.advanceAsync(3);
  assert.deepEqual([seen, suspended.resume()], [[10], 'ok']);
  await queue.advanceAsync(50);
  await loop;
  assert.deepEqual(seen, [10, 20, 30, 'ended']);
});

test('a loop over ticks ends with its timer, whoever ends that', { timeout: 60_000 }, async () => {
  for (const [end, ticks] of [['cancel', [10, 'ended']], ['release', [10, 'ended']], ['restart', [10, 22, 'ended']]]) {
    const queue = new VirtualQueue(), seen = [];
    const loop = (async () => {
      for await (const tick of queue.ticks(10)) seen.push(tick.scheduled);
      seen.push('ended');
    })();
    await queue.advanceAsync(12);
    const [timer] = queue.timers();
    timer[end](...(end === 'restart' ? [{ first: 10 }] : []));
    await queue.advanceAsync(10);
    assert.equal(await Promise.race([loop, queue.advanceAsync(0).then(() => 'waits')]), undefined, end);
    assert.deepEqual([seen, queue.timers()], [ticks, []]);
  }
});

test('a sleeper whose timer somebody stops does not wait for ever', { timeout: 60_000 }, async () => {
  for (const end of ['cancel', 'release']) {
    const queue = new VirtualQueue(), { signal } = new AbortController();
    const sleeps = [queue.sleep(10), queue.sleep(10, { signal })];
    await queue.advanceAsync(0);
    for (const timer of queue.timers()) timer[end]();
    for (const sleep of sleeps) {
      const waits = queue.advanceAsync(20).then(() => 'waits');
      await assert.rejects(Promise.race([sleep, waits]), { code: 'CHIME_ERROR_SHUT_DOWN', message: 'the timer was stopped' });
    }
  }
});
