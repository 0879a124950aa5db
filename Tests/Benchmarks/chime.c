/*
 * Chime, in two ways: by deadline, which reads no clock in a call, and by delay, which reads it in each. Timers live on
 * a serial queue; its passes run on a thread of libdispatch while this one works.
 */
#include "harness.h"

#include <chime.h>
#include <semaphore.h>

static chime_queue_t queue;
static chime_timer_t *timers;
static int64_t base_ns; /* when the turn began, on the queue's clock */
static uint64_t ticks;

static void on_tick(const chime_tick *tick, void *context) {
  (void)tick;
  (void)context;
  __atomic_fetch_add(&ticks, 1, __ATOMIC_RELAXED);
}

static void on_pass(const chime_tick *tick, void *context) {
  (void)tick;
  REQUIRE(sem_post(context) == 0);
}

static const char *version(void) {
  static char text[16];
  uint32_t packed = chime_version();
  snprintf(text, sizeof text, "%u.%u.%u", (unsigned)(packed >> 16), (unsigned)(packed >> 8 & 0xff),
           (unsigned)(packed & 0xff));
  return text;
}

static void settle(void) {
  /* A timer that is due at once brings a pass; the pass takes over all that was handed to the queue before. */
  sem_t passed;
  REQUIRE(sem_init(&passed, 0, 0) == 0);
  REQUIRE(chime_timer_after(queue, 0, on_pass, &passed, NULL, NULL) == CHIME_OK);
  while (sem_wait(&passed) != 0) continue; /* a signal ended it */
  REQUIRE(sem_destroy(&passed) == 0);
}

static void begin(const bench_offset *offsets, size_t count) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_queue_stats stats = CHIME_QUEUE_STATS_INIT;
  size_t i;
  options.handler = on_tick;
  schedule.flags = CHIME_SCHEDULE_DEADLINE;
  ticks = 0;
  timers = malloc((count + 1) * sizeof *timers);
  REQUIRE(timers != NULL);
  REQUIRE(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue) == CHIME_OK);
  REQUIRE(chime_queue_now(queue, &base_ns) == CHIME_OK);
  for (i = 0; i < count; i++) {
    schedule.first_ns = base_ns + offsets[i].ns;
    REQUIRE(chime_timer_start(queue, &options, &schedule, &timers[i]) == CHIME_OK);
  }
  settle();
  REQUIRE(chime_queue_get_stats(queue, &stats) == CHIME_OK);
  REQUIRE(stats.entries + ticks >= count); /* all of them are in the wheel */
}

static void end(void) {
  REQUIRE(chime_queue_shutdown(queue, CHIME_FOREVER) == CHIME_OK);
  free(timers);
}

static inline void create_in_order(const bench_offset *offsets, size_t count, uint32_t flags, int64_t origin_ns) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_timer_t timer;
  size_t i;
  options.handler = on_tick;
  schedule.flags = flags;
  for (i = 0; i < count; i++) {
    schedule.first_ns = origin_ns + offsets[i].ns;
    REQUIRE(chime_timer_start(queue, &options, &schedule, &timer) == CHIME_OK);
    REQUIRE(chime_timer_cancel(timer) == CHIME_OK);
    REQUIRE(chime_timer_release(timer) == CHIME_OK);
  }
}

static void create_by_deadline(const bench_offset *offsets, size_t count) {
  create_in_order(offsets, count, CHIME_SCHEDULE_DEADLINE, base_ns);
}

static void create_by_delay(const bench_offset *offsets, size_t count) { create_in_order(offsets, count, 0, 0); }

/* A timer that has fired meanwhile answers IGNORED; the harness says how many there were. */
static void postpone_until(const uint32_t *which, const bench_offset *offsets, size_t count) {
  size_t i;
  for (i = 0; i < count; i++) REQUIRE(chime_timer_postpone_until(timers[which[i]], base_ns + offsets[i].ns) >= 0);
}

static void postpone(const uint32_t *which, const bench_offset *offsets, size_t count) {
  size_t i;
  for (i = 0; i < count; i++) REQUIRE(chime_timer_postpone(timers[which[i]], offsets[i].ns) >= 0);
}

static int64_t due_ns(size_t i) {
  int64_t deadline_ns;
  REQUIRE(chime_timer_next_deadline(timers[i], &deadline_ns) == CHIME_OK);
  return deadline_ns - base_ns;
}

static uint64_t fired(void) { return __atomic_load_n(&ticks, __ATOMIC_RELAXED); }

const bench_peer chime_deadline_peer = {"chime, deadline", version, begin,  create_by_deadline, postpone_until,
                                        settle,            due_ns,  fired, end};
const bench_peer chime_delay_peer = {"chime, delay", version, begin, create_by_delay, postpone,
                                     settle,         due_ns,  fired, end};
