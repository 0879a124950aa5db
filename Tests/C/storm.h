/*
 * storm.h - many threads, and the handlers themselves, make random calls on timers, targets, values and queues that
 * they share. Nothing is known of any one call but that its answer is one that its declaration lists; what must hold in
 * every order is checked in each callback and, by the book that is kept of all contexts, at the end.
 */
#ifndef CSUITE_STORM_H
#define CSUITE_STORM_H

#include "harness.h"
#include "status_set.h"

enum { PLACES = 48, REMEMBERED = 64 };

/* What the threads share, by kind. */
typedef enum kind { TIMERS, TARGETS, VALUES, SHARED } kind;

typedef struct storm storm;

/*
 * A line of the book: the context of a timer, function or named handler, or the object of a target or value. Kept until
 * the test ends: a callback after the finalizer is seen, not suffered.
 */
typedef struct entry {
  storm *storm;
  uint64_t id;
  struct entry *object; /* of a timer: its target; of an expiry handler: its value */
  int accepted;         /* so its finalizer must come, once */
  int finalized;
  int busy; /* callbacks that have it, or threads that have acquired it */
  int left; /* calls that may still come, + 1; 0: any number */
} entry;

struct storm {
  csuite *t;
  where place;
  chime_queue_t queue;
  entry *shared[SHARED][PLACES];   /* this, `gone` and `remembered` by __atomic builtins */
  entry *gone;                     /* a target that was released */
  uint64_t remembered[REMEMBERED]; /* ids of released timers */
  entry *book;
  int capacity;
  int made; /* lines of the book */
  int calls_of_each_thread;
  int inside; /* callbacks on the one queue, which is not a concurrent one */
  int ticks, named_calls, expiries, acquired;
  int over; /* 1: handlers leave everything alone, and threads end */
  int end_of_time;
};

#define LOAD(variable) __atomic_load_n(&(variable), __ATOMIC_ACQUIRE)
#define SWAP(variable, value) __atomic_exchange_n(&(variable), (value), __ATOMIC_ACQ_REL)

/* What a declaration lists. */
#define MAY(name) STATUS_SET(CHIME_##name)
#define STALE MAY(ERROR_INVALID_HANDLE)

/** Whether the status is one of those; if not, that is a failure of `call`. */
int storm_lists(storm *s, chime_status status, uint32_t listed, const char *call);
#define LISTED(call, listed) storm_lists(s, (call), (listed), #call)

/* ---- The book, and the callbacks (storm.c) ----------------------------------------------------------------------- */

/** A new line; NULL when the book is full. */
entry *storm_entry(storm *s, entry *object);

/** A call that gives the context to Chime has answered this. Returns whether it was accepted. */
int storm_accepts(entry *e, chime_status status);

/** Somebody has the object from here on, in which its end must not come; and no more. */
void storm_hold(entry *object);
void storm_let_go(entry *object);

void storm_on_tick(const chime_tick *tick, void *context);
void storm_on_turn(const chime_tick *tick, void *context); /* registration and cancel handlers */
void storm_on_named(const chime_tick *tick, void *context);
void storm_on_expiry(const chime_tick *tick, void *context);
void storm_on_function(void *context);
void storm_finalize(void *context);

/* ---- Calls (storm_calls.c) --------------------------------------------------------------------------------------- */

/** A random call on something random; `inside` a callback or not. */
void storm_call(storm *s, dice *d, int inside);
/** In a handler, on its own timer. */
void storm_call_own_timer(storm *s, chime_timer_t timer, dice *d);
/** Releases what is shared, except for what a handler that is under way may put there afterwards. */
void storm_release_all(storm *s);

#endif /* CSUITE_STORM_H */
