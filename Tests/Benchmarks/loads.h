/* What the harness and the loads share, and peers need not know. */
#ifndef BENCHMARKS_LOADS_H
#define BENCHMARKS_LOADS_H

#include "harness.h"

/** What the command line asks for. */
typedef struct bench_request {
  size_t pending;    /* timers that are pending meanwhile */
  size_t operations; /* calls that are timed, or ticks */
  double seconds;    /* the load's own: see there */
} bench_request;

typedef void bench_load(const bench_request *request);

/* loads_cost.c */
bench_load create_load, create_until_load, postpone_load, postpone_until_load, reschedule_load, threads_load,
    memory_load;
/* loads_ticks.c */
bench_load expiry_load, beat_load, missed_load;

/** Adds a number to the line of results. */
void bench_result(const char *name, double value);

/** Adds the numbers as they are. */
void bench_list(const char *name, const double *values, size_t count);

/** Adds the numbers' 0 %, 1 %, ... 100 % quantiles, and sorts the numbers. */
void bench_quantiles(const char *name, int64_t *values, size_t count);

/** The same random numbers in every program. */
uint64_t bench_random(void);

/** `count` random numbers below `end`. Not freed: the program ends with its load. */
uint32_t *bench_random_indexes(size_t count, size_t end);

/** Offsets at random from least_ns on, within range_ns. Not freed. */
bench_offset *bench_random_offsets(size_t count, int64_t least_ns, int64_t range_ns);

bench_offset bench_offset_of(int64_t ns);

/** Opens queue 0 and makes those timers pending on it. */
void bench_begin(const bench_offset *offsets, size_t count);

/** Makes those timers pending, from now on. */
void bench_fill(const bench_offset *offsets, size_t count);

/** peer_settle, where there is one. */
void bench_settle(void);

/** malloc whose pages are there, so that they are not counted later. */
void *bench_allocate(size_t size);

#define BENCH_SECOND INT64_C(1000000000)

#endif
