/*
 * load.c - holds a steady number of pending timers under mixed work for a while, and keeps a book of them: none early,
 * none lost, none stale, each context finalized once, memory flat.
 *
 *     load KIND SECONDS TIMERS WORKERS CALLS
 *
 * KIND is serial, host, precise, or all of them at once; CALLS is how many visits a worker makes in a second. Prints the
 * figures of each queue and `passed`, or what was wrong; exits with 1 then.
 */
#include "load.h"

#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TOLD = 20, BATCH = 500, MOST_SAMPLES = 100000 };

int64_t longest_ns;
int over;
static int stop;
static int wrongs;
static place places[MOST_PLACES];
static int place_count;
static worker workers[MOST_WORKERS];
static int worker_count;
static int64_t calls_each_second;
static double samples[MOST_SAMPLES]; /* resident memory in MB, one a second */

int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * CHIME_SECOND + now.tv_nsec;
}

void pause_ns(int64_t duration_ns) {
  struct timespec time = {(time_t)(duration_ns / CHIME_SECOND), (long)(duration_ns % CHIME_SECOND)};
  nanosleep(&time, NULL);
}

uint64_t roll(uint64_t *dice) {
  *dice ^= *dice >> 12;
  *dice ^= *dice << 25;
  *dice ^= *dice >> 27;
  return (*dice * UINT64_C(2685821657736338717)) >> 16;
}

void wrong(const char *format, ...) {
  va_list arguments;
  char text[256];
  if (__atomic_add_fetch(&wrongs, 1, __ATOMIC_ACQ_REL) > TOLD) return;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  printf("WRONG: %s\n", text);
  fflush(stdout);
}

chime_status only(chime_status status, uint32_t listed, const char *call) {
  if ((BIT(status) & listed) == 0) wrong("%s says %s", call, chime_status_name(status));
  return status;
}

/* ---- Workers ------------------------------------------------------------------------------------------------------ */

/* Visits its entries one after the other, at its pace; those that wait for their finalizers once more a little later. */
static void *work(void *argument) {
  worker *w = argument;
  int64_t at = 0, behind = 0, i, next = now_ns();
  while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
    for (i = 0; i < BATCH; i++) entry_work(&w->entries[(at + i) % w->count], w);
    for (i = 0; i < BATCH / 20; i++) values_work(w, &places[roll(&w->dice) % (uint64_t)place_count]);
    for (i = 0; i < BATCH; i++) {
      entry *e = &w->entries[(behind + i) % w->count];
      if (e->timer == 0) entry_make(e, w);
    }
    behind = at;
    at = (at + BATCH) % w->count;
    next += CHIME_SECOND * BATCH / calls_each_second;
    if (next > now_ns()) {
      pause_ns(next - now_ns());
    } else {
      next = now_ns(); /* a slow machine does not catch up */
    }
  }
  return NULL;
}

static void *drive(void *argument) {
  chime_queue_run(((place *)argument)->queue, CHIME_RUN_UNTIL_STOPPED);
  return NULL;
}

/* ---- Figures ------------------------------------------------------------------------------------------------------- */

static double resident_mb(void) {
  long all = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file == NULL) return 0;
  if (fscanf(file, "%ld %ld", &all, &resident) != 2) resident = 0;
  fclose(file);
  return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

/* Megabytes a second, by least squares. */
static double slope(const double *values, int count) {
  double mean_x = (count - 1) / 2.0, mean_y = 0, above = 0, below = 0;
  int i;
  for (i = 0; i < count; i++) mean_y += values[i] / count;
  for (i = 0; i < count; i++) {
    above += (i - mean_x) * (values[i] - mean_y);
    below += (i - mean_x) * (i - mean_x);
  }
  return below > 0 ? above / below : 0;
}

/* Flat: what the slope adds up to after the first minute, or half of a short run, is below 5 % or 4 MB. */
static void check_memory(int seconds) {
  int from = seconds > 120 ? 60 : seconds / 2, count = seconds - from;
  double grown = slope(samples + from, count) * count, allowed = samples[from] * 0.05;
  if (allowed < 4) allowed = 4;
  printf("memory: %.1f MB after %d s, %.1f MB after %d s; by its slope %+.2f MB, %.2f allowed\n", samples[from], from,
         samples[seconds - 1], seconds, grown, allowed);
  if (grown > allowed) wrong("resident memory grows");
}

static int64_t percentile(const place *p, double part) {
  int64_t below = 0;
  int i;
  for (i = 0; i < BUCKETS; i++) {
    below += p->lateness[i];
    if ((double)below >= part * (double)p->measured) return INT64_C(1) << i;
  }
  return INT64_MAX;
}

static void report(const place *p) {
  printf("%s: %lld ticks; late by less than %lld us (half), %lld us (99 %%), %lld us (99.9 %%), %lld us (all)\n",
         p->name, (long long)p->ticks, (long long)percentile(p, 0.5), (long long)percentile(p, 0.99),
         (long long)percentile(p, 0.999), (long long)percentile(p, 1));
}

static uint64_t running_timers(void) {
  uint64_t running = 0;
  int i;
  for (i = 0; i < place_count; i++) {
    chime_queue_stats stats = CHIME_QUEUE_STATS_INIT;
    ONLY(chime_queue_get_stats(places[i].queue, &stats), BIT(CHIME_OK));
    running += stats.running;
  }
  return running;
}

/* ---- The end ------------------------------------------------------------------------------------------------------- */

typedef void (*entry_function)(entry *e);

static void for_each(entry_function function) {
  int64_t i;
  int n;
  for (n = 0; n < worker_count; n++)
    for (i = 0; i < workers[n].count; i++) function(&workers[n].entries[i]);
}

/* Waits until no entry is left of which that is not true, and counts those that are. */
static int64_t await_all(int (*is_true)(const entry *e)) {
  int64_t end = now_ns() + PATIENCE, i, left = 0;
  int n;
  for (n = 0; n < worker_count; n++) {
    for (i = 0; i < workers[n].count; i++) {
      while (!is_true(&workers[n].entries[i]) && now_ns() < end) pause_ns(CHIME_MILLISECOND);
      left += !is_true(&workers[n].entries[i]);
    }
  }
  return left;
}

static int is_finalized(const entry *e) {
  return __atomic_load_n(&e->finalized, __ATOMIC_ACQUIRE) == __atomic_load_n(&e->accepted, __ATOMIC_ACQUIRE);
}

static void release(entry *e) {
  if (e->timer != 0) entry_release(e);
}

static void close_the_book(void) {
  int64_t left;
  int i;
  for_each(entry_check_lost);
  __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
  for_each(entry_close);
  left = await_all(entry_is_closed);
  if (left > 0) wrong("lost: %lld timers did not come once more", (long long)left);
  for_each(release);
  left = await_all(is_finalized);
  if (left > 0) wrong("%lld contexts were not finalized", (long long)left);
  for (i = 0; i < worker_count; i++) values_close(&workers[i]);
  for (i = 0; i < place_count; i++) ONLY(chime_queue_shutdown(places[i].queue, PATIENCE), BIT(CHIME_OK));
}

/* ---- The beginning ------------------------------------------------------------------------------------------------- */

static int add_place(const char *name, chime_queue_kind kind) {
  place *p = &places[place_count++];
  p->name = name;
  p->kind = kind;
  return chime_queue_create(kind, NULL, &p->queue) == CHIME_OK;
}

static int make_places(const char *kind) {
  int all = strcmp(kind, "all") == 0, made = 1;
  if (all || strcmp(kind, "serial") == 0) made &= add_place("serial", CHIME_QUEUE_SERIAL);
  if (all || strcmp(kind, "host") == 0) made &= add_place("host", CHIME_QUEUE_HOST);
  if (all || strcmp(kind, "precise") == 0) made &= add_place("precise", CHIME_QUEUE_PRECISE);
  return made && place_count > 0;
}

static int make_entries(int64_t timers) {
  int n;
  int64_t i;
  for (n = 0; n < worker_count; n++) {
    worker *w = &workers[n];
    w->number = n;
    w->dice = UINT64_C(0x10AD) + (uint64_t)n;
    /* Some rest, or have ticked and wait for their owner. */
    w->count = timers * 3 / 2 / worker_count;
    w->entries = calloc((size_t)w->count, sizeof *w->entries);
    if (w->entries == NULL) return 0;
    for (i = 0; i < w->count; i++) {
      w->entries[i].place = &places[i % place_count];
      entry_make(&w->entries[i], w);
    }
  }
  return 1;
}

int main(int argc, char **argv) {
  const char *kind = argc > 1 ? argv[1] : "all";
  int seconds = argc > 2 ? atoi(argv[2]) : 600, second, i;
  int64_t timers = argc > 3 ? atoll(argv[3]) : 1000000, calls = 0, values = 0, begun;
  pthread_t threads[MOST_WORKERS], drivers[MOST_PLACES];
  uint64_t least_running = UINT64_MAX;
  worker_count = argc > 4 ? atoi(argv[4]) : 2;
  mallopt(M_ARENA_MAX, 1); /* what glibc keeps back for each thread is not the subject, and grows for ten minutes */
  calls_each_second = argc > 5 ? atoll(argv[5]) : 50000;
  if (argc > 6 || seconds < 4 || seconds > MOST_SAMPLES || timers < 1000 || worker_count < 1 ||
      worker_count > MOST_WORKERS || calls_each_second < BATCH || !make_places(kind)) {
    fprintf(stderr, "usage: load serial|host|precise|all SECONDS TIMERS WORKERS CALLS\n");
    return 2;
  }
  /* Each entry is visited some times while its timer is pending, and most timers tick before the end. */
  longest_ns = seconds / 3 * CHIME_SECOND;
  if (longest_ns > 30 * CHIME_SECOND) longest_ns = 30 * CHIME_SECOND; /* all is as it stays after a minute */
  if (longest_ns < 2 * CHIME_SECOND) longest_ns = 2 * CHIME_SECOND;
  for (i = 0; i < place_count; i++) {
    if (places[i].kind == CHIME_QUEUE_HOST) pthread_create(&drivers[i], NULL, drive, &places[i]);
  }
  if (!make_entries(timers)) return 2;
  for (i = 0; i < worker_count; i++) pthread_create(&threads[i], NULL, work, &workers[i]);
  begun = now_ns();
  for (second = 0; second < seconds; second++) {
    while (now_ns() < begun + (second + 1) * CHIME_SECOND) pause_ns(begun + (second + 1) * CHIME_SECOND - now_ns());
    samples[second] = resident_mb();
    if (second % 10 == 9) {
      uint64_t running = running_timers();
      if (running < least_running) least_running = running;
      if (second % 60 == 59) {
        printf("%4d s: %.1f MB, %llu timers run\n", second + 1, samples[second], (unsigned long long)running);
        fflush(stdout);
      }
    }
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
  for (i = 0; i < worker_count; i++) {
    pthread_join(threads[i], NULL);
    calls += workers[i].calls;
    values += workers[i].values;
  }
  close_the_book();
  for (i = 0; i < place_count; i++) {
    if (places[i].kind == CHIME_QUEUE_HOST) pthread_join(drivers[i], NULL);
    report(&places[i]);
    if (places[i].ticks == 0) wrong("no tick on a queue");
  }
  printf("%lld calls in %d s, %lld values expired; at least %llu timers ran\n", (long long)calls, seconds,
         (long long)values, (unsigned long long)least_running);
  if (least_running != UINT64_MAX && least_running < (uint64_t)timers * 9 / 10)
    wrong("fewer timers ran than were asked for");
  check_memory(seconds);
  if (wrongs > 0) {
    printf("FAILED: %d things were wrong\n", wrongs);
    return 1;
  }
  printf("passed\n");
  return 0;
}
