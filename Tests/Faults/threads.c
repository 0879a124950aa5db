/*
 * threads.c - no threads. This program's pthread_create stands before libc's, for the library too, and answers EAGAIN, as
 * it does at a limit of processes or of a container.
 */
#include "places.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

static int none_left;
static int refused;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
  static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  if (load(&none_left)) {
    add(&refused, 1);
    return EAGAIN;
  }
  if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
  return next(thread, attributes, body, argument);
}

static void precise(int argument) {
  chime_queue_t queue = 0;
  (void)argument;
  store(&none_left, 1);
  EXPECT_EQ(chime_queue_create(CHIME_QUEUE_PRECISE, NULL, &queue), CHIME_ERROR_RESOURCE);
  EXPECT_EQ(queue, 0);
  EXPECT_EQ(load(&refused), 1);
  store(&none_left, 0);
  place_expect_works(PRECISE);
  fault_seen("CHIME_ERROR_RESOURCE; works when there are threads");
}

static void run_loop(int argument) {
  chime_run_loop_t loop = 0;
  (void)argument;
  store(&none_left, 1);
  EXPECT_EQ(chime_run_loop_create(NULL, &loop), CHIME_ERROR_RESOURCE);
  EXPECT_EQ(loop, 0);
  EXPECT_EQ(load(&refused), 1);
  store(&none_left, 0);
  place_expect_works(RUN_LOOP);
  fault_seen("CHIME_ERROR_RESOURCE; works when there are threads");
}

/* Queues without a thread need none. */
static void host_driven(int argument) {
  static int ticks;
  chime_queue_t queue = 0;
  (void)argument;
  store(&none_left, 1);
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_HOST, NULL, &queue));
  EXPECT_OK(chime_timer_after(queue, CHIME_MILLISECOND, count_tick, &ticks, NULL, NULL));
  EXPECT_OK(chime_queue_run(queue, 0));
  EXPECT_EQ(load(&ticks), 1);
  EXPECT_OK(chime_queue_shutdown(queue, 0));
  EXPECT_EQ(load(&refused), 0);
  fault_seen("needs none");
}

static void *give_threads(void *argument) {
  sleep_ms(*(int *)argument);
  store(&none_left, 0);
  return NULL;
}

/* libdispatch tries again each second, inside the call that wants a thread; then nothing is lost. */
static void dispatch(place where) {
  static int ticks;
  int delay_ms = 300;
  int64_t begun;
  chime_queue_t queue = 0;
  pthread_t giver;
  REQUIRE_OK(place_make(where, NULL, &queue));
  REQUIRE_OK(pthread_create(&giver, NULL, give_threads, &delay_ms));
  store(&none_left, 1);
  begun = monotonic_ns();
  EXPECT_OK(chime_timer_after(queue, 10 * CHIME_MILLISECOND, count_tick, &ticks, NULL, NULL));
  fault_seen("%s: chime_timer_after took %d ms without threads for %d ms", place_name(where),
             (int)((monotonic_ns() - begun) / 1000000), delay_ms);
  EXPECT(await(&ticks, 1)); /* libdispatch may have a thread left, or waits for one */
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  pthread_join(giver, NULL);
  place_expect_works(where);
}

static void serial_and_concurrent(int where) { dispatch((place)where); }

int main(int argc, char **argv) {
  static const fault_case cases[] = {
      {"precise", precise, 0, 0, 0, 0},
      {"run-loop", run_loop, 0, 0, 0, 0},
      {"host-driven", host_driven, 0, 0, 0, 0},
      {"dispatch", serial_and_concurrent, SERIAL, CONCURRENT, 0, 0},
      {NULL, NULL, 0, 0, 0, 0},
  };
  return fault_main(argc, argv, cases);
}
