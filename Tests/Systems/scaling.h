/*
 * scaling.h - what scaling.c asks of a library with timers: scaling_chime.c, scaling_libevent.c.
 *
 * Between peer_open and peer_close there are `count` queues, which are served by threads that the peer has made. Any thread
 * calls the rest, several at once.
 */
#ifndef SYSTEMS_SCALING_H
#define SYSTEMS_SCALING_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

extern const char peer_name[];

void peer_open(int count);
void peer_close(void);

/** So often: a timer that is due in a second or later is made, started, cancelled and released. */
void peer_create(int queue, int count);

/** Timers that are due in half a minute; moves random ones, so often, to half a minute from now; releases them. */
void *peer_fill(int queue, int count);
void peer_postpone(void *timers, uint64_t *random, int count);
void peer_drop(void *timers);

/** So many one-shots that are due now; returns when all have called. */
void peer_expire(int queue, int count);

/** xorshift64* (Vigna 2016); the state is not 0. */
static inline uint32_t next_random(uint64_t *state) {
  *state ^= *state >> 12, *state ^= *state << 25, *state ^= *state >> 27;
  return (uint32_t)(*state * UINT64_C(0x2545f4914f6cdd1d) >> 32);
}

/** A call that must succeed, or there is nothing to measure. */
#define MUST(holds) ((holds) ? (void)0 : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #holds), exit(1)))

#endif /* SYSTEMS_SCALING_H */
