/*
 * What include/seeded.h declares.
 *
 * A difference is found inside a callback, or inside a call that has not returned: the thread ends there, which Chime
 * bears (promise 20), and the process goes on.
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "include/seeded.h"

#include <pthread.h>

#include "lockstep.h"

enum { LONGEST = 3000 };

static struct run {
  uint64_t seed;
  int64_t input, calls;
  char *message;
  size_t capacity;
  int differs;
} run;

/* SplitMix64. */
static uint64_t next_random(uint64_t *state) {
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

/* The queue's other callbacks may still come while the thread ends, and differ as well: the first difference counts. */
static void end_this_thread(const char *difference) {
  if (run.message[0] == 0) snprintf(run.message, run.capacity, "input %" PRId64 ": %s", run.input, difference);
  pthread_exit(NULL);
}

static void *try_random_inputs(void *none) {
  static uint8_t bytes[LONGEST];
  for (int64_t made = 0; made < run.calls; made += the.calls, run.input += 1) {
    uint64_t state = run.seed << 32 ^ (uint64_t)run.input;
    /* Many short ones, some long ones. */
    size_t length = 20 + next_random(&state) % (next_random(&state) % 4 == 0 ? LONGEST - 20 : 280);
    for (size_t i = 0; i < length; i += 1) bytes[i] = (uint8_t)(next_random(&state) >> 56);
    try_input(bytes, length);
  }
  run.differs = 0;
  return NULL;
}

int chime_model_run(uint64_t seed, int64_t input, int64_t calls, char *message, size_t capacity) {
  pthread_t thread;
  run = (struct run){seed, input, calls, message, capacity, 1};
  message[0] = 0;
  on_difference = end_this_thread;
  if (pthread_create(&thread, NULL, try_random_inputs, NULL) == 0) pthread_join(thread, NULL);
  return run.differs;
}
