/* pairs_meeting.h - one timer and the two calls that meet on it (pairs_storm.c), and its callbacks. */
#ifndef CSUITE_PAIRS_MEETING_H
#define CSUITE_PAIRS_MEETING_H

#include "pairs.h"

enum {
  BATCH = 128,
  HALF = BATCH / 2,
  NAMED = 3,   /* contexts of named handlers: the one before the calls, and one for each call */
  ENOUGH = 300 /* turns that a thread waits for the other one before it goes ahead */
};

#define KEY "pair"

typedef struct storm storm;
typedef struct meeting meeting;

/* The context of a named handler. */
typedef struct named {
  meeting *meeting;
  int removed; /* calls that may still come, + 1; 0: not removed */
  int accepted;
  int finalized;
} named;

/* One timer and the two calls that meet on it. */
struct meeting {
  storm *storm;
  chime_timer_t timer;
  chime_target_t target;
  chime_timer_t next[2]; /* made by who released the timer */
  uint64_t next_generation[2];
  uint64_t generation; /* before the calls; by __atomic builtins */
  start start;
  int64_t asked_ns; /* the time on the queue's clock before the calls */
  model before;
  call calls[2];
  int due, fired, armed, cancelled, finalized, destroyed, next_finalized;
  int busy;
  int stale;       /* ticks of the generation before the calls that may still start, + 1; 0: any number */
  uint64_t inside; /* the generation of the tick whose handler runs, or 0; by __atomic builtins */
  named named[NAMED];
  model seen;
};

typedef struct worker {
  storm *storm;
  int number;
  dice d;
  int progress; /* the meeting that it has come to, + 1 */
} worker;

struct storm {
  csuite *t;
  where place;
  chime_queue_t queue;
  meeting meetings[BATCH];
  worker workers[2];
  operation first, second;
  int arrived, turn; /* of the barrier */
  int failed;
  int end_of_time;
};

/** Lets so many turns of an empty loop pass. */
void pass_time(int turns);
void pair_on_tick(const chime_tick *tick, void *context);
void pair_on_armed(const chime_tick *tick, void *context);
void pair_on_cancelled(const chime_tick *tick, void *context);
void pair_on_finalize(void *context);
void pair_on_destroy(void *object);
void pair_on_named(const chime_tick *tick, void *context);
void pair_on_named_finalize(void *context);
void pair_on_next_tick(const chime_tick *tick, void *context);
void pair_on_next_finalize(void *context);

#endif /* CSUITE_PAIRS_MEETING_H */
