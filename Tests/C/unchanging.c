/*
 * unchanging.c - queries change nothing: they bring no pass, make no descriptor readable, and leave the same statistics
 * as a run of operations without any; and an idle queue has no passes at all. Promises 13 and 18.
 */
#include "harness.h"

/* ---- No pass ----------------------------------------------------------------------------------------------------- */

/* Passes, when the queue has come to rest: one that wakes up for nothing never does. */
static uint64_t passes_at_rest(csuite *t, chime_queue_t queue) {
  int64_t end = monotonic_ns() + PATIENCE;
  uint64_t before, after = stats_of(t, queue).passes;
  do {
    if (!EXPECT(monotonic_ns() < end)) break;
    before = after;
    sleep_ns(100 * CHIME_MILLISECOND);
    after = stats_of(t, queue).passes;
  } while (after != before);
  return after;
}

TESTS_ON_DISPATCH_QUEUES(an_idle_queue_does_not_wake_up) { /* [13] */
  passes_at_rest(t, queue);                                /* no timer at all */
  for (int i = 0; i < 100; i++) {
    probe *p = probe_after(t, queue, "a", CHIME_HOUR + i * CHIME_MILLISECOND);
    if (i % 2 == 0) EXPECT_OK(chime_timer_suspend(p->timer));
  }
  passes_at_rest(t, queue); /* an hour to go */
  EXPECT_BETWEEN(stats_of(t, queue).passes, 0, 300);
}

/* Wake-ups at one distance are foreseen: they must end with what they were for. */
TESTS_ON_DISPATCH_QUEUES(a_queue_whose_periodic_timers_have_ended_does_not_wake_up) {
  chime_schedule schedule = schedule_of(2 * CHIME_MILLISECOND, 2 * CHIME_MILLISECOND);
  probe_after(t, queue, "later", CHIME_HOUR);
  schedule.tick_limit = 20;
  probe *ends = probe_start(t, queue, "ends", &schedule);
  EXPECT(await_finished(t, ends->timer));
  passes_at_rest(t, queue);
  probe *suspended = probe_every(t, queue, "suspended", 2 * CHIME_MILLISECOND);
  EXPECT(await(&suspended->ticks, 20));
  EXPECT_TOOK_EFFECT(chime_timer_suspend(suspended->timer));
  passes_at_rest(t, queue);
}

/* [13] [18]: the deadlines are in no round unit of the wheel. */
TESTS_ON_DISPATCH_QUEUES(a_hundred_thousand_queries_bring_no_pass) {
  int kind, i, count = csuite_scaled(100000);
  probe *running = probe_after(t, queue, "a", CHIME_HOUR + 333);
  probe *suspended = probe_after(t, queue, "b", CHIME_HOUR + 777);
  EXPECT_OK(chime_timer_suspend(suspended->timer));
  uint64_t before = passes_at_rest(t, queue);
  for (kind = 0; kind < QUERIES; kind++) {
    int rounds = kind == 0 || kind == 1 ? count : count / 10; /* a text takes longer than a number */
    for (i = 0; i < rounds; i++) REQUIRE_OK(query(kind, queue, (i % 8 == 0 ? suspended : running)->timer));
  }
  EXPECT_EQ(passes_at_rest(t, queue) - before, 0);
}

/* [18]: nobody drives it but the test. */
static void queries_leave_the_descriptor_alone(csuite *t, chime_queue_t queue, int is_records) {
  chime_timer_options options = TIMER_OPTIONS(.context = probe_new(t, queue, "a"));
  chime_timer_t timer = 0;
  chime_tick tick;
  uint32_t count = 0;
  int fd = fd_of(t, queue), kind, i;
  if (!is_records) options.handler = probe_handler;
  REQUIRE_OK(chime_timer_start(queue, &options, AFTER(CHIME_HOUR + 333), &timer));
  for (kind = 0; kind < QUERIES + 2; kind++) {
    EXPECT_OK(is_records ? chime_queue_take_ticks(queue, &tick, sizeof tick, 1, &count)
                         : chime_queue_process(queue, 0, &count));
    EXPECT_EQ(count, 0);
    EXPECT(!is_readable(fd, 0));
    for (i = 0; i < csuite_scaled(1000); i++) {
      if (kind == QUERIES) next_deadline(t, queue);
      else if (kind > QUERIES) poll_timeout(t, queue);
      else REQUIRE_OK(query(kind, queue, timer));
      REQUIRE(!is_readable(fd, 0));
    }
  }
}
HOST_TEST(queries_leave_the_descriptor_of_a_host_driven_queue_alone, 0) {
  queries_leave_the_descriptor_alone(t, queue, 0);
}
HOST_TEST(queries_leave_the_descriptor_of_a_bound_queue_alone, CHIME_QUEUE_BOUND) {
  queries_leave_the_descriptor_alone(t, queue, 0);
}
HOST_TEST(queries_leave_the_descriptor_of_a_queue_of_records_alone, CHIME_QUEUE_RECORDS) {
  queries_leave_the_descriptor_alone(t, queue, 1);
}

/* ---- The same with queries as without ---------------------------------------------------------------------------- */

static chime_queue_stats stats_after_a_course(csuite *t, int asks) {
  enum { TIMERS = 5, OPERATIONS = 300 };
  chime_queue_stats none = CHIME_QUEUE_STATS_INIT;
  dice d = {UINT64_C(18)};
  chime_timer_t timers[TIMERS];
  chime_queue_t queue = csuite_queue(t, VIRTUAL);
  if (queue == 0) return none;
  for (int i = 0; i < TIMERS; i++) timers[i] = probe_every_quietly(t, queue, 100 + i)->timer;
  for (int operation = 0; operation < OPERATIONS; operation++) {
    chime_timer_t timer = timers[roll_below(&d, TIMERS)];
    switch (roll_below(&d, 8)) {
      case 0:
        chime_timer_restart(timer, EVERY(roll_below(&d, 5000), roll_below(&d, 2) * (1 + roll_below(&d, 3000))));
        break;
      case 1: chime_timer_suspend(timer); break;
      case 2: chime_timer_resume(timer); break;
      case 3: chime_timer_postpone(timer, roll_below(&d, 4000)); break;
      case 4: chime_timer_fire(timer); break;
      case 5: JUMP(roll_below(&d, 3000)); break;
      default: ADVANCE(roll_below(&d, 3000)); break;
    }
    for (int i = 0; asks && i < TIMERS; i++) {
      for (int kind = 0; kind < QUERIES; kind++) EXPECT_OK(query(kind, queue, timers[i]));
    }
  }
  return stats_of(t, queue);
}

/* [18]: passes, entries, ticks and their lateness. (That ticks come when they should: the model asks all the time.) */
TEST(queries_between_operations_change_no_tick_and_no_statistics) {
  chime_queue_stats without = stats_after_a_course(t, 0), with = stats_after_a_course(t, 1);
  EXPECT(without.ticks > 100);
  EXPECT(memcmp(&with, &without, sizeof with) == 0);
}
