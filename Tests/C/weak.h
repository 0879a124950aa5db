/*
 * weak.h - what the tests of weak timers share.
 *
 * A `weak` is the user_info of one timer, on the loop of the calling thread. Its action checks what holds for each
 * tick: on time or late, never early; alone; before the finalizer; with the live object; on the grid of its due times,
 * each counted once. What a test leaves is released at its end; by then each user_info that was accepted has been
 * finalized once, and each object destroyed once.
 *
 * WEAK_TIMELINE(name, "...") defines a test as a script, with semicolons between the statements, on a loop of its own;
 * N is a number of milliseconds, `max`, `never` or `min`:
 *
 *     a every N, a once N   makes timer a and schedules it on the loop; then, as wanted, `target`: with an object of
 *                           its own, `unheld`: nobody holds it, `loose`: on no loop yet
 *     a.CALL                add [common, tracking], fire, invalidate, release, tolerance N, date N (from now; `date at
 *                           N`: since 1970), lose: releases its target. Expects CHIME_OK; with a `!` at the end
 *                           CHIME_RUNNING, with a `?` CHIME_IGNORED, with `!?` both, with `-> BUSY` that error
 *     a: STATEMENT, ...            each call of the action does that
 *     run a N [in tracking]        runs the loop, in the default mode or that, until a has had so many more ticks
 *     rest a [in tracking]         runs it for five intervals, without a tick of a
 *     run N                        runs it for so long
 *     a is valid, a is invalid     expects so
 *     a is busy, a is over         expects that its finalizer and its destructor have not been called; that they have
 *     a is kept                    expects that its finalizer has not been called
 *     a ticked N, a fired N        expects so many ticks that were due, or that were fired
 *     a due N, a tolerates N       expects its fire date in N, but for a minute; its tolerance
 */
#ifndef CSUITE_WEAK_H
#define CSUITE_WEAK_H

#include "run_loop.h"

#define INTERVAL (2 * CHIME_MILLISECOND)

typedef struct weak weak;
typedef void (*weak_handler)(weak *w, const chime_tick *tick);
struct weak {
  csuite *t;
  char name[2];             /* in a script */
  chime_weak_timer_t timer; /* 0: none, or one that nobody holds */
  chime_run_loop_t loop;
  probe *target;    /* its object; NULL: none */
  int is_accepted;  /* 1: a timer has it as user_info */
  int64_t interval; /* above 0: due times are checked against it */
  int64_t first_due;
  int64_t due_times; /* delivered and missed */
  int on_new_grid;   /* 1: the next tick begins another grid */
  weak_handler on_tick;
  void *user;
  chime_status status;
  chime_tick last;
  /* read and written by load, store and add */
  int due, fired, sequence, busy, finalized, flag, gate;
};

/** A user_info. */
weak *weak_new(csuite *t);
/** The same, whose timer is to have a target. */
weak *weak_with_target(csuite *t);

/** Its timer: on this thread's loop; that, held by nobody; on no loop. */
typedef enum holding { SCHEDULED, UNHELD, LOOSE } holding;
void weak_make(weak *w, holding holding, int64_t interval_ns, int repeats);

/** A user_info with a timer on this thread's loop, and that action. */
weak *weak_start(csuite *t, int64_t interval_ns, int repeats, weak_handler on_tick);

int32_t is_valid(csuite *t, chime_weak_timer_t timer);
int64_t fire_date(csuite *t, chime_weak_timer_t timer);
int64_t wall_ns(void);

/** Runs the calling thread's loop in its default mode until the timer has had so many due ticks. */
void run_until_due(weak *w, int least);

void csuite_weak_timeline(csuite *t, const char *script, const char *file, int line);

#define WEAK_TIMELINE(name, script) \
  OWN_THREAD_TEST(name) { csuite_weak_timeline(t, script, __FILE__, __LINE__); }

#endif /* CSUITE_WEAK_H */
