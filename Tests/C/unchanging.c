/*
 * unchanging.c - queries change nothing: they bring no pass, make no descriptor readable, and leave the same statistics
 * as a run of operations without any; and an idle queue has no passes at all. Promises 13 and 18.
 */
#include "harness.h"

#include <poll.h>

enum { QUERIES = 9 };

static chime_status query(int kind, chime_queue_t queue, chime_timer_t timer) {
  chime_timer_info info = CHIME_TIMER_INFO_INIT;
  chime_queue_stats stats = CHIME_QUEUE_STATS_INIT;
  chime_state state = 0;
  uint64_t generation = 0, length = 0;
  int64_t time = 0;
  char text[256];
  switch (kind) {
    case 0: return chime_timer_get_info(timer, &info);
    case 1: return chime_timer_next_deadline(timer, &time);
    case 2: return chime_timer_explain(timer, text, sizeof text, &length);
    case 3: return chime_queue_get_stats(queue, &stats);
    case 4: return chime_queue_dump(queue, text, sizeof text, &length);
    case 5: return chime_timer_generation(timer, &generation);
    case 6: return chime_timer_state(timer, &state);
    case 7: return chime_queue_now(queue, &time);
    default: return chime_timer_check_generation(timer, 0) == CHIME_IGNORED ? CHIME_OK : CHIME_ERROR_BUSY;
  }
}

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

/* [13] */
TESTS_ON_DISPATCH_QUEUES(an_idle_queue_does_not_wake_up) {
  int i;
  passes_at_rest(t, queue); /* no timer at all */
  for (i = 0; i < 100; i++) {
    probe *p = probe_after(t, queue, "a", CHIME_HOUR + i * CHIME_MILLISECOND);
    if (i % 2 == 0) EXPECT_OK(chime_timer_suspend(p->timer));
  }
  passes_at_rest(t, queue); /* an hour to go */
  EXPECT_BETWEEN(stats_of(t, queue).passes, 0, 300);
}

/* Wake-ups at one distance are foreseen: they must end with what they were for. */
TESTS_ON_DISPATCH_QUEUES(a_queue_whose_periodic_timers_have_ended_does_not_wake_up) {
  chime_schedule schedule = schedule_of(2 * CHIME_MILLISECOND, 2 * CHIME_MILLISECOND);
  probe *ends, *suspended;
  probe_after(t, queue, "later", CHIME_HOUR);
  schedule.tick_limit = 20;
  ends = probe_start(t, queue, "ends", &schedule);
  EXPECT(await_finished(t, ends->timer));
  passes_at_rest(t, queue);
  suspended = probe_every(t, queue, "suspended", 2 * CHIME_MILLISECOND);
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
  for (kind = 0; kind < QUERIES; kind++) {
    uint64_t before = passes_at_rest(t, queue);
    int rounds = kind == 0 || kind == 1 ? count : count / 10; /* a text takes longer than a number */
    for (i = 0; i < rounds; i++) {
      if (!EXPECT_OK(query(kind, queue, i % 8 == 0 ? suspended->timer : running->timer))) return;
    }
    if (!EXPECT_EQ(passes_at_rest(t, queue) - before, 0)) return;
  }
}

static int is_readable(csuite *t, chime_queue_t queue) {
  struct pollfd entry = {-1, POLLIN, 0};
  int32_t file = -1;
  EXPECT_OK(chime_queue_fd(queue, &file));
  entry.fd = file;
  return poll(&entry, 1, 0);
}

/* [18]: nobody drives it but the test. */
static void queries_leave_the_descriptor_alone(csuite *t, uint32_t flags) {
  int kind, i;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_queue_t queue = host_queue(t, flags);
  chime_timer_t timer = 0;
  chime_tick tick;
  uint32_t count = 0;
  int is_records = flags == CHIME_QUEUE_RECORDS;
  REQUIRE(queue != 0);
  if (!is_records) options.handler = probe_handler;
  options.context = probe_new(t, queue, "a");
  REQUIRE_OK(chime_timer_start(queue, &options, AFTER(CHIME_HOUR + 333), &timer));
  for (kind = 0; kind < QUERIES; kind++) {
    EXPECT_OK(is_records ? chime_queue_take_ticks(queue, &tick, sizeof tick, 1, &count)
                         : chime_queue_process(queue, 0, &count));
    EXPECT_EQ(count, 0);
    EXPECT_EQ(is_readable(t, queue), 0);
    for (i = 0; i < csuite_scaled(1000); i++) {
      if (!EXPECT_OK(query(kind, queue, timer))) return;
      if (!EXPECT_EQ(is_readable(t, queue), 0)) return;
    }
  }
  for (i = 0; i < csuite_scaled(1000); i++) {
    int64_t deadline = 0;
    int32_t milliseconds = 0;
    if (!EXPECT_OK(i % 2 ? chime_queue_next_deadline(queue, &deadline)
                         : chime_queue_poll_timeout(queue, &milliseconds))) {
      return;
    }
    if (!EXPECT_EQ(is_readable(t, queue), 0)) return;
  }
}
TEST(queries_leave_the_descriptor_of_a_host_driven_queue_alone) { queries_leave_the_descriptor_alone(t, 0); }
TEST(queries_leave_the_descriptor_of_a_bound_queue_alone) { queries_leave_the_descriptor_alone(t, CHIME_QUEUE_BOUND); }
TEST(queries_leave_the_descriptor_of_a_queue_of_records_alone) {
  queries_leave_the_descriptor_alone(t, CHIME_QUEUE_RECORDS);
}

/* ---- The same with queries as without ---------------------------------------------------------------------------- */

static chime_queue_stats stats_after_a_course(csuite *t, int asks) {
  enum { TIMERS = 5, OPERATIONS = 300 };
  chime_queue_stats none = CHIME_QUEUE_STATS_INIT;
  dice d = {UINT64_C(18)};
  chime_timer_t timers[TIMERS];
  int operation, i, kind;
  chime_queue_t queue = csuite_queue(t, VIRTUAL);
  if (queue == 0) return none;
  for (i = 0; i < TIMERS; i++) timers[i] = probe_every_quietly(t, queue, 100 + i)->timer;
  for (operation = 0; operation < OPERATIONS; operation++) {
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
    for (i = 0; asks && i < TIMERS; i++) {
      for (kind = 0; kind < QUERIES; kind++) EXPECT_OK(query(kind, queue, timers[i]));
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
