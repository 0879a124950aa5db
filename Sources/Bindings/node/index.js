'use strict';
// Chime for Node: queues in Node's own loop, and on virtual time. index.d.ts says what each call does; addon.c is chime.h.
//
// A timer that is to tick is in its queue's `#held`, and a queue that holds one, in `busy`: so neither is collected, and
// Node's loop stays. At rest nothing here refers to a timer: it, its handler and what that refers to can go together. Nor is
// there a timer of Chime's for it then, which would stay until JavaScript collects the other: its schedule and what it has
// counted are here, and a call that starts it makes another one.

const { AsyncResource } = require('node:async_hooks');
const { setImmediate } = require('node:timers'); // as it is now: fake timers may take its place later
const { inspect, types } = require('node:util');
const native = load();

function load() {
  try {
    return require('./build/chime.node');
  } catch (error) {
    if (error.code === 'MODULE_NOT_FOUND') error.message = `chime-timers is not built: make -C '${__dirname}'`;
    throw error;
  }
}

// ---- Values ----

const named = (...names) => Object.freeze(Object.fromEntries(names.map((name) => [name.toUpperCase(), name])));
const Clock = named('monotonic', 'boottime', 'wall');
const Outcome = named('ok', 'ignored', 'running');
const State = named('idle', 'running', 'suspended', 'finished', 'cancelled');
const TickKind = named('due', 'fired');
const MissedPolicy = named('coalesce', 'delay');
const ResumePolicy = named('coalesce', 'remaining');
const [clocks, states, kinds, missedPolicies, resumePolicies] =
  [Clock, State, TickKind, MissedPolicy, ResumePolicy].map(Object.values);

const {
  IGNORED, RUNNING, ERROR_INVALID_ARGUMENT, ERROR_INVALID_HANDLE, ERROR_LIMIT, ERROR_WOULD_DEADLOCK, ERROR_SHUT_DOWN,
  QUEUE_HOST, QUEUE_VIRTUAL, QUEUE_FLAG_BOUND, QUEUE_FLAG_HONOUR_LEEWAY, SCHEDULE_DEADLINE, RUNS, COMES, STATE,
} = native.numbers; // those of chime.h and addon.c
const FOREVER = 2n ** 63n - 1n;
const ROUNDS = 1000; // at one instant, each made due by the one before, until advanceAsync gives up, as advance does

/** Of a status that is no failure. Where both are so, that nothing was changed counts: who calls knows in which handler it is. */
const outcomeOf = (status) => ((status & IGNORED) !== 0 ? Outcome.IGNORED : (status & RUNNING) !== 0 ? Outcome.RUNNING : Outcome.OK);

// What Chime says of an id that is set to 0 here.
const NO_ID = 'is 0, which is no id: it was not made, or has ended';
const IN_JAVASCRIPT = { [`queue ${NO_ID}`]: 'the queue was closed', [`timer ${NO_ID}`]: 'the timer was released' };

class ChimeError extends Error {
  constructor(status, text = native.statusText(status)) {
    super(IN_JAVASCRIPT[text] ?? text);
    this.code = native.statusName(status);
  }
  get name() {
    return 'ChimeError';
  }
}

const refuse = (text) => {
  throw new ChimeError(ERROR_INVALID_ARGUMENT, text);
};
const shown = (value) => (typeof value === 'string' ? `'${value}'` : inspect(value, { depth: 0, breakLength: Infinity }));

/** What the addon gave, if that is no failure. */
function got(result) {
  if (typeof result === 'number' && result < 0) throw new ChimeError(result);
  return result;
}

/** Nanoseconds, of milliseconds in a number or nanoseconds in a BigInt; exact where a number has no room for them. */
function nanoseconds(value, name, least = 0) {
  if (typeof value === 'bigint') {
    if (value < least) refuse(`${name} must be ${least}n or more, and is ${value}n`);
    return value;
  }
  if (typeof value !== 'number') refuse(`${name} must be a number of milliseconds or a BigInt of nanoseconds, and is ${shown(value)}`);
  if (Number.isNaN(value)) refuse(`${name} must not be NaN`);
  if (value < least) refuse(`${name} must be ${least} or more, and is ${value}`);
  const product = value * 1e6;
  if (Math.abs(product) <= Number.MAX_SAFE_INTEGER) return Math.round(product);
  if (!Number.isFinite(product) || Math.abs(product) > 2 ** 64) return value > 0 ? FOREVER : -FOREVER;
  const whole = Math.floor(value);
  return BigInt(whole) * 1_000_000n + BigInt(Math.round((value - whole) * 1e6));
}

/** An interval alone, which is never "none". */
function repeating(value) {
  const nanos = nanoseconds(value, 'interval');
  return nanos > 0 ? nanos : refuse(`interval must be 1 ns or more, and is ${shown(value)}`);
}

/** A point on a queue's clock; a Date is one of the wall clock, or of virtual time that began with one. */
function deadline(value, name, queue) {
  if (!types.isDate(value)) return nanoseconds(value, name, -Infinity);
  if (!hasDates(queue)) {
    const option = queue.clock === 'virtual' ? 'start: date' : "clock: 'wall'";
    refuse(`${name} is a Date, and the queue's clock is not the wall clock: give it { ${option} }`);
  }
  return nanoseconds(Date.prototype.getTime.call(value), name, -Infinity);
}

/** Of nanoseconds in a BigInt, the nearest number; what a number has no room for is divided before it is one. */
function milliseconds(time) {
  if (time === FOREVER) return Infinity;
  const number = Number(time);
  return Number.isSafeInteger(number) ? number / 1e6 : Number(time / 1_000_000n) + Number(time % 1_000_000n) / 1e6;
}

const checks = {
  label: (value) => {
    if (typeof value !== 'string' || value.includes('\0')) refuse(`label must be a string without NUL, and is ${shown(value)}`);
    return value;
  },
  boolean: (value, name) => (typeof value === 'boolean' ? value : refuse(`${name} must be true or false, and is ${shown(value)}`)),
  count: (value, name) => {
    if (!Number.isSafeInteger(value) || value < 0) refuse(`${name} must be a whole number, 0 or more, and is ${shown(value)}`);
    return value;
  },
  seed: (value) => {
    if (typeof value === 'bigint' && value >= 0n && value < 2n ** 64n) return value;
    if (Number.isSafeInteger(value) && value >= 0) return BigInt(value);
    return refuse(`seed must be a whole number from 0 to 2^64 - 1, and is ${shown(value)}`);
  },
  signal: (value) => {
    if (typeof value?.addEventListener !== 'function' || !('aborted' in value)) refuse(`signal must be an AbortSignal, and is ${shown(value)}`);
    return value;
  },
  one: (values) => (value, name) => {
    const index = values.indexOf(value);
    return index >= 0 ? index : refuse(`${name} must be one of '${values.join("', '")}', and is ${shown(value)}`);
  },
};

/** The members of options, each checked; one that is not there, or undefined, is its default. None may have another name. */
function members(options, name, table) {
  const result = {};
  if (options === undefined) options = {};
  if (options === null || typeof options !== 'object' || Array.isArray(options)) refuse(`${name} must be an object, and is ${shown(options)}`);
  for (const key of Object.keys(options)) {
    if (!Object.hasOwn(table, key)) refuse(`${name} has no member '${key}', only ${Object.keys(table).join(', ')}`);
  }
  for (const [key, [check, otherwise]] of Object.entries(table)) {
    result[key] = options[key] === undefined ? otherwise : check(options[key], `${name}.${key}`);
  }
  return result;
}

const timerOptions = { label: [checks.label, undefined], ref: [checks.boolean, true] };
const waitOptions = { signal: [checks.signal, undefined], ref: [checks.boolean, true] };
const scheduleMembers = {
  first: [nanoseconds, undefined], at: [(value) => value, undefined], interval: [nanoseconds, 0], leeway: [nanoseconds, 0],
  jitter: [nanoseconds, 0], limit: [checks.count, 0], missed: [checks.one(missedPolicies), 0], resume: [checks.one(resumePolicies), 0],
};

/** As the addon takes it; undefined stands for "the present one". */
function scheduleIn(schedule, queue) {
  if (schedule === undefined) return [];
  if (types.isDate(schedule)) refuse('schedule must be an object, and is a Date: write { at: date }');
  if (['number', 'bigint', 'string'].includes(typeof schedule)) {
    refuse(`schedule must be an object, and is ${shown(schedule)}: write { first: ${inspect(schedule).replace(/'/g, '')} }, or { interval: … }`);
  }
  const s = members(schedule, 'schedule', scheduleMembers);
  if (s.at !== undefined && s.first !== undefined) refuse('schedule.first and schedule.at exclude each other');
  const first = s.at === undefined ? s.first ?? s.interval : deadline(s.at, 'schedule.at', queue);
  return [first, s.interval, s.leeway, s.jitter, s.interval > 0 ? s.limit : 0, s.missed, s.resume, s.at === undefined ? 0 : SCHEDULE_DEADLINE];
}

/** The other way; undefined: none. */
function scheduleOut(given) {
  if (given === undefined || given.length === 0) return undefined;
  const [first, interval, leeway, jitter] = given.slice(0, 4).map((time) => milliseconds(BigInt(time)));
  const [limit, missed, resume, flags] = given.slice(4);
  return {
    [flags === 0 ? 'first' : 'at']: first, interval, leeway, jitter, limit, missed: missedPolicies[missed], resume: resumePolicies[resume],
  };
}

const reasonOf = (signal) => signal.reason ?? new DOMException('This operation was aborted', 'AbortError');
const throwIfAborted = (signal) => {
  if (signal?.aborted) throw reasonOf(signal);
};

function checkFunction(value, name) {
  if (typeof value !== 'function') refuse(`${name} must be a function, and is ${shown(value)}`);
  if (types.isGeneratorFunction(value)) refuse(`${name} must not be a generator function: nothing would iterate over it`);
}

/** What a handler throws in the loop is uncaught where AsyncLocalStorage and domains are still the handler's. */
function callUncaught(handler, ...tick) {
  try {
    handler(...tick);
  } catch (error) {
    native.uncaught(error);
  }
}

/** One delivery. */
class Tick {
  constructor(timer, kind, generation, sequence, missed, scheduledNs, actualNs) {
    Object.assign(this, { timer, kind, generation, sequence, missed, scheduledNs, actualNs });
  }
  get scheduled() {
    return milliseconds(this.scheduledNs);
  }
  get actual() {
    return milliseconds(this.actualNs);
  }
  toJSON() {
    const { kind, generation, sequence, missed, scheduled, actual } = this;
    return { kind, generation, sequence, missed, scheduled, actual };
  }
}

// ---- Timers ----

const busy = new Set(); // host-driven queues of which something is to come
// Timers that are suspended, or never due, have one of Chime's, and are held by nobody here.
const collected = new FinalizationRegistry(({ id, quiet, self }) => {
  quiet.delete(self);
  native.timerRelease(id);
});
const key = Symbol('only queues make timers');
let hold, letGo, whenAtRest, isOver, quietOf, call, deliver, make, isClosed, hasDates; // what a timer and its queue say to each other, and to nobody else

const NO_TICKS = { sequence: 0, missed: 0, dueCount: 0 };
const rests = (state) => state !== State.RUNNING && state !== State.SUSPENDED;
const REASONS = { idle: 'it was never activated.', finished: 'it has finished.', cancelled: 'it was cancelled.' };

/** Whether a schedule is one, for timers at rest; with another interval: as it is then. */
const checker = {
  queue: undefined, // with which its timer would end
  id: 0,
  check(given, interval) {
    this.queue ??= new VirtualQueue();
    if (this.id === 0) this.id = make(this.queue, undefined, []);
    got(native.timerReschedule(this.id, ...given));
    if (interval === undefined) return given;
    got(native.timerSetInterval(this.id, interval));
    return native.timerSchedule(this.id);
  },
};

class Timer {
  #queue;
  #id; // of Chime's timer; 0: at rest, or released
  #handler;
  #label;
  #given; // its schedule, as the addon takes it; empty: it has none
  #resource; // of AsyncLocalStorage the handler sees what the call saw that has started it at rest
  #isReferred;
  #answer = 0; // what Chime has said last, of its state among others
  #hasFired = false; // an extra tick is to come
  #isInside = false; // its handler runs
  #isChanged = false; // by that
  #hasTicked = false; // since it was started
  #self; // weak, where its queue and `collected` have it so
  #isReleased = false;
  #state = State.IDLE; // at rest
  #counts = { generation: 0, ...NO_TICKS }; // at rest
  #before = this.#counts; // what is to be added to Chime's numbers
  #whenAtRest; // called whenever it comes to rest, and when it is released

  constructor(made, queue, handler, options, id, given) {
    if (made !== key) refuse('timers are made by queues: queue.after, at, every, start or create');
    this.#queue = queue;
    this.#id = id;
    this.#handler = handler;
    this.#label = options.label;
    this.#given = given;
    this.#isReferred = options.ref;
    if (id !== 0) this.#started();
  }

  static {
    whenAtRest = (timer, run) => {
      timer.#whenAtRest = run;
    };
    isOver = (timer) => timer.#isReleased || rests(timer.state);
    deliver = (timer, kind, state, generation, sequence, missed, ...times) => {
      const isLast = kinds[kind] === TickKind.DUE && states[state] !== State.RUNNING && !timer.#hasFired;
      if (kinds[kind] === TickKind.FIRED) timer.#hasFired = false;
      if (isLast) letGo(timer.#queue, timer.#id);
      timer.#answer = state << STATE;
      timer.#isInside = timer.#hasTicked = true;
      timer.#isChanged = false;
      if (!isLast && kinds[kind] === TickKind.FIRED) timer.#settle(native.timerSettled(timer.#id));
      const { generation: before, sequence: ticksBefore } = timer.#before;
      const tick = new Tick(timer, kinds[kind], before + generation, ticksBefore + sequence, missed, ...times);
      try {
        call(timer.#queue, timer.#resource, timer.#handler, tick);
      } finally {
        timer.#isInside = false;
        // Of a one-shot nothing has to be asked.
        if (isLast && sequence === 1 && missed === 0 && timer.#given[4] === 0 && !timer.#isChanged) {
          timer.#rest(states[state], { generation, sequence, missed: 0, dueCount: 0 });
        } else if (timer.#id !== 0) timer.#restIfSo();
      }
    };
  }

  #started() {
    this.#resource = new AsyncResource('ChimeTimer');
    this.#hasTicked = false;
    this.#settle(native.timerSettled(this.#id));
  }

  /** What a call has made of the timer decides whether its queue holds it, and whether Chime keeps one for it. */
  #settle(answer) {
    this.#answer = answer;
    this.#isChanged = true;
    const delays = (answer & RUNS) !== 0 && this.#given[5] === 1; // while its handler runs it has no deadline
    if (this.#hasFired || (answer & COMES) !== 0 || delays) {
      this.#unregister();
      hold(this.#queue, this.#id, this, this.#isReferred);
      return;
    }
    letGo(this.#queue, this.#id);
    if (!this.#isInside) this.#restIfSo();
    if (this.#id === 0 || this.#self !== undefined || rests(states[answer >> STATE])) return;
    const self = this.#self = new WeakRef(this), quiet = quietOf(this.#queue);
    quiet.add(self);
    collected.register(this, { id: this.#id, quiet, self }, this);
  }

  #unregister() {
    if (this.#self === undefined) return;
    quietOf(this.#queue).delete(this.#self);
    collected.unregister(this);
    this.#self = undefined;
  }

  #restIfSo() {
    const state = states[this.#answer >> STATE];
    if (this.#hasFired || !rests(state)) return;
    if (this.#hasTicked) this.#rest(state, native.timerInfo(this.#id));
    else this.#rest(state, { generation: native.timerGeneration(this.#id), ...NO_TICKS });
  }

  #rest(state, { generation, sequence, missed, dueCount }) {
    const before = this.#before;
    native.timerRelease(this.#id);
    this.#id = 0;
    this.#resource = undefined;
    this.#unregister();
    if (state !== State.IDLE) this.#state = state; // of a timer that was made for an extra tick it is that of before
    this.#counts = {
      generation: before.generation + generation, sequence: before.sequence + sequence, missed: before.missed + missed,
      dueCount: before.dueCount + dueCount,
    };
    this.#whenAtRest?.();
  }

  /** Whether it is at rest; throws for one that is there no more. */
  #isAtRest() {
    if (this.#isReleased) throw new ChimeError(ERROR_INVALID_HANDLE, 'the timer was released');
    if (isClosed(this.#queue)) throw new ChimeError(ERROR_INVALID_HANDLE, 'the queue was closed');
    return this.#id === 0;
  }

  /** The outcome of a call; `drops`: it takes back an extra tick. */
  #done(answer, drops) {
    const outcome = outcomeOf(got(answer));
    if (outcome === Outcome.IGNORED) return outcome;
    if (drops) this.#hasFired = false;
    this.#settle(answer);
    return outcome;
  }

  /** The outcome of a call that a timer at rest ignores. */
  #changed(call, drops, ...values) {
    return this.#isAtRest() ? Outcome.IGNORED : this.#done(call(this.#id, ...values), drops);
  }

  /** Starts it at rest. */
  #start(given) {
    if (given.length === 0) refuse('schedule must be given: the timer has none yet');
    this.#id = make(this.#queue, this.#label, given);
    this.#given = given;
    this.#before = { generation: this.#counts.generation, ...NO_TICKS };
    this.#started();
    return Outcome.OK;
  }

  /** Gives it a schedule, or starts it with the one that it has. */
  #scheduled(call, given) {
    if (this.#isAtRest()) return this.#start(given.length > 0 ? given : this.#given);
    const answer = got(call(this.#id, ...given));
    if (outcomeOf(answer) !== Outcome.IGNORED) {
      if (given.length > 0) this.#given = given;
      if (rests(states[this.#answer >> STATE])) this.#before = { ...this.#before, ...NO_TICKS };
    }
    return this.#done(answer, true);
  }

  /** Starts it with another first tick, a delay or a deadline. */
  #startedWith(call, first, flags) {
    const given = [first, ...(this.#given.length > 0 ? this.#given.slice(1, 7) : [0, 0, 0, 0, 0, 0]), flags];
    if (this.#isAtRest()) return this.#start(given);
    const answer = got(call(this.#id, first));
    this.#given = given;
    if (rests(states[this.#answer >> STATE])) this.#before = { ...this.#before, ...NO_TICKS };
    return this.#done(answer, true);
  }

  get queue() {
    return this.#queue;
  }

  activate(schedule) {
    return this.#scheduled(native.timerActivate, scheduleIn(schedule, this.#queue));
  }
  restart(schedule) {
    return this.#scheduled(native.timerRestart, scheduleIn(schedule, this.#queue));
  }
  reschedule(schedule) {
    const given = scheduleIn(schedule, this.#queue);
    if (!this.#isAtRest()) {
      const answer = got(native.timerReschedule(this.#id, ...given));
      if (given.length > 0) this.#given = given;
      this.#before = { ...this.#before, dueCount: 0 };
      return this.#done(answer, true);
    }
    if (given.length + this.#given.length === 0) refuse('schedule must be given: the timer has none yet');
    if (given.length > 0) this.#given = checker.check(given);
    this.#counts = { ...this.#counts, generation: this.#counts.generation + 1, dueCount: 0 };
    return Outcome.OK;
  }
  restartAfter(delay) {
    return this.#startedWith(native.timerRestartAfter, nanoseconds(delay, 'delay'), 0);
  }
  restartAt(time) {
    return this.#startedWith(native.timerRestartUntil, deadline(time, 'deadline', this.#queue), SCHEDULE_DEADLINE);
  }
  postpone(delay) {
    return this.#changed(native.timerPostpone, false, nanoseconds(delay, 'delay'));
  }
  postponeTo(time) {
    return this.#changed(native.timerPostponeUntil, false, deadline(time, 'deadline', this.#queue));
  }
  setInterval(interval) {
    const nanos = repeating(interval), isAtRest = this.#isAtRest();
    if (isAtRest && !(this.#given[1] > 0)) return Outcome.IGNORED;
    const outcome = isAtRest ? Outcome.OK : this.#done(native.timerSetInterval(this.#id, nanos), false);
    if (outcome !== Outcome.IGNORED) this.#given = isAtRest ? checker.check(this.#given, nanos) : native.timerSchedule(this.#id);
    return outcome;
  }
  suspend() {
    return this.#changed(native.timerSuspend, true);
  }
  resume() {
    return this.#changed(native.timerResume, false);
  }
  fire() {
    if (this.#isAtRest()) {
      if (this.#state === State.CANCELLED) return Outcome.IGNORED;
      this.#id = make(this.#queue, this.#label, []);
      if (this.#given.length > 0) native.timerReschedule(this.#id, ...this.#given);
      this.#before = { ...this.#counts, generation: this.#counts.generation - native.timerGeneration(this.#id) };
      this.#resource = new AsyncResource('ChimeTimer');
    }
    const answer = got(native.timerFire(this.#id));
    if (outcomeOf(answer) === Outcome.OK) this.#hasFired = true;
    return this.#done(answer, false);
  }
  cancel() {
    return this.#changed(native.timerCancel, true);
  }

  release() {
    const id = this.#id;
    if (this.#isReleased) return Outcome.IGNORED;
    this.#isReleased = true;
    this.#hasFired = false;
    if (id === 0) return isClosed(this.#queue) ? Outcome.IGNORED : Outcome.OK;
    const answer = native.timerRelease(id);
    this.#id = 0;
    this.#unregister();
    letGo(this.#queue, id);
    this.#whenAtRest?.();
    return outcomeOf(got(answer));
  }

  ref() {
    return this.#refer(true);
  }
  unref() {
    return this.#refer(false);
  }
  hasRef() {
    return this.#isReferred;
  }
  #refer(isReferred) {
    this.#isReferred = isReferred;
    if (this.#id !== 0) this.#settle(got(native.timerSettled(this.#id)));
    return this;
  }

  get state() {
    if (this.#isAtRest()) return this.#state;
    const state = states[got(native.timerState(this.#id))];
    return state === State.IDLE ? this.#state : state;
  }
  get generation() {
    return this.#isAtRest() ? this.#counts.generation : this.#before.generation + got(native.timerGeneration(this.#id));
  }
  get nextDeadline() {
    return this.#isAtRest() ? Infinity : milliseconds(got(native.timerNextDeadline(this.#id)));
  }
  get remaining() {
    return this.#isAtRest() ? Infinity : milliseconds(got(native.timerRemaining(this.#id)));
  }
  get schedule() {
    return scheduleOut(this.#isAtRest() ? this.#given : got(native.timerSchedule(this.#id)));
  }
  info() {
    if (this.#isAtRest()) {
      const { interval, leeway, jitter, limit } = this.schedule ?? { interval: 0, leeway: 0, jitter: 0, limit: 0 };
      return {
        state: this.#state, ...this.#counts, limit, busy: false, hasSchedule: this.#given.length > 0,
        nextDeadline: Infinity, interval, leeway, jitter,
      };
    }
    const info = got(native.timerInfo(this.#id));
    for (const name of ['nextDeadline', 'interval', 'leeway', 'jitter']) info[name] = milliseconds(info[name]);
    for (const [name, count] of Object.entries(this.#before)) info[name] += count;
    return { ...info, state: this.state, busy: info.busy === 1, hasSchedule: info.hasSchedule === 1 };
  }
  explain() {
    return this.#isAtRest() ? REASONS[this.#state] : got(native.timerExplain(this.#id));
  }

  [inspect.custom]() {
    if (this.#id === 0) return `Timer { ${this.#isReleased ? 'released' : this.#state} }`;
    const state = native.timerState(this.#id);
    return `Timer { ${this.#id}: ${state < 0 ? 'released' : states[state]} }`;
  }
}

// ---- Queues ----

class BaseQueue {
  #native;
  #deliver; // the addon's reference to it is weak
  #held = new Map(); // ids and timers of which a tick is to come
  #referred = new Set(); // the ids among them for which the loop stays
  #quiet = new Set(); // timers that are suspended, or never due, weakly
  #functions = new Map(); // those of runSoon, numbered, in the order in which Chime calls them
  #nextFunction = 0;
  #calledFunctions = 0;
  #waits = new Set(); // what close ends: sleepers, loops over ticks
  #suspensions = 0; // calls of suspend that no resume has taken back
  #steps; // inside advanceAsync: { end, hasCalled }
  #cause; // the latest tick or function of advanceAsync: { instant, depth }, how many there one after another have made it due
  #causes = new Map(); // of timers, those that have set them
  #isReferred = true;
  #isClosed = false;
  #isWatched;
  #clock;
  #hasDates; // deadlines may be Dates
  #label;

  constructor(made, kind, options, { flags, clock, hasDates, start, seed } = {}) {
    if (made !== key) refuse('give new Queue or new VirtualQueue');
    this.#deliver = (id, ...rest) => {
      if (id === undefined) return this.#call();
      const timer = this.#held.get(id);
      if (timer === undefined) return;
      if (this.#steps !== undefined) this.#step(this.#causes.get(id));
      deliver(timer, ...rest);
    };
    this.#isWatched = kind === QUEUE_HOST;
    this.#clock = clock;
    this.#hasDates = hasDates;
    this.#label = options.label;
    this.#native = got(native.queueCreate(kind, options.label, flags, Math.max(0, clocks.indexOf(clock)), options.timerLimit,
      start, seed, this.#deliver));
  }

  static {
    hold = (queue, id, timer, isReferred) => {
      queue.#held.set(id, timer);
      if (queue.#cause !== undefined) queue.#causes.set(id, queue.#cause);
      if (isReferred) queue.#referred.add(id);
      else queue.#referred.delete(id);
      queue.#stay();
    };
    quietOf = (queue) => queue.#quiet;
    make = (queue, label, given) => got(native.timerCreate(queue.#native, label, 0, ...given));
    isClosed = (queue) => queue.#isClosed;
    hasDates = (queue) => queue.#hasDates;
    letGo = (queue, id) => {
      if (!queue.#held.delete(id)) return;
      queue.#causes.delete(id);
      queue.#referred.delete(id);
      queue.#stay();
    };
    call = (queue, resource, handler, ...tick) => {
      if (queue.#isWatched) resource.runInAsyncScope(callUncaught, undefined, handler, ...tick);
      else resource.runInAsyncScope(handler, undefined, ...tick);
    };
  }

  /** Whether Node's loop, and this queue, stay for what is to come. */
  #stay() {
    if (!this.#isWatched) return;
    if (this.#held.size + this.#functions.size > 0) busy.add(this);
    else busy.delete(this);
    native.queueStay(this.#native, this.#isReferred && this.#referred.size + this.#functions.size > 0);
  }

  #call() {
    const number = this.#calledFunctions++;
    const { resource, run, cause } = this.#functions.get(number);
    this.#functions.delete(number);
    this.#stay();
    if (this.#steps !== undefined) this.#step(cause);
    call(this, resource, run);
  }

  /** Makes this callback the only one of its advance: while the queue is suspended none begins. */
  #step(cause) {
    const now = this.nowNs(), instant = now > this.#steps.end ? this.#steps.end : now; // beyond the end all is one
    this.#cause = { instant, depth: cause?.instant === instant ? cause.depth + 1 : 0 };
    this.#steps.hasCalled = true;
    native.queueSuspend(this.#native);
  }

  after(delay, handler, options) {
    const nanos = nanoseconds(delay, 'delay');
    checkFunction(handler, 'handler');
    if (options !== undefined) return this.start({ first: delay }, handler, options);
    return new Timer(key, this, handler, { ref: true }, got(native.timerAfter(this.#native, nanos)), [nanos, 0, 0, 0, 0, 0, 0, 0]);
  }
  every(interval, handler, options) {
    const nanos = repeating(interval);
    checkFunction(handler, 'handler');
    if (options !== undefined) return this.start({ interval }, handler, options);
    return new Timer(key, this, handler, { ref: true }, got(native.timerEvery(this.#native, nanos)), [nanos, nanos, 0, 0, 0, 0, 0, 0]);
  }
  at(time, handler, options) {
    deadline(time, 'deadline', this);
    return this.start({ at: time }, handler, options);
  }
  start(schedule, handler, options) {
    const given = scheduleIn(schedule ?? refuse(`schedule must be an object, and is ${schedule}: write { first: … }, or use create`), this);
    return this.#make(given, handler, options);
  }
  create(handler, options) {
    return this.#make([], handler, options);
  }
  once(delay, handler, options) {
    this.#make(scheduleIn({ first: delay }, this), handler, options);
  }
  #make(given, handler, options) {
    checkFunction(handler, 'handler');
    const checked = members(options, 'options', timerOptions);
    if (given.length === 0 && this.#isClosed) throw new ChimeError(ERROR_INVALID_HANDLE, 'the queue was closed');
    return new Timer(key, this, handler, checked, given.length > 0 ? make(this, checked.label, given) : 0, given);
  }

  runSoon(run) {
    checkFunction(run, 'function');
    got(native.queueRunSoon(this.#native));
    this.#functions.set(this.#nextFunction++, { run, resource: new AsyncResource('ChimeFunction'), cause: this.#cause });
    this.#stay();
  }

  /** A promise that `begin` settles, unless the signal or the queue's end is first; `begin` gives its timer. */
  #wait(signal, begin) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(reasonOf(signal));
      let timer;
      const finish = (settle, value) => {
        whenAtRest(timer, undefined);
        signal?.removeEventListener('abort', onAbort);
        this.#waits.delete(onEnd);
        timer.release();
        settle(value);
      };
      const onAbort = () => finish(reject, reasonOf(signal));
      const onEnd = () => finish(reject, new ChimeError(ERROR_SHUT_DOWN, 'the queue was closed'));
      timer = begin((value) => finish(resolve, value));
      whenAtRest(timer, () => finish(reject, new ChimeError(ERROR_SHUT_DOWN, 'the timer was stopped')));
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waits.add(onEnd);
    });
  }

  async sleep(delay, options) {
    const { signal, ref } = members(options, 'options', waitOptions);
    return this.#wait(signal, (done) => this.after(delay, done, { ref }));
  }

  async *ticks(schedule, options) {
    const { signal, ref } = members(options, 'options', waitOptions);
    throwIfAborted(signal);
    if (typeof schedule !== 'object') repeating(schedule);
    let waiting, wake, hasEnded = false;
    const timer = this.start(typeof schedule === 'object' ? schedule : { interval: schedule }, (tick) => {
      if (waiting !== undefined) tick.missed += waiting.missed + 1;
      waiting = tick;
      wake?.();
    }, { ref });
    const onEnd = () => {
      hasEnded = true;
      wake?.();
    };
    whenAtRest(timer, () => wake?.());
    signal?.addEventListener('abort', onEnd, { once: true });
    this.#waits.add(onEnd);
    try {
      while (true) {
        throwIfAborted(signal);
        if (hasEnded) return;
        if (waiting === undefined) {
          if (isOver(timer)) return;
          await new Promise((resolve) => {
            wake = resolve;
          });
          continue;
        }
        const tick = waiting;
        waiting = undefined;
        yield tick;
      }
    } finally {
      signal?.removeEventListener('abort', onEnd);
      this.#waits.delete(onEnd);
      timer.release();
    }
  }

  get clock() {
    return this.#clock;
  }
  now() {
    return milliseconds(this.nowNs());
  }
  nowNs() {
    return got(native.queueNow(this.#native));
  }
  get nextDeadline() {
    return milliseconds(got(native.queueNextDeadline(this.#native)));
  }
  stats() {
    return got(native.queueStats(this.#native));
  }
  timers() {
    this.nowNs(); // throws once it is closed
    return [...this.#held.values(), ...[...this.#quiet].map((self) => self.deref()).filter((timer) => timer !== undefined)];
  }
  dump() {
    return got(native.queueDump(this.#native));
  }

  suspend() {
    const outcome = outcomeOf(got(native.queueSuspend(this.#native)));
    this.#suspensions++;
    return outcome;
  }
  resume() {
    if (this.#steps?.hasCalled && this.#suspensions === 0 && !this.#isClosed) return Outcome.IGNORED; // that of #step stays
    const outcome = outcomeOf(got(native.queueResume(this.#native)));
    if (outcome !== Outcome.IGNORED) this.#suspensions--;
    return outcome;
  }

  close() {
    const status = native.queueClose(this.#native);
    this.#isClosed = true;
    this.#held.clear();
    this.#quiet.clear();
    this.#referred.clear();
    this.#functions.clear();
    busy.delete(this);
    for (const end of [...this.#waits]) end();
    return status === ERROR_WOULD_DEADLOCK ? Outcome.RUNNING : outcomeOf(got(status)); // inside its own callback
  }

  [inspect.custom]() {
    const label = this.#label === undefined ? '' : `${shown(this.#label)}, `;
    const count = this.#held.size + this.#quiet.size;
    return `${this.constructor.name} { ${label}${this.#isClosed ? 'closed' : `${count} timer${count === 1 ? '' : 's'}`} }`;
  }

  /** What handlers throw goes to `thrown`. */
  static advance(queue, duration, thrown) {
    const status = native.queueAdvance(queue.#native, duration);
    for (const error of native.queueTakeThrown(queue.#native) ?? []) thrown.push(error);
    got(status);
  }
  /** The same up to its first callback. Gives how many at that instant have made each other due, this one the last of them. */
  static step(queue, duration, thrown, end) {
    queue.#steps = { end, hasCalled: false };
    try {
      advance(queue, duration, thrown);
      return queue.#steps.hasCalled ? queue.#cause.depth : 0;
    } finally {
      if (queue.#steps.hasCalled) native.queueResume(queue.#native);
      queue.#steps = undefined;
    }
  }
  static forgetCauses(queue) {
    queue.#cause = undefined;
    queue.#causes.clear();
  }
  static jump(queue, duration) {
    got(native.queueJump(queue.#native, duration));
  }
  static nextDeadlineNs(queue) {
    return got(native.queueNextDeadline(queue.#native));
  }
  static refer(queue, isReferred) {
    queue.#isReferred = isReferred;
    queue.#stay();
    return queue;
  }
  static isReferred(queue) {
    return queue.#isReferred;
  }
}

const { advance, step, forgetCauses, jump, nextDeadlineNs, refer, isReferred } = BaseQueue;
for (const name of Object.getOwnPropertyNames(BaseQueue)) if (typeof BaseQueue[name] === 'function') delete BaseQueue[name];
for (const type of [BaseQueue, Timer]) {
  // What `using` calls, where the language has it.
  if (Symbol.dispose) {
    const end = type === Timer ? 'release' : 'close';
    Object.defineProperty(type.prototype, Symbol.dispose, { value() { this[end](); }, configurable: true, writable: true });
  }
}

/** At the end of an advance, also of one that has failed. */
function throwAll(thrown) {
  if (thrown.length === 1) throw thrown[0];
  if (thrown.length > 1) throw new AggregateError(thrown, `${thrown.length} handlers have thrown`);
}

const queueOptions = { label: [checks.label, undefined], timerLimit: [checks.count, 0] };

class Queue extends BaseQueue {
  constructor(options) {
    const checked = members(options, 'options', { ...queueOptions, clock: [checks.one(clocks), 0] });
    const clock = clocks[checked.clock];
    super(key, QUEUE_HOST, checked, { flags: QUEUE_FLAG_BOUND, clock, hasDates: clock === Clock.WALL, start: 0, seed: 0n });
  }
  ref() {
    return refer(this, true);
  }
  unref() {
    return refer(this, false);
  }
  hasRef() {
    return isReferred(this);
  }
}

class VirtualQueue extends BaseQueue {
  constructor(options) {
    let hasDates = false;
    const checkStart = (value, name) => {
      hasDates = types.isDate(value);
      return nanoseconds(hasDates ? Date.prototype.getTime.call(value) : value, name);
    };
    const checked = members(options, 'options', {
      ...queueOptions, start: [checkStart, 0], seed: [checks.seed, 0n], honourLeeway: [checks.boolean, false],
    });
    super(key, QUEUE_VIRTUAL, checked, {
      flags: checked.honourLeeway ? QUEUE_FLAG_HONOUR_LEEWAY : 0, clock: 'virtual', hasDates, start: checked.start,
      seed: checked.seed,
    });
  }
  advance(duration) {
    const thrown = [];
    try {
      advance(this, nanoseconds(duration, 'duration'), thrown);
    } finally {
      throwAll(thrown);
    }
  }
  jump(duration) {
    jump(this, nanoseconds(duration, 'duration'));
  }
  async advanceAsync(duration, options) {
    const { signal } = members(options, 'options', { signal: waitOptions.signal });
    const distance = nanoseconds(duration, 'duration'), thrown = [];
    if (distance >= FOREVER) advance(this, distance, thrown); // is refused
    const end = this.nowNs() + BigInt(distance);
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    try {
      while (true) {
        throwIfAborted(signal);
        await turn();
        throwIfAborted(signal);
        const now = this.nowNs(), next = nextDeadlineNs(this);
        if (next === FOREVER || (next > now && next > end)) break;
        if (step(this, next > now ? next - now : 0n, thrown, end) === ROUNDS) {
          throw new ChimeError(ERROR_LIMIT, `handlers and promises made something due at once ${ROUNDS} times without end, at ${this.now()} ms`);
        }
      }
      if (this.nowNs() < end) advance(this, end - this.nowNs(), thrown);
    } finally {
      forgetCauses(this);
      throwAll(thrown);
    }
  }
}

exports.Queue = Queue;
exports.VirtualQueue = VirtualQueue;
exports.Timer = Timer;
exports.Tick = Tick;
exports.ChimeError = ChimeError;
exports.Clock = Clock;
exports.Outcome = Outcome;
exports.State = State;
exports.TickKind = TickKind;
exports.MissedPolicy = MissedPolicy;
exports.ResumePolicy = ResumePolicy;
exports.version = [16, 8, 0].map((shift) => (native.version() >> shift) & 255).join('.');
exports.memoryUsed = () => native.memoryUsed();
exports.traceToFile = (path) => {
  if (path !== undefined && (typeof path !== 'string' || path.includes('\0'))) refuse(`path must be a string without NUL, and is ${shown(path)}`);
  return outcomeOf(got(native.traceToFile(path)));
};
