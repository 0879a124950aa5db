/* basics.c - see basics.h. */
#include "basics.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#if defined(__APPLE__)
#include <mach/mach.h>
#endif

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
    case GLOBAL: return chime_queue_global(CHIME_QOS_DEFAULT, options, queue);
    case DISPATCH: return chime_queue_create(CHIME_QUEUE_DISPATCH, options, queue);
    case PRECISE: return chime_queue_create(CHIME_QUEUE_PRECISE, options, queue);
    case RUN_LOOP:
      if (*loop == 0) status = chime_run_loop_create(NULL, loop);
      return status == CHIME_OK ? chime_run_loop_queue_create(*loop, NULL, options, queue) : status;
    case HOST: return chime_queue_create(CHIME_QUEUE_HOST, options, queue);
    case MAIN: return chime_queue_main(options, queue);
    case VIRTUAL: return chime_queue_create(CHIME_QUEUE_VIRTUAL, options, queue);
    default: return CHIME_ERROR_INVALID_ARGUMENT;
  }
}

int load(const int *value) { return __atomic_load_n(value, __ATOMIC_ACQUIRE); }
void store(int *value, int new_value) { __atomic_store_n(value, new_value, __ATOMIC_RELEASE); }
int add(int *value, int amount) { return __atomic_add_fetch(value, amount, __ATOMIC_ACQ_REL); }

void count_call(void *context) { add(context, 1); }
void ignore_call(void *context) { (void)context; }
void ignore_tick(const chime_tick *tick, void *context) { (void)tick, (void)context; }

int64_t clock_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * CHIME_SECOND + now.tv_nsec;
}

int64_t monotonic_ns(void) { return clock_ns(CLOCK_MONOTONIC); }

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

#if defined(__APPLE__)
/* 0: all addresses, which there are gigabytes of before anything is done: not told. */
static int64_t memory_kib(int figure) {
  mach_task_basic_info_data_t info;
  mach_msg_type_number_t count = MACH_TASK_BASIC_INFO_COUNT;
  if (figure == 0) return -1;
  if (task_info(mach_task_self(), MACH_TASK_BASIC_INFO, (task_info_t)&info, &count) != KERN_SUCCESS) return -1;
  return (int64_t)(info.resident_size / 1024);
}
#else
/* One of the first two figures that /proc tells of it, which are in pages. */
static int64_t memory_kib(int figure) {
  long pages[2] = {-1, -1};
  FILE *statm = fopen("/proc/self/statm", "r");
  if (statm == NULL) return -1;
  if (fscanf(statm, "%ld %ld", &pages[0], &pages[1]) != 2) pages[figure] = -1;
  fclose(statm);
  return pages[figure] < 0 ? -1 : pages[figure] * (sysconf(_SC_PAGESIZE) / 1024);
}
#endif

int64_t mapped_kib(void) { return memory_kib(0); }
int64_t resident_kib(void) { return memory_kib(1); }
