'use strict';
// What is wrong with an argument is said, in JavaScript's words, and changes nothing; index.d.ts has what there is.
const assert = require('node:assert/strict');
const { test } = require('node:test');
const { execFileSync, spawnSync } = require('node:child_process');
const { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { delimiter, join } = require('node:path');
const chime = require('..');
const { failsWith } = require('./helping');
const { Queue, VirtualQueue, Timer } = chime;

const noop = () => {};
const compiler = (process.env.PATH ?? '').split(delimiter).map((directory) => join(directory, 'tsc')).find(existsSync);

test('each member of options is checked, and none is overlooked', () => {
  const queue = new VirtualQueue();
  const wrong = {
    label: [1, null, 'a\0b', {}], clock: ['utc', 1, null], timerLimit: [-1, 1.5, '1', 2 ** 60, null], start: [-1, NaN, '1', -1n],
    seed: [-1, 1.5, 2n ** 64n, '1'], honourLeeway: [1, 'yes', null], ref: [1, null], first: [-1, NaN, '1', null, {}, -1n],
    at: [NaN, '1', null, new Date(), {}], interval: [-1, NaN, '1', null], leeway: [-1, NaN, '1'], jitter: [-1, NaN, '1'],
    limit: [-1, 1.5, '1', 1n], missed: ['skip', 1, null], resume: ['', 0], signal: [1, null, {}], nonsense: [1, undefined],
  };
  const taking = {
    Queue: [(options) => new Queue(options), ['label', 'clock', 'timerLimit', 'nonsense']],
    VirtualQueue: [(options) => new VirtualQueue(options), ['label', 'timerLimit', 'start', 'seed', 'honourLeeway', 'nonsense']],
    start: [(schedule) => queue.start(schedule, noop), ['first', 'at', 'interval', 'leeway', 'jitter', 'limit', 'missed', 'resume', 'nonsense']],
    after: [(options) => queue.after(1, noop, options), ['label', 'ref', 'nonsense']],
    create: [(options) => queue.create(noop, options), ['label', 'ref', 'nonsense']],
  };
  for (const [call, names] of Object.values(taking)) {
    for (const name of names) for (const value of wrong[name]) failsWith('INVALID_ARGUMENT', () => call({ [name]: value }), new RegExp(name));
    for (const value of [null, 1, 'text', []]) failsWith('INVALID_ARGUMENT', () => call(value));
  }
  assert.equal(queue.stats().timers, 0);
  failsWith('INVALID_ARGUMENT', () => queue.start({ first: 1, at: 1 }, noop), /exclude/);
  failsWith('INVALID_ARGUMENT', () => queue.start({ interval: 1, leeway: 2 }, noop), /leeway/);
  failsWith('INVALID_ARGUMENT', () => queue.start({ at: 1, resume: 'remaining' }, noop));
  failsWith('LIMIT', () => {
    const limited = new VirtualQueue({ timerLimit: 1 });
    limited.after(1, noop);
    limited.after(1, noop);
  });
});

test('what stands for a schedule by mistake is refused with what to write instead', async () => {
  const queue = new Queue({ clock: 'wall' }), timer = queue.create(noop), date = new Date();
  for (const [value, text] of [[300, /\{ first: 300 \}/], [300n, /\{ first: 300n \}/], [date, /\{ at: date \}/], ['300', /\{ first: 300 \}/]]) {
    for (const call of [() => queue.start(value, noop), () => timer.restart(value), () => timer.activate(value), () => timer.reschedule(value)]) {
      failsWith('INVALID_ARGUMENT', call, text);
    }
  }
  await assert.rejects(queue.ticks(date).next(), /\{ at: date \}/);
  queue.close();
});

test('one treatment of signals: anything that index.d.ts calls one', async () => {
  const queue = new VirtualQueue();
  const signalOf = (more) => ({ aborted: true, addEventListener: noop, removeEventListener: noop, ...more });
  const waits = [(signal) => queue.sleep(1, { signal }), (signal) => queue.ticks(1, { signal }).next(),
    (signal) => queue.advanceAsync(0, { signal })];
  for (const wait of waits) {
    await assert.rejects(wait(signalOf()), { name: 'AbortError', code: 20 });
    await assert.rejects(wait(signalOf({ reason: 'mine' })), (error) => error === 'mine');
    await assert.rejects(wait(AbortSignal.abort('mine')), (error) => error === 'mine');
    const listeners = [], later = signalOf({ aborted: false, addEventListener: (_, listener) => listeners.push(listener) });
    const waiting = wait(later);
    later.aborted = true;
    setImmediate(() => listeners.forEach((listener) => listener()));
    await assert.rejects(waiting, { name: 'AbortError' });
  }
  assert.equal(queue.stats().timers, 0);
});

test('durations, deadlines and functions are checked in each call', async () => {
  const queue = new VirtualQueue(), timer = queue.after(10, noop);
  const durations = [(d) => queue.after(d, noop), (d) => queue.every(d, noop), (d) => queue.advance(d), (d) => queue.jump(d),
    (d) => timer.postpone(d), (d) => timer.restartAfter(d)];
  for (const call of durations) for (const value of [undefined, null, '1', NaN, -1, -1n, {}]) failsWith('INVALID_ARGUMENT', () => call(value));
  for (const call of [(d) => queue.at(d, noop), (d) => timer.postponeTo(d), (d) => timer.restartAt(d)]) {
    for (const value of [undefined, null, '1', NaN, {}]) failsWith('INVALID_ARGUMENT', () => call(value));
    failsWith('INVALID_ARGUMENT', () => call(new Date()), /wall/);
  }
  for (const value of [undefined, null, 'f', {}, function* () {}, async function* () {}]) {
    for (const call of [(f) => queue.after(1, f), (f) => queue.every(1, f), (f) => queue.start({ first: 1 }, f), (f) => queue.create(f),
      (f) => queue.runSoon(f)]) failsWith('INVALID_ARGUMENT', () => call(value));
  }
  for (const value of [0, 0n, 1e-7]) {
    for (const options of [undefined, {}]) failsWith('INVALID_ARGUMENT', () => queue.every(value, noop, options), /interval/);
    await assert.rejects(queue.ticks(value).next(), /interval/);
  }
  await assert.rejects(queue.ticks().next(), /interval/);
  failsWith('INVALID_ARGUMENT', () => new Timer(), /made by queues/);
  failsWith('INVALID_ARGUMENT', () => queue.create(noop).activate());
  await assert.rejects(queue.sleep('1'), { code: 'CHIME_ERROR_INVALID_ARGUMENT' });
  await assert.rejects(queue.sleep(1, { signal: 1 }), { code: 'CHIME_ERROR_INVALID_ARGUMENT' });
  await assert.rejects(queue.sleep(1, { signal: AbortSignal.abort() }), { name: 'AbortError' });
  assert.deepEqual([timer.remaining, queue.stats().timers], [10, 1]);
});

test('extremes are for ever, or exact', () => {
  const queue = new VirtualQueue({ start: 1n });
  for (const value of [Infinity, Number.MAX_VALUE, 2n ** 63n - 1n, 2n ** 70n, 2n ** 640n, 9.3e12]) {
    assert.equal(queue.after(value, noop).nextDeadline, Infinity, String(value));
  }
  for (const value of [-Infinity, -Number.MAX_VALUE, -(2n ** 70n)]) assert.equal(queue.at(value, noop).remaining, 0, String(value));
  for (const [value, exact] of [[1.1, 1_100_000n], [0.1 + 0.2, 300_000n], [5e-7, 1n], [1_700_000_000_123.5, 1_700_000_000_123_500_000n]]) {
    const at = queue.at(value, noop);
    assert.equal(BigInt(Math.round(at.nextDeadline * 1e6)) - exact < 300n, true, String(value));
    queue.jump(0);
    at.release();
  }
  const exactly = new VirtualQueue({ start: 1_700_000_000_123.5 });
  assert.equal(exactly.nowNs(), 1_700_000_000_123_500_000n);
});

test('what has another receiver, or lies about its type, is refused and not followed', () => {
  const queue = new VirtualQueue(), timer = queue.after(1, noop);
  for (const type of [Queue, VirtualQueue, Timer]) {
    for (let from = type.prototype; from !== Object.prototype; from = Object.getPrototypeOf(from)) {
      for (const name of Object.getOwnPropertyNames(from).filter((name) => name !== 'constructor')) {
        const { get, value } = Object.getOwnPropertyDescriptor(from, name);
        for (const other of [{}, Object.create(type.prototype), type === Timer ? queue : timer]) {
          let result;
          try {
            result = (get ?? value).call(other, 1, noop);
          } catch (error) {
            assert.ok(error instanceof TypeError || error instanceof chime.ChimeError, String(error));
          }
          result?.catch?.(noop);
          result?.next?.().catch(noop);
        }
      }
    }
  }
  failsWith('INVALID_ARGUMENT', () => new (Object.getPrototypeOf(Queue))(), /new Queue/);
});

test('index.d.ts declares what is exported, and each class has the members that it declares', () => {
  const text = readFileSync(join(__dirname, '../index.d.ts'), 'utf8').replace(/\/\*\*.*?\*\//gs, '');
  const exported = [...text.matchAll(/^export (?:class|const|function) (\w+)/gm)].map(([, name]) => name);
  assert.deepEqual([...new Set(exported)].sort(), Object.keys(chime).sort());
  const declared = (name) => {
    const [, body] = text.match(new RegExp(`(?:class|interface) ${name}(?: implements \\w+)? \\{\\n(.*?)^\\}`, 'ms'));
    return [...body.matchAll(/^ {2}(?:readonly )?(\w+)[(:]/gm)].map(([, member]) => member).filter((member) => member !== 'constructor');
  };
  const has = (object, names) => assert.deepEqual(names.filter((name) => !(name in object)), []);
  has(Timer.prototype, declared('Timer'));
  const used = text.replace(/'[^']*'/g, '').matchAll(/(?<!\w)[A-Z]\w*[a-z]\w*/g); // and there is no need for other declarations
  const language = ['Error', 'Date', 'Promise', 'AsyncGenerator', 'Infinity', 'Symbol'];
  assert.deepEqual([...used].map(([name]) => name).filter((name) => !new RegExp(`(class|interface|type|const) ${name}\\b`).test(text) && !language.includes(name)), []);
  for (const [, name] of text.matchAll(/\bSymbol\.(\w+)/g)) assert.match(text, new RegExp(`interface SymbolConstructor \\{\\s+readonly ${name}:`));
  for (const type of [Queue, VirtualQueue]) has(type.prototype, [...declared('AnyQueue'), ...declared(type.name)]);
  const members = new Set(['Timer', 'AnyQueue', 'Queue', 'VirtualQueue'].flatMap(declared));
  for (const type of [Timer, Queue, VirtualQueue, Object.getPrototypeOf(Queue)]) {
    const own = Object.getOwnPropertyNames(type.prototype).filter((name) => name !== 'constructor');
    assert.deepEqual(own.filter((name) => !members.has(name)), [], type.name);
  }
});

test('types: either first or at, and no other mistake that TypeScript can see', { skip: !compiler && 'no tsc' }, () => {
  const program = `
import { Queue, VirtualQueue, Schedule, Timer, Tick } from '${join(__dirname, '..')}';
const queue = new Queue({ clock: 'wall' }), virtual = new VirtualQueue(), handler = (tick: Tick) => tick.timer.cancel();
const timer: Timer = queue.start({ first: 1, interval: 2n, missed: 'delay', resume: 'remaining' }, handler);
queue.start({ at: new Date(), interval: 1, resume: 'coalesce' }, handler);
queue.start({ interval: 1 }, handler);
queue.start({}, async () => {});
const again: Schedule | undefined = timer.schedule;
timer.restart(again);
const nothing: Schedule = { first: undefined, at: 5 };
queue.sleep(1, { signal: new AbortController().signal }).then((tick) => tick.missed);
virtual.advanceAsync(1, { signal: new AbortController().signal });
queue.start({ first: 1, at: 1 }, handler); // refused
queue.start({ at: 1, resume: 'remaining' }, handler); // refused
queue.start({ first: '1' }, handler); // refused
queue.start(300, handler); // refused
queue.after(1); // refused
queue.advance(1); // refused
timer.restart({ interval: 1, missed: 'skip' }); // refused
new Timer(); // refused
`.trim();
  const directory = mkdtempSync(join(tmpdir(), 'chime-'));
  const file = join(directory, 'program.ts');
  writeFileSync(file, program);
  const { stdout } = spawnSync(compiler, ['--noEmit', '--strict', '--target', 'es2022', '--lib', 'es2022,dom', '--module', 'commonjs', file],
    { encoding: 'utf8' });
  rmSync(directory, { recursive: true });
  const lines = program.split('\n'), refused = new Set([...stdout.matchAll(/program\.ts\((\d+),/g)].map(([, line]) => Number(line)));
  assert.deepEqual(lines.filter((line, index) => line.endsWith('// refused') !== refused.has(index + 1)), [], stdout);
});

test('the addon is hardened', { skip: process.platform !== 'linux' }, () => {
  const addon = join(__dirname, '../build/chime.node');
  assert.match(execFileSync('readelf', ['--wide', '--dynamic', addon], { encoding: 'utf8' }), /FLAGS.*NOW/);
  assert.ok(readFileSync(addon, 'latin1').includes('__stack_chk_fail'));
});

test('modules import it by its names', async () => {
  const imported = await import('../index.js');
  for (const name of Object.keys(chime)) assert.equal(imported[name], chime[name], name);
  assert.match(chime.version, /^\d+\.\d+\.\d+$/);
});
