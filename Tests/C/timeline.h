/*
 * timeline.h - tests of virtual time as scripts. TIMELINE(name, "...") defines a test on a virtual queue of its own, of
 * statements with semicolons between them. What stands behind a `|` is the log since the last look (notation:
 * harness.h); N is a number of nanoseconds, `max` or `min`.
 *
 *     +N  =N  >N            advance by, advance to, jump by
 *     now N, next N         expects the queue's time, its next deadline
 *     timers N              expects so many timers of the queue
 *     queue.CALL            release or shutdown of the queue
 *     queue with leeway     first of all statements: it honours leeway
 *
 * Timers, in lower case:
 *     a SCHEDULE            starts timer a: N one-shot, N/N first delay and interval; then, as wanted, `at` (the first N is
 *                           a deadline), `limit N`, `leeway N`, `delay` and `remaining` (policies); behind these `full`,
 *                           with registration and cancel handlers, `self`, which releases itself, and last `of O`, with
 *                           that target
 *     a new ...             makes it without a schedule and without starting it
 *     a.CALL                activate, restart, reschedule [SCHEDULE], suspend, resume, cancel, cancel_and_wait, fire,
 *                           release, restart_after N, restart_until N, postpone N, until N
 *     a.add x [as y]        puts the named handler x, with the key x or y
 *     a.remove y            removes the named handler of that key
 *     a is STATE            expects idle, running, suspended, finished or cancelled
 *     a is busy, a is over  expects that its handler runs; that no call starts or changes it, as its target has gone
 *     a says TEXT           expects that explanation, with `/` for each semicolon
 *     a due N, a left N, a counted N    expects the next deadline, the remaining time, the due count
 *
 * Targets and values that expire, in capitals:
 *     O target              makes a target
 *     O.CALL                retain, release
 *     V value N             makes a value that expires after N
 *     V.CALL                acquire, yield, reset N, release
 *     V.on x, V.on nothing  has x handle its expiry, or nobody
 *     V is there, V is gone expects that it can be acquired, or that it cannot, for it has vanished
 *     V is ended            expects that every call answers so; V is released: with CHIME_ERROR_INVALID_HANDLE
 *
 * Every call expects CHIME_OK; with a `!` at the end CHIME_RUNNING, with a `?` CHIME_IGNORED, with `-> BUSY` that error.
 *
 *     a: [xN] STATEMENT, ...      each tick of a, or its first N, does that in the handler, as do calls of a handler x:
 *     a^: STATEMENT, ...          its registration handler; so for x.: finalizers, O.: destructors
 *
 * All contexts and objects are probes, whose callbacks are checked; so is that a tick has its target as long as that is
 * there. After the last statement everything is released; each finalizer must have been called once, that of a context
 * that was refused never.
 */
#ifndef CSUITE_TIMELINE_H
#define CSUITE_TIMELINE_H

#include "harness.h"

void csuite_timeline(csuite *t, const char *script, const char *file, int line);

#define TIMELINE(name, script) \
  TEST(name) { csuite_timeline(t, script, __FILE__, __LINE__); }

#endif /* CSUITE_TIMELINE_H */
