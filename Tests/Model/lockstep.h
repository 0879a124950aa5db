/*
 * lockstep.h - the real queue and the model beside it, within one input. One thread.
 *
 * Each call goes to both; each callback is shown to the model when it begins and when it returns, and the input may
 * have it make calls of its own.
 */
#ifndef CHIME_MODEL_LOCKSTEP_H
#define CHIME_MODEL_LOCKSTEP_H

#include "model.h"
#include "operations.h"

enum { MOST_SCRIPTS = 64, MOST_CALLS = 1500, MOST_CALLBACKS = 4000 };

/** What a timer's handler does at one of its callbacks. */
typedef struct script {
  int timer; /* -1: the next function that queue_async runs */
  int when;
  operation call;
} script;

typedef struct lockstep {
  model m;
  chime_queue_t queue;
  script scripts[MOST_SCRIPTS];
  int script_count;
  int callbacks_of[MOST_TIMERS];
  /* How much is asked after each call. Asking moves things inside the library, so that it is not always done. */
  int asks_timers, asks_info, asks_queue;
  int depth; /* callbacks of the queue under way */
  int quiet; /* a call is under way that the model has carried out and the library has not */
  int calls, callbacks;
} lockstep;

extern lockstep the;
#define M (&the.m)

/* calls.c: the whole input, from the queue's beginning to its end */
void try_input(const uint8_t *data, size_t size);

/* lockstep.c */
void perform(const operation *o);
void compare_timer(timer *t);
void compare_queue_deadline(void);
void compare_all(void);

/* operations.c */
void make_call(const operation *o, timer *t);

/* timer_calls.c and queue_calls.c: a call, to both. Those on a timer have one. */
typedef void both_call(const operation *o, timer *t);
both_call create, call_with_schedule, restart_first, set_interval, call_timer, postpone, cancel_and_wait, add_handler,
    remove_handler;
both_call call_advance, call_jump, call_target, call_async, suspend_or_resume, end_queue, add_script;

/* callbacks.c: what the library calls */
typedef void tick_callback(const chime_tick *tick, void *context);
typedef void callback(void *context);
tick_callback on_tick, on_armed, on_cancelled, on_named;
callback on_function, finalize_timer, finalize_named, finalize_function, destroy_target;

#endif /* CHIME_MODEL_LOCKSTEP_H */
