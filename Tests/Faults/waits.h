/*
 * waits.h - each call that waits, on each kind of queue that it waits differently on: what must not disturb a wait
 * (signals, a cancellation, a step of the wall clock) is tried on all of them.
 */
#ifndef FAULTS_WAITS_H
#define FAULTS_WAITS_H

#include "places.h"

typedef struct wait {
  const char *name;
  chime_status (*call)(int64_t timeout_ns);
  int where; /* its queue; PLACES: none */
  int flags;
} wait;

enum {
  FOR_A_HANDLER = 1, /* it waits for a handler, which wait_prepare has begun, and which then waits for wait_let_go */
  STOPS = 2,         /* what ends it is a stop: it answers CHIME_STOPPED */
  SHUTS_DOWN = 4,
  OF_A_LOOP = 8, /* the calling thread's run loop */
  SLEEPS = 16,   /* until its timeout is over; nothing else ends it */
  SHORT = 32,    /* it waits for a thread of Chime's alone */
  ENDLESS = 64,  /* it has no timeout */
  ON_MAIN = 128  /* on the main thread only */
};

extern const wait waits[];
extern const int wait_count;

/** Makes what it waits on. Its thread must be the one that makes the call. */
void wait_prepare(const wait *w);
/** What it answers when what it waits for comes. */
chime_status wait_expected(const wait *w);
/** What it answers when its timeout is over. */
chime_status wait_timed_out(const wait *w);
/** Has what it waits for come: now, and again, until *returned is set. */
void wait_let_go(const wait *w, const int *returned);
/** Expects that the queue ticks on, and ends it. */
void wait_end(const wait *w);

#endif
