/* scaling_libevent.c - libevent's loops with its locks, each served by a thread of its own: see scaling.h. */
#include <event2/event.h>
#include <event2/thread.h>
#include <pthread.h>

#include "basics.h"
#include "scaling.h"

const char peer_name[] = "libevent";

typedef struct loop {
  struct event_base *base;
  pthread_t thread;
} loop;
static loop *loops;
static int loop_count;

static void *serve(void *context) {
  struct event_base *base = context;
  MUST(event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY) >= 0);
  return NULL;
}

void peer_open(int count) {
  MUST(evthread_use_pthreads() == 0);
  loops = calloc((size_t)count, sizeof *loops);
  MUST(loops != NULL);
  loop_count = count;
  for (int i = 0; i < count; i++) {
    loops[i].base = event_base_new();
    MUST(loops[i].base != NULL);
    MUST(pthread_create(&loops[i].thread, NULL, serve, loops[i].base) == 0);
  }
}

void peer_close(void) {
  for (int i = 0; i < loop_count; i++) {
    MUST(event_base_loopexit(loops[i].base, NULL) == 0);
    MUST(pthread_join(loops[i].thread, NULL) == 0);
    event_base_free(loops[i].base);
  }
  free(loops);
}

static void ignore_event(evutil_socket_t file, short what, void *context) { (void)file, (void)what, (void)context; }

static struct event *start(int queue, int64_t seconds, event_callback_fn callback, void *context) {
  struct timeval delay = {seconds, 0};
  struct event *made = event_new(loops[queue].base, -1, 0, callback, context);
  MUST(made != NULL && event_add(made, &delay) == 0);
  return made;
}

void peer_create(int queue, int count) {
  for (int i = 0; i < count; i++) event_free(start(queue, 1 + i, ignore_event, NULL)); /* which cancels */
}

typedef struct filled {
  int count;
  struct event *events[];
} filled;

void *peer_fill(int queue, int count) {
  filled *made = calloc(1, sizeof *made + (size_t)count * sizeof(struct event *));
  MUST(made != NULL);
  made->count = count;
  for (int i = 0; i < count; i++) made->events[i] = start(queue, 30, ignore_event, NULL);
  return made;
}

void peer_postpone(void *timers, uint64_t *random, int count) {
  static const struct timeval half_a_minute = {30, 0};
  filled *made = timers;
  for (int i = 0; i < count; i++)
    MUST(event_add(made->events[next_random(random) % (uint32_t)made->count], &half_a_minute) == 0);
}

void peer_drop(void *timers) {
  filled *made = timers;
  for (int i = 0; i < made->count; i++) event_free(made->events[i]);
  free(made);
}

static void count_event(evutil_socket_t file, short what, void *context) {
  (void)file, (void)what;
  add(context, 1);
}

void peer_expire(int queue, int count) {
  int called = 0;
  struct event **made = calloc((size_t)count, sizeof *made);
  MUST(made != NULL);
  for (int i = 0; i < count; i++) made[i] = start(queue, 0, count_event, &called);
  while (load(&called) < count) sleep_ns(20000);
  for (int i = 0; i < count; i++) event_free(made[i]);
  free(made);
}
