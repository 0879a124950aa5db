/*
 * wakeups.c - what wake-ups cost on serial queues: CPU and sleeps of threads for each, threads, how late ticks are. One
 * load a process:
 *
 *     build/wakeups one        a timer of a millisecond
 *     build/wakeups hundred    100 queues with a timer of 10 ms each
 *     build/wakeups thousands  5,000 queues with a timer of 100 ms each
 *     build/wakeups sleepers   a timer of 5 ms beside 8 queues whose handlers sleep for 20 ms
 *     build/wakeups async      chime_queue_async and back, by a semaphore and by a flag that is polled; chime_queue_sync
 *
 * `make wakeups`, OLD=DIR for another libchime beside it, turn by turn.
 */
#include <dirent.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chime.h"
#include "harness.h"

enum { MOST = 1000000, SECONDS = 3, CALLS = 20000 };

static int64_t late[MOST];
static long ticks;

static void note(const chime_tick *tick, void *context) {
  long i = __atomic_fetch_add(&ticks, 1, __ATOMIC_RELAXED);
  if (i < MOST) late[i] = tick->actual_ns - tick->scheduled_ns;
}

static void sleep_20_ms(const chime_tick *tick, void *context) { usleep(20000); }

/* How many threads there are, and how often they have given up the processor of their own accord. */
static int look_at_threads(unsigned long *sleeps) {
  DIR *tasks = opendir("/proc/self/task");
  struct dirent *task;
  int threads = 0;
  REQUIRE(tasks != NULL);
  *sleeps = 0;
  while ((task = readdir(tasks)) != NULL) {
    char path[300], line[128];
    unsigned long count;
    FILE *status;
    if (task->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
    status = fopen(path, "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
      if (sscanf(line, "voluntary_ctxt_switches: %lu", &count) == 1) *sleeps += count;
    if (status != NULL) fclose(status);
    threads++;
  }
  closedir(tasks);
  return threads;
}

static void tick_on(chime_queue_t queue, int64_t first_ns, int64_t interval_ns, chime_handler handler) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  options.handler = handler;
  schedule.first_ns = first_ns;
  schedule.interval_ns = interval_ns;
  REQUIRE(chime_timer_start(queue, &options, &schedule, NULL) == CHIME_OK);
}

static chime_queue_t new_queue(void) {
  chime_queue_t queue;
  REQUIRE(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue) == CHIME_OK);
  return queue;
}

static int ascending(const void *left, const void *right) {
  const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return (a > b) - (a < b);
}

static void measure(const char *name) {
  unsigned long before, after;
  usleep(300000);
  look_at_threads(&before);
  __atomic_store_n(&ticks, 0, __ATOMIC_RELAXED);
  int64_t begun = bench_cpu_ns();
  usleep(SECONDS * 1000000);
  int64_t cpu = bench_cpu_ns() - begun;
  long count = __atomic_load_n(&ticks, __ATOMIC_RELAXED);
  int threads = look_at_threads(&after);
  REQUIRE(count > 0 && count <= MOST);
  qsort(late, (size_t)count, sizeof late[0], ascending);
  printf("%-10s CPU %.1f us a tick, sleeps %.2f a tick, threads %d, late p50 %.0f us, p99 %.0f us\n", name,
         (double)cpu / 1000 / (double)count, (double)(after - before) / (double)count, threads,
         (double)late[count / 2] / 1000, (double)late[count * 99 / 100] / 1000);
}

static sem_t came;
static int flag;
static void post(void *context) { sem_post(&came); }
static void set(void *context) { __atomic_store_n(&flag, 1, __ATOMIC_RELEASE); }
static void nothing(void *context) {}

static void measure_calls(void) {
  chime_queue_t queue = new_queue();
  int i;
  sem_init(&came, 0, 0);
  usleep(100000);
  int64_t begun = bench_now_ns();
  for (i = 0; i < CALLS; i++) {
    REQUIRE(chime_queue_async(queue, post, NULL, NULL) == CHIME_OK);
    while (sem_wait(&came) < 0) continue;
  }
  int64_t by_semaphore = bench_now_ns() - begun;
  begun = bench_now_ns();
  for (i = 0; i < CALLS; i++) {
    __atomic_store_n(&flag, 0, __ATOMIC_RELAXED);
    REQUIRE(chime_queue_async(queue, set, NULL, NULL) == CHIME_OK);
    while (__atomic_load_n(&flag, __ATOMIC_ACQUIRE) == 0) continue;
  }
  int64_t by_flag = bench_now_ns() - begun;
  begun = bench_now_ns();
  for (i = 0; i < CALLS; i++) REQUIRE(chime_queue_sync(queue, nothing, NULL, CHIME_FOREVER) == CHIME_OK);
  printf("async      and back by a semaphore %.2f us, by a flag %.2f us; sync %.0f ns\n",
         (double)by_semaphore / 1000 / CALLS, (double)by_flag / 1000 / CALLS, (double)(bench_now_ns() - begun) / CALLS);
}

int main(int argc, char **argv) {
  const char *load = argc == 2 ? argv[1] : "";
  int i;
  if (strcmp(load, "one") == 0) {
    tick_on(new_queue(), CHIME_MILLISECOND, CHIME_MILLISECOND, note);
  } else if (strcmp(load, "hundred") == 0) {
    for (i = 0; i < 100; i++) tick_on(new_queue(), (1 + i) * 100 * CHIME_MICROSECOND, 10 * CHIME_MILLISECOND, note);
  } else if (strcmp(load, "thousands") == 0) {
    for (i = 0; i < 5000; i++) tick_on(new_queue(), (1 + i) * 20 * CHIME_MICROSECOND, 100 * CHIME_MILLISECOND, note);
  } else if (strcmp(load, "sleepers") == 0) {
    for (i = 0; i < 8; i++) {
      tick_on(new_queue(), CHIME_MILLISECOND, (21 + i) * CHIME_MILLISECOND, sleep_20_ms);
    }
    tick_on(new_queue(), CHIME_MILLISECOND, 5 * CHIME_MILLISECOND, note);
  } else if (strcmp(load, "async") != 0) {
    fprintf(stderr, "usage: wakeups one | hundred | thousands | sleepers | async\n");
    return 2;
  }
  if (strcmp(load, "async") == 0) measure_calls();
  else measure(load);
  fflush(stdout);
  _exit(0);
}
