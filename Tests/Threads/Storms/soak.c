/*
 * soak.c - all kinds of queue at once for as long as wanted, by hand for hours: three threads keep 20,000 timers in change;
 * none early, each context finalized once, a heartbeat on its grid, memory flat.
 */
#include <malloc.h>
#include <unistd.h>

#include "storms.h"

enum { KINDS = HOST + 1, THREADS = 3, TIMERS = 20000, WARMING_KIB = 2048, SLACK_KIB = 256, RESIDENT_SLACK_KIB = 1024 };

static const where kinds[KINDS] = {SERIAL, CONCURRENT, DISPATCH, PRECISE, RUN_LOOP, HOST};
static chime_queue_t queues[KINDS];
static int is_over;

typedef struct soaking {
  csuite *t;
  dice dice;
  chime_timer_t timers[TIMERS / THREADS];
  int64_t made;
} soaking;

/* Each context is memory of its own: a second finalizer would be found by libc, and a missing one by the counts. */
typedef struct held {
  csuite *t;
  int ended;
} held;
static int64_t finalized, ticks, warmed;

static void soak_tick(const chime_tick *tick, void *context) {
  csuite *t = ((held *)context)->t;
  EXPECT(tick->actual_ns >= tick->scheduled_ns);
  EXPECT_EQ(load(&((held *)context)->ended), 0);
  __atomic_add_fetch(&ticks, 1, __ATOMIC_RELAXED);
}

static void soak_finalizer(void *context) {
  csuite *t = ((held *)context)->t;
  EXPECT_EQ(add(&((held *)context)->ended, 1), 1);
  __atomic_add_fetch(&finalized, 1, __ATOMIC_RELAXED);
  free(context);
}

static void renew(soaking *s, chime_timer_t *timer) {
  csuite *t = s->t;
  held *context = calloc(1, sizeof *context);
  const int64_t first = roll_below(&s->dice, 2 * CHIME_SECOND);
  const int64_t interval = roll_below(&s->dice, 2) == 0 ? 0 : CHIME_SECOND + roll_below(&s->dice, CHIME_SECOND);
  if (*timer != 0) EXPECT(!CHIME_FAILED(chime_timer_release(*timer)));
  context->t = t;
  s->made++;
  chime_timer_options options = TIMER_OPTIONS(.handler = soak_tick, .context = context, .finalizer = soak_finalizer);
  EXPECT_OK(chime_timer_start(queues[roll_below(&s->dice, KINDS)], &options,
                              &SCHEDULE(.first_ns = first, .interval_ns = interval), timer));
}

THREAD(soak, soaking, s) {
  while (!load(&is_over) && !csuite_failed(t)) {
    for (int i = 0; i < 100; i++) {
      chime_timer_t *timer = &s->timers[roll_below(&s->dice, TIMERS / THREADS)];
      switch (roll_below(&s->dice, 4)) {
        case 0: renew(s, timer); break;
        case 1: EXPECT(!CHIME_FAILED(chime_timer_restart_after(*timer, roll_below(&s->dice, CHIME_SECOND)))); break;
        case 2: EXPECT(!CHIME_FAILED(chime_timer_postpone(*timer, roll_below(&s->dice, CHIME_SECOND)))); break;
        case 3: EXPECT(!CHIME_FAILED(chime_timer_cancel(*timer))); break;
      }
    }
    sleep_ns(10 * CHIME_MILLISECOND);
  }
}

/* Ticks and missed ones are all times of the grid, in their order. */
typedef struct heart {
  csuite *t;
  int64_t first_ns, beats;
} heart;
static heart pulse;

static void beat(const chime_tick *tick, void *context) {
  heart *h = context;
  csuite *t = h->t;
  if (h->beats == 0) h->first_ns = tick->scheduled_ns - (int64_t)tick->missed * 10 * CHIME_MILLISECOND;
  h->beats += (int64_t)tick->missed + 1;
  EXPECT_EQ(tick->scheduled_ns, h->first_ns + (h->beats - 1) * 10 * CHIME_MILLISECOND);
}

/* What stays with a queue: its slots, and with each slot the memory for rare options, once it had them. So each queue has
   twice as many timers at once beforehand as it will have, all with rare options. */
static void warm_up(csuite *t) {
  enum { MOST = 2 * TIMERS / KINDS };
  static chime_timer_t timers[MOST];
  for (int k = 0; k < KINDS; k++) {
    for (int i = 0; i < MOST; i++) {
      held *context = calloc(1, sizeof *context);
      context->t = t;
      warmed++;
      chime_timer_options options =
          TIMER_OPTIONS(.handler = soak_tick, .context = context, .finalizer = soak_finalizer);
      EXPECT_OK(chime_timer_start(queues[k], &options, &SCHEDULE(.first_ns = CHIME_HOUR, .interval_ns = 2 * CHIME_HOUR),
                                  &timers[i]));
    }
    for (int i = 0; i < MOST; i++) EXPECT_OK(chime_timer_release(timers[i]));
  }
  for (int64_t end = monotonic_ns() + PATIENCE; __atomic_load_n(&finalized, __ATOMIC_RELAXED) < warmed;) {
    if (!EXPECT(monotonic_ns() < end)) return;
    sleep_ns(CHIME_MILLISECOND);
  }
}

/* Flat: libchime's own memory in each second, by its own count; the process's in each minute, by the least of it. In the
   first minute queues still come to what they keep for threads that lose their processor inside a call. */
static void watch_memory(csuite *t, int64_t begun) {
  const uint64_t used = chime_memory_used();
  uint64_t allowed = used + WARMING_KIB * 1024;
  int64_t first = INT64_MAX;
  for (int64_t minute = 0, goes_on = 1; goes_on; minute++) {
    int64_t least = INT64_MAX;
    uint64_t most = 0;
    while ((goes_on = storm_goes_on(t, begun)) && monotonic_ns() < begun + (minute + 1) * CHIME_MINUTE) {
      sleep_ns(CHIME_SECOND);
      const int64_t kib = resident_kib();
      const uint64_t using = chime_memory_used();
      if (kib < least) least = kib;
      if (using > most) most = using;
      EXPECT(using <= allowed);
    }
    if (least == INT64_MAX) break;
    if (minute == 0) first = least, allowed = most + SLACK_KIB * 1024;
    EXPECT(least <= first + RESIDENT_SLACK_KIB);
    if (minute >= 6 && minute % 10 != 0) continue;
    printf("minute %" PRId64 ": libchime %" PRIu64 " KiB at most, %" PRIu64 " beforehand; resident %" PRId64
           " KiB at least\n",
           minute + 1, most / 1024, used / 1024, least);
    fflush(stdout);
  }
}

TEST(all_kinds_of_queue_at_once_leave_nothing_behind) {
  static soaking soakings[THREADS];
  pthread_t threads[THREADS];
  int64_t made = 0;
  int started = 0;
  mallopt(M_ARENA_MAX, 1); /* as in load.c */
  for (int i = 0; i < KINDS; i++) {
    /* A library without libdispatch has another serial queue there. */
    where kind = kinds[i] == DISPATCH && !csuite_has_dispatch() ? SERIAL : kinds[i];
    if ((queues[i] = csuite_queue(t, kind)) == 0) return;
  }
  warm_up(t);
  const int64_t begun = monotonic_ns();
  chime_timer_t timer;
  pulse = (heart){.t = t};
  EXPECT_OK(chime_timer_every(queues[SERIAL], 10 * CHIME_MILLISECOND, beat, &pulse, NULL, &timer));
  for (int i = 0; i < THREADS; i++) {
    soakings[i].t = t;
    soakings[i].dice.state = UINT64_C(0x50AC) + (uint64_t)i;
    for (int k = 0; k < TIMERS / THREADS; k++) renew(&soakings[i], &soakings[i].timers[k]);
  }
  while (started < THREADS && spawn(t, &threads[started], soak, &soakings[started])) started++;
  watch_memory(t, begun);
  store(&is_over, 1);
  for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; i++) made += soakings[i].made;
  for (int i = 0; i < KINDS; i++) EXPECT_OK(chime_queue_shutdown(queues[i], PATIENCE));
  EXPECT_EQ(finalized, made + warmed);
  EXPECT(pulse.beats > 0);
  printf("%" PRId64 " contexts, %" PRId64 " ticks, %" PRId64 " beats\n", made, ticks, pulse.beats);
}
