/*
 * known.c - cases from the tests of other timers, asked of Chime, that no other test here holds: libuv's test-timer.c,
 * libevent's regress.c and regress_timer_timeout.c, Go's src/time, SwiftNIO's EventLoopTest, the delay queue of
 * tokio-util, libdispatch's dispatch_timer*.c and dispatch_drift.c. A comment names the case, and says where Chime has
 * another rule.
 */
#include "timeline.h"

#define MS CHIME_MILLISECOND

/* ---- Order ------------------------------------------------------------------------------------------------------ */

/* libuv's timer_order: a start anew goes to the end. Chime promises that for an activation; of a restart or reschedule
   that finds the timer running the contract says nothing: as in libuv. */
TIMELINE(
    a_restart_to_the_same_deadline_goes_to_the_end,
    "a 10; b 10; c 10; d 10; a.cancel; a.activate 10 at; b.restart 10 at; c.reschedule 10 at; =10 | d1@10 a1@10 b1@10 c1@10")

/* libuv's timer_from_check: stopped and started again in the turn in which it is due, it comes later, once. */
TIMELINE(a_due_timer_stopped_and_started_by_another_callback_comes_later,
         "a 50; b 50; a: b.cancel, b.activate 50; +500 | a1@50 b1@100")

/* uv_close and uv_timer_stop in the callback of a timer that is due in the same turn; c has ticked by then. */
TIMELINE(a_due_timer_stopped_or_closed_by_another_callback_does_not_tick,
         "a 10; b 10/10; c 10/10; d 10; a: b.cancel; d: c.release; +100 | a1@10 c1@10 d1@10 c.; b is cancelled")

/* tokio's multi_reset, expire_first_key_when_reset_to_expire_earlier, expire_second_key_..., reset_first_expiring_item_
   to_expire_later: two entries that overtake each other, looked at in between. */
TIMELINE(
    entries_that_overtake_each_other_come_in_their_new_order,
    "a 200; b 250; +0; a.restart 300; next 250; b.restart 350; next 300; a.restart 400; next 350; =310 |; "
    "=500 | b1@350 a1@400; a.restart 700 at; b.restart 750 at; +0; b.restart 600 at; next 600; a.restart 550 at; next 550; "
    "=1000 | a1@550 b1@600")

enum { TASKS = 101 };

typedef struct tasks {
  int count;
  int order[TASKS];
} tasks;

static void note_number(probe *p, const chime_tick *tick) {
  tasks *seen = p->user;
  (void)tick;
  if (seen->count < TASKS) seen->order[seen->count] = (int)p->number;
  add(&seen->count, 1);
}

/* SwiftNIO's testScheduledTasksAreOrdered: of one deadline, which is over by then on a real clock, in the order of scheduling. */
TESTS_ON_VIRTUAL_SERIAL_AND_MAIN(tasks_of_one_deadline_run_in_the_order_of_scheduling) {
  tasks *seen = csuite_memory(t, sizeof *seen);
  int i;
  QUEUE_OR_RETURN(queue, place);
  chime_schedule schedule = schedule_at(now_of(t, queue), 0);
  for (i = 0; i < TASKS; i++) {
    probe *p = probe_idle(t, queue, "a");
    p->number = i;
    p->user = seen;
    p->on_tick = note_number;
    EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  }
  if (place == VIRTUAL) ADVANCE(0);
  REQUIRE(await(&seen->count, TASKS));
  for (i = 0; i < TASKS; i++) {
    if (!EXPECT_EQ(seen->order[i], i)) return;
  }
}

/* ---- What has passed -------------------------------------------------------------------------------------------- */

/* libuv's timer_no_double_call_once and _nowait: two periods pass before the loop turns; one call, not two. Chime's call says
   what it stands for. */
TEST(periods_slept_through_give_one_call_in_one_turn) {
  const int64_t interval = 10 * CHIME_MILLISECOND;
  chime_queue_t queue = host_queue(t, CHIME_QUEUE_BOUND);
  probe *p = probe_every_quietly(t, queue, interval);
  sleep_ns(2 * interval);
  EXPECT_EQ(process(t, queue, 0), 1);
  EXPECT_EQ(p->ticks, 1);
  EXPECT(p->last.missed >= 1);
  EXPECT_BETWEEN(p->last.actual_ns - p->last.scheduled_ns, 0, INT64_MAX);
}

static probe *insert_at(csuite *t, chime_queue_t queue, const char *name, int64_t deadline) {
  chime_schedule schedule = schedule_at(deadline, 0);
  return probe_start(t, queue, name, &schedule);
}

/* tokio's multi_delay_at_start: entries on several levels. Each step says beforehand when the next one comes; tokio wakes twice
   more, where entries go down a level, Chime never. */
TEST(entries_on_several_levels_come_without_other_wake_ups) {
  static const int64_t delays[] = {1000, 2, 234, 262144 + 9 * 4096, 60, 10};
  static const int64_t in_order[] = {2, 10, 60, 234, 1000, 262144 + 9 * 4096};
  int *came = csuite_memory(t, sizeof *came);
  int64_t now;
  size_t i, due = 0;
  uint64_t empty;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  for (i = 0; i < 6; i++) {
    probe *p = insert_at(t, queue, "a", delays[i] * MS);
    p->user = came;
    p->on_tick = count_in_user;
  }
  for (now = 1; now <= 1200; now++) {
    EXPECT_EQ(next_deadline(t, queue), in_order[due] * MS);
    ADVANCE_TO(now * MS);
    if (now == in_order[due]) due++;
    EXPECT_EQ(*came, due);
  }
  EXPECT_EQ(due, 5);
  empty = stats_of(t, queue).empty_passes;
  ADVANCE_TO(in_order[5] * MS);
  EXPECT_EQ(*came, 6);
  EXPECT_BETWEEN(stats_of(t, queue).empty_passes - empty, 0, 1); /* the one that finds the queue empty */
}

static void release_the_others(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  (void)tick;
  for (; p->other != NULL; p = p->other) EXPECT_OK(chime_timer_release(p->other->timer));
}

/* From the handler of the first of three that are due at `deadline`, or one after it, the other two are removed. */
static void check_removal_at(csuite *t, chime_queue_t queue, int64_t deadline) {
  probe *first = insert_at(t, queue, "a", deadline);
  probe *second = insert_at(t, queue, "b", deadline);
  probe *third = insert_at(t, queue, "c", deadline + 1);
  first->other = second;
  second->other = third;
  first->quiet = second->quiet = third->quiet = 1;
  first->on_tick = release_the_others;
  ADVANCE_TO(deadline);
  EXPECT_EQ(first->ticks, 1);
  EXPECT_EQ(first->last.actual_ns, deadline);
  EXPECT_EQ(second->finalized, 1);
  EXPECT_EQ(third->finalized, 1);
  ADVANCE(2);
  EXPECT_EQ(first->ticks + second->ticks + third->ticks, 1);
}

/* tokio's remove_at_timer_wheel_threshold: entries at the beginning of a slot of each level, removed when the wheel stands
   there. A level is 64 times as coarse as the one below; in virtual time the lowest has slots of a nanosecond. */
TEST(entries_at_the_edge_of_a_level_can_be_removed) {
  int level;
  for (level = 1; level <= 10; level++) {
    int64_t edge = INT64_C(1) << (6 * level);
    QUEUE_OR_RETURN(queue, VIRTUAL);
    check_removal_at(t, queue, edge - 1);
    check_removal_at(t, queue, edge + edge / 64);
    if (level < 10) check_removal_at(t, queue, 63 * edge);
    if (level < 10) check_removal_at(t, queue, 64 * edge);
    EXPECT_EQ(next_deadline(t, queue), CHIME_FOREVER);
    EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  }
}

/* The same without a handler: removed just before, and when they are due but nobody has looked. */
TEST(entries_at_the_edge_of_a_level_can_be_removed_before_a_look) {
  int level, jump;
  for (level = 1; level <= 10; level++) {
    for (jump = -1; jump <= 1; jump++) {
      int64_t edge = INT64_C(1) << (6 * level);
      QUEUE_OR_RETURN(queue, VIRTUAL);
      probe *a = insert_at(t, queue, "a", edge);
      probe *b = insert_at(t, queue, "b", edge);
      ADVANCE_TO(edge / 2 + 1);
      EXPECT_EQ(next_deadline(t, queue), edge);
      JUMP(edge + jump - now_of(t, queue));
      EXPECT_OK(chime_timer_release(a->timer));
      EXPECT_EQ(a->finalized, 1);
      ADVANCE(2);
      EXPECT_EQ(a->ticks, 0);
      EXPECT_EQ(b->ticks, 1);
      EXPECT_EQ(b->last.scheduled_ns, edge);
      EXPECT_EQ(b->last.actual_ns, jump < 0 ? edge : edge + jump);
      EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
    }
  }
}

/* tokio's compact_expire_empty, compact_remove_empty: when all have gone nothing is left of them. Chime needs no call for it;
   what removed entries leave in the wheel goes when the next timer comes. */
TEST(nothing_is_left_when_all_entries_have_gone) {
  int i, count = csuite_scaled(5000);
  probe **probes = csuite_memory(t, (size_t)count * sizeof *probes);
  QUEUE_OR_RETURN(queue, VIRTUAL);
  for (i = 0; i < count; i++) {
    probes[i] = insert_at(t, queue, "a", 10 + i % 7);
    probes[i]->quiet = 1;
  }
  ADVANCE_TO(12); /* some came, the rest is removed */
  for (i = 0; i < count; i++) EXPECT_OK(chime_timer_release(probes[i]->timer));
  EXPECT_EQ(stats_of(t, queue).timers, 0);
  EXPECT_EQ(next_deadline(t, queue), CHIME_FOREVER);
  insert_at(t, queue, "b", 100);
  ADVANCE_TO(100);
  EXPECT_LOG("b1@100");
  EXPECT_EQ(stats_of(t, queue).entries, 0);
  for (i = 0; i < count; i++) {
    if (!EXPECT_EQ(probes[i]->ticks, 10 + i % 7 <= 12 ? 1 : 0) || !EXPECT_EQ(probes[i]->finalized, 1)) return;
  }
}

/* SwiftNIO's testCancelledScheduledTasksDoNotHoldOnToRunClosure, and ...EvenIfTheyWereTheNextTaskToExecute: long before its time
   would have come, the last that could be freed is. A cancel alone keeps the context, as the timer can be activated
   again; it is the release that ends it. */
TESTS_ON_ALL_QUEUES(cancelled_and_released_tasks_keep_nothing) {
  QUEUE_OR_RETURN(queue, place);
  probe *next = probe_after(t, queue, "a", CHIME_HOUR);
  probe *later = probe_after(t, queue, "b", 2 * CHIME_HOUR);
  EXPECT_OK(chime_timer_cancel(later->timer));
  EXPECT_OK(chime_timer_cancel(next->timer));
  EXPECT_EQ(load(&next->finalized) + load(&later->finalized), 0);
  EXPECT_OK(chime_timer_release(later->timer));
  EXPECT_OK(chime_timer_release(next->timer));
  if (place == VIRTUAL) EXPECT_EQ(load(&next->finalized) + load(&later->finalized), 2); /* in the call */
  EXPECT(await(&next->finalized, 1));
  EXPECT(await(&later->finalized, 1));
  EXPECT_EQ(load(&next->ticks) + load(&later->ticks), 0);
}

/* ---- Other threads ---------------------------------------------------------------------------------------------- */

static void sleep_then_mark(probe *p, const chime_tick *tick) {
  (void)tick;
  store(&p->flag, 1);
  sleep_ns(30 * CHIME_MILLISECOND);
  store(&p->flag, 2);
}

static void *cancel_and_wait_from_a_thread(void *argument) {
  probe *p = argument;
  p->status = chime_timer_cancel_and_wait(p->timer, CHIME_FOREVER);
  p->number = load(&p->flag);
  return NULL;
}

/* libevent's del_wait: a deletion from another thread returns only when the callback has; also when two threads delete at once, of
   whom the second finds nothing to cancel. */
TEST(a_deletion_by_other_threads_waits_for_the_callback) {
  pthread_t thread;
  chime_status mine;
  QUEUE_OR_RETURN(queue, SERIAL);
  probe *p = probe_quiet(t, queue, 0, CHIME_HOUR, sleep_then_mark);
  REQUIRE(await(&p->flag, 1));
  REQUIRE(spawn(t, &thread, cancel_and_wait_from_a_thread, p));
  mine = chime_timer_cancel_and_wait(p->timer, CHIME_FOREVER);
  EXPECT_EQ(load(&p->flag), 2);
  EXPECT_EQ(load(&p->busy), 0);
  pthread_join(thread, NULL);
  EXPECT_EQ(p->number, 2);
  EXPECT(mine == CHIME_OK ? p->status == CHIME_IGNORED : mine == CHIME_IGNORED && p->status == CHIME_OK);
  EXPECT_EQ(load(&p->ticks), 1);
}

/* libevent's regress_timer_timeout: right after it was set, no timer says that more is left than it was given. */
TEST(what_is_left_is_never_more_than_was_given) {
  const int64_t delay = 100 * CHIME_MICROSECOND;
  chime_schedule schedule = schedule_of(delay, 0);
  int i;
  chime_queue_t queue = host_queue(t, CHIME_QUEUE_BOUND);
  probe *p = probe_idle(t, queue, "a");
  for (i = 0; i < csuite_scaled(1000); i++) {
    int64_t before = monotonic_ns(), deadline;
    EXPECT_OK(chime_timer_restart(p->timer, &schedule));
    deadline = deadline_of(t, p->timer);
    if (!EXPECT_BETWEEN(deadline, before + delay, monotonic_ns() + delay)) return;
  }
  EXPECT_EQ(p->ticks, 0); /* nothing was processed */
}

typedef chime_status (*stop_function)(chime_timer_t timer);

static chime_status stop_by_cancel(chime_timer_t timer) { return chime_timer_cancel(timer); }
static chime_status stop_by_postpone(chime_timer_t timer) { return chime_timer_postpone(timer, CHIME_HOUR); }

/* Go's TestStopResult and TestResetResult, issue 69312: whoever wins the race of a timer against its stop, the answer and
   what happens agree: OK, and it does not come; IGNORED, and it comes. */
static void check_answers(csuite *t, where place, stop_function stop) {
  chime_schedule at_once = schedule_of(0, 0);
  int i, count = csuite_scaled(1000);
  probe **probes = csuite_memory(t, (size_t)count * sizeof *probes);
  QUEUE_OR_RETURN(queue, place);
  for (i = 0; i < count; i++) {
    probes[i] = probe_idle(t, queue, "a");
    probes[i]->quiet = 1;
  }
  for (i = 0; i < count; i++) {
    EXPECT_OK(chime_timer_activate(probes[i]->timer, &at_once));
    if (i % 4 == 0) sleep_ns(1 + i % 100 * CHIME_MICROSECOND); /* so that either side wins now and then */
    probes[i]->status = stop(probes[i]->timer);
  }
  for (i = 0; i < count; i++) {
    if (probes[i]->status == CHIME_OK) continue;
    EXPECT_STATUS(probes[i]->status, CHIME_IGNORED);
    REQUIRE(await(&probes[i]->returned, 1));
  }
  let_later_ticks_come(t, queue, 0);
  for (i = 0; i < count; i++) {
    if (!EXPECT_EQ(load(&probes[i]->ticks), probes[i]->status == CHIME_OK ? 0 : 1)) return;
  }
}
TESTS_ON_DISPATCH_QUEUES(the_answer_of_stop_tells_whether_it_comes) { check_answers(t, place, stop_by_cancel); }
TESTS_ON_DISPATCH_QUEUES(the_answer_of_postpone_tells_whether_it_comes) { check_answers(t, place, stop_by_postpone); }

static void restart_own_at_once_until_told(probe *p, const chime_tick *tick) {
  chime_schedule at_once = schedule_of(0, 0);
  if (load(&p->gate) == 0) p->status = chime_timer_restart(tick->timer, &at_once);
}

/* A timer that its handler arms at zero again and again does not keep others from coming. */
TESTS_ON_DISPATCH_QUEUES(a_timer_armed_at_zero_for_ever_starves_nobody) {
  chime_schedule at_once = schedule_of(0, 0);
  QUEUE_OR_RETURN(queue, place);
  probe *greedy = probe_idle(t, queue, "g");
  probe *meek = probe_idle(t, queue, "m");
  chime_schedule schedule = schedule_of(CHIME_MILLISECOND, CHIME_MILLISECOND);
  greedy->on_tick = restart_own_at_once_until_told;
  EXPECT_OK(chime_timer_activate(greedy->timer, &at_once));
  EXPECT_OK(chime_timer_activate(meek->timer, &schedule));
  EXPECT(await(&meek->returned, 5));
  EXPECT(await(&greedy->ticks, 1));
  open_gate(greedy);
  EXPECT(!CHIME_FAILED(chime_timer_cancel_and_wait(greedy->timer, CHIME_FOREVER)));
}

static void suspend_own_when_armed(probe *p, const chime_tick *tick) { p->status = chime_timer_suspend(tick->timer); }

enum { CROWD = 25000, FEW_TICKS = 100 };

/* libdispatch's dispatch_timer_short: 25,000 timers of 5 us, each suspended by its registration handler before its first call, stand
   before one of the same period; that one is not starved, and none of them comes. */
static void a_crowd_of_suspended_timers_starves_nobody(csuite *t, where place) {
  chime_schedule schedule = schedule_of(0, 5 * CHIME_MICROSECOND);
  int i, count = csuite_scaled(CROWD);
  probe **crowd = csuite_memory(t, (size_t)count * sizeof *crowd);
  QUEUE_OR_RETURN(queue, place);
  probe *alone = probe_idle(t, queue, "a");
  for (i = 0; i < count; i++) {
    chime_timer_options options;
    crowd[i] = probe_new(t, queue, "c");
    crowd[i]->quiet = 1;
    crowd[i]->on_armed = suspend_own_when_armed;
    options = probe_full_options(crowd[i]);
    EXPECT_OK(chime_timer_create(queue, &options, &crowd[i]->timer));
    EXPECT_OK(chime_timer_activate(crowd[i]->timer, &schedule));
  }
  for (i = 0; i < count; i++) REQUIRE(await(&crowd[i]->armed, 1));
  alone->quiet = 1;
  EXPECT_OK(chime_timer_activate(alone->timer, &schedule));
  EXPECT(await(&alone->returned, FEW_TICKS));
  EXPECT(!CHIME_FAILED(chime_timer_cancel_and_wait(alone->timer, CHIME_FOREVER)));
  for (i = 0; i < count; i++) {
    EXPECT_EQ(load(&crowd[i]->ticks), 0);
    if (!EXPECT_EQ(state_of(t, crowd[i]->timer), CHIME_STATE_SUSPENDED)) return;
  }
}
TEST_ON(a_crowd_of_suspended_timers_starves_nobody, a_serial_queue, SERIAL)
TEST_ON(a_crowd_of_suspended_timers_starves_nobody, a_precise_queue, PRECISE)

/* libdispatch's dispatch_timer_short and dispatch_timer_timeout: due timers of a queue that is blocked do not keep another queue's
   from coming; the one that blocks has one call, however often it was due. */
TEST(a_crowd_of_due_timers_on_a_blocked_queue_starves_no_other_queue) {
  chime_schedule short_period = schedule_of(0, 100), schedule = schedule_of(0, 5 * CHIME_MICROSECOND);
  int i, count = csuite_scaled(CROWD);
  probe **crowd = csuite_memory(t, (size_t)count * sizeof *crowd);
  QUEUE_OR_RETURN(blocked, SERIAL);
  QUEUE_OR_RETURN(queue, SERIAL);
  probe *blocker = probe_idle(t, blocked, "b");
  probe *alone = probe_idle(t, queue, "a");
  blocker->on_tick = stay_until_gate_opens;
  EXPECT_OK(chime_timer_activate(blocker->timer, &short_period));
  REQUIRE(await(&blocker->flag, 1));
  for (i = 0; i < count; i++) {
    crowd[i] = probe_idle(t, blocked, "c");
    EXPECT_OK(chime_timer_activate(crowd[i]->timer, &schedule));
  }
  EXPECT_OK(chime_timer_activate(alone->timer, &schedule));
  EXPECT(await(&alone->returned, FEW_TICKS));
  EXPECT_EQ(load(&blocker->ticks), 1);
  for (i = 0; i < count; i++) {
    EXPECT_EQ(load(&crowd[i]->ticks), 0);
    if (!EXPECT_OK(chime_timer_cancel(crowd[i]->timer))) break;
  }
  EXPECT_STATUS(chime_timer_cancel(blocker->timer), CHIME_RUNNING);
  open_gate(blocker);
}

/* ---- Large numbers ---------------------------------------------------------------------------------------------- */

/* Go's TestOverflowRuntimeTimer: now + 2^63 - 1 does not wrap, and does not hang whoever comes after it. */
TESTS_ON_VIRTUAL_SERIAL_AND_MAIN(a_sum_that_overflows_hangs_nobody) {
  QUEUE_OR_RETURN(queue, place);
  probe *huge = probe_after(t, queue, "h", INT64_MAX);
  probe *soon;
  EXPECT_EQ(deadline_of(t, huge->timer), CHIME_FOREVER);
  soon = probe_after(t, queue, "s", 1);
  if (place == VIRTUAL) ADVANCE(1);
  EXPECT(await(&soon->returned, 1));
  EXPECT_EQ(load(&huge->ticks), 0);
}

/* libdispatch's dispatch_timer_bit31, dispatch_timer_bit63: delays and periods around the bits at which a narrower number would wrap
   or change its sign. libdispatch's 2^63 + 1 cannot be said here: durations are signed. */
TEST(intervals_at_every_bit_keep_their_time) {
  int bit, off;
  for (bit = 30; bit <= 63; bit++) {
    chime_queue_t queue;
    if (bit > 33 && bit < 61) continue;
    queue = virtual_queue_at(t, 12345);
    for (off = -1; off <= 1; off++) {
      int64_t interval = bit < 63 ? (INT64_C(1) << bit) + off : INT64_MAX - 1 + off;
      int64_t start = now_of(t, queue), second;
      probe *p;
      if (bit == 63 && off == 1) continue; /* no such number */
      p = probe_every_quietly(t, queue, interval);
      if (interval > INT64_MAX - 1 - start) {
        EXPECT_EQ(deadline_of(t, p->timer), CHIME_FOREVER);
        ADVANCE(INT64_C(1) << 40);
        EXPECT_EQ(p->ticks, 0);
        EXPECT_OK(chime_timer_release(p->timer));
        continue;
      }
      EXPECT_EQ(deadline_of(t, p->timer), start + interval);
      EXPECT_EQ(next_deadline(t, queue), start + interval);
      ADVANCE(interval - 1);
      EXPECT_EQ(p->ticks, 0);
      ADVANCE(1);
      EXPECT_EQ(p->ticks, 1);
      EXPECT_EQ(p->last.actual_ns, start + interval);
      second = deadline_of(t, p->timer);
      EXPECT_EQ(second, interval > INT64_MAX - (start + interval) ? CHIME_FOREVER : start + 2 * interval);
      if (second < INT64_MAX && bit < 62) {
        ADVANCE(interval);
        EXPECT_EQ(p->ticks, 2);
        EXPECT_EQ(p->last.actual_ns, start + 2 * interval);
      }
      EXPECT_OK(chime_timer_release(p->timer));
      if (bit >= 61) break; /* the clock cannot go on so far again */
    }
    EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  }
}

/* libdispatch's dispatch_timer_bit63: due at once and a period without end: one call, and none before later ticks. */
TESTS_ON_DISPATCH_QUEUES(a_period_at_bit_63_has_its_first_call_only) {
  QUEUE_OR_RETURN(queue, place);
  probe *p = probe_quiet(t, queue, 0, INT64_MAX, NULL);
  REQUIRE(await(&p->returned, 1));
  let_later_ticks_come(t, queue, CHIME_MILLISECOND);
  EXPECT_EQ(load(&p->ticks), 1);
}

/* ---- Drift ------------------------------------------------------------------------------------------------------ */

/* libdispatch's dispatch_drift on the real clock, 2,500 due times of 400 us: each on its grid to the nanosecond, none early, none
   lost; where the machine was late, due times are merged and counted. */
static void over_2500_ticks_of_400_us_nothing_drifts(csuite *t, where place) {
  grid *g = csuite_memory(t, sizeof *g);
  int count = csuite_scaled(2500);
  chime_schedule schedule;
  QUEUE_OR_RETURN(queue, place);
  probe *p = probe_idle(t, queue, "a");
  p->quiet = 1;
  p->on_tick = check_grid;
  p->user = g;
  g->interval_ns = 400 * CHIME_MICROSECOND;
  g->first_ns = now_of(t, queue) + CHIME_MILLISECOND;
  schedule = schedule_at(g->first_ns, g->interval_ns);
  schedule.tick_limit = (uint64_t)count;
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  REQUIRE(await_finished(t, p->timer));
  EXPECT_EQ(g->due_times, count);
  EXPECT_EQ(load(&p->ticks) + p->missed, count);
  EXPECT_BETWEEN(p->last.actual_ns, g->first_ns + (count - 1) * g->interval_ns, INT64_MAX);
}
TEST_ON(over_2500_ticks_of_400_us_nothing_drifts, a_serial_queue, SERIAL)
