'use strict';
// The scenario of ../README.md in JavaScript for Node, with Sources/Bindings/node/addon.c. Virtual time needs no loop; the
// host-driven queues are one more descriptor in Node's own. chime_timer_after is timerStart with its schedule.

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

  say('- virtual time');
  const target = chime.targetCreate({ number: 77, destroy() { say('destructor', this.number); } });
  const timer = chime.timerStart(queue, { context: new Printing(1), armed: 1, cancelled: 1, target },
    { first: 50, interval: 50, resumePolicy: RESUME_REMAINING }, true);
  advance(20);
  say('suspend', name(chime.timerSuspend(timer)), 'again', name(chime.timerSuspend(timer)));
  advance(1005);
  const info = chime.timerInfo(timer);
  say('state', info.state, 'remaining', info.remaining);
  ok(chime.timerResume(timer));
  ok(chime.queueJump(queue, 85));
  say(`now ${chime.queueNow(queue)}`);
  advance(0);
  say('retain', chime.targetRetain(target).number);
  ok(chime.targetRelease(target));
  ok(chime.targetRelease(target));
  say('state', chime.timerState(timer), 'activate', name(chime.timerActivate(timer)),
    'retain', failure(() => chime.targetRetain(target)));
  advance(0);
  ok(chime.timerRelease(timer));
  say('release', name(chime.timerRelease(timer)), 'of 0', name(chime.timerRelease(0)));
  chime.timerStart(queue, { context: new Printing(2) }, { first: 10 }, false);
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
  const [counting, runner] = [new Counting(3), new Counting(4)];
  const timer = chime.timerStart(queue, { context: counting }, { first: 1e6, interval: 1e6, tickLimit: 3 }, true);
  ok(chime.queueAsync(queue, runner));
  await untilDone(queue, () => {
    ok(chime.queueProcess(queue, 0));
    return counting.dues >= 3 && runner.runs >= 1;
  });
  say(`due times ${counting.dues} early ${counting.early} functions ${runner.runs} state`, chime.timerState(timer));
  ok(chime.timerRelease(timer));
  ok(chime.queueShutdown(queue, Infinity));
}

async function records() {
  say('- host-driven, records');
  const queue = chime.queueCreate(QUEUE_HOST, QUEUE_RECORDS);
  const timer = chime.timerStart(queue, { context: 5, flags: RECORD_ARMED | RECORD_CANCELLED | RECORD_FINALIZE },
    { flags: SCHEDULE_DEADLINE, first: 1, interval: 10n ** 18n }, true);

  /** Takes until that many records came, acts on each, prints each. */
  function take(expected) {
    let seen = 0;
    return untilDone(queue, () => {
      for (const tick of chime.queueTakeTicks(queue, 16)) {
        seen += 1;
        say(`record ${tick.context}: ${KINDS[tick.kind]}`);
        if (KINDS[tick.kind] !== 'DUE') continue;
        say(`due ${tick.scheduled} cancel`, name(chime.timerCancel(tick.timer)),
          'generation', name(chime.timerCheckGeneration(tick.timer, tick.generation)));
      }
      return seen >= expected;
    });
  }

  await take(2);
  await take(1);
  ok(chime.queueAsyncRecord(queue, 6));
  await take(1);
  ok(chime.timerRelease(timer));
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
