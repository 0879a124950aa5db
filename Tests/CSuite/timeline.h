/*
 * timeline.h - tests of virtual time as scripts. TIMELINE(name, "...") defines a test on a virtual queue of its own, of
 * statements with semicolons between them. What stands behind a `|` is the log since the last look (notation: harness.h);
 * N is a number of nanoseconds, `max` or `min`.
 *
 *     +N  =N  >N            advance by, advance to, jump by
 *     now N                 expects the queue's time
 *     a SCHEDULE            starts timer a: N one-shot, N/N first delay and interval; then, as wanted, `at` (the first N is
 *                           a deadline), `limit N`, `leeway N`, `delay` and `remaining` (policies), and `full`, with
 *                           registration and cancel handlers
 *     a new [full]          makes it without starting it
 *     a.CALL                activate, restart, reschedule [SCHEDULE], suspend, resume, cancel, fire, release, postpone N,
 *                           until N; expects CHIME_OK, with a `!` at the end CHIME_RUNNING, with a `?` CHIME_IGNORED
 *     a is STATE            expects idle, running, suspended, finished or cancelled
 *     a due N, a left N, a counted N    expects the next deadline, the remaining time, the due count
 *     a: [xN] STATEMENT     each tick of a, or its first N, does that in the handler; a^: its registration handler
 */
#ifndef CSUITE_TIMELINE_H
#define CSUITE_TIMELINE_H

#include "harness.h"

void csuite_timeline(csuite *t, const char *script, const char *file, int line);

#define TIMELINE(name, script) \
  static void name(csuite *t) { csuite_timeline(t, script, __FILE__, __LINE__); }

#endif /* CSUITE_TIMELINE_H */
