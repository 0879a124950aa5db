/*
 * poller.h - where threads that have nothing to do wait, all in one place: for a time, for a bell, for a descriptor. Of the
 * threads that wait there the system wakes one for each of these that comes, the one that began to wait last.
 */
#ifndef CHIME_POLLER_H
#define CHIME_POLLER_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* What wakes a thread. */
enum {
  CHIME_POLLER_NOTHING, /* the end of its wait, or a signal */
  CHIME_POLLER_TIME,    /* the time that was set */
  CHIME_POLLER_BELL,
  CHIME_POLLER_FILE /* the descriptor that was added */
};

/* Its descriptors; -1 for one that is not there. */
typedef struct chime_poller {
  int file, bell, timer;
} chime_poller;

/* False, and an error number, if there are not enough descriptors, or the system refuses one of the calls. */
bool chime_poller_open(chime_poller *poller);

/* Has a thread woken each time that the descriptor becomes readable; it need not be read. */
bool chime_poller_add(const chime_poller *poller, int file);

/* Ends that, before the descriptor is closed. */
void chime_poller_remove(const chime_poller *poller, int file);

/* Closes its descriptors, which nobody waits for. */
void chime_poller_close(chime_poller *poller);

/*
 * Waits for what comes, that many nanoseconds at most; negative: without limit. The system may add the thread's slack to
 * a limit, and nothing to a time that is set.
 */
int chime_poller_wait(const chime_poller *poller, int64_t nanoseconds);
/* Whether such a limit is as good as a time that is set; else it is rounded up to milliseconds. */
bool chime_poller_keeps_time(void);

/* Sets the time, on CLOCK_MONOTONIC, at which one thread is woken; it replaces the one before. False: the system refuses. */
bool chime_poller_set(const chime_poller *poller, int64_t time);
/* For the checked build: whether that time is to come, or its event waits to be taken. On Linux only: true elsewhere. */
bool chime_poller_is_set(const chime_poller *poller);
/* Wakes one thread. */
void chime_poller_ring(const chime_poller *poller);

#pragma GCC visibility pop

#endif
