/*
 * known_libevent.c - the cases of libevent's regress.c and regress_timer_timeout.c that are about time, asked of Chime.
 *
 * A persistent event is a repeating timer, event_add on a pending event is restart, event_del is cancel, and event_del
 * from another thread, which waits for the callback, is cancel_and_wait. Where Chime has another rule than libevent the
 * comment says so.
 */
#include "harness.h"

/* ---- Persistent timeouts ---------------------------------------------------------------------------------------- */

static void cancel_own_at_the_third(probe *p, const chime_tick *tick) {
  if (tick->sequence == 3) cancel_own(p, tick);
}

/* persistent_timeout: calls at its interval until its callback deletes it. */
static void a_persistent_timeout_comes_until_its_callback_deletes_it(csuite *t) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_every(t, queue, "a", 10 * CHIME_MILLISECOND);
  p->on_tick = cancel_own_at_the_third;
  ADVANCE(CHIME_SECOND);
  EXPECT_LOG("a1@10000000 a2@20000000 a3@30000000");
  EXPECT_STATUS(p->status, CHIME_RUNNING);
  EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_CANCELLED);
}

/* persistent_timeout_jump: 300 ms pass before the loop of a 100 ms timer runs for 50 ms: one call, no burst. */
static void a_stall_of_three_periods_gives_one_call(csuite *t) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_every(t, queue, "a", 100 * CHIME_MILLISECOND);
  JUMP(300 * CHIME_MILLISECOND);
  ADVANCE(50 * CHIME_MILLISECOND);
  EXPECT_EQ(p->ticks, 1);
  EXPECT_LOG("a1+2>300000000");
  ADVANCE(200 * CHIME_MILLISECOND); /* and on along the grid */
  EXPECT_LOG("a2@400000000 a3@500000000");
}

/* The same stall in a callback of another event. */
static void stall_for_300_ms(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  (void)tick;
  EXPECT_OK(chime_queue_jump(p->queue, 300 * CHIME_MILLISECOND));
}

static void a_stall_in_another_callback_gives_one_call(csuite *t) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *slow = probe_after(t, queue, "s", 50 * CHIME_MILLISECOND);
  probe_every(t, queue, "a", 100 * CHIME_MILLISECOND);
  slow->on_tick = stall_for_300_ms;
  ADVANCE_TO(450 * CHIME_MILLISECOND);
  EXPECT_LOG("s1@50000000 a1+2>350000000 a2@400000000");
}

static void fire_the_other(probe *p, const chime_tick *tick) {
  (void)tick;
  p->status = chime_timer_fire(p->other->timer);
}

static void fire_and_postpone_the_other(probe *p, const chime_tick *tick) {
  fire_the_other(p, tick);
  p->status2 = chime_timer_postpone(p->other->timer, p->number);
}

/* persistent_active_timeout: made active by hand at 100, a timeout of 200 counts anew from there: 100, 300, 500.
   Chime's rule is another one: the extra tick leaves the schedule alone. */
static void an_extra_call_does_not_begin_the_period_anew(csuite *t) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *once = probe_after(t, queue, "o", 100);
  once->other = probe_every(t, queue, "a", 200);
  once->on_tick = fire_the_other;
  once->quiet = 1;
  ADVANCE_TO(599);
  EXPECT_LOG("a1!100 a2@200 a3@400");
  EXPECT_OK(once->status);
}

/* persistent_active_timeout: postpone beside the extra tick gives libevent's times. */
static void an_extra_call_and_a_postpone_begin_the_period_anew(csuite *t) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *once = probe_after(t, queue, "o", 100);
  once->other = probe_every(t, queue, "a", 200);
  once->on_tick = fire_and_postpone_the_other;
  once->number = 200;
  once->quiet = 1;
  ADVANCE_TO(600);
  EXPECT_LOG("a1!100 a2@300 a3@500");
  EXPECT_OK(once->status);
  EXPECT_OK(once->status2);
}

/* ---- Deletion --------------------------------------------------------------------------------------------------- */

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

/* del_wait: a deletion from another thread returns only when the callback has; also when two threads delete at once, of
   whom the second finds nothing to cancel. */
static void a_deletion_by_other_threads_waits_for_the_callback(csuite *t) {
  chime_schedule schedule = schedule_of(0, CHIME_HOUR);
  pthread_t thread;
  chime_status mine;
  QUEUE_OR_RETURN(queue, SERIAL);
  probe *p = probe_idle(t, queue, "a");
  p->quiet = 1;
  p->on_tick = sleep_then_mark;
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
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

static void cancel_and_wait_for_own(probe *p, const chime_tick *tick) {
  p->status = chime_timer_cancel_and_wait(tick->timer, CHIME_FOREVER);
}

/* event_del in the event's own callback does not wait for itself. Chime says so. */
static void a_deletion_in_its_own_callback_does_not_wait(csuite *t, where place) {
  chime_schedule schedule = schedule_of(0, CHIME_MILLISECOND);
  QUEUE_OR_RETURN(queue, place);
  probe *p = probe_idle(t, queue, "a");
  p->quiet = 1;
  p->on_tick = cancel_and_wait_for_own;
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  if (place == VIRTUAL) ADVANCE(0);
  REQUIRE(await(&p->returned, 1));
  EXPECT_STATUS(p->status, CHIME_ERROR_WOULD_DEADLOCK);
  EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_CANCELLED); /* what was asked for is in effect */
  if (place == VIRTUAL) ADVANCE(CHIME_SECOND);
  EXPECT_STATUS(chime_timer_cancel_and_wait(p->timer, CHIME_FOREVER), CHIME_IGNORED);
  EXPECT_EQ(load(&p->ticks), 1);
}
ON_VIRTUAL_AND_SERIAL(a_deletion_in_its_own_callback_does_not_wait)

/* event_remove_timeout: the timeout taken away before it came; the event itself can be used again. */
static void a_timeout_taken_away_does_not_come_and_can_be_set_again(csuite *t) {
  chime_schedule schedule = schedule_of(25, 0);
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_after(t, queue, "a", 25);
  EXPECT_OK(chime_timer_cancel(p->timer));
  EXPECT_EQ(deadline_of(t, p->timer), CHIME_FOREVER);
  ADVANCE(100);
  EXPECT_LOG("");
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  ADVANCE(100);
  EXPECT_LOG("a1@125");
}

/* ---- Time that was read before ---------------------------------------------------------------------------------- */

static void stall_then_start_the_other(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  chime_schedule schedule = schedule_of(10, 0);
  (void)tick;
  EXPECT_OK(chime_queue_jump(p->queue, 30));
  EXPECT_OK(chime_timer_activate(p->other->timer, &schedule));
}

/* gettimeofday_cached, event_base_update_cache_time: with the time cached at the start of the callbacks, a timeout set
   in a slow one is early unless the user refreshes the cache. Chime reads the clock in each call. */
static void a_delay_given_in_a_slow_callback_counts_from_the_call(csuite *t) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *slow = probe_after(t, queue, "s", 10);
  slow->other = probe_idle(t, queue, "a");
  slow->on_tick = stall_then_start_the_other;
  ADVANCE_TO(100);
  EXPECT_LOG("s1@10 a1@50");
}

/* regress_timer_timeout: right after it was set, no timer says that more is left than it was given. */
static void what_is_left_is_never_more_than_was_given(csuite *t) {
  const int64_t delay = 100 * CHIME_MICROSECOND;
  chime_schedule schedule = schedule_of(delay, 0);
  int i;
  chime_queue_t queue = host_queue(t, CHIME_QUEUE_BOUND);
  probe *p = probe_idle(t, queue, "a");
  p->quiet = 1;
  for (i = 0; i < csuite_scaled(1000); i++) {
    int64_t before = monotonic_ns(), deadline;
    EXPECT_OK(chime_timer_restart(p->timer, &schedule));
    deadline = deadline_of(t, p->timer);
    if (!EXPECT_BETWEEN(deadline, before + delay, monotonic_ns() + delay)) return;
  }
  EXPECT_EQ(p->ticks, 0); /* nothing was processed */
}

/* ---- Common timeouts -------------------------------------------------------------------------------------------- */

enum { COMMON = 100, CALLS = 4 };

typedef struct common_timeouts {
  int arrived;
  int order[COMMON * CALLS];
  int64_t times[COMMON * CALLS];
} common_timeouts;

static void note_and_cancel_own_at_the_fourth(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  common_timeouts *seen = p->user;
  if (!EXPECT(seen->arrived < COMMON * CALLS)) return;
  seen->order[seen->arrived] = (int)p->number;
  seen->times[seen->arrived++] = tick->actual_ns;
  if (tick->sequence == CALLS) cancel_own(p, tick);
}

/* common_timeout: a hundred persistent timers of two durations, four calls each, every one of which deletes itself at
   the fourth. In each round those of a duration come in the order in which they were added. */
static void a_hundred_timers_of_two_durations_keep_their_order(csuite *t) {
  common_timeouts *seen = csuite_memory(t, sizeof *seen);
  probe *probes[COMMON];
  int i, due = 0;
  int64_t time;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  for (i = 0; i < COMMON; i++) {
    probes[i] = probe_every_quietly(t, queue, i % 2 == 0 ? 100 : 200);
    probes[i]->number = i;
    probes[i]->user = seen;
    probes[i]->on_tick = note_and_cancel_own_at_the_fourth;
  }
  ADVANCE(10000);
  REQUIRE(seen->arrived == COMMON * CALLS);
  for (time = 100; time <= 800; time += 100) {
    for (i = 0; i < COMMON; i++) {
      int64_t interval = i % 2 == 0 ? 100 : 200;
      if (time % interval != 0 || time / interval > CALLS) continue;
      if (!EXPECT_EQ(seen->order[due], i) || !EXPECT_EQ(seen->times[due], time)) return;
      due++;
    }
  }
  EXPECT_EQ(due, COMMON * CALLS);
  for (i = 0; i < COMMON; i++) EXPECT_EQ(state_of(t, probes[i]->timer), CHIME_STATE_CANCELLED);
}

static void count_tick(const chime_tick *tick, void *context) {
  int64_t *counter = context;
  (void)tick;
  ++*counter;
}

/* What libevent's common timeouts are for: many timers of one duration share one visit, however many they are. */
static void timers_of_one_duration_share_a_visit(csuite *t, int count) {
  chime_schedule schedule = schedule_of(CHIME_SECOND, 0);
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_timer_t *timers = csuite_memory(t, (size_t)count * sizeof *timers);
  int64_t *calls = csuite_memory(t, sizeof *calls);
  chime_queue_t queue = virtual_queue_at(t, 0);
  uint64_t passes = stats_of(t, queue).passes;
  int i;
  options.handler = count_tick;
  options.context = calls;
  for (i = 0; i < count; i++) EXPECT_OK(chime_timer_start(queue, &options, &schedule, &timers[i]));
  for (i = 0; i < count; i++) EXPECT_OK(chime_timer_restart(timers[i], NULL));
  ADVANCE(2 * CHIME_SECOND);
  EXPECT_EQ(*calls, count);
  EXPECT_BETWEEN(stats_of(t, queue).passes - passes, 1, 4);
}

static void many_timers_of_one_duration_share_a_visit_as_few_do(csuite *t) {
  const int few = csuite_scaled(400) + 100;
  timers_of_one_duration_share_a_visit(t, few);
  timers_of_one_duration_share_a_visit(t, 64 * few);
}

const csuite_test known_libevent_tests[] = {
    TEST(a_persistent_timeout_comes_until_its_callback_deletes_it),
    TEST(a_stall_of_three_periods_gives_one_call),
    TEST(a_stall_in_another_callback_gives_one_call),
    TEST(an_extra_call_does_not_begin_the_period_anew),
    TEST(an_extra_call_and_a_postpone_begin_the_period_anew),
    TEST(a_deletion_by_other_threads_waits_for_the_callback),
    TESTS_ON_VIRTUAL_AND_SERIAL(a_deletion_in_its_own_callback_does_not_wait),
    TEST(a_timeout_taken_away_does_not_come_and_can_be_set_again),
    TEST(a_delay_given_in_a_slow_callback_counts_from_the_call),
    TEST(what_is_left_is_never_more_than_was_given),
    TEST(a_hundred_timers_of_two_durations_keep_their_order),
    TEST(many_timers_of_one_duration_share_a_visit_as_few_do),
    {NULL, NULL},
};
