/*
 * What the loads and the peers share. A peer is one timer library, or one way to use it; it is linked with the harness
 * (harness.c) and the loads (loads_*.c) to a program of its own, build/peer-NAME, which works through one load and
 * prints one line of results. run.py runs these programs in turn and prints the tables.
 *
 * A load decides what is done and takes the time; a peer only does it, by its own cheapest calls, and ends the program
 * when one of them fails. A peer defines those of the functions peer_* that apply to it. A load that needs another one
 * is not among its loads.
 */
#ifndef BENCHMARKS_HARNESS_H
#define BENCHMARKS_HARNESS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- What a peer defines ----------------------------------------------------------------------------------------- */

/** A distance from bench.base_ns, or from now, in both forms that peers take: none converts while it is timed. */
typedef struct bench_offset {
  int64_t ns;
  double seconds;
} bench_offset;

enum {
  PEER_THREAD_SAFE = 1, /* several threads at once may call peer_create, for one queue and for several */
  PEER_IN_KERNEL = 2    /* a timer's memory is the kernel's: it does not show in the process */
};
extern const int peer_traits;

/** By printf, without the end of the line. */
void peer_print_version(void);

/** Makes that many queues or loops. */
void peer_open(size_t queues);

#define OPTIONAL __attribute__((weak))

/** Makes `count` timers pending on queue 0. Timer i calls bench_tick(i), at bench.base_ns + offsets[i].ns. */
OPTIONAL void peer_fill(const bench_offset *offsets, size_t count);

/** Creates, starts, cancels and releases one timer after the other, each to be due offsets[i] from now; _until: by
 * deadline, base_ns + offsets[i].ns, for a peer that has both forms. */
typedef void bench_creating(size_t queue, const bench_offset *offsets, size_t count);
OPTIONAL bench_creating peer_create, peer_create_until;

/** Moves pending timer which[i] to offsets[i] from now, for each i in turn; _until: by deadline, base_ns +
 * offsets[i].ns; reschedule: by deadline as well, for a peer whose other calls only move later. */
typedef void bench_moving(const uint32_t *which, const bench_offset *offsets, size_t count);
OPTIONAL bench_moving peer_postpone, peer_postpone_until, peer_reschedule;

/** Returns when work that the calls above left to the queue is done. Without it there is none. */
OPTIONAL void peer_settle(void);

/** When pending timer i is due, from base_ns on; to see that the work was done. */
OPTIONAL int64_t peer_due_ns(size_t i);

/** Drives queue 0, or waits for the threads that do, until bench.done. */
OPTIONAL void peer_run(void);

/** Starts a repeating timer on queue 0, the first tick an interval from now. Each tick calls bench_beat. */
OPTIONAL void peer_repeat(int64_t interval_ns);

/* ---- What a peer is given ---------------------------------------------------------------------------------------- */

/** What a load and its peer share while it runs. */
typedef struct bench_state {
  int64_t base_ns;                     /* the time, on CLOCK_MONOTONIC, that offsets count from */
  int64_t leeway_ns;                   /* how late a tick may be, for peers that can be told */
  const bench_offset *offsets;         /* of the pending timers */
  int64_t interval_ns;                 /* of the repeating timer */
  int64_t *late_ns;                    /* of each tick, in the order in which they came */
  uint64_t expected;                   /* ticks after which `done` is set; 0: it is not */
  uint64_t seen;                       /* ticks so far */
  uint64_t beats;                      /* due times of the repeating timer so far */
  void (*on_beat)(uint64_t due_times); /* the load's own part of that timer's handler; NULL: none */
  int done;
} bench_state;

extern bench_state bench;

/** Ends the program, with the place, when a condition does not hold. Also in optimised builds. */
#define REQUIRE(condition) ((condition) ? (void)0 : bench_fail(#condition, __FILE__, __LINE__))

static inline void bench_fail(const char *condition, const char *file, int line) {
  fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
  exit(EXIT_FAILURE);
}

/** Sets bench.done, and has bench_wait return. */
void bench_finish(void);

/** Waits for bench_finish: for peers whose timers have threads of their own. */
void bench_wait(void);

static inline int64_t bench_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/** The CPU time of all threads of the process. */
static inline int64_t bench_cpu_ns(void) {
  struct timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

/** Room for one thing more than `count`, so that there is room at all, of that size each. Not freed. */
static inline void *bench_array(size_t count, size_t size) {
  void *array = malloc((count + 1) * size);
  REQUIRE(array != NULL);
  return array;
}

/** From now to the offset's deadline, 0 when that has passed: for peers that know delays only. */
static inline int64_t bench_delay_ns(const bench_offset *offset) {
  int64_t delay_ns = bench.base_ns + offset->ns - bench_now_ns();
  return delay_ns > 0 ? delay_ns : 0;
}

static inline struct timespec bench_timespec(int64_t ns) {
  struct timespec time;
  time.tv_sec = (time_t)(ns / 1000000000);
  time.tv_nsec = (long)(ns % 1000000000);
  return time;
}

/* A tick that was due then. Returns whether it was the last one that is waited for. */
static inline int bench_note(int64_t due_ns) {
  int64_t late_ns = bench_now_ns() - due_ns;
  uint64_t number = __atomic_fetch_add(&bench.seen, 1, __ATOMIC_RELAXED);
  if (number >= bench.expected) return 0;
  bench.late_ns[number] = late_ns;
  if (number + 1 < bench.expected) return 0;
  bench_finish();
  return 1;
}

/** Called in pending timer i's handler. Returns whether bench.done is set: a peer with a loop then leaves it. */
static inline int bench_tick(size_t i) { return bench_note(bench.base_ns + bench.offsets[i].ns); }

/** Called in the repeating timer's handler; due_times: since the tick before, this one's included. */
static inline int bench_beat(uint64_t due_times) {
  bench.beats += due_times;
  if (bench.on_beat != NULL) bench.on_beat(due_times);
  return bench_note(bench.base_ns + (int64_t)bench.beats * bench.interval_ns);
}

/** The same two, not inline: for other languages. */
int bench_tick_call(size_t i);
int bench_beat_call(uint64_t due_times);

/** Ends the program: this peer cannot do this load here, for that reason. Not a failure. */
void bench_leave_out(const char *reason);

#ifdef __cplusplus
}
#endif

#endif
