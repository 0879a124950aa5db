/*
 * load.c - holds a steady number of pending timers under mixed work for a while, and keeps a book of them: none early,
 * none lost, none stale, each context finalized once, memory flat.
 *
 * It goes on for STORM_SECONDS, ten at least, with STORM_TIMERS, to which each worker makes STORM_CALLS visits a second.
 */
#include "load.h"

#include <malloc.h>
#include <unistd.h>

enum { BATCH = 500, MOST_SAMPLES = 100000, WORKERS = 2, PLACES = 3 };

int64_t longest_ns;
static int stop;
static place places[PLACES];
static worker workers[WORKERS];
static entry *entries; /* of all workers */
static int64_t entry_count;
static int64_t calls_each_second;
static double samples[MOST_SAMPLES]; /* resident memory in MB, one a second */

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

/* ---- Figures ----------------------------------------------------------------------------------------------------- */

static double mean(const double *values, int count) {
  double sum = 0;
  for (int i = 0; i < count; i++) sum += values[i];
  return sum / count;
}

/* Flat: after the first minute, or half of a short run, the last quarter is at most 5 % or 4 MB above the first. */
static void expect_flat_memory(csuite *t, int seconds) {
  int from = seconds > 120 ? 60 : seconds / 2, quarter = (seconds - from + 3) / 4;
  double first = mean(samples + from, quarter), last = mean(samples + seconds - quarter, quarter);
  double allowed = first * 0.05 > 4 ? first * 0.05 : 4;
  printf("memory: %.1f MB after %d s, %.1f MB after %d s; %.2f MB more allowed\n", first, from, last, seconds, allowed);
  EXPECT(last - first <= allowed);
}

/* Takes a sample each second; returns how many timers ran at least. */
static uint64_t watch(csuite *t, int seconds) {
  int64_t begun = monotonic_ns();
  uint64_t least = UINT64_MAX;
  for (int second = 0; second < seconds; second++) {
    uint64_t running = 0;
    sleep_ns(begun + (second + 1) * CHIME_SECOND - monotonic_ns());
    samples[second] = (double)resident_kib() * 1024 / 1e6;
    if (second % 10 != 9) continue;
    for (int i = 0; i < PLACES; i++) running += stats_of(t, places[i].queue).running;
    if (running < least) least = running;
  }
  return least;
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

static void for_each(void (*function)(entry *e)) {
  for (int64_t i = 0; i < entry_count; i++) function(&entries[i]);
}

/* Waits until no entry is left of which that is not true, and counts those that are. */
static int64_t await_all(int (*is_true)(const entry *e)) {
  int64_t end = monotonic_ns() + PATIENCE, left = 0;
  for (int64_t i = 0; i < entry_count; i++) {
    while (!is_true(&entries[i]) && monotonic_ns() < end) sleep_ns(CHIME_MILLISECOND);
    left += !is_true(&entries[i]);
  }
  return left;
}

static void close_the_book(csuite *t) {
  for_each(entry_check_lost);
  for_each(entry_close);
  EXPECT_EQ(await_all(entry_has_ticked), 0);
  for_each(entry_release);
  EXPECT_EQ(await_all(entry_is_finalized), 0);
}

/* ---- The test ---------------------------------------------------------------------------------------------------- */

static void make_entries(csuite *t, int64_t timers) {
  int64_t each = timers * 3 / 2 / WORKERS; /* some rest, or have ticked and wait for their owner */
  entry_count = each * WORKERS;
  entries = csuite_memory(t, (size_t)entry_count * sizeof *entries);
  for (int n = 0; n < WORKERS; n++)
    workers[n] = (worker){{UINT64_C(0x10AD) + (uint64_t)n}, entries + n * each, each, 0};
  for (int64_t i = 0; i < entry_count; i++) {
    entries[i].place = &places[i % PLACES];
    entry_make(&entries[i], &workers[i / each]);
  }
}

TEST(timers_under_mixed_work_are_never_early_never_lost_and_leave_nothing_behind) {
  static const where kinds[PLACES] = {SERIAL, HOST, PRECISE};
  static const char *const names[PLACES] = {"serial", "host", "precise"};
  const int64_t wanted = storm_number("STORM_SECONDS", 60);
  const int seconds = (int)(wanted < 10 ? 10 : wanted);
  const int64_t timers = storm_number("STORM_TIMERS", 1000000);
  int started = 0;
  int64_t calls = 0;
  pthread_t threads[WORKERS];
  mallopt(M_ARENA_MAX, 1); /* what glibc keeps back for each thread is not the subject, and grows for ten minutes */
  calls_each_second = storm_number("STORM_CALLS", 50000);
  REQUIRE(seconds <= MOST_SAMPLES && timers >= 1000 && calls_each_second >= BATCH);
  for (int i = 0; i < PLACES; i++) {
    places[i] = (place){.t = t, .queue = csuite_queue(t, kinds[i])};
    if (places[i].queue == 0) return;
  }
  /* Each entry is visited some times while its timer is pending, and most timers tick before the end. */
  longest_ns = seconds / 3 * CHIME_SECOND;
  if (longest_ns > 30 * CHIME_SECOND) longest_ns = 30 * CHIME_SECOND; /* all is as it stays after a minute */
  if (longest_ns < 2 * CHIME_SECOND) longest_ns = 2 * CHIME_SECOND;
  make_entries(t, timers);
  while (started < WORKERS && spawn(t, &threads[started], work, &workers[started])) started++;
  uint64_t least_running = watch(t, seconds);
  store(&stop, 1);
  while (started > 0) {
    pthread_join(threads[--started], NULL);
    calls += workers[started].calls;
  }
  close_the_book(t);
  for (int i = 0; i < PLACES; i++) {
    printf("%s: %" PRId64 " ticks\n", names[i], places[i].ticks);
    EXPECT(places[i].ticks > 0);
  }
  printf("%" PRId64 " calls in %d s; at least %" PRIu64 " timers ran\n", calls, seconds, least_running);
  expect_flat_memory(t, seconds);
}
