/*
 * basics.h - what the C programs of the tests share: the suite and Storms, by harness.h; Faults; Systems; the programs of
 * headers and Misuse. Nothing here records a failure.
 */
#ifndef CSUITE_BASICS_H
#define CSUITE_BASICS_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "chime_run_loop.h"
#include "system.h"

/* ---- Structures and pointers to them, as a call needs them: they last as long as the block around it ------------- */

#define SCHEDULE(...) ((chime_schedule){.size = sizeof(chime_schedule), __VA_ARGS__})
#define AFTER(delay) (&SCHEDULE(.first_ns = (delay)))
#define EVERY(first, interval) (&SCHEDULE(.first_ns = (first), .interval_ns = (interval)))
#define AT(deadline) (&SCHEDULE(.flags = CHIME_SCHEDULE_DEADLINE, .first_ns = (deadline)))
#define QUEUE_OPTIONS(...) ((chime_queue_options){.size = sizeof(chime_queue_options), __VA_ARGS__})
#define EXPIRING_OPTIONS(...) ((chime_expiring_options){.size = sizeof(chime_expiring_options), __VA_ARGS__})
#define RUN_LOOP_OPTIONS(...) ((chime_run_loop_options){.size = sizeof(chime_run_loop_options), __VA_ARGS__})
#define WEAK_TIMER_OPTIONS(...) ((chime_weak_timer_options){.size = sizeof(chime_weak_timer_options), __VA_ARGS__})
#define TIMER_OPTIONS(...) ((chime_timer_options){.size = sizeof(chime_timer_options), __VA_ARGS__})

chime_schedule schedule_of(int64_t first_ns, int64_t interval_ns);
/** The same with a deadline in place of the delay. */
chime_schedule schedule_at(int64_t deadline_ns, int64_t interval_ns);

/* ---- Kinds of queue ---------------------------------------------------------------------------------------------- */

/* Up to RUN_LOOP their callbacks run on threads that are not the host's; up to VIRTUAL Chime makes them from nothing. */
typedef enum where {
  /* clang-format off */
  SERIAL, CONCURRENT, DISPATCH, PRECISE, RUN_LOOP, HOST, MAIN, VIRTUAL, WRAPPED_SERIAL, WRAPPED_CONCURRENT
  /* clang-format on */
} where;

/**
 * A queue of such a kind, not wrapped. Nothing drives a host-driven, main or virtual one yet.
 * @param loop  of a queue on a run loop; where it is 0, one with a thread of its own is made and is given here
 */
chime_status create_queue(where place, const chime_queue_options *options, chime_queue_t *queue,
                          chime_run_loop_t *loop);

/* ---- Counting and waiting ---------------------------------------------------------------------------------------- */

int load(const int *value);
void store(int *value, int new_value);
int add(int *value, int amount); /* returns the new value */

int64_t monotonic_ns(void);
void sleep_ns(int64_t duration_ns); /* also when signals come */

/** A function or finalizer whose context is an int: it counts. */
void count_call(void *context);
/** The end of the calling thread counts. Once a thread. */
void count_my_end(void *context);
/** Callbacks that do nothing. */
void ignore_call(void *context);
void ignore_tick(const chime_tick *tick, void *context);

/* How long to wait for what must come: far longer than any machine needs. */
#define PATIENCE (30 * CHIME_SECOND)

/** Waits until *value is at least `least`, in real time. Returns 0 after PATIENCE. */
int await(const int *value, int least);

/** Memory of the process that is in use, in KiB; that it has mapped. -1 where the system does not say. */
int64_t resident_kib(void);
int64_t mapped_kib(void);

#endif /* CSUITE_BASICS_H */
