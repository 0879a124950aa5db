/*
 * poller.h - what threads that have nothing to do wait in, all in one: an epoll of kernel timers. Of the threads in it the
 * kernel wakes one for each time that comes, the one that came last.
 */
#ifndef CHIME_POLLER_H
#define CHIME_POLLER_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* A descriptor; -1: none. */
int chime_poller_make(void);
/* Adds a timer's descriptor, to be told of by a number. Each time that comes is told of once, to one thread. */
bool chime_poller_add(int poller, int file, uint32_t number);
/* The number of what has come; -1 at the end of the timeout (-1: none), and for a signal. */
int chime_poller_wait(int poller, int milliseconds);

/* A descriptor that has a poller tell of it each time that it rings; -1: none. */
int chime_bell_make(void);
void chime_bell_ring(int bell);

/* Whether an open descriptor is a poller or a bell made here, in this process or in the one that it was forked from. */
bool chime_poller_is_one(int file);

/* How many processors there are. */
int chime_processors(void);

#pragma GCC visibility pop

#endif
