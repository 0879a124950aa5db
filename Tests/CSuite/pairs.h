/*
 * pairs.h - two calls on one timer, made at the same time, and the question whether what they answered and left behind
 * fits one order of the two. The storm (pairs_storm.c) makes the calls; the model (pairs_model.c) tries the orders.
 */
#ifndef CSUITE_PAIRS_H
#define CSUITE_PAIRS_H

#include "harness.h"

typedef enum operation {
  ACTIVATE,
  RESTART,
  SUSPEND,
  RESUME,
  RESCHEDULE,
  POSTPONE,
  POSTPONE_UNTIL,
  FIRE,
  CANCEL,
  CANCEL_AND_WAIT,
  RELEASE, /* and at once another timer is made, which may get the same slot */
  GENERATION,
  CHECK_GENERATION,
  STATE,
  NEXT_DEADLINE,
  GET_INFO,
  ADD_HANDLER,
  REMOVE_HANDLER,
  EXPLAIN,
  TARGET_RELEASE,
  OPERATIONS
} operation;

/* What a timer has before it as long as nobody moves it. */
typedef enum prospect {
  FAR,         /* repeating, its first tick is an hour or more away */
  SOON,        /* one tick, now or in a moment */
  TICKING,     /* repeating, at once and again and again */
  GIVEN,       /* how many of them a schedule can give */
  NONE = GIVEN /* no schedule yet */
} prospect;

typedef enum start {
  START_IDLE,
  START_RUNNING,
  START_SUSPENDED,
  START_FINISHED,
  START_CANCELLED,
  START_RUNNING_SOON,
  START_SUSPENDED_SOON,
  START_TICKING,
  STARTS
} start;

/* One of the two calls and its answer. */
typedef struct call {
  operation operation;
  prospect prospect; /* of the schedule given, by those that give one */
  chime_status status;
  int value; /* STATE, GET_INFO: the state. GENERATION: 1: not the one before the calls. NEXT_DEADLINE: 1: there is one */
} call;

/* A timer as the contract has it; also what was seen of the real one when all is quiet. */
typedef struct model {
  chime_state state;
  prospect prospect; /* of the schedule it has */
  int far_away;      /* it runs, and its next tick is an hour or more away */
  int released;
  int target_gone;
  int named;   /* it has a handler under the key */
  int changed; /* its generation is not the one before the calls */
  int whole;   /* it has registration and cancel handlers */
  int due;     /* calls of its handlers so far, by kind */
  int fired;
  int armed;
  int cancelled;
  /* not seen from outside: */
  int postponed; /* its next tick is far away whatever the schedule says */
  int fire_wanted;
  int called;  /* a callback has started, and may not have returned */
  int ticked;  /* TICKING: `due` can be any number */
  int awaited; /* a wait timed out: a callback must have started at some time */
} model;

extern const char *const operation_names[OPERATIONS];
extern const char *const start_names[STARTS];

/** The timer as it is before the two calls. */
model model_of(start start, int whole, int named);

/**
 * Whether there is an order of the two calls, of the timer's ticks between them, and after them of what is still to come,
 * in which both answers are right and the end is what was seen. 0 also while something is still to come.
 */
int model_explains(const model *before, const call calls[2], const model *seen);

#endif /* CSUITE_PAIRS_H */
