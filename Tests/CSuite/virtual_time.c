/*
 * virtual_time.c - moving virtual time, how exact it is, leeway, and the ends of numbers. Promises 1, 3, 9, 13 and 17.
 */
#include "timeline.h"

/* ---- Moving time ------------------------------------------------------------------------------------------------ */

TIMELINE(advance_to_stops_where_it_is_told, "a 10/10; =20 | a1@10 a2@20; now 20")

/* "Time never goes back." */
TIMELINE(advance_to_the_past_runs_what_is_due_and_moves_nothing, "=20; a 0; =5 | a1@20; now 20")

TEST(a_virtual_queue_begins_at_its_start) {
  chime_queue_t queue = virtual_queue_at(t, CHIME_HOUR);
  EXPECT_EQ(now_of(t, queue), CHIME_HOUR);
  probe_after(t, queue, "a", 1);
  ADVANCE(5);
  EXPECT_LOG("a1@3600000000001");
  EXPECT_EQ(now_of(t, queue), CHIME_HOUR + 5);
}

TIMELINE(jump_runs_nothing, "a 10; >10; >0 |; now 10; a is running; +0 | a1@10")

TIMELINE(a_nested_advance_would_deadlock,
         "a 10; b 12; a: +5 -> WOULD_DEADLOCK, =100 -> WOULD_DEADLOCK, now 10; +20 | a1@10 b1@12; now 20")

static void advance_another_queue(probe *p, const chime_tick *tick) {
  (void)tick;
  p->status = chime_queue_advance(p->other->queue, 30);
}

TEST(a_handler_may_advance_another_queue) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  QUEUE_OR_RETURN(second, VIRTUAL);
  probe *p = probe_after(t, queue, "a", 10);
  p->other = probe_after(t, second, "b", 25);
  p->on_tick = advance_another_queue;
  probe_after(t, queue, "c", 10);
  ADVANCE(20);
  EXPECT_OK(p->status);
  EXPECT_LOG("a1@10 b1@25 c1@10");
}

static void *advance_from_a_thread(void *argument) {
  probe *p = argument;
  p->status = chime_queue_advance(p->queue, 5);
  p->status2 = chime_queue_advance_to(p->queue, 100);
  return NULL;
}

static void have_a_thread_advance(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  pthread_t thread;
  (void)tick;
  if (spawn(t, &thread, advance_from_a_thread, p)) pthread_join(thread, NULL);
}

TEST(a_second_thread_finds_the_queue_busy) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_after(t, queue, "a", 10);
  p->on_tick = have_a_thread_advance;
  ADVANCE(20);
  EXPECT_STATUS(p->status, CHIME_ERROR_BUSY);
  EXPECT_STATUS(p->status2, CHIME_ERROR_BUSY);
  EXPECT_LOG("a1@10");
  EXPECT_EQ(now_of(t, queue), 20);
}

/* [9] */
TIMELINE(advance_ends_when_a_handler_releases_the_queue,
         "a 10/10; b 10; a: queue.release!; +50 -> SHUT_DOWN | a1@10 a. b.; +50 -> INVALID_HANDLE")

/* [9] */
TIMELINE(advance_ends_when_a_handler_shuts_the_queue_down,
         "a 10/10; b 10; a: queue.shutdown -> WOULD_DEADLOCK; +50 -> SHUT_DOWN | a1@10 a. b.")

/* ---- Exactness and leeway --------------------------------------------------------------------------------------- */

/* [3]: deadlines of every magnitude, time moved in steps of every magnitude. */
TEST(ticks_are_exact_to_the_nanosecond_at_every_distance) {
  enum { COUNT = 400 };
  dice d = {UINT64_C(20260101)};
  probe *probes[COUNT];
  int64_t deadlines[COUNT];
  int i;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  for (i = 0; i < COUNT; i++) {
    deadlines[i] = roll_below(&d, INT64_C(1) << (1 + i % 55)); /* up to a year */
    probes[i] = probe_after(t, queue, "a", deadlines[i]);
  }
  for (i = 0; i < 55; i++) ADVANCE(roll_below(&d, INT64_C(1) << (1 + i)));
  ADVANCE_TO(INT64_C(1) << 56);
  for (i = 0; i < COUNT; i++) {
    if (!EXPECT_EQ(probes[i]->ticks, 1)) return;
    if (!EXPECT_EQ(probes[i]->last.scheduled_ns, deadlines[i])) return;
    if (!EXPECT_EQ(probes[i]->last.actual_ns, deadlines[i])) return;
  }
}

TIMELINE(consecutive_nanoseconds_are_told_apart,
         "+1000000; a 1026; b 1024; c 1025; d 1023; +1023 | d1@1001023; +1 | b1@1001024; +1 | c1@1001025; "
         "+1 | a1@1001026")

TIMELINE(a_virtual_queue_ignores_leeway, "a 1001/5000 leeway 4999; =12000 | a1@1001 a2@6001 a3@11001")

static void note_instant(probe *p, const chime_tick *tick) {
  int64_t *instants = p->user;
  int i;
  for (i = 0; i < 50 && instants[i] != 0; i++) {
    if (instants[i] == tick->actual_ns) return;
  }
  if (i < 50) instants[i] = tick->actual_ns;
}

/* [13] [3] */
TEST(a_virtual_queue_can_honour_leeway_and_windows_share_wake_ups) {
  enum { COUNT = 50 };
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  chime_schedule schedule = schedule_of(0, 0);
  chime_queue_t queue = 0;
  probe *probes[COUNT];
  int64_t *instants = csuite_memory(t, COUNT * sizeof *instants);
  int i;
  options.flags = CHIME_QUEUE_HONOUR_LEEWAY;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_VIRTUAL, &options, &queue));
  csuite_ends(t, queue, PATIENCE);
  schedule.leeway_ns = CHIME_SECOND / 2;
  for (i = 0; i < COUNT; i++) {
    schedule.first_ns = CHIME_SECOND + i * 2 * CHIME_MILLISECOND;
    probes[i] = probe_start(t, queue, "a", &schedule);
    probes[i]->user = instants;
    probes[i]->on_tick = note_instant;
  }
  ADVANCE(CHIME_SECOND - 1);
  for (i = 0; i < COUNT; i++) EXPECT_EQ(probes[i]->ticks, 0);
  ADVANCE(2 * CHIME_SECOND);
  for (i = 0; i < COUNT; i++) {
    int64_t deadline = CHIME_SECOND + i * 2 * CHIME_MILLISECOND;
    if (!EXPECT_EQ(probes[i]->ticks, 1)) return;
    EXPECT_EQ(probes[i]->last.scheduled_ns, deadline);
    EXPECT_BETWEEN(probes[i]->last.actual_ns, deadline, deadline + CHIME_SECOND / 2);
  }
  EXPECT_EQ(instants[10], 0); /* at most ten wake-ups for fifty timers */
}

TEST(late_within_leeway_is_not_missed_and_keeps_the_grid) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  chime_schedule schedule = schedule_of(1003, 1000);
  chime_queue_t queue = 0;
  probe *p;
  options.flags = CHIME_QUEUE_HONOUR_LEEWAY;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_VIRTUAL, &options, &queue));
  csuite_ends(t, queue, PATIENCE);
  schedule.leeway_ns = 999;
  p = probe_start(t, queue, "a", &schedule);
  ADVANCE_TO(1003 + 99 * 1000 + 999);
  EXPECT_EQ(p->ticks, 100);
  EXPECT_EQ(p->missed, 0);
  EXPECT_EQ(p->last.scheduled_ns, 1003 + 99 * 1000);
}

/* ---- Extremes [17] ---------------------------------------------------------------------------------------------- */

/* The sums saturate. */
TIMELINE(a_delay_of_forever_never_ends,
         "+1000; a max; a due never; a is running; b max at; b due never; +1152921504606846976 |; +max |; "
         "now max; +max; >max; now max; a is running")

TIMELINE(
    periods_over_centuries_keep_their_grid,
    "a 4611686018427387903/4611686018427387903; +max | a1@4611686018427387903 a2@9223372036854775806; a due never; next never")

TIMELINE(an_interval_of_forever_never_comes_round,
         "a 10/max; +3600000000000 | a1@10; a is running; a due never; +2305843009213693952 |")

TIMELINE(a_deadline_in_the_past_is_due_at_once, "+1000; a 3 at |; +0 | a1@3>1000")

/* Due at 3, 13, ..., 993: a hundred times. */
TIMELINE(a_grid_from_long_ago_gives_one_tick_and_goes_on, "+1000; a 3/10 at; +20 | a1+99>1000 a2@1003 a3@1013")

/* Deadlines are signed: the far end of the past is a deadline too. */
TIMELINE(the_earliest_of_all_deadlines_is_due_at_once,
         "+1000; a min at; b min/max at; +0 | a1@-9223372036854775808>1000 b1+1>1000; +1000 |")

/* A nanosecond's period over an hour that was slept through: counted, not spun through. */
TIMELINE(a_short_period_over_a_long_gap_is_counted_not_spun,
         "a 1/1; >3600000000000; +0 | a1+3599999999999>3600000000000; a.cancel")

TIMELINE(postponing_to_the_end_of_time_saturates,
         "a 10; +5; a.postpone max; a due never; a.until min; a due never; +1152921504606846976 |; a is running")

/* -1 is UINT64_MAX. */
TIMELINE(a_tick_limit_beyond_counting_is_accepted, "a 10/10 limit -1; +30 | a1@10 a2@20 a3@30")
