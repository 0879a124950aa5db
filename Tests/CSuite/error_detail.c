/*
 * error_detail.c - chime_last_error_detail: what it says, to whom, and for how long. That each call which answers one of
 * its statuses leaves a sentence of its own, EXPECT_STATUS looks at in the whole suite (harness.c).
 */
#include "harness.h"

#define EXPECT_DETAIL(call, status, sentence) \
  do { \
    EXPECT_STATUS(call, status); \
    EXPECT_TEXT(chime_last_error_detail(), sentence); \
  } while (0)
#define INVALID(call, sentence) EXPECT_DETAIL(call, CHIME_ERROR_INVALID_ARGUMENT, sentence)
#define UNSUPPORTED(call, sentence) EXPECT_DETAIL(call, CHIME_ERROR_UNSUPPORTED, sentence)

TEST(a_schedule_is_told_by_its_member) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_idle(t, queue, "p");
  chime_schedule s = schedule_of(0, CHIME_MILLISECOND);
  s.leeway_ns = 5 * CHIME_MILLISECOND;
  INVALID(chime_timer_activate(p->timer, &s), "schedule.leeway_ns (5 ms) is not below interval_ns (1 ms)");
  s.interval_ns = s.leeway_ns = 1000001;
  INVALID(chime_timer_restart(p->timer, &s), "schedule.leeway_ns (1.000001 ms) is not below interval_ns (1.000001 ms)");
  s = schedule_of(-1, 0);
  INVALID(chime_timer_activate(p->timer, &s), "schedule.first_ns (-1 ns) is negative");
  s = schedule_of(0, -1500 * CHIME_MICROSECOND);
  INVALID(chime_timer_reschedule(p->timer, &s), "schedule.interval_ns (-1.5 ms) is negative");
  s = schedule_of(0, INT64_MIN);
  INVALID(chime_timer_reschedule(p->timer, &s), "schedule.interval_ns (-9223372036.854775808 s) is negative");
  s = schedule_of(0, 5);
  s.leeway_ns = -90 * CHIME_SECOND;
  INVALID(chime_timer_activate(p->timer, &s), "schedule.leeway_ns (-90 s) is negative");
  s = schedule_of(0, CHIME_FOREVER);
  s.leeway_ns = CHIME_FOREVER;
  INVALID(chime_timer_activate(p->timer, &s),
          "schedule.leeway_ns (CHIME_FOREVER) is not below interval_ns (CHIME_FOREVER)");
  s = schedule_of(0, 5);
  s.flags = 6;
  INVALID(chime_timer_activate(p->timer, &s), "schedule.flags (6) has a flag that means nothing here");
  s = schedule_of(0, 5);
  s.missed_policy = 2;
  INVALID(chime_timer_activate(p->timer, &s), "schedule.missed_policy (2) is none of the constants that it may be");
  s = schedule_of(0, 5);
  s.resume_policy = -1;
  INVALID(chime_timer_activate(p->timer, &s), "schedule.resume_policy (-1) is none of the constants that it may be");
  s = schedule_at(10, 5);
  s.resume_policy = CHIME_RESUME_REMAINING;
  INVALID(chime_timer_activate(p->timer, &s),
          "schedule.resume_policy is CHIME_RESUME_REMAINING, which does not go with CHIME_SCHEDULE_DEADLINE");
  s = schedule_of(0, 5);
  s.size = 0;
  INVALID(chime_timer_activate(p->timer, &s), "schedule.size (0) is not set: its structure has 48 bytes");
  INVALID(chime_timer_activate(p->timer, NULL), "schedule is NULL, and the timer has none to keep");
}

TEST(options_are_told_by_their_member) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  struct {
    chime_timer_options known;
    uint64_t tail;
  } longer;
  chime_timer_options o = CHIME_TIMER_OPTIONS_INIT;
  chime_queue_options q = CHIME_QUEUE_OPTIONS_INIT;
  chime_queue_t made = 0;
  chime_timer_t timer = 0;
  INVALID(chime_timer_create(queue, NULL, &timer), "options is NULL");
  INVALID(chime_timer_create(queue, &o, NULL), "timer is NULL");
  INVALID(chime_timer_create(queue, &o, &timer), "the handler is NULL, and queue was made without CHIME_QUEUE_RECORDS");
  o.handler = probe_handler;
  o.flags = 1024;
  INVALID(chime_timer_create(queue, &o, &timer), "options.flags (1024) has a flag that means nothing here");
  o.flags = 0;
  o.label = "\xff";
  INVALID(chime_timer_create(queue, &o, &timer), "options.label is not UTF-8");
  memset(&longer, 0, sizeof longer);
  longer.known.size = sizeof longer;
  longer.tail = 1;
  INVALID(chime_timer_create(queue, &longer.known, &timer),
          "options.size (72) goes beyond the 64 bytes that this library knows, and what lies there is not zero");
  INVALID(chime_queue_create(77, NULL, &made), "kind (77) is none of the constants that it may be");
  q.clock = 9;
  INVALID(chime_queue_create(CHIME_QUEUE_HOST, &q, &made), "options.clock (9) is none of the constants that it may be");
  q.clock = CHIME_CLOCK_WALL;
  UNSUPPORTED(chime_queue_create(CHIME_QUEUE_VIRTUAL, &q, &made),
              "options.clock is one of the system's, and the queue is virtual");
  q.clock = CHIME_CLOCK_BOOTTIME;
  UNSUPPORTED(chime_queue_create(CHIME_QUEUE_PRECISE, &q, &made),
              "options.clock is CHIME_CLOCK_BOOTTIME, which host-driven queues alone offer");
  q.clock = 0;
  q.realtime_priority = 100;
  INVALID(chime_queue_create(CHIME_QUEUE_PRECISE, &q, &made), "options.realtime_priority (100) is not within 0 to 99");
  q.realtime_priority = 1;
  INVALID(chime_queue_create(CHIME_QUEUE_VIRTUAL, &q, &made),
          "options.realtime_priority and options.affinity are for precise queues only");
}

TEST(what_a_queue_cannot_do_is_told) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  chime_queue_t host = host_queue(t, 0), records = host_queue(t, CHIME_QUEUE_RECORDS);
  chime_queue_options one = CHIME_QUEUE_OPTIONS_INIT;
  chime_queue_t full = 0;
  chime_timer_t timer = 0;
  chime_tick tick;
  uint32_t count = 0;
  int32_t number = 0;
  REQUIRE(host != 0 && records != 0);
  UNSUPPORTED(chime_queue_advance(host, 1), "queue is not virtual");
  UNSUPPORTED(chime_queue_fd(queue, &number), "queue is not host-driven");
  UNSUPPORTED(chime_queue_process(records, 0, NULL), "queue gives records: chime_queue_take_ticks takes them");
  UNSUPPORTED(chime_queue_take_ticks(host, &tick, sizeof tick, 1, &count),
              "queue was made without CHIME_QUEUE_RECORDS, and gives no records");
  INVALID(chime_queue_take_ticks(records, &tick, 12, 1, &count), "tick_size (12) is not sizeof(chime_tick)");
  UNSUPPORTED(chime_timer_after(records, 0, probe_handler, NULL, NULL, &timer),
              "queue gives records: the timer's handler, and all other functions, must be NULL there");
  INVALID(chime_timer_after(queue, -1, probe_handler, NULL, NULL, &timer), "delay_ns (-1 ns) is negative");
  INVALID(chime_timer_every(queue, 0, probe_handler, NULL, NULL, &timer), "interval_ns (0 ns) is not above 0");
  INVALID(chime_queue_dump(queue, NULL, 3, NULL), "text is NULL, and capacity (3) is not 0");
  UNSUPPORTED(chime_queue_sync(queue, (chime_function)probe_finalizer, NULL, 0),
              "queue is driven by calls of another thread: use chime_queue_async");
  one.timer_limit = 1;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_VIRTUAL, &one, &full));
  csuite_ends(t, full, PATIENCE);
  EXPECT_OK(chime_timer_after(full, 10, probe_handler, probe_new(t, full, "p"), NULL, &timer));
  EXPECT_DETAIL(chime_timer_after(full, 10, probe_handler, NULL, NULL, &timer), CHIME_ERROR_LIMIT,
                "queue has as many timers as its timer_limit admits");
}

static void *look_first(void *argument) {
  csuite *t = argument;
  int64_t now;
  EXPECT_TEXT(chime_last_error_detail(), "");
  INVALID(chime_now(1000, &now), "clock (1000) is none of the constants that it may be");
  return NULL;
}

TEST(each_thread_has_its_own) {
  pthread_t thread;
  int64_t now;
  INVALID(chime_now(CHIME_CLOCK_MONOTONIC, NULL), "now_ns is NULL");
  if (spawn(t, &thread, look_first, t)) pthread_join(thread, NULL);
  EXPECT_TEXT(chime_last_error_detail(), "now_ns is NULL");
  /* What succeeds, or fails otherwise, changes nothing. */
  if (chime_now(CHIME_CLOCK_MONOTONIC, &now) != CHIME_OK || chime_timer_cancel(5) != CHIME_ERROR_INVALID_HANDLE ||
      chime_timer_release(0) != CHIME_OK) {
    EXPECT(0);
  }
  EXPECT_TEXT(chime_last_error_detail(), "now_ns is NULL");
}
