/*
 * lockstep.h - the real queue and the model beside it, within one input. One thread.
 *
 * Each call goes to both; each callback is shown to the model when it begins and when it returns, and the input may
 * have it make calls of its own.
 */
#ifndef CHIME_FUZZ_LOCKSTEP_H
#define CHIME_FUZZ_LOCKSTEP_H

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

/* lockstep.c */
void perform(const operation *o);
void compare_timer(timer *t);
void compare_queue_deadline(void);
void compare_all(void);

/* operations.c */
void make_call(const operation *o, timer *t);

/* timer_calls.c and queue_calls.c: a call, to both. Those on a timer have one. */
void create(const operation *o, timer *t);
void call_with_schedule(const operation *o, timer *t);
void call_timer(const operation *o, timer *t); /* suspend, resume, fire, cancel or release */
void postpone(const operation *o, timer *t);
void cancel_and_wait(const operation *o, timer *t);
void check_generation(const operation *o, timer *t);
void churn(const operation *o, timer *t);
void add_handler(const operation *o, timer *t);
void remove_handler(const operation *o, timer *t);
void call_advance(const operation *o, timer *t);
void call_jump(const operation *o, timer *t);
void call_target(const operation *o, timer *t);
void call_async(const operation *o, timer *t);
void call_sync(const operation *o, timer *t);
void end_queue(const operation *o, timer *t);
void add_script(const operation *o, timer *t);

/* callbacks.c: what the library calls */
void on_tick(const chime_tick *tick, void *context);
void on_armed(const chime_tick *tick, void *context);
void on_cancelled(const chime_tick *tick, void *context);
void on_named(const chime_tick *tick, void *context);
void on_function(void *context);
void finalize_timer(void *context);
void finalize_named(void *context);
void finalize_function(void *context);
void destroy_target(void *context);

#endif /* CHIME_FUZZ_LOCKSTEP_H */
