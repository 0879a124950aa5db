/*
 * ending.h - callbacks that end the thread they run on, and threads of the host that see it happen to them.
 */
#ifndef FAULTS_ENDING_H
#define FAULTS_ENDING_H

#include "places.h"

/* How end_thread does it: by pthread_exit, or by cancelling its thread at a cancellation point. */
extern int ending_by_cancellation;

/* How often the callbacks below were called; 1 once the first of them is about to end its thread. */
extern int ending_calls, ended;

/** Ends the thread: the first call in the process does, all others only count. As a handler; as a function or finalizer. */
void end_thread(void);
void end_in_tick(const chime_tick *tick, void *context);
void end_in_call(void *context);

/** A thread of the host's with a cleanup handler. */
typedef struct host_thread {
  pthread_t id;
  void (*body)(void);
  int cleaned_up;
  int has_ended; /* it was ended, and is joined */
} host_thread;

void host_thread_start(host_thread *thread, void (*body)(void));
/** What such a thread does, for one that is already there. */
void *host_thread_run(void *thread);
/** Whether a callback ended this thread. */
int host_thread_was_ended(const host_thread *thread);
/**
 * Waits for its end. If a callback ended it, its cleanup handler was called and its result is that of pthread_exit or
 * PTHREAD_CANCELED; else its body has returned.
 */
void host_thread_expect_end(host_thread *thread);

#endif
