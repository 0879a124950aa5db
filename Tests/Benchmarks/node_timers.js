// Node's own timers beside the package chime-timers: processor time of a call, in nanoseconds.
//
//     node node_timers.js PACKAGE      PACKAGE: a directory of the package, built
'use strict';
const path = require('node:path');
const { Queue } = require(path.resolve(process.argv[2]));
const CALLS = 200000, DELAY = 30000, handler = () => {}, queue = new Queue();

function cost(run) {
  run(CALLS / 10); // until it is compiled
  const rounds = Array.from({ length: 5 }, () => {
    const begun = process.cpuUsage();
    run(CALLS);
    const used = process.cpuUsage(begun);
    return (used.user + used.system) * 1000 / CALLS;
  });
  return Math.round(Math.min(...rounds));
}

const repeat = (call) => (count) => { for (let i = 0; i < count; i++) call(); };
const pending = (make, end) => (count) => { for (const timer of Array.from({ length: count }, make)) end(timer); };
const make = () => setTimeout(handler, DELAY), makeChime = () => queue.after(DELAY, handler);
const own = make(), chime = makeChime();

console.log('                          Node  Chime');
for (const [name, ...runs] of [
  ['created and cancelled', repeat(() => clearTimeout(make())), repeat(() => makeChime().release())],
  ['the same, 200,000 pending', pending(make, clearTimeout), pending(makeChime, (timer) => timer.release())],
  ['moved', repeat(() => own.refresh()), repeat(() => chime.postpone(DELAY))],
]) console.log(name.padEnd(25), ...runs.map((run) => String(cost(run)).padStart(5)));
clearTimeout(own);
chime.release();
