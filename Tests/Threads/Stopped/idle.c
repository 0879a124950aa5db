/* Threads of the class SCHED_IDLE make calls beside a busy thread on each processor, so they lose their processor anywhere. How
 * late are the ticks of other timers? It prints, for each call, the median and the worst of all ticks of two timers of 1 ms; nothing is red.
 *
 *     idle [SECONDS]     for each call; 10
 */
#define _GNU_SOURCE
#include <chime.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define FAR (3600 * CHIME_SECOND)
#define MOST 40000

static atomic_int stops;
static atomic_long calls;
static chime_queue_t same, other;
static chime_timer_t timer;

struct late {
  atomic_int count;
  int64_t ns[MOST];
};
static struct late late_same, late_other;

static void note(const chime_tick *tick, void *context) {
  struct late *late = context;
  int place = atomic_fetch_add(&late->count, 1);
  if (place < MOST) late->ns[place] = tick->actual_ns - tick->scheduled_ns + (int64_t)tick->missed * CHIME_MILLISECOND;
}

static void nothing(const chime_tick *tick, void *context) { (void)tick, (void)context; }
static void nothing_more(void *context) { (void)context; }

static void start(void) {
  chime_timer_t made = 0;
  chime_timer_after(same, 0, nothing, NULL, NULL, &made);
  chime_timer_release(made);
}
static void far_starts(void) {
  chime_timer_t made[40] = {0};
  for (int i = 0; i < 40; i++) chime_timer_after(same, FAR, nothing, NULL, NULL, &made[i]);
  for (int i = 0; i < 40; i++) chime_timer_release(made[i]);
}
static void fire(void) { chime_timer_fire(timer); }
static void async(void) { chime_queue_async(same, nothing_more, NULL, NULL); }
static void sync_(void) { chime_queue_sync(same, nothing_more, NULL, CHIME_FOREVER); }
static void stats(void) {
  chime_queue_stats stats = CHIME_QUEUE_STATS_INIT;
  chime_queue_get_stats(same, &stats);
}
static void make(void) {
  chime_queue_t made = 0;
  chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &made);
  chime_queue_release(made);
}

static const struct {
  const char *name;
  void (*body)(void);
} all[] = {{"nothing", NULL}, {"start, due first", start}, {"far starts", far_starts}, {"fire", fire}, {"async", async},
           {"sync", sync_},   {"get_stats", stats},        {"a queue", make}};

static void *call(void *body) {
  struct sched_param none = {0};
  if (pthread_setschedparam(pthread_self(), SCHED_IDLE, &none) != 0) exit(2);
  while (!stops) {
    ((void (*)(void))body)();
    atomic_fetch_add(&calls, 1);
  }
  return NULL;
}

/* One on each processor leaves next to nothing to a thread of the class SCHED_IDLE. */
static void *spin(void *nobody) {
  while (!stops) {}
  return nobody;
}

static int by_size(const void *a, const void *b) {
  int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;
  return (first > second) - (first < second);
}
static void print(struct late *late) {
  int count = late->count < MOST ? late->count : MOST;
  qsort(late->ns, (size_t)count, sizeof late->ns[0], by_size);
  if (count == 0) printf("%12s%12s", "-", "-");
  else printf("%12.3f%12.3f", (double)late->ns[count / 2] / 1e6, (double)late->ns[count - 1] / 1e6);
}

int main(int argc, char **argv) {
  int seconds = argc > 1 ? atoi(argv[1]) : 10;
  int processors = (int)sysconf(_SC_NPROCESSORS_ONLN);
  if (chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &same) || chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &other))
    return 2;
  if (chime_timer_every(same, CHIME_MILLISECOND, note, &late_same, NULL, NULL) ||
      chime_timer_every(other, CHIME_MILLISECOND, note, &late_other, NULL, NULL) ||
      chime_timer_after(same, FAR, nothing, NULL, NULL, &timer))
    return 2;
  printf("lateness in ms        same queue: median       worst  another: median       worst       calls\n");
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    pthread_t threads[64];
    int count = 0;
    stops = 0;
    calls = 0;
    for (int p = 0; p < processors && count < 60; p++) pthread_create(&threads[count++], NULL, spin, NULL);
    if (all[i].body != NULL)
      for (int p = 0; p < 4; p++) pthread_create(&threads[count++], NULL, call, (void *)all[i].body);
    late_same.count = late_other.count = 0;
    sleep((unsigned)seconds);
    int same_count = late_same.count, other_count = late_other.count;
    stops = 1;
    while (count > 0) pthread_join(threads[--count], NULL);
    late_same.count = same_count;
    late_other.count = other_count;
    printf("%-20s", all[i].name);
    print(&late_same);
    print(&late_other);
    printf("%12ld\n", (long)calls);
    fflush(stdout);
  }
  return 0;
}
