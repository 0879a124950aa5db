/*
 * weak.h - what the tests of weak timers share.
 *
 * A `weak` is the user_info of one timer, on the loop of the calling thread. Its action checks what holds for every tick:
 * on time or late, never early; alone; before the finalizer; with the live object; on the grid of its due times, each
 * counted once. What a test leaves is released at its end; by then each user_info that was accepted has been finalized
 * once, and each object destroyed once.
 */
#ifndef CSUITE_WEAK_H
#define CSUITE_WEAK_H

#include "run_loop.h"

#define INTERVAL (2 * CHIME_MILLISECOND)

typedef struct weak weak;
struct weak {
  csuite *t;
  chime_weak_timer_t timer; /* 0: none, or one that nobody holds */
  chime_run_loop_t loop;
  chime_target_t target;
  int object, objects_destroyed; /* the target's object is &object */
  int is_accepted;               /* 1: a timer has it as user_info */
  int64_t interval;              /* above 0: due times are checked against it */
  int64_t first_due;
  int64_t due_times; /* delivered and missed */
  int on_new_grid;   /* 1: the next tick begins another grid */
  void (*on_tick)(weak *w, const chime_tick *tick);
  chime_status status, status2;
  chime_tick last;
  int has_target;
  /* read and written by load, store and add */
  int due, fired, sequence, busy, finalized, flag, gate;
};

void weak_action(const chime_tick *tick, void *user_info);
void weak_finalizer(void *user_info);

/** A user_info. */
weak *weak_new(csuite *t);
/** The same, whose timer is to have a target. */
weak *weak_with_target(csuite *t);

/* Its timer: on no loop; on this thread's loop; that, held by nobody. */
void weak_create(weak *w, int64_t interval_ns, int repeats);
void weak_schedule(weak *w, int64_t interval_ns, int repeats);
void weak_schedule_unheld(weak *w, int64_t interval_ns, int repeats);

/** A user_info with a timer of INTERVAL on this thread's loop. */
weak *repeating(csuite *t);

int is_valid(weak *w);
int64_t fire_date(weak *w);
int64_t wall_ns(void);

/** Runs the calling thread's loop in its default mode until the timer has had so many due ticks. */
void run_until_due(weak *w, int least);

/** Runs it for five intervals and expects no tick of the timer. */
void expect_no_tick(weak *w);

/** An action: raises the flag; the first time it stays until the gate opens. */
void stay(weak *w, const chime_tick *tick);

/** The body of a thread: fires the timer. */
void *fire_from_here(void *argument);

#endif /* CSUITE_WEAK_H */
