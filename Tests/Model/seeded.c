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
  uint64_t state;
  int64_t calls, made;
  uint8_t input[LONGEST];
  size_t length;
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

static void end_this_thread(const char *difference) {
  struct run *r = &run;
  int length = snprintf(r->message, r->capacity, "%s; input ", difference);
  for (size_t i = 0; i < r->length && length >= 0 && (size_t)length + 3 < r->capacity; i += 1) {
    length += snprintf(r->message + length, r->capacity - (size_t)length, "%02x", r->input[i]);
  }
  pthread_exit(NULL);
}

static void *try_random_inputs(void *context) {
  struct run *r = context;
  while (r->made < r->calls) {
    /* Many short ones, some long ones. */
    r->length = 20 + next_random(&r->state) % (next_random(&r->state) % 4 == 0 ? LONGEST - 20 : 280);
    for (size_t i = 0; i < r->length; i += 1) r->input[i] = (uint8_t)(next_random(&r->state) >> 56);
    try_input(r->input, r->length);
    r->made += the.calls;
  }
  r->differs = 0;
  return NULL;
}

static void *try_one_input(void *context) {
  try_input(run.input, run.length);
  run.differs = 0;
  return NULL;
}

static int differs_on_a_thread(void *(*body)(void *), char *message, size_t capacity) {
  pthread_t thread;
  run.message = message;
  run.capacity = capacity;
  run.differs = 1;
  if (capacity > 0) message[0] = 0;
  on_difference = end_this_thread;
  if (pthread_create(&thread, NULL, body, &run) == 0) pthread_join(thread, NULL);
  return run.differs;
}

int chime_model_run(uint64_t seed, int64_t calls, char *message, size_t capacity) {
  run = (struct run){.state = seed, .calls = calls};
  return differs_on_a_thread(try_random_inputs, message, capacity);
}

int chime_model_try(const char *input, char *message, size_t capacity) {
  unsigned byte;
  run = (struct run){.state = 0};
  while (run.length < LONGEST && sscanf(input + 2 * run.length, "%2x", &byte) == 1) {
    run.input[run.length++] = (uint8_t)byte;
  }
  return differs_on_a_thread(try_one_input, message, capacity);
}
