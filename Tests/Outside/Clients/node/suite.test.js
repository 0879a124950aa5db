'use strict';
// The cases of Node's own tests of timers (test/parallel/test-timers-*.js), as a table: each is a program that runs on Node's
// timers and on those of Chime, and must give the same. What a name says in brackets is the file that has the case there. No code
// is taken from it. Called by run, which says where the package is.
const assert = require('node:assert/strict');
const { AsyncLocalStorage } = require('node:async_hooks');
const { spawnSync } = require('node:child_process');
const { test } = require('node:test');
const promises = require('node:timers/promises');
const { isDeepStrictEqual } = require('node:util');

// setTimeout and so on, of a queue of Chime's. As text, because some cases are programs of their own.
const SHIM = `(Queue) => {
  const queue = new Queue();
  // As Node's, timers that are made in one go begin at one time, however slow the machine is.
  let time;
  const now = () => time ??= (setImmediate(() => { time = undefined; }).unref(), queue.now());
  class Timeout {
    constructor(timer, again) { Object.assign(this, { timer, again }); }
    refresh() { if (this.timer !== undefined) this.timer.restart(this.again()); return this; }
    ref() { this.timer?.ref(); return this; }
    unref() { this.timer?.unref(); return this; }
    hasRef() { return this.timer?.hasRef() ?? false; }
    [Symbol.dispose]() { this.close(); }
    close() { this.timer?.release(); this.timer = undefined; return this; }
  }
  const clear = (timeout) => timeout instanceof Timeout && timeout.close() && undefined;
  const make = (repeats) => (handler, delay = 0, ...values) => {
    const again = () => ({ at: now() + Math.max(1, delay), ...(repeats ? { interval: Math.max(1, delay), missed: 'delay' } : {}) });
    const call = () => {
      time = undefined;
      handler(...values);
    };
    return new Timeout(queue.start(again(), call), again);
  };
  return { queue, setTimeout: make(false), setInterval: make(true), clearTimeout: clear,
    clearInterval: clear, sleep: (delay, value, options) => queue.sleep(delay, options).then(() => value),
    ticks: (delay, options) => queue.ticks(delay, options) };
}`;
const { Queue } = require('chime-timers');
const own = { setTimeout, setInterval, clearTimeout, clearInterval, sleep: promises.setTimeout, ticks: (delay, options) => promises.setInterval(delay, undefined, options) };

const block = (duration) => {
  const end = performance.now() + duration;
  while (performance.now() < end);
};
/** Ends when the program says `done`. */
const until = (program) => new Promise((resolve, reject) => {
  const seen = [];
  try {
    program(seen, () => resolve(seen));
  } catch (error) {
    reject(error);
  }
});
const range = (count) => Array.from({ length: count }, (_, index) => index);

const cases = {
  'values are given to the handler, in order (args)': (t) => until((seen, done) => t.setTimeout((...values) => seen.push(...values) && done(), 1, 1, 'two', null)),
  'deadlines decide, and then who was first (ordering, same-timeout)': (t) => until((seen, done) => {
    for (const delay of [30, 10, 20, 10, 30, 10]) t.setTimeout(() => seen.push(delay) === 6 && done(), delay);
  }),
  'those that became due while the loop was busy come in the order of their deadlines (priority-queue)': (t) => until((seen, done) => {
    for (const delay of [9, 3, 12, 6, 1, 15]) t.setTimeout(() => seen.push(delay) === 6 && done(), delay);
    block(40);
  }),
  'a thousand, of which every third is cleared: those of one delay come in order (linked-list, priority-queue)': (t) => until((seen, done) => {
    const timers = [];
    for (const index of range(1000)) {
      const delay = 1 + (index * 7919) % 60;
      timers.push(t.setTimeout(() => (seen[delay] ??= []).push(index), delay));
    }
    for (const [index, timer] of timers.entries()) if (index % 3 === 0) t.clearTimeout(timer);
    block(80);
    t.setTimeout(done, 80);
  }),
  'nextTick and promises come between two that are due (next-tick, nested)': (t) => until((seen, done) => {
    for (const name of ['a', 'b']) {
      t.setTimeout(() => {
        seen.push(name);
        process.nextTick(() => seen.push(`tick ${name}`));
        Promise.resolve().then(() => seen.push(`promise ${name}`) && name === 'b' && done());
      }, 5);
    }
    block(20);
  }),
  'one that is made in a handler comes behind those that are due (nested)': (t) => until((seen, done) => {
    t.setTimeout(() => seen.push('first') && t.setTimeout(() => seen.push('nested') && done(), 1), 5);
    t.setTimeout(() => seen.push('second'), 5);
    block(20);
  }),
  'a handler clears itself, the next one, and one that has been (clear-in-callback, invalid-clear)': (t) => until((seen, done) => {
    const before = t.setTimeout(() => seen.push('before'), 1);
    const self = t.setTimeout(() => {
      seen.push('self');
      for (const timer of [self, next, before, undefined, null, {}]) t.clearTimeout(timer);
    }, 5);
    const next = t.setTimeout(() => seen.push('next'), 5);
    t.setTimeout(() => seen.push('last') && done(), 6);
    block(20);
  }),
  'an interval is cleared as a timeout is, and in its handler (clear-timeout-interval-equivalent)': (t) => until((seen, done) => {
    const never = t.setInterval(() => seen.push('never'), 1);
    t.clearTimeout(never);
    const timer = t.setInterval(() => seen.push('tick') === 3 && (t.clearTimeout(timer), t.setTimeout(done, 10)), 2);
    t.clearInterval(t.setTimeout(() => seen.push('nor this'), 1));
  }),
  'refresh begins the time anew (refresh)': (t) => until((seen, done) => {
    const moved = t.setTimeout(() => seen.push('moved') && done(), 30);
    t.setTimeout(() => seen.push('other'), 30);
    t.setTimeout(() => assert.equal(moved.refresh(), moved), 20);
  }),
  'refresh in the handler makes it come again, and at rest, too (refresh-in-callback)': (t) => until((seen, done) => {
    const timer = t.setTimeout(() => {
      if (seen.push(seen.length) < 3) timer.refresh();
      else if (seen.length === 3) t.setTimeout(() => timer.refresh(), 3);
      else done();
    }, 2);
  }),
  'refresh of one that was cleared does nothing (refresh)': (t) => until((seen, done) => {
    const timer = t.setTimeout(() => seen.push('cleared'), 1);
    t.clearTimeout(timer);
    timer.refresh();
    t.setTimeout(done, 10);
  }),
  'an interval that was refreshed has its interval (refresh)': (t) => until((seen, done) => {
    const timer = t.setInterval(() => seen.push('tick') === 3 && (t.clearInterval(timer), done()), 5);
    timer.refresh();
  }),
  'timeouts of 0 do not keep setImmediate away (zero-timeout, immediate-queue)': (t) => until((seen, done) => {
    let rounds = 0, isOver = false;
    const again = () => ++rounds < 1e6 && !isOver && t.setTimeout(again, 0);
    again();
    setImmediate(() => setImmediate(() => {
      isOver = true;
      seen.push(rounds < 1e6);
      done();
    }));
  }),
  'ref and unref give the timer, hasRef what they made of it (unref, api-refs)': (t) => until((seen, done) => {
    const timer = t.setTimeout(() => {}, 1000);
    seen.push(timer.hasRef(), timer.unref() === timer, timer.hasRef(), timer.unref().ref() === timer, timer.hasRef());
    t.clearTimeout(timer);
    done();
  }),
  'one that is unrefed comes while something else holds the loop (unrefd-interval-still-fires)': (t) => until((seen, done) => {
    const holder = t.setTimeout(() => {}, 60_000);
    const timer = t.setInterval(() => seen.push('tick') === 2 && (t.clearInterval(timer), t.clearTimeout(holder), done()), 2).unref();
  }),
  'dispose clears (dispose)': (t) => until((seen, done) => {
    t.setTimeout(() => seen.push('disposed'), 1)[Symbol.dispose]();
    t.setInterval(() => seen.push('disposed'), 1)[Symbol.dispose]();
    t.setTimeout(done, 10);
  }),
  'the storage is that of the call that made it, and after refresh at rest that of refresh (async-hooks)': (t) => until((seen, done) => {
    const storage = new AsyncLocalStorage();
    const timer = storage.run('made', () => t.setTimeout(() => seen.push(storage.getStore()) === 2 && done(), 1));
    t.setTimeout(() => storage.run('refreshed', () => timer.refresh()), 10);
  }),
  'a promise has its value, or its signal (promises)': async (t) => {
    const seen = [await t.sleep(1, 'value')], controller = new AbortController();
    const says = (promise) => promise.then((value) => seen.push(value), (error) => seen.push(error.name));
    await says(t.sleep(1, 'not aborted', { signal: controller.signal }));
    const pending = says(t.sleep(60_000, 'never', { signal: controller.signal }));
    controller.abort();
    await pending;
    await says(t.sleep(1, 'aborted before', { signal: controller.signal }));
    await says(t.sleep(1, 'signal is none', { signal: {} }).catch(({ name }) => Promise.resolve(name.includes('Error'))));
    return seen;
  },
  'a loop over ticks ends by break, and by its signal (interval-promise-condition, promises)': async (t) => {
    const seen = [];
    for await (const tick of t.ticks(2)) if (seen.push(tick === null) === 3) break;
    const controller = new AbortController();
    try {
      for await (const tick of t.ticks(2, { signal: controller.signal })) if (seen.push(tick === null) === 5) controller.abort();
    } catch (error) {
      seen.push(error.name);
    }
    try {
      for await (const tick of t.ticks(2, { signal: controller.signal })) seen.push(tick === null);
    } catch (error) {
      seen.push(error.name);
    }
    return seen;
  },
  'a slow loop over ticks loses none but as one (promises)': async (t) => {
    let count = 0;
    for await (const tick of t.ticks(2)) {
      count += 1 + (tick?.missed ?? 0);
      block(7);
      if (count >= 6) break;
    }
    return count >= 6;
  },
};

for (const [name, program] of Object.entries(cases)) {
  test(name, { timeout: 30_000 }, async () => {
    // Node rounds to milliseconds, and keeps timers of one delay together: on a machine that is busy with other things its order of
    // two deadlines that are near each other is now and then another one.
    for (let tries = 3; ; tries--) {
      const shim = eval(SHIM)(Queue);
      const [theirs, ours] = [await program(own), await program(shim)];
      shim.queue.close();
      assert.ok(theirs === true || theirs.length > 0 || name.match(/clear|dispose/));
      if (tries > 1 && !isDeepStrictEqual(ours, theirs)) continue;
      return assert.deepEqual(ours, theirs);
    }
  });
}

// What a process does: programs that have setTimeout and the like as `t`.
const processes = {
  'ends at once with what is unrefed alone (unref)': "t.setTimeout(() => console.log('no'), 30_000).unref(); t.setInterval(() => console.log('no'), 30_000).unref()",
  'stays for what is refed again (unref)': "t.setTimeout(() => console.log('yes'), 5).unref().ref()",
  'stays for one that is made in beforeExit (unrefed-in-beforeexit)':
    "let once = true; process.on('beforeExit', () => once && (once = false, t.setTimeout(() => console.log('late'), 1)))",
  'refs in beforeExit what was unrefed (unrefed-in-beforeexit)':
    "const timer = t.setTimeout(() => console.log('yes'), 20).unref(); let once = true; process.on('beforeExit', () => once && (once = false, timer.ref()))",
  'an interval that is unrefed in its handler holds no more (unrefed-in-callback)': // on a slow machine Node's own ticks again before it ends
    "let ticked = false; const timer = t.setInterval(() => { if (!ticked) console.log('ticked'); ticked = true; timer.unref(); }, 2)",
  'what a handler throws ends the process (interval-throw)': "t.setInterval(() => { console.log('once'); throw new Error('mine'); }, 2)",
  'what a handler throws is caught, and the others come (reset-process-domain-on-throw, uncaught-domain-ordering)':
    "process.on('uncaughtException', (error) => console.log(error.message)); for (const name of 'ab') t.setTimeout(() => { console.log(name); throw new Error(`of ${name}`); }, 2)",
  'an interval goes on after what its handler throws (interval-throw)':
    "let count = 0; process.on('uncaughtException', ({ message }) => console.log(message)); const timer = t.setInterval(() => { if (++count === 3) t.clearInterval(timer); throw new Error(count); }, 2)",
  'one that is unrefed throws, and is refed (unref-throw-then-ref)':
    "process.once('uncaughtException', () => { timer.refresh().ref(); }); let count = 0; const timer = t.setTimeout(() => { console.log(++count); if (count === 1) throw new Error(); }, 2).unref(); t.setTimeout(() => {}, 10)",
  'exit in a handler is the last (exit)': "t.setTimeout(() => process.exit(3), 2); t.setTimeout(() => console.log('no'), 20)",
};

for (const [name, program] of Object.entries(processes)) {
  test(`a process ${name}`, () => {
    const ends = (t) => {
      const { status, signal, stdout } = spawnSync(process.execPath, ['-e', `const t = ${t}; ${program}`], { encoding: 'utf8', timeout: 30_000, cwd: __dirname });
      return { status, signal, stdout };
    };
    const theirs = ends('{ setTimeout, setInterval, clearTimeout, clearInterval }');
    assert.deepEqual(ends(`(${SHIM})(require(${JSON.stringify(require.resolve('chime-timers'))}).Queue)`), theirs);
    assert.equal(theirs.signal, null);
  });
}
