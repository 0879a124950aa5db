/*
 * load.h - a million timers under mixed work, and the book that is kept of them.
 *
 * An entry is one place in the book: one timer after the other. One worker owns it and makes all calls on its timer;
 * the timer's callbacks only read what the owner has put down and add what has come. `version` is a sequence lock: odd
 * while the owner changes what is to be expected, and for as long as that is not known (a handler was under way).
 */
#ifndef STORMS_LOAD_H
#define STORMS_LOAD_H

#include "storms.h"

typedef struct place {
  csuite *t;
  chime_queue_t queue;
  int64_t ticks;      /* DUE */
  int64_t reached_ns; /* the deadline of its latest one-shot: by __atomic builtins */
} place;

typedef enum plan {
  VACANT,    /* no timer, or one of which nothing is expected */
  ONE_SHOT,  /* one tick at deadline_ns */
  REPEATING, /* ticks at deadline_ns + k * interval_ns */
  RESTING    /* suspended or cancelled: no tick */
} plan;

typedef struct entry {
  chime_timer_t timer;
  int64_t deadline_ns;
  int64_t interval_ns;
  int64_t awaited_ns;  /* when it is to be expected: a timer that is resumed may have a deadline long past */
  uint64_t generation; /* of which the plan is true */
  place *place;
  int version;
  int plan;
  int accepted;   /* contexts, by the owner */
  int finalized;  /* of these */
  int due;        /* DUE ticks */
  int due_before; /* of these, when the plan was made */
  int busy;
  /* of the last tick, by the handler: */
  int sequence;
  uint64_t tick_generation;
  int64_t covered; /* due times of that generation, ticked or missed */
} entry;

typedef struct worker {
  dice dice;
  entry *entries;
  int64_t count;
  int64_t calls;
} worker;

extern int64_t longest_ns; /* delays are up to this (load.c) */

void entry_work(entry *e, worker *w);
void entry_make(entry *e, worker *w);
void entry_check_lost(entry *e);
/** Has the timer tick once more, soon, if it can. */
void entry_close(entry *e);
/** Whether its timer has ticked since the plan was made. */
int entry_has_ticked(const entry *e);
int entry_is_finalized(const entry *e);
void entry_release(entry *e);

#endif /* STORMS_LOAD_H */
