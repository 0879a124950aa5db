/*
 * soak.c - all kinds of queue at once for as long as wanted, by hand for hours: three threads keep 20,000 timers in change;
 * none early, each context finalized once, a heartbeat on its grid, memory flat from the third minute on.
 */
#include <malloc.h>
#include <unistd.h>

#include "storms.h"

enum { KINDS = HOST + 1, THREADS = 3, TIMERS = 20000, MINUTES = 100000 };

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
static int64_t finalized, ticks;

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

/* Flat: from the third minute on no minute's least is more than 1 MB above that minute's. */
static void watch_memory(csuite *t, int64_t begun) {
  static int64_t least[MINUTES];
  int64_t minute = 0;
  least[0] = INT64_MAX;
  while (storm_goes_on(t, begun)) {
    sleep_ns(CHIME_SECOND);
    int64_t now = (monotonic_ns() - begun) / CHIME_MINUTE, kib = resident_kib();
    if (now != minute && now < MINUTES) {
      least[minute = now] = INT64_MAX;
      /* Grows by a few KiB a minute, ever less: memory for rare options stays with its slot, so the longer the soak,
         the more of the slots have it. */
      printf("minute %" PRId64 ": chime_memory_used %" PRIu64 " KiB\n", now, chime_memory_used() / 1024);
      fflush(stdout);
    }
    if (kib < least[minute]) least[minute] = kib;
  }
  for (int64_t i = 0; i <= minute; i++) {
    if (i < 3 || i == minute || i % 10 == 0) printf("minute %" PRId64 ": %" PRId64 " KiB\n", i + 1, least[i]);
    if (i > 2) EXPECT(least[i] <= least[2] + 1024);
  }
}

TEST(all_kinds_of_queue_at_once_leave_nothing_behind) {
  static soaking soakings[THREADS];
  pthread_t threads[THREADS];
  int64_t begun = monotonic_ns(), made = 0;
  int started = 0;
  mallopt(M_ARENA_MAX, 1); /* as in load.c */
  for (int i = 0; i < KINDS; i++) {
    /* A library without libdispatch has another serial queue there. */
    where kind = kinds[i] == DISPATCH && !csuite_has_dispatch() ? SERIAL : kinds[i];
    if ((queues[i] = csuite_queue(t, kind)) == 0) return;
  }
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
  EXPECT_EQ(finalized, made);
  EXPECT(pulse.beats > 0);
  printf("%" PRId64 " contexts, %" PRId64 " ticks, %" PRId64 " beats\n", made, ticks, pulse.beats);
}
