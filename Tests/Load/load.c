/*
 * load.c - holds a steady number of pending timers under mixed work for a while, and keeps a book of them: none early,
 * none lost, none stale, each context finalized once, memory flat.
 *
 *     load KIND SECONDS TIMERS WORKERS CALLS
 *
 * KIND is serial, host, precise, or all of them at once; CALLS is how many visits a worker makes in a second. Prints
 * `passed`, or what was wrong; exits with 1 then.
 */
#include "load.h"

#include <malloc.h>
#include <stdarg.h>
#include <unistd.h>

enum { TOLD = 20, BATCH = 500, MOST_SAMPLES = 100000, MOST_WORKERS = 8, MOST_PLACES = 3 };

int64_t longest_ns;
static int stop;
static int wrongs;
static place places[MOST_PLACES];
static int place_count;
static worker workers[MOST_WORKERS];
static int worker_count;
static entry *entries; /* of all workers */
static int64_t entry_count;
static int64_t calls_each_second;
static double samples[MOST_SAMPLES]; /* resident memory in MB, one a second */

void wrong(const char *format, ...) {
  va_list arguments;
  char text[256];
  if (add(&wrongs, 1) > TOLD) return;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  printf("WRONG: %s\n", text);
  fflush(stdout);
}

chime_status only(chime_status status, uint32_t listed, const char *call) {
  if ((UINT32_C(1) << (status + 16) & listed) == 0) wrong("%s says %s", call, chime_status_name(status));
  return status;
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

/* Visits its entries one after the other, at its pace; those that wait for their finalizers once more a bit later. */
static void *work(void *argument) {
  worker *w = argument;
  int64_t at = 0, behind = 0, i, next = monotonic_ns();
  while (!load(&stop)) {
    for (i = 0; i < BATCH; i++) entry_work(&w->entries[(at + i) % w->count], w);
    for (i = 0; i < BATCH; i++) {
      entry *e = &w->entries[(behind + i) % w->count];
      if (e->timer == 0) entry_make(e, w);
    }
    behind = at;
    at = (at + BATCH) % w->count;
    next += CHIME_SECOND * BATCH / calls_each_second;
    if (next < monotonic_ns()) next = monotonic_ns(); /* a slow machine does not catch up */
    sleep_ns(next - monotonic_ns());
  }
  return NULL;
}

static void *drive(void *argument) {
  chime_queue_run(((place *)argument)->queue, CHIME_RUN_UNTIL_STOPPED);
  return NULL;
}

/* ---- Figures ----------------------------------------------------------------------------------------------------- */

static double mean(const double *values, int count) {
  double sum = 0;
  int i;
  for (i = 0; i < count; i++) sum += values[i];
  return sum / count;
}

/* Flat: after the first minute, or half of a short run, the last quarter is at most 5 % or 4 MB above the first. */
static void check_memory(int seconds) {
  int from = seconds > 120 ? 60 : seconds / 2, quarter = (seconds - from + 3) / 4;
  double first = mean(samples + from, quarter), last = mean(samples + seconds - quarter, quarter);
  double allowed = first * 0.05 > 4 ? first * 0.05 : 4;
  printf("memory: %.1f MB after %d s, %.1f MB after %d s; %.2f MB more allowed\n", first, from, last, seconds, allowed);
  if (last - first > allowed) wrong("resident memory grows");
}

static uint64_t running_timers(void) {
  uint64_t running = 0;
  int i;
  for (i = 0; i < place_count; i++) {
    chime_queue_stats stats = CHIME_QUEUE_STATS_INIT;
    ONLY(chime_queue_get_stats(places[i].queue, &stats), MAY(OK));
    running += stats.running;
  }
  return running;
}

/* Takes a sample each second; returns how many timers ran at least. */
static uint64_t watch(int seconds) {
  int64_t begun = monotonic_ns();
  uint64_t least = UINT64_MAX;
  int second;
  for (second = 0; second < seconds; second++) {
    while (monotonic_ns() < begun + (second + 1) * CHIME_SECOND) {
      sleep_ns(begun + (second + 1) * CHIME_SECOND - monotonic_ns());
    }
    samples[second] = (double)resident_kib() * 1024 / 1e6;
    if (second % 10 == 9) {
      uint64_t running = running_timers();
      if (running < least) least = running;
    }
  }
  return least;
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

static void for_each(void (*function)(entry *e)) {
  int64_t i;
  for (i = 0; i < entry_count; i++) function(&entries[i]);
}

/* Waits until no entry is left of which that is not true, and counts those that are. */
static int64_t await_all(int (*is_true)(const entry *e)) {
  int64_t end = monotonic_ns() + PATIENCE, i, left = 0;
  for (i = 0; i < entry_count; i++) {
    while (!is_true(&entries[i]) && monotonic_ns() < end) sleep_ns(CHIME_MILLISECOND);
    left += !is_true(&entries[i]);
  }
  return left;
}

static void close_the_book(void) {
  int64_t left;
  int i;
  for_each(entry_check_lost);
  for_each(entry_close);
  left = await_all(entry_is_closed);
  if (left > 0) wrong("lost: %" PRId64 " timers did not come once more", left);
  for_each(entry_release);
  left = await_all(entry_is_finalized);
  if (left > 0) wrong("%" PRId64 " contexts were not finalized", left);
  for (i = 0; i < place_count; i++) ONLY(chime_queue_shutdown(places[i].queue, PATIENCE), MAY(OK));
}

/* ---- The beginning ----------------------------------------------------------------------------------------------- */

static int make_places(const char *name) {
  static const place kinds[MOST_PLACES] = {{.name = "serial", .kind = CHIME_QUEUE_SERIAL},
                                           {.name = "host", .kind = CHIME_QUEUE_HOST},
                                           {.name = "precise", .kind = CHIME_QUEUE_PRECISE}};
  int i;
  for (i = 0; i < MOST_PLACES; i++) {
    if (strcmp(name, "all") != 0 && strcmp(name, kinds[i].name) != 0) continue;
    places[place_count] = kinds[i];
    if (chime_queue_create(kinds[i].kind, NULL, &places[place_count++].queue) != CHIME_OK) return 0;
  }
  return place_count > 0;
}

static int make_entries(int64_t timers) {
  int64_t each = timers * 3 / 2 / worker_count, i; /* some rest, or have ticked and wait for their owner */
  int n;
  entry_count = each * worker_count;
  entries = calloc((size_t)entry_count, sizeof *entries);
  if (entries == NULL) return 0;
  for (n = 0; n < worker_count; n++)
    workers[n] = (worker){{UINT64_C(0x10AD) + (uint64_t)n}, entries + n * each, each, 0};
  for (i = 0; i < entry_count; i++) {
    entries[i].place = &places[i % place_count];
    entry_make(&entries[i], &workers[i / each]);
  }
  return 1;
}

int main(int argc, char **argv) {
  int seconds = argc > 2 ? atoi(argv[2]) : 600, i;
  int64_t timers = argc > 3 ? atoll(argv[3]) : 1000000, calls = 0;
  pthread_t threads[MOST_WORKERS], drivers[MOST_PLACES];
  uint64_t least_running;
  worker_count = argc > 4 ? atoi(argv[4]) : 2;
  mallopt(M_ARENA_MAX, 1); /* what glibc keeps back for each thread is not the subject, and grows for ten minutes */
  calls_each_second = argc > 5 ? atoll(argv[5]) : 50000;
  if (argc > 6 || seconds < 4 || seconds > MOST_SAMPLES || timers < 1000 || worker_count < 1 ||
      worker_count > MOST_WORKERS || calls_each_second < BATCH || !make_places(argc > 1 ? argv[1] : "all")) {
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
  least_running = watch(seconds);
  store(&stop, 1);
  for (i = 0; i < worker_count; i++) {
    pthread_join(threads[i], NULL);
    calls += workers[i].calls;
  }
  close_the_book();
  for (i = 0; i < place_count; i++) {
    if (places[i].kind == CHIME_QUEUE_HOST) pthread_join(drivers[i], NULL);
    printf("%s: %" PRId64 " ticks\n", places[i].name, places[i].ticks);
    if (places[i].ticks == 0) wrong("no tick on a queue");
  }
  printf("%" PRId64 " calls in %d s; at least %" PRIu64 " timers ran\n", calls, seconds, least_running);
  if (least_running < (uint64_t)timers * 9 / 10) wrong("fewer timers ran than were asked for");
  check_memory(seconds);
  if (wrongs > 0) {
    printf("FAILED: %d things were wrong\n", wrongs);
    return 1;
  }
  printf("passed\n");
  return 0;
}
