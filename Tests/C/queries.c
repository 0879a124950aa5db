/*
 * queries.c - what can be asked of timers and queues: state, generation, statistics, beyond what the model asks after
 * each of its calls: every member of the info, the counts of the statistics, the generations of ticks
 * (Tests/Model/lockstep.c). And that queries change nothing: they bring no pass, and make no descriptor readable. (That they
 * change no tick: Model, which asks in some of its runs and not in others. Texts: explain.c.) Promises 2, 13, 17 and 18.
 */
#include "harness.h"

/* ---- Timers ----------------------------------------------------------------------------------------------------- */

TESTS_ON_DISPATCH_QUEUES(the_state_read_after_a_call_agrees) { /* [2] */
  probe *p = probe_idle(t, queue, "a");
  for (int i = 0; i < 1000 && !csuite_failed(t); i++) {
    EXPECT_OK(chime_timer_activate(p->timer, AFTER(CHIME_HOUR)));
    EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_RUNNING);
    EXPECT(deadline_of(t, p->timer) < CHIME_FOREVER);
    EXPECT_OK(chime_timer_suspend(p->timer));
    EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_SUSPENDED);
    EXPECT_EQ(deadline_of(t, p->timer), CHIME_FOREVER);
    EXPECT_OK(chime_timer_resume(p->timer));
    EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_RUNNING);
    EXPECT_OK(chime_timer_cancel(p->timer));
    EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_CANCELLED);
  }
  EXPECT_EQ(load(&p->ticks), 0);
}

/* ---- Statistics ------------------------------------------------------------------------------------------------- */

VIRTUAL_TEST(lateness_is_counted_by_powers_of_two) {
  static const struct {
    int64_t late_ns;
    int bucket;
    /* clang-format off */
  } cases[] = {{0, 0}, {1023, 0}, {1024, 1}, {2047, 1}, {2048, 2}, {1 << 20, 11}, {INT64_C(1) << 39, 30},
               {(INT64_C(1) << 40) - 1, 30}, {INT64_C(1) << 40, 31}, {INT64_C(1) << 60, 31}};
  /* clang-format on */
  uint64_t expected[32] = {0};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    probe_after(t, queue, "p", 5);
    JUMP(5 + cases[i].late_ns);
    ADVANCE(0);
    expected[cases[i].bucket]++;
    chime_queue_stats stats = stats_of(t, queue);
    for (int bucket = 0; bucket < 32; bucket++) EXPECT_EQ(stats.lateness[bucket], expected[bucket]);
  }
}

/* [17]: each restart misses half of all 64-bit numbers, so that the queue's own count of missed ticks overflows. */
VIRTUAL_TEST(missed_ticks_beyond_what_a_counter_holds_do_not_trap) {
  chime_schedule schedule = schedule_at(INT64_MIN, 1);
  probe *p = probe_start(t, queue, "a", &schedule);
  for (int i = 0; i < 5; i++) {
    ADVANCE(0);
    EXPECT(p->last.missed == (uint64_t)INT64_MAX + 1);
    EXPECT_OK(chime_timer_restart(p->timer, &schedule));
  }
}

/* ---- Queries and passes -------------------------------------------------------------------------------------------- */

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
TEST(queries_leave_the_descriptor_of_a_host_driven_queue_alone) {
  static const uint32_t kinds_of_queue[] = {0, CHIME_QUEUE_BOUND, CHIME_QUEUE_RECORDS};
  for (int k = 0; k < 3; k++) {
    chime_queue_t queue = host_queue(t, kinds_of_queue[k]);
    chime_timer_options options = TIMER_OPTIONS(.handler = k == 2 ? NULL : ignore_tick);
    chime_timer_t timer = 0;
    chime_tick tick;
    uint32_t count = 0;
    int fd = fd_of(t, queue);
    REQUIRE_OK(chime_timer_start(queue, &options, AFTER(CHIME_HOUR + 333), &timer));
    for (int kind = 0; kind < QUERIES + 2; kind++) {
      EXPECT_OK(k == 2 ? chime_queue_take_ticks(queue, &tick, sizeof tick, 1, &count)
                       : chime_queue_process(queue, 0, &count));
      EXPECT_EQ(count, 0);
      EXPECT(!is_readable(fd, 0));
      for (int i = 0; i < csuite_scaled(1000); i++) {
        if (kind == QUERIES) next_deadline(t, queue);
        else if (kind > QUERIES) poll_timeout(t, queue);
        else REQUIRE_OK(query(kind, queue, timer));
        REQUIRE(!is_readable(fd, 0));
      }
    }
  }
}
