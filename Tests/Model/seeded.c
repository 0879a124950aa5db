/*
 * What include/seeded.h declares: the fuzz target of calls.c without a fuzzer.
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

typedef struct run {
  uint64_t state;
  int64_t calls, made;
  uint8_t input[LONGEST];
  size_t length;
  char *message;
  size_t capacity;
  int differs;
} run;

static run *current;

/* SplitMix64. */
static uint64_t next_random(uint64_t *state) {
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

static void end_this_thread(const char *difference) {
  run *r = current;
  int length = snprintf(r->message, r->capacity, "%s; input ", difference);
  for (size_t i = 0; i < r->length && length >= 0 && (size_t)length + 3 < r->capacity; i += 1) {
    length += snprintf(r->message + length, r->capacity - (size_t)length, "%02x", r->input[i]);
  }
  r->differs = 1;
  pthread_exit(NULL);
}

static void *try_inputs(void *context) {
  run *r = context;
  while (r->made < r->calls) {
    /* Many short ones, some long ones. */
    r->length = 20 + next_random(&r->state) % (next_random(&r->state) % 4 == 0 ? LONGEST - 20 : 280);
    for (size_t i = 0; i < r->length; i += 1) r->input[i] = (uint8_t)(next_random(&r->state) >> 56);
    LLVMFuzzerTestOneInput(r->input, r->length);
    r->made += the.calls;
  }
  return NULL;
}

int chime_model_run(uint64_t seed, int64_t calls, char *message, size_t capacity) {
  run *r = calloc(1, sizeof *r);
  pthread_t thread;
  int differs = 1;
  if (r == NULL) return 1;
  r->state = seed;
  r->calls = calls;
  r->message = message;
  r->capacity = capacity;
  if (capacity > 0) message[0] = 0;
  current = r;
  on_difference = end_this_thread;
  if (pthread_create(&thread, NULL, try_inputs, r) == 0) {
    pthread_join(thread, NULL);
    differs = r->differs;
  }
  on_difference = NULL;
  free(r);
  return differs;
}
