/*
 * places.h - every kind of queue, made and driven in the same way, so that a fault can be tried on each of them.
 */
#ifndef FAULTS_PLACES_H
#define FAULTS_PLACES_H

#include "fault.h"
#include "system.h"

/* All but wrapped ones; up to HOST they are driven, once place_drive was called. */
enum { PLACES = VIRTUAL + 1 };

const char *place_name(int where);

/** Whether the library has such queues: one that was built without libdispatch has not all. */
int place_is_there(int where);

/** A queue of that kind. Nothing drives a host-driven, main or virtual one yet; a run loop's has a thread. */
chime_status place_make(int where, const chime_queue_options *options, chime_queue_t *queue);

/** Has the queue's handlers run from here on: a host-driven queue gets a thread that runs it until it
 *  ends, stops or no. Not for main, virtual. */
void place_drive(int where, chime_queue_t queue);

/** Whether a host-driven queue's descriptor is readable within so many milliseconds. */
static inline int place_is_readable(chime_queue_t queue, int milliseconds) {
  chime_waitable fd;
  return chime_queue_fd(queue, &fd) == CHIME_OK && system_is_readable(fd, milliseconds);
}

/** A queue of that kind, driven. The case ends where there is none: skipped, if the library has no such queues. */
chime_queue_t place_queue(int where, const chime_queue_options *options);

/** The same, with a timer of a millisecond that counts. */
chime_queue_t place_tick(int where, int *ticks, chime_timer_t *timer);

/** Runs what must run on the calling thread (main, virtual) until *value is at least `least`; else just waits. */
int place_await(int where, chime_queue_t queue, const int *value, int least);

/** Shuts it down and expects all to be delivered in the call; the main queue, which nobody drains, is ended at once. */
void place_end(int where, chime_queue_t queue);

/** A handler whose context is an int: it counts. */
void count_tick(const chime_tick *tick, void *context);
/** The same, which then ends chime_main_run. */
void stop_main(const chime_tick *tick, void *context);

/** While all allocations are refused: takes what the library's reserve still promises to calls. The queue is a virtual one,
 *  which keeps it until it is shut down. */
void place_use_up_reserve(chime_queue_t queue);

/** Makes a queue, starts a timer, sees it tick, ends it: that all is well. */
void place_expect_works(int where);
/** A handler that stays, and is counted, until it may go. */
void stay(const chime_tick *tick, void *unused);
extern int staying, may_go;
/** Returns when a queue of its own has ticked five times: what was due before, elsewhere too, has had its time. */
void let_others_tick(void);

#endif
