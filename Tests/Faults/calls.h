/*
 * calls.h - each function of both headers once, with arguments that are right, in a world that has what it needs. A new
 * function gets a line in calls.c, which does not compile without it.
 */
#ifndef FAULTS_CALLS_H
#define FAULTS_CALLS_H

#include "places.h"

enum { UNTOUCHED = 0x5a5a5a5a, OTHERS = 24, HANDLERS = 130, ANOTHER_ERRNO = 4243 };

typedef struct world {
  int where;
  chime_queue_t queue;
  chime_queue_t empty;   /* where it is host-driven: another one, which nobody drives */
  chime_timer_t timer;   /* idle, with a label, and named handlers in an array that the reserve has no block for */
  chime_timer_t bare[2]; /* without anything that needs memory: idle, running */
  chime_target_t target; /* of the timer `tied` */
  chime_timer_t tied;
  chime_expiring_t expiring;
  chime_weak_timer_t weak;
  chime_run_loop_t loop;
  chime_timer_t others[OTHERS]; /* due, or about to be */
  uint64_t made;                /* what the call gives; the rest that it writes is not looked at */
} world;

/* What a call needs, and what it gives. */
enum {
  ALONE = 1,       /* it needs nothing that was made before: cold, it is the process's first call */
  GIVES_QUEUE = 2, /* `made` is to be shut down, */
  GIVES_TIMER = 4, /* released, */
  GIVES_TARGET = 8,
  GIVES_EXPIRING = 16,
  GIVES_WEAK = 32,
  GIVES_LOOP = 64,
  GIVES = 126,       /* any of these: it may fail, too */
  ENDS_QUEUE = 128,  /* afterwards the queue is none any more */
  OF_THE_LOOP = 256, /* not another on each kind of queue */
  NEVER_FAILS = 512, /* it answers so in a forked child, too */
  NOT_RUN = 1024,    /* nobody runs the queue that it gives */
  MAY_FAIL = 2048,   /* it may answer NO_MEMORY or RESOURCE */
  IS_QUERY = 4096    /* of `timer`, `tied` or `queue` */
};

typedef struct subject {
  const char *name;
  chime_status (*call)(world *w);
  int flags;
} subject;

extern const subject subjects[];
extern const int subject_count;

/* Contexts with a finalizer that Chime has taken from these calls, and those that it has finalized. */
extern int accepted_contexts, finalized_contexts;

/* How many callbacks of these calls have run on this thread. */
extern __thread int callbacks_here;
/** What each of them does. */
void leave_another_errno(void);

/** Makes all that the calls need, on the kind of queue `where`, which is set. */
void world_make(world *w);
/** Ends what a call has made. */
void world_end_made(const subject *call, uint64_t made);
/** Has a timer tick, if the queue is there still, and ends everything. */
void world_end(world *w, int queue_is_there);
/** Expects that each context that was accepted has been finalized once. */
void expect_all_finalized(void);

#endif
