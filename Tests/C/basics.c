/* basics.c - see basics.h. */
#include "basics.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

chime_schedule schedule_of(int64_t first_ns, int64_t interval_ns) { return *EVERY(first_ns, interval_ns); }

chime_schedule schedule_at(int64_t deadline_ns, int64_t interval_ns) {
  return SCHEDULE(.flags = CHIME_SCHEDULE_DEADLINE, .first_ns = deadline_ns, .interval_ns = interval_ns);
}

chime_status create_queue(where place, const chime_queue_options *options, chime_queue_t *queue,
                          chime_run_loop_t *loop) {
  chime_status status = CHIME_OK;
  switch (place) {
    case SERIAL: return chime_queue_create(CHIME_QUEUE_SERIAL, options, queue);
    case CONCURRENT: return chime_queue_create(CHIME_QUEUE_CONCURRENT, options, queue);
    case DISPATCH: return chime_queue_create(CHIME_QUEUE_DISPATCH, options, queue);
    case PRECISE: return chime_queue_create(CHIME_QUEUE_PRECISE, options, queue);
    case RUN_LOOP:
      if (*loop == 0) status = chime_run_loop_create(NULL, loop);
      return status == CHIME_OK ? chime_queue_create_on_run_loop(*loop, NULL, options, queue) : status;
    case HOST: return chime_queue_create(CHIME_QUEUE_HOST, options, queue);
    case MAIN: return chime_queue_create_main(options, queue);
    case VIRTUAL: return chime_queue_create(CHIME_QUEUE_VIRTUAL, options, queue);
    default: return CHIME_ERROR_INVALID_ARGUMENT;
  }
}

int load(const int *value) { return __atomic_load_n(value, __ATOMIC_ACQUIRE); }
void store(int *value, int new_value) { __atomic_store_n(value, new_value, __ATOMIC_RELEASE); }
int add(int *value, int amount) { return __atomic_add_fetch(value, amount, __ATOMIC_ACQ_REL); }

void count_call(void *context) { add(context, 1); }
static pthread_key_t end_key;
static void make_end_key(void) {
  if (pthread_key_create(&end_key, count_call) != 0) abort();
}
void count_my_end(void *context) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (pthread_once(&once, make_end_key) != 0 || pthread_setspecific(end_key, context) != 0) abort();
}
void ignore_call(void *context) { (void)context; }
void ignore_tick(const chime_tick *tick, void *context) { (void)tick, (void)context; }

int64_t monotonic_ns(void) { return system_monotonic_ns(); }

void sleep_ns(int64_t duration_ns) {
  struct timespec left;
  left.tv_sec = (time_t)(duration_ns / CHIME_SECOND);
  left.tv_nsec = (long)(duration_ns % CHIME_SECOND);
  while (nanosleep(&left, &left) == -1 && errno == EINTR) {}
}

int await(const int *value, int least) {
  int64_t end = monotonic_ns() + PATIENCE;
  while (load(value) < least) {
    if (monotonic_ns() > end) return 0;
    sleep_ns(200 * CHIME_MICROSECOND);
  }
  return 1;
}

int64_t mapped_kib(void) { return system_mapped_kib(); }
int64_t resident_kib(void) { return system_resident_kib(); }
