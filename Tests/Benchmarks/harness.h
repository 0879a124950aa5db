/*
 * What the benchmark and its peers share. A peer is one timer library, or one way to use it; a load is one kind of work
 * on timers, at a number of timers that are pending meanwhile. The harness (benchmark.c) decides what is done and takes
 * the time; a peer only does it, by its own cheapest calls, and ends the program when one of them fails.
 */
#ifndef BENCHMARKS_HARNESS_H
#define BENCHMARKS_HARNESS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/** A distance from the time at which a turn began, in both forms that peers take: none converts while it is timed. */
typedef struct bench_offset {
  int64_t ns;
  double seconds;
} bench_offset;

/** One timer library, or one way to use it. All functions are called by one thread. */
typedef struct bench_peer {
  const char *name;

  /** The library's version, static. */
  const char *(*version)(void);

  /** Begins a turn: a new queue or loop in which `count` timers are pending, timer i until offsets[i]. */
  void (*begin)(const bench_offset *offsets, size_t count);

  /** Creates, starts, cancels and releases one timer after the other, timer i to be due at offsets[i]. */
  void (*create)(const bench_offset *offsets, size_t count);

  /** Moves pending timer which[i] to offsets[i], for each i in turn. */
  void (*postpone)(const uint32_t *which, const bench_offset *offsets, size_t count);

  /** Returns when work that the calls above left to other threads is done. NULL: there is none. */
  void (*settle)(void);

  /** When pending timer i is due, from the time at which the turn began on; to see that the work was done. */
  int64_t (*due_ns)(size_t i);

  /** Timers of this turn that have fired. NULL: none can. */
  uint64_t (*fired)(void);

  /** Ends the turn, and frees all that it used. */
  void (*end)(void);
} bench_peer;

extern const bench_peer chime_deadline_peer, chime_delay_peer; /* chime.c */
extern const bench_peer libev_peer;                            /* libev.c */
extern const bench_peer libevent_peer;                         /* libevent.c */

/** Floors: what a machine needs for the work that no peer can do without. */
void floor_three_swaps(size_t count);    /* three compare-and-swaps on one word */
void floor_clock_and_swap(size_t count); /* a clock read and a compare-and-swap on one word */
void floor_begin(size_t records);        /* so many records of 64 bytes ... */
void floor_record_swaps(const uint32_t *which, size_t count); /* ... and a compare-and-swap in record which[i] */
void floor_end(void);

/** Ends the program, with the place, when a condition does not hold. Also in optimised builds. */
#define REQUIRE(condition) ((condition) ? (void)0 : bench_fail(#condition, __FILE__, __LINE__))

static inline void bench_fail(const char *condition, const char *file, int line) {
  fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
  exit(EXIT_FAILURE);
}

#endif
