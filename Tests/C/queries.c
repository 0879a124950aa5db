/*
 * queries.c - what can be asked of timers and queues: state, generation, statistics, beyond what the model asks after
 * each of its calls: every member of the info, the counts of the statistics, the generations of ticks
 * (Tests/Model/lockstep.c). Promises 2, 14 and 17. (Texts: explain.c; that queries change nothing: unchanging.c.)
 */
#include "harness.h"

/* ---- Timers ----------------------------------------------------------------------------------------------------- */

VIRTUAL_TEST(leeway_loses_less_than_one_part_in_33_million) {
  static const int64_t leeways[] = {1, 1023, 1025, 999999999, CHIME_HOUR + 1, INT64_C(1) << 53, INT64_MAX - 1};
  for (size_t i = 0; i < sizeof leeways / sizeof leeways[0]; i++) {
    probe *p = probe_start(t, queue, "a", &SCHEDULE(.first_ns = 10, .leeway_ns = leeways[i]));
    int64_t leeway = info_of(t, p->timer).leeway_ns;
    EXPECT_BETWEEN(leeway, leeways[i] - leeways[i] / 33000000, leeways[i]);
    if (leeways[i] < 1000000) EXPECT_EQ(leeway, leeways[i]);
  }
}

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

/* ---- Generations ------------------------------------------------------------------------------------------------ */

#define CHANGES(call) \
  EXPECT_OK(call); \
  EXPECT_STATUS(chime_timer_check_generation(p->timer, generation), CHIME_IGNORED); \
  generation = generation_of(t, p->timer); \
  EXPECT_OK(chime_timer_check_generation(p->timer, generation))

VIRTUAL_TEST(every_accepted_change_gives_another_generation) {
  probe *p = probe_idle(t, queue, "a");
  uint64_t generation = generation_of(t, p->timer);
  CHANGES(chime_timer_activate(p->timer, EVERY(10, 10)));
  CHANGES(chime_timer_reschedule(p->timer, EVERY(10, 10)));
  CHANGES(chime_timer_suspend(p->timer));
  CHANGES(chime_timer_restart(p->timer, NULL));
  CHANGES(chime_timer_cancel(p->timer));
  CHANGES(chime_timer_activate(p->timer, NULL));
  CHANGES(chime_timer_cancel_and_wait(p->timer, 0));
}

/* ---- Statistics ------------------------------------------------------------------------------------------------- */

TEST(lateness_is_counted_by_powers_of_two) {
  static const struct {
    int64_t late_ns;
    int bucket;
    /* clang-format off */
  } cases[] = {{0, 0}, {1023, 0}, {1024, 1}, {2047, 1}, {2048, 2}, {1 << 20, 11}, {INT64_C(1) << 39, 30},
               {(INT64_C(1) << 40) - 1, 30}, {INT64_C(1) << 40, 31}, {INT64_C(1) << 60, 31}};
  /* clang-format on */
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    QUEUE_OR_RETURN(queue, VIRTUAL);
    int bucket;
    probe_after(t, queue, "p", 5);
    EXPECT_OK(chime_queue_jump(queue, 5 + cases[i].late_ns));
    EXPECT_OK(chime_queue_advance(queue, 0));
    chime_queue_stats stats = stats_of(t, queue);
    EXPECT_EQ(stats.ticks, 1);
    for (bucket = 0; bucket < 32; bucket++) EXPECT_EQ(stats.lateness[bucket], bucket == cases[i].bucket);
  }
}

VIRTUAL_TEST(shared_wake_ups_and_stale_entries_are_counted) {
  probe *probes[5];
  for (int i = 0; i < 5; i++) probes[i] = probe_after(t, queue, "p", i < 3 ? 10 : 1000 + i);
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_LOG("p1@10 p1@10 p1@10");
  EXPECT_EQ(stats_of(t, queue).merged, 2);
  EXPECT_EQ(stats_of(t, queue).entries, 2);
  EXPECT_EQ(stats_of(t, queue).stale, 0);
  EXPECT_OK(chime_timer_cancel(probes[4]->timer));
  EXPECT_EQ(stats_of(t, queue).entries, 2);
  EXPECT_EQ(stats_of(t, queue).stale, 1);
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

/* Two calls each, on a timer with the schedule given. */
enum { POSTPONES, CANCELS, RESTARTS, RESCHEDULES, SUSPENDS, REPLACES, FIRES, CHANGES };

static void change_entry(csuite *t, int change, chime_queue_t queue, chime_timer_t *timer, const chime_schedule *s) {
  switch (change) {
    case POSTPONES:
      chime_timer_postpone(*timer, s->first_ns);
      chime_timer_postpone(*timer, s->first_ns + 1);
      break;
    case CANCELS:
      chime_timer_cancel(*timer);
      chime_timer_activate(*timer, s);
      break;
    case RESTARTS:
      chime_timer_restart(*timer, s);
      chime_timer_restart(*timer, NULL);
      break;
    case RESCHEDULES:
      chime_timer_reschedule(*timer, s);
      chime_timer_reschedule(*timer, NULL);
      break;
    case SUSPENDS:
      chime_timer_suspend(*timer);
      chime_timer_resume(*timer);
      break;
    case REPLACES:
      chime_timer_release(*timer);
      EXPECT_OK(chime_timer_start(queue, &TIMER_OPTIONS(.handler = ignore_tick), s, timer));
      break;
    default:
      chime_timer_fire(*timer);
      chime_timer_restart(*timer, s);
      break;
  }
}

/* [14]: two entries for each slot that was ever in use at once, or is kept at hand by the thread, and a constant. */
TEST(changes_of_every_kind_leave_nothing_behind) {
  enum { TIMERS = 100, MOST = 2 * (TIMERS + 64) + 1100 };
  int count = csuite_scaled(60000), change, advances, i;
  for (change = 0; change <= CHANGES; change++) { /* the last: all of them */
    for (advances = 0; advances < 2; advances++) {
      chime_timer_t timers[TIMERS] = {0};
      dice d = {UINT64_C(14)};
      uint64_t most = 0;
      QUEUE_OR_RETURN(queue, VIRTUAL);
      for (i = 0; i < TIMERS + count; i++) {
        int number = i < TIMERS ? i : (int)roll_below(&d, TIMERS);
        int kind = i < TIMERS ? REPLACES : change == CHANGES ? (int)roll_below(&d, CHANGES) : change;
        change_entry(t, kind, queue, &timers[number], EVERY(roll_below(&d, 100000), 50000));
        if (advances && i % 1000 == 0) ADVANCE(100);
        if (i % 500 == 0 && stats_of(t, queue).entries > most) most = stats_of(t, queue).entries;
      }
      EXPECT_BETWEEN(most, 0, MOST);
      EXPECT_EQ(stats_of(t, queue).timers, TIMERS);
      for (i = 0; i < TIMERS; i++) EXPECT_OK(chime_timer_release(timers[i]));
      ADVANCE(1000000);
      EXPECT_EQ(stats_of(t, queue).timers, 0);
      EXPECT_BETWEEN(stats_of(t, queue).entries, 0, MOST);
      EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
    }
  }
}
