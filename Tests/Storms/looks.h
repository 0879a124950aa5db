/* looks.h - timers that one thread starts and others look at. */
#ifndef STORMS_LOOKS_H
#define STORMS_LOOKS_H

#include "storms.h"

enum { LOOKED = 3 };

typedef struct looked {
  csuite *t;
  chime_queue_t queue;
  int count; /* of the timers */
  chime_timer_t timers[LOOKED];
  int64_t deadlines[LOOKED]; /* by __atomic builtins */
  struct looked_tick {
    int ticks;
    int late; /* of these, those that were not at their deadline */
  } of[LOOKED];
  int before[LOOKED];
  int over;
  int looks, moves;
  pthread_t looker, mover;
  dice dice;
} looked;

/** Idle timers, LOOKED at most. `flags` are those of the queue. */
looked *looked_new(csuite *t, chime_queue_t queue, uint32_t flags, int count);

/** Starts the threads that look, and move; ends them. */
void looked_begin(looked *l, int with_moves);
void looked_end(looked *l);

/** One query of a kind that the dice choose. */
void look_once(looked *l, dice *d);

#endif /* STORMS_LOOKS_H */
