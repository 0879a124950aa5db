/*
 * model.h - a virtual queue as chime.h describes it, in the plainest code: an array of timers and a clock.
 *
 * The model uses nothing of Chime but the declarations, and names in what it prints. It says which statuses a call may return, which callback comes
 * next and with what in its tick. What the documents leave open is decided as the library decides it, and marked OPEN:
 * if the library changes there, the model is to be changed, not the library.
 */
#ifndef CHIME_MODEL_MODEL_H
#define CHIME_MODEL_MODEL_H

#include "input.h"

enum { MOST_TIMERS = 64, MOST_TARGETS = 4, MOST_FUNCTIONS = 32, MOST_NAMED = 64, KEYS = 3 };

/* A generation that is not known yet; the library's are smaller. */
#define NO_GENERATION UINT64_MAX

/** A handler beside the timer's own. */
typedef struct named_handler {
  int timer;
  int key;
  int is_added; /* and not removed, nor its timer gone */
  int is_called;
  int has_finalizer;
  int finalizer_is_due;
  int finalized;
} named_handler;

typedef struct target {
  chime_target_t id;
  int references;
  int holds;
  int destroyed;
} target;

typedef struct function {
  int ran;
  int finalized;
  int is_dropped;
} function;

typedef struct timer {
  int number;
  chime_timer_t id; /* 0: not known yet; a timer that nobody holds names itself in its first callback */
  int self_releasing, has_armed, has_cancelled, has_finalizer;
  int target; /* -1: none */

  chime_state state;
  int has_schedule;
  chime_schedule schedule;
  uint64_t sequence;
  uint64_t missed; /* in this activation */
  uint64_t due_count;
  uint64_t carried;    /* periods missed before a suspend under REMAINING */
  int64_t deadline;    /* suspended under REMAINING: the time that is left */
  int64_t random_part; /* of the deadline: what is not of the grid */
  uint64_t place;      /* in the order of activation; 0: never activated */
  int fire_pending;
  int64_t fire_time;
  int has_stale_turn; /* OPEN: of an extra tick or registration that was dropped; a callback owed since may come in it */
  int slot_may_have_turn; /* OPEN: of a timer that has gone; this one was made since, in the same slot */
  unsigned cancels;       /* CANCELLED that are owed, and after them */
  int armed_is_owed;      /* ARMED, until a cancel or release */

  uint64_t generation; /* as the library told it */
  int generation_changed;

  int busy;   /* 2: and holds its target */
  int rearms; /* the running tick is DUE under DELAY, and nothing has changed the generation since */
  int64_t provisional;
  int handlers[KEYS * 2]; /* named handlers to be called in the running tick */
  int handler_count, handler_next;
  int named[KEYS]; /* in order of their keys' coming; -1: none */

  int released;
  int ended_with_queue;
  int ends_itself; /* in the next pass, unless it is activated first */
  int finalized;
} timer;

/** What a timer may be called for in a pass. */
typedef enum turn_kind { TURN_CALLBACK, TURN_FIRED, TURN_DUE } turn_kind;

typedef struct turn {
  timer *timer;
  turn_kind kind;
  int64_t key;
  uint64_t place;
  int is_optional;
} turn;

typedef struct model {
  int64_t now;
  int honours_leeway;
  uint64_t timer_limit;
  uint64_t random_state; /* SplitMix64 */
  uint64_t places;
  timer timers[MOST_TIMERS];
  int timer_count;
  target targets[MOST_TARGETS];
  int target_count;
  named_handler named[MOST_NAMED];
  int named_count;
  function functions[MOST_FUNCTIONS];
  int function_count; /* made */
  int function_next;  /* to run */
  int has_ended;      /* the queue was released */
  int suspensions;    /* suspends of the queue without a resume */
  int is_held_up;     /* since a suspension: what was owed at once may be owed still, */
  int has_rest;       /* and turns of a pass that it has cut short are left */

  int advancing;
  int64_t goal; /* of the advance that runs */
  int in_pass;
  int64_t reading; /* the time when the pass began */
  int pass_functions_end;
  int doubted_functions; /* those that were there at the first tick in doubt at this instant */
  int collected;
  turn turns[MOST_TIMERS * 2];
  int turn_count, turn_next;
  int is_in_doubt; /* a tick came at `doubted` that may belong to the pass before or to the one after */
  int64_t doubted;
  int64_t instant;
  int passes_here, perhaps_here; /* at this instant: passes, and what may have been one of its own */
  int passes_beyond;             /* the same beyond the goal of the advance, all in all */

  uint64_t ticks, missed;
  /* OPEN: an extra tick or a registration was asked for and dropped, and may still cost a look at once. */
  int fire_dropped;
} model;

/* Calls: the statuses that are right. What takes effect has taken effect in the model when they return. */
timer *model_add_timer(model *m);
void model_start(model *m, timer *t, const chime_schedule *schedule);
/* schedule: NULL keeps the one it has. */
statuses model_activate(model *m, timer *t, const chime_schedule *schedule);
statuses model_restart(model *m, timer *t, const chime_schedule *schedule);
statuses model_restart_first(model *m, timer *t, int64_t first_ns, int is_deadline);
statuses model_reschedule(model *m, timer *t, const chime_schedule *schedule);
statuses model_set_interval(model *m, timer *t, int64_t interval_ns);
statuses model_suspend(model *m, timer *t);
statuses model_resume(model *m, timer *t);
statuses model_postpone(model *m, timer *t, int64_t point_ns, int64_t delay_ns);
statuses model_fire(model *m, timer *t);
statuses model_cancel(model *m, timer *t);
statuses model_release(model *m, timer *t);
void model_target_release(model *m, target *t);
void model_end_queue(model *m);
/** From within a callback or not. */
statuses model_suspend_queue(model *m, int is_inside);
statuses model_resume_queue(model *m);
/** -1 when the key is free. */
int model_named(model *m, timer *t, int key);
/** Has no more calls of the handler come. */
void model_remove_named(model *m, timer *t, int key);

/* Time and callbacks. */
void model_advance_begins(model *m, int64_t goal);
void model_advance_ended(model *m, chime_status status);
void model_tick_begins(model *m, timer *t, const chime_tick *tick);
void model_tick_returns(model *m, timer *t);
void model_named_begins(model *m, named_handler *h);
void model_named_returns(model *m, named_handler *h);
void model_function_begins(model *m, int number);
/** Releases a timer that was to release itself in a pass, which has come. */
void model_ends_itself(model *m, timer *t);
void model_finalizer_runs(model *m, timer *t);
void model_destructor_runs(model *m, target *t);
/** All that had to be called by now has been. Called when no callback of the queue is under way. */
void model_nothing_is_owed(const model *m);
/** The generation that the library says: another one just when the last change was to make it another. */
void model_sees_generation(timer *t, uint64_t generation);
void expect_of_timer(const timer *t, const char *what, int64_t actual, int64_t expected);

int timer_is_live(const timer *t);
int timer_is_owed_callbacks(const timer *t);
int timer_has_extra(const timer *t);
/** It was released, and is owed callbacks or its finalizer. */
int model_has_to_end(const timer *t);
const timer *model_busy_timer(const model *m);
/** The next random part of a due time, from 0 to that much. OPEN: which number, and when it is drawn. */
int64_t model_draw(model *m, int64_t most);
int64_t model_placement(const model *m, const timer *t);
/** What the queue has to say of itself outside its callbacks. */
int64_t model_next_deadline(const model *m);

#endif /* CHIME_MODEL_MODEL_H */
