/*
 * jitter.c - random parts of due times (chime_schedule.jitter_ns): where ticks come, and that the grid stands. Which number
 * comes at which moment, and what calls, limits and policies do to such a timer, Tests/Model holds against its model.
 * Promises 3 and 4.
 */
#include "harness.h"

enum { PERIOD = 1000, JITTER = 400 };

static chime_queue_t seeded(csuite *t, uint64_t seed) {
  return csuite_queue_with(t, CHIME_QUEUE_VIRTUAL, &QUEUE_OPTIONS(.seed = seed));
}

/* Ticks of a timer with a grid of 0, PERIOD, ...: how far behind its time of the grid each of them was. */
typedef struct book {
  int64_t parts[1000];
  int64_t jitter;
  int count;
} book;

static void note(csuite *t, probe *p, const chime_tick *tick) {
  book *b = p->user;
  int64_t part = tick->scheduled_ns - (int64_t)tick->sequence * PERIOD;
  EXPECT_EQ(tick->actual_ns, tick->scheduled_ns);
  EXPECT_EQ(tick->missed, 0);
  EXPECT_BETWEEN(part, 0, b->jitter);
  b->parts[b->count++] = part;
}

static probe *noted(csuite *t, chime_queue_t queue, book *b, chime_schedule schedule) {
  probe *p = probe_idle(t, queue, NULL);
  b->jitter = schedule.jitter_ns;
  p->user = b;
  p->on_tick = note;
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  return p;
}

static chime_schedule grid_with(int64_t jitter) {
  return SCHEDULE(.first_ns = PERIOD, .interval_ns = PERIOD, .jitter_ns = jitter);
}

/* [3] [4]: and each part is about as frequent as the others. Of 1,000 ticks a tenth of the parts gets 100; 8 of 10
 * standard deviations are 76. The seed is given, so this is the same in each run. */
TEST(each_tick_comes_at_its_time_of_the_grid_and_a_part_of_the_jitter) {
  chime_queue_t queue = seeded(t, 0);
  book *b = csuite_memory(t, sizeof *b);
  int tenths[10] = {0};
  probe *p = noted(t, queue, b, grid_with(JITTER - 1));
  EXPECT_BETWEEN(deadline_of(t, p->timer), PERIOD, PERIOD + JITTER - 1);
  ADVANCE(1000 * PERIOD + JITTER);
  EXPECT_EQ(b->count, 1000);
  for (int i = 0; i < b->count; i++) tenths[b->parts[i] * 10 / JITTER] += 1;
  for (int i = 0; i < 10; i++) EXPECT_BETWEEN(tenths[i], 24, 176);
  EXPECT_BETWEEN(deadline_of(t, p->timer), 1001 * PERIOD, 1001 * PERIOD + JITTER - 1);
  EXPECT_EQ(info_of(t, p->timer).missed, 0);
}

/* Without a seed: that of 0. */
VIRTUAL_TEST(the_same_seed_gives_the_same_ticks_and_another_one_others) {
  const uint64_t seeds[] = {0, 0, 7, 7, UINT64_MAX}; /* the first is the queue's without options */
  book *b = csuite_memory(t, 5 * sizeof *b);
  for (int i = 0; i < 5; i++) {
    if (i > 0) queue = seeded(t, seeds[i]);
    noted(t, queue, &b[i], grid_with(JITTER));
    ADVANCE(100 * PERIOD + JITTER);
    for (int j = 0; j < i; j++) {
      EXPECT_EQ(memcmp(b[i].parts, b[j].parts, sizeof b[i].parts) == 0, seeds[i] == seeds[j]);
    }
  }
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

/* A postponement is a bound for the whole deadline; the grid moves with it. */
VIRTUAL_TEST(a_postponed_tick_with_jitter_is_not_early) {
  for (int i = 0; i < 100; i++) {
    probe *p = probe_start(t, queue, NULL, &SCHEDULE(.first_ns = 10, .interval_ns = PERIOD, .jitter_ns = JITTER));
    int64_t until = now_of(t, queue) + 600, base = now_of(t, queue);
    EXPECT_OK(chime_timer_postpone(p->timer, 600));
    EXPECT_EQ(deadline_of(t, p->timer), until);
    ADVANCE(600);
    EXPECT_EQ(load(&p->ticks), 1);
    EXPECT_EQ(p->last.scheduled_ns, until);
    EXPECT_BETWEEN(deadline_of(t, p->timer) - base, 600 + PERIOD - JITTER, 600 + PERIOD + JITTER);
    EXPECT_OK(chime_timer_release(p->timer));
  }
}

/* From the end of the handler, which lasts 300. */
static void take_300(csuite *t, probe *p, const chime_tick *tick) { EXPECT_OK(chime_queue_jump(p->queue, 300)); }

VIRTUAL_TEST(spacing_with_jitter_counts_from_the_end_of_the_handler) {
  const chime_schedule schedule =
      SCHEDULE(.first_ns = PERIOD, .interval_ns = PERIOD, .jitter_ns = JITTER, .missed_policy = CHIME_MISSED_DELAY);
  probe *p = probe_idle(t, queue, NULL);
  int random = 0;
  p->on_tick = take_300;
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  for (int i = 0; i < 50; i++) {
    ADVANCE(deadline_of(t, p->timer) - now_of(t, queue));
    EXPECT_EQ(load(&p->ticks), i + 1);
    EXPECT_BETWEEN(deadline_of(t, p->timer) - now_of(t, queue), PERIOD, PERIOD + JITTER);
    random += deadline_of(t, p->timer) - now_of(t, queue) > PERIOD;
  }
  EXPECT(random > 0);
}

/* Never early, on any clock: the tick that comes says when it was due. */
static void never_early(csuite *t, probe *p, const chime_tick *tick) {
  int64_t now = 0;
  EXPECT_OK(chime_queue_now(p->queue, &now));
  EXPECT(tick->scheduled_ns <= tick->actual_ns && tick->actual_ns <= now);
  EXPECT_BETWEEN((tick->scheduled_ns - p->number) % (2 * CHIME_MILLISECOND), 0, CHIME_MILLISECOND);
}

static void check_grid_with_jitter(csuite *t, chime_queue_t queue) {
  probe *p = probe_idle(t, queue, NULL);
  p->number = now_of(t, queue) + CHIME_MILLISECOND;
  p->on_tick = never_early;
  EXPECT_OK(
      chime_timer_activate(p->timer, &SCHEDULE(.flags = CHIME_SCHEDULE_DEADLINE, .first_ns = p->number,
                                               .interval_ns = 2 * CHIME_MILLISECOND, .jitter_ns = CHIME_MILLISECOND)));
  AWAIT(load(&p->ticks) >= 20);
}

TESTS_ON_DISPATCH_QUEUES(a_timer_with_jitter_keeps_its_grid) { check_grid_with_jitter(t, queue); }

/* Its deadline is a time of day, and moves with the clock; the random part is in it. */
TEST(a_time_of_day_with_jitter_keeps_its_grid) {
  check_grid_with_jitter(t, csuite_queue_with(t, CHIME_QUEUE_SERIAL, &QUEUE_OPTIONS(.clock = CHIME_CLOCK_WALL)));
}
