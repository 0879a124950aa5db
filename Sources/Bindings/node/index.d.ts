/**
 * Chime for Node: timers that do not fire early, do not drift, and count what they missed.
 *
 * Durations are milliseconds in a number, as in Node's own timers, or nanoseconds in a BigInt, as of process.hrtime.bigint();
 * Infinity is for ever. They are exact to the nanosecond.
 *
 * Failures throw a ChimeError, whose `code` is the name of chime.h's status. What is no failure is an outcome: 'ignored' means
 * that the call made no sense in the timer's state and changed nothing, inside its handler or not; 'running' that it took
 * effect inside the timer's own handler.
 *
 * A handler that throws loses no other tick. What it throws on a Queue is an uncaught exception, as in setTimeout; on a
 * VirtualQueue it comes out of `advance`. Handlers see the AsyncLocalStorage of the call that made their timer. A handler that
 * gives a promise is not waited for: its timer ticks on.
 *
 * Like a Node timer, one that is to tick needs nobody to hold it, and keeps the process alive unless `unref` was called. At
 * rest (idle, suspended, finished, cancelled) it is collected once nothing refers to it.
 *
 * Queues and timers belong to the thread, main or worker, that made them.
 */

/** Milliseconds; a BigInt: nanoseconds. 0 or more; Infinity: for ever. */
export type Duration = number | bigint;
/**
 * A point on the queue's clock, in milliseconds; a BigInt: nanoseconds; a Date, where that is the wall clock, or virtual time
 * whose start was given as a Date.
 */
export type Deadline = number | bigint | Date;

/** 'monotonic': as performance.now, from process.hrtime's zero; 'boottime': goes on while the system sleeps; 'wall': time of day. */
export type Clock = 'monotonic' | 'boottime' | 'wall';
export type Outcome = 'ok' | 'ignored' | 'running';
export type State = 'idle' | 'running' | 'suspended' | 'finished' | 'cancelled';
/** 'fired': an extra tick, of Timer.fire. */
export type TickKind = 'due' | 'fired';
/** 'coalesce': one tick that says how many were missed, on the grid; 'delay': the interval counts from the handler's end. */
export type MissedPolicy = 'coalesce' | 'delay';
/** 'coalesce': the grid stands, and missed ticks come as one; 'remaining': the time that was left is kept. */
export type ResumePolicy = 'coalesce' | 'remaining';

export const Clock: { readonly MONOTONIC: 'monotonic'; readonly BOOTTIME: 'boottime'; readonly WALL: 'wall' };
export const Outcome: { readonly OK: 'ok'; readonly IGNORED: 'ignored'; readonly RUNNING: 'running' };
export const State: {
  readonly IDLE: 'idle'; readonly RUNNING: 'running'; readonly SUSPENDED: 'suspended'; readonly FINISHED: 'finished';
  readonly CANCELLED: 'cancelled';
};
export const TickKind: { readonly DUE: 'due'; readonly FIRED: 'fired' };
export const MissedPolicy: { readonly COALESCE: 'coalesce'; readonly DELAY: 'delay' };
export const ResumePolicy: { readonly COALESCE: 'coalesce'; readonly REMAINING: 'remaining' };

/** A call has failed, and changed nothing. The message is a sentence on the argument, or on the status. */
export class ChimeError extends Error {
  private constructor();
  /** The status by its name: 'CHIME_ERROR_INVALID_ARGUMENT', for anything that is wrong with an argument, and so on. */
  readonly code: `CHIME_ERROR_${string}`;
}

/** One delivery. */
export class Tick {
  private constructor();
  readonly timer: Timer;
  readonly kind: TickKind;
  /** Changes with every accepted activate, restart, reschedule, suspend and cancel. */
  readonly generation: number;
  /** Counts the ticks since the last activate or restart at rest, from 1. */
  readonly sequence: number;
  /** Due times since the previous tick that got no tick of their own. */
  readonly missed: number;
  /** When it was due, and when it started, on the queue's clock, in nanoseconds. */
  readonly scheduledNs: bigint;
  readonly actualNs: bigint;
  /** The same in milliseconds. */
  readonly scheduled: number;
  readonly actual: number;
  /** For logs: what is a number or a name. */
  toJSON(): { kind: TickKind; generation: number; sequence: number; missed: number; scheduled: number; actual: number };
}

/** Not a generator function, whose body would never run: that is refused, unless `bind` or another function hides it. */
export type Handler = (tick: Tick) => unknown;

/** Either the delay of the first tick or its deadline. */
export type Schedule = ScheduleByDelay | ScheduleByDeadline;

export interface ScheduleByDelay extends Repetition {
  /** The delay of the first tick; left out: the interval, or 0. */
  first?: Duration | undefined;
  at?: undefined;
  resume?: ResumePolicy | undefined;
}

export interface ScheduleByDeadline extends Repetition {
  /** The deadline of the first tick. */
  at: Deadline;
  first?: undefined;
  resume?: 'coalesce' | undefined;
}

export interface Repetition {
  /** From the first tick on; 0, the default: there is only that one. */
  interval?: Duration;
  /** How late a tick may be in order to share a wake-up; below the interval. */
  leeway?: Duration;
  /** The longest random part that is added to each time of the grid; at most the interval. */
  jitter?: Duration;
  /** The timer finishes after so many due times, missed ones included; 0: never. */
  limit?: number;
  missed?: MissedPolicy;
}

export interface TimerOptions {
  /** For `dump` and `explain`. */
  label?: string;
  /** false: as after `unref`. */
  ref?: boolean;
}

/** An AbortSignal, without a need for TypeScript's "dom" or @types/node. */
interface Signal {
  readonly aborted: boolean;
  readonly reason?: unknown;
  addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

declare global {
  interface SymbolConstructor {
    /** Of Node 18.18 and later, for `using`; TypeScript's "esnext.disposable" and @types/node declare it likewise. */
    readonly dispose: unique symbol;
  }
}

export interface WaitOptions {
  /** An AbortSignal: when it aborts, the wait rejects with its reason; without one, with an AbortError. */
  signal?: Signal;
  /** false: Node does not stay for this. */
  ref?: boolean;
}

export interface TimerInfo {
  state: State;
  generation: number;
  sequence: number;
  missed: number;
  /** Infinity: not running. */
  nextDeadline: number;
  interval: number;
  leeway: number;
  jitter: number;
  limit: number;
  dueCount: number;
  /** Its handler runs. */
  busy: boolean;
  hasSchedule: boolean;
}

/**
 * Made by queues. At rest (idle, finished, cancelled) it costs nothing outside JavaScript, and no queue's timerLimit counts it.
 * What starts it then has its handler see what AsyncLocalStorage has there, as `refresh()` of Node's own timers does.
 */
export class Timer {
  private constructor();
  readonly queue: Queue | VirtualQueue;
  /** Throws for a timer that was released. */
  readonly state: State;
  readonly generation: number;
  /** On the queue's clock, in milliseconds; Infinity: it is not running. */
  readonly nextDeadline: number;
  /** Until the next tick, in milliseconds; 0: it is due; Infinity: it is not running. */
  readonly remaining: number;
  /**
   * As a call takes it: what it was given last, with what restartAfter, restartAt and setInterval have changed; undefined: none yet.
   * Where the timer is in it, and what `postpone` did, is no part of it.
   */
  readonly schedule: Schedule | undefined;
  info(): TimerInfo;
  /** Says in one sentence why the timer does not tick. */
  explain(): string;

  /** Starts a timer that is idle, finished or cancelled; otherwise 'ignored'. Without a schedule it keeps the one it has. */
  activate(schedule?: Schedule): Outcome;
  /** Makes it run from now on, whatever its state. */
  restart(schedule?: Schedule): Outcome;
  /** The same, with its first tick then. Interval and the like stay. */
  restartAfter(delay: Duration): Outcome;
  restartAt(deadline: Deadline): Outcome;
  /** Gives it another schedule, and leaves its state. */
  reschedule(schedule?: Schedule): Outcome;
  /** Moves the next deadline, if that is later: the call for idle timeouts. 'running': inside its
      handler. 'ignored': "the timeout won", or it does not run. */
  postpone(delay: Duration): Outcome;
  postponeTo(deadline: Deadline): Outcome;
  /** Changes the interval and nothing else: the next tick is due when it was. 'ignored': it ticks once. */
  setInterval(interval: Duration): Outcome;
  suspend(): Outcome;
  resume(): Outcome;
  /** Asks for one extra tick, soon. */
  fire(): Outcome;
  /** No tick starts from now on. It can be activated again. */
  cancel(): Outcome;
  /** Ends it for good: every call but this one throws from now on. What is collected need not be released. */
  release(): Outcome;

  /** Whether Node stays for it. */
  ref(): this;
  unref(): this;
  hasRef(): boolean;
  [Symbol.dispose](): void;
}

interface AnyQueue {
  readonly clock: Clock | 'virtual';
  /** The time on the queue's clock. */
  now(): number;
  nowNs(): bigint;
  /** Of its earliest timer; Infinity: nothing is to come. */
  readonly nextDeadline: number;

  /** Calls the handler once. */
  after(delay: Duration, handler: Handler, options?: TimerOptions): Timer;
  at(deadline: Deadline, handler: Handler, options?: TimerOptions): Timer;
  /** As `after`, for those who want no timer: `tick.timer` is there in the handler. */
  once(delay: Duration, handler: Handler, options?: TimerOptions): void;
  /** Calls the handler again and again, for the first time one interval from now. */
  every(interval: Duration, handler: Handler, options?: TimerOptions): Timer;
  start(schedule: Schedule, handler: Handler, options?: TimerOptions): Timer;
  /** An idle timer. */
  create(handler: Handler, options?: TimerOptions): Timer;
  /** Calls a function soon, before ticks that are due by then; on a virtual queue in the next advance. */
  runSoon(run: () => unknown): void;
  /** Fulfilled by the tick. `close`, or whoever stops its timer, rejects it with the code CHIME_ERROR_SHUT_DOWN. */
  sleep(delay: Duration, options?: WaitOptions): Promise<Tick>;
  /**
   * Ends with its timer, with the loop over it, or by `close`. Ticks that come while the body runs are one, with `missed`.
   * A number or a BigInt is the interval, above 0.
   */
  ticks(schedule: Schedule | Duration, options?: WaitOptions): AsyncGenerator<Tick, void, void>;

  /**
   * Holds all that the queue would call back until as many calls of `resume`. Time goes on: what became due comes then, the missed
   * ticks of a timer as one. 'running': inside a handler of the queue.
   */
  suspend(): Outcome;
  /** Takes one `suspend` back. 'ignored': the queue is not suspended. */
  resume(): Outcome;

  stats(): {
    timers: number; running: number; entries: number; passes: number; emptyPasses: number; ticks: number; missed: number;
    stale: number; merged: number;
    /** Ticks by how late they were: [0] less than 1,024 ns, and so on, doubling. */
    lateness: number[];
  };
  /** Those that run, that are suspended, or that have an extra tick to come, in no particular order; those of `once` among them. */
  timers(): Timer[];
  /** A line for the queue and one for each timer, for people. */
  dump(): string;
  /** Ends the queue, its timers, sleepers and loops over ticks. 'running': inside a handler of the queue. Again: 'ignored'. */
  close(): Outcome;
  [Symbol.dispose](): void;
}

/** Handlers run in the loop of the thread that made the queue. */
export class Queue implements AnyQueue {
  constructor(options?: { label?: string; clock?: Clock; timerLimit?: number });
  /** Whether Node stays for what is to come. */
  ref(): this;
  unref(): this;
  hasRef(): boolean;
}
export interface Queue extends AnyQueue {}

/** Time moves in `advance` only, where the handlers run: for tests and simulations. */
export class VirtualQueue implements AnyQueue {
  constructor(options?: { label?: string; start?: Duration | Date; seed?: number | bigint; honourLeeway?: boolean; timerLimit?: number });
  /**
   * Moves time forward from deadline to deadline; each tick runs at exactly its own. What one handler throws comes out of
   * this call when time has moved; what several throw, as an AggregateError. When Worker.terminate or process.exit stops
   * JavaScript, the queue ends, and with it this call. Not for code that runs under vm's `timeout`: an AsyncResource that is
   * interrupted makes Node end the process. Infinity is refused, because a timer that repeats would
   * tick for 292 years: to run until no timer is left, advance to `nextDeadline` as long as that is finite.
   */
  advance(duration: Duration): void;
  /**
   * The same, tick by tick, as Node's loop does it: after each, everything that promises have to do comes before the next one,
   * even at the same deadline. A thousand that make each other due at one instant are CHIME_ERROR_LIMIT, as in `advance`. A clock that was moved past the end
   * meanwhile stays there. Where a signal aborts, time stands, and it rejects with the signal's reason. Fake timers do no harm if they were enabled after this package was loaded.
   */
  advanceAsync(duration: Duration, options?: { signal?: Signal }): Promise<void>;
  /** Moves the clock alone, as a slow handler or a sleeping machine would. */
  jump(duration: Duration): void;
}
export interface VirtualQueue extends AnyQueue {}

/** Of libchime. */
export const version: string;
/** How many bytes Chime holds, in the whole process. */
export function memoryUsed(): number;
/** Writes what happens to all timers to a file for Perfetto; undefined ends it. */
export function traceToFile(path: string | undefined): Outcome;
