'use strict';
// The scenario of ../README.md in JavaScript for Node, with Sources/Bindings/node/addon.c. Virtual time needs no loop; the
// host-driven queues are one more descriptor in Node's own. chime_timer_after and _every are timerStart with their schedules.

const chime = require(process.env.CHIME_ADDON);

const QUEUE_HOST = 2, QUEUE_VIRTUAL = 4;
const QUEUE_RECORDS = 4;
const SCHEDULE_DEADLINE = 1;
const RESUME_REMAINING = 1;
const RECORD_ARMED = 2, RECORD_CANCELLED = 4, RECORD_FINALIZE = 8;
const KINDS = ['DUE', 'FIRED', 'ARMED', 'CANCELLED', 'FINALIZE', 'FUNCTION'];

const say = (...words) => console.log(...words);
const name = chime.statusName;

/** For a call that can only succeed here. */
function ok(status) {
  if (status !== 0) throw new Error(name(status));
}

/** The status name of a call that throws. */
function failure(call) {
  try {
    call();
  } catch (error) {
    return error.code;
  }
  return 'CHIME_OK';
}

/** A context. */
class Printing {
  constructor(number) {
    this.number = number;
  }
  tick(tick) {
    if (tick.context !== this) throw new Error('the tick has another context');
    const target = tick.target ? ` target ${tick.target.number}` : '';
    say(`tick ${this.number}: ${KINDS[tick.kind]} sequence ${tick.sequence} missed ${tick.missed}` +
      ` due ${tick.scheduled} at ${tick.actual}${target}`);
  }
  finalize() {
    say(`finalizer ${this.number}`);
  }
}

class Counting extends Printing {
  dues = 0n;
  early = 0;
  runs = 0;
  tick(tick) {
    this.dues += 1n + tick.missed;
    if (tick.actual < tick.scheduled) this.early += 1;
  }
  run() {
    this.runs += 1;
  }
}

function virtualTime() {
  const queue = chime.queueCreate(QUEUE_VIRTUAL, 0);
  const advance = (duration) => ok(chime.queueAdvance(queue, duration));
  const start = (options, schedule) => chime.timerStart(queue, options, schedule, true);
  const after = (delay, number) => start({ context: new Printing(number) }, { first: delay });

  say('- one-shot');
  let timer = after(100, 1);
  advance(99);
  advance(1);
  say('state', chime.timerState(timer));
  ok(chime.timerRelease(timer));
  say('release', name(chime.timerRelease(timer)), 'of 0', name(chime.timerRelease(0)));

  say('- repeat');
  timer = start({ context: new Printing(2) }, { first: 10, interval: 10 });
  advance(25);
  ok(chime.queueJump(queue, 30));
  say(`now ${chime.queueNow(queue)}`);
  advance(0);

  ok(chime.timerRelease(timer));

  say('- suspend and resume, with a target');
  const target = chime.targetCreate({ number: 77, destroy() { say('destructor', this.number); } });
  timer = start({ context: new Printing(3), armed: 1, cancelled: 1, target },
    { first: 50, interval: 50, resumePolicy: RESUME_REMAINING });
  advance(20);
  say('suspend', name(chime.timerSuspend(timer)), 'again', name(chime.timerSuspend(timer)));
  advance(1005);
  const info = chime.timerInfo(timer);
  say('state', info.state, 'remaining', info.remaining);
  ok(chime.timerResume(timer));
  advance(30);
  say('retain', chime.targetRetain(target).number);
  ok(chime.targetRelease(target));
  ok(chime.targetRelease(target));
  say('state', chime.timerState(timer), 'activate', name(chime.timerActivate(timer)),
    'retain', failure(() => chime.targetRetain(target)));
  advance(0);
  ok(chime.timerRelease(timer));

  say('- nobody holds it');
  chime.timerStart(queue, { context: new Printing(6) }, { first: 10 }, false);
  advance(10);
  chime.timerStart(queue, { context: new Printing(7) }, { first: 10 }, false);
  say('shutdown', name(chime.queueShutdown(queue, Infinity)));
  say('advance', name(chime.queueAdvance(queue, 10)));
}

/** Calls `step` whenever the queue is readable, until it returns true. */
function untilDone(queue, step) {
  return new Promise((resolve, reject) => {
    const finish = (how, value) => {
      clearTimeout(patience);
      chime.unwatch(watching);
      how(value);
    };
    const tooLate = () => finish(reject, new Error('the descriptor was not readable within 10 s'));
    let patience = setTimeout(tooLate, 10_000);
    const watching = chime.watch(queue, () => {
      patience.refresh();
      if (step()) finish(resolve);
    });
  });
}

async function hostDriven() {
  say('- host-driven, callbacks');
  const queue = chime.queueCreate(QUEUE_HOST, 0);
  const [once, five, runner] = [new Counting(8), new Counting(9), new Counting(10)];
  const oneShot = chime.timerStart(queue, { context: once }, { first: 1_000_000 }, true);
  const repeating =
    chime.timerStart(queue, { context: five }, { first: 1_000_000, interval: 1_000_000, tickLimit: 5 }, true);
  ok(chime.queueAsync(queue, runner));
  await untilDone(queue, () => {
    ok(chime.queueProcess(queue, 0));
    return once.dues >= 1 && five.dues >= 5 && runner.runs >= 1;
  });
  say(`due times ${once.dues} ${five.dues} early ${once.early + five.early} functions ${runner.runs}`);
  say('states', chime.timerState(oneShot), chime.timerState(repeating));
  ok(chime.timerRelease(oneShot));
  ok(chime.timerRelease(repeating));
  ok(chime.queueShutdown(queue, Infinity));
}

async function records() {
  say('- host-driven, records');
  const queue = chime.queueCreate(QUEUE_HOST, QUEUE_RECORDS);
  const flags = RECORD_ARMED | RECORD_CANCELLED | RECORD_FINALIZE;
  const start = (context, schedule) =>
    chime.timerStart(queue, { context, flags }, { flags: SCHEDULE_DEADLINE, ...schedule }, true);

  /** Takes until that many records came, acts on each, prints each. */
  function take(expected) {
    let seen = 0;
    return untilDone(queue, () => {
      for (const tick of chime.queueTakeTicks(queue, 16)) {
        seen += 1;
        if (KINDS[tick.kind] !== 'DUE') {
          say(`record ${tick.context}: ${KINDS[tick.kind]}`);
          continue;
        }
        say(`record ${tick.context}: DUE sequence ${tick.sequence} missed ${tick.missed} due ${tick.scheduled}` +
          ` generation ${name(chime.timerCheckGeneration(tick.timer, tick.generation))}`);
        if (tick.context === 11) say('cancel', name(chime.timerCancel(second)));
      }
      return seen >= expected;
    });
  }

  const first = start(11, { first: 1, interval: 1, tickLimit: 4 });
  const second = start(12, { first: 2, interval: 10n ** 18n });
  await take(4);
  await take(1);
  ok(chime.queueAsyncRecord(queue, 13));
  await take(1);
  ok(chime.timerRelease(first));
  await take(1);
  ok(chime.timerRelease(second));
  await take(1);
  ok(chime.queueShutdown(queue, Infinity));
}

async function main() {
  const version = chime.version();
  say(`version ${version >> 16}.${version >> 8 & 255}.${version & 255}`);
  virtualTime();
  await hostDriven();
  await records();
}

main();
