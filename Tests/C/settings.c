/*
 * settings.c - what is changed of a timer while it runs, and read back: chime_timer_set_interval, _set_background,
 * _get_schedule; chime_queue_list_timers; and chime_queue_run with CHIME_QUEUE_RUN_ONCE.
 */
#include "harness.h"

static chime_schedule schedule_kept(csuite *t, chime_timer_t timer) {
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  EXPECT_OK(chime_timer_get_schedule(timer, &schedule));
  return schedule;
}

/* ---- The interval --------------------------------------------------------------------------------------------------- */

/* [4] The grid goes on from the next deadline, and the count against the limit goes on. */
VIRTUAL_TEST(a_new_interval_begins_at_the_next_deadline) {
  probe *a = probe_start(t, queue, "a", &SCHEDULE(.first_ns = 5, .interval_ns = 10, .leeway_ns = 3, .tick_limit = 6));
  ADVANCE(17);
  uint64_t generation = generation_of(t, a->timer);
  EXPECT_OK(chime_timer_set_interval(a->timer, 4));
  EXPECT_EQ(deadline_of(t, a->timer), 25);
  EXPECT_EQ(generation_of(t, a->timer), generation);
  ADVANCE(16);
  EXPECT_LOG("a1@5 a2@15 a3@25 a4@29 a5@33");
  EXPECT_EQ(info_of(t, a->timer).due_count, 5);
  EXPECT_EQ(info_of(t, a->timer).interval_ns, 4);
  EXPECT_EQ(info_of(t, a->timer).leeway_ns, 3);
  EXPECT_OK(chime_timer_set_interval(a->timer, 2)); /* no leeway of 3 */
  EXPECT_EQ(info_of(t, a->timer).leeway_ns, 1);
  EXPECT_OK(chime_timer_set_interval(a->timer, CHIME_HOUR)); /* what was cut off does not come back */
  EXPECT_EQ(info_of(t, a->timer).leeway_ns, 1);
  ADVANCE(10);
  EXPECT_LOG("a6@37");
  EXPECT_EQ(state_of(t, a->timer), CHIME_STATE_FINISHED);
}

/* In each state; the first delay stays, and a one-shot. */
TESTS_ON_ALL_QUEUES(only_the_interval_changes) {
  const chime_schedule schedules[] = {
      SCHEDULE(.first_ns = CHIME_HOUR, .interval_ns = CHIME_HOUR),
      SCHEDULE(.first_ns = 2 * CHIME_HOUR, .interval_ns = CHIME_HOUR, .leeway_ns = 30, .tick_limit = 7),
      SCHEDULE(.first_ns = 3, .interval_ns = CHIME_HOUR, .missed_policy = CHIME_MISSED_DELAY,
               .resume_policy = CHIME_RESUME_REMAINING),
      SCHEDULE(.flags = CHIME_SCHEDULE_DEADLINE, .first_ns = CHIME_FOREVER - 1, .interval_ns = CHIME_HOUR),
      SCHEDULE(.first_ns = CHIME_HOUR, .interval_ns = CHIME_HOUR, .jitter_ns = 1000),
  };
  enum { IDLE, RUNNING, SUSPENDED, CANCELLED, STATES };
  for (size_t i = 0; i < sizeof schedules / sizeof schedules[0]; i++) {
    for (int state = 0; state < STATES; state++) {
      probe *p = probe_idle(t, queue, NULL);
      chime_schedule expected = schedules[i], kept;
      /* Given while idle it counts from the start, which never comes. */
      EXPECT_OK(chime_timer_reschedule(p->timer, &schedules[i]));
      if (state != IDLE && schedules[i].first_ns > 3) EXPECT_OK(chime_timer_activate(p->timer, NULL));
      else if (state != IDLE) continue;
      if (state == SUSPENDED) EXPECT_OK(chime_timer_suspend(p->timer));
      if (state == CANCELLED) EXPECT_OK(chime_timer_cancel(p->timer));
      const int64_t deadline = deadline_of(t, p->timer);
      const uint64_t generation = generation_of(t, p->timer);
      for (int64_t interval = CHIME_HOUR / 2; interval <= 2 * CHIME_HOUR; interval *= 2) {
        EXPECT_OK(chime_timer_set_interval(p->timer, interval));
        expected.interval_ns = interval;
        kept = schedule_kept(t, p->timer);
        EXPECT(memcmp(&kept, &expected, sizeof kept) == 0);
        EXPECT_EQ(deadline_of(t, p->timer), deadline);
        EXPECT_EQ(generation_of(t, p->timer), generation);
      }
      EXPECT_STATUS(chime_timer_set_interval(p->timer, 0), CHIME_ERROR_INVALID_ARGUMENT);
      EXPECT_STATUS(chime_timer_set_interval(p->timer, -1), CHIME_ERROR_INVALID_ARGUMENT);
      EXPECT_EQ(info_of(t, p->timer).interval_ns, 2 * CHIME_HOUR);
      EXPECT_OK(chime_timer_release(p->timer));
      EXPECT_STATUS(chime_timer_set_interval(p->timer, 1), CHIME_ERROR_INVALID_HANDLE);
    }
  }
  probe *none = probe_idle(t, queue, NULL), *once = probe_after(t, queue, NULL, CHIME_HOUR);
  EXPECT_STATUS(chime_timer_set_interval(none->timer, 1), CHIME_IGNORED);
  EXPECT_STATUS(chime_timer_set_interval(once->timer, 1), CHIME_IGNORED);
  EXPECT_EQ(info_of(t, once->timer).interval_ns, 0);
}

/* Jitter is at most the interval: of a longer one the rest is cut off, and nothing counts as missed by that. */
VIRTUAL_TEST(jitter_does_not_outlast_the_interval) {
  for (int round = 0; round < 50; round++) {
    probe *p = probe_start(t, queue, NULL, &SCHEDULE(.first_ns = 1000, .interval_ns = 1000, .jitter_ns = 1000));
    const int64_t due = deadline_of(t, p->timer);
    EXPECT_OK(chime_timer_set_interval(p->timer, 10));
    EXPECT_EQ(info_of(t, p->timer).jitter_ns, 10);
    EXPECT_EQ(deadline_of(t, p->timer), due);
    ADVANCE(due - now_of(t, queue));
    EXPECT(p->ticks >= 1 && p->first.scheduled_ns == due);
    EXPECT_EQ(p->missed, 0);
    EXPECT_BETWEEN(deadline_of(t, p->timer), due, due + 20);
    EXPECT_OK(chime_timer_release(p->timer));
  }
}

static void set_the_interval(csuite *t, probe *p, const chime_tick *tick) {
  if (tick->sequence > 1) return;
  EXPECT_STATUS(chime_timer_set_interval(tick->timer, CHIME_HOUR), CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_set_interval(p->other->timer, CHIME_HOUR), CHIME_OK);
  p->number = deadline_of(t, tick->timer) - tick->scheduled_ns;
}

/* [7] Inside its handler, too: the next tick is the one that was to come, and then the new interval begins. */
TESTS_ON_ALL_QUEUES(a_handler_may_change_its_interval) {
  probe *p = probe_idle(t, queue, NULL);
  p->on_tick = set_the_interval;
  p->other = probe_every_quietly(t, queue, 2 * CHIME_HOUR);
  EXPECT_OK(chime_timer_activate(p->timer, EVERY(0, CHIME_MILLISECOND)));
  for (int i = 0; i < 2; i++) {
    if (place == VIRTUAL) ADVANCE(i * CHIME_MILLISECOND);
    EXPECT(await(&p->returned, i + 1));
  }
  EXPECT_EQ(p->number, CHIME_MILLISECOND);
  EXPECT_EQ((deadline_of(t, p->timer) - p->last.scheduled_ns) % CHIME_HOUR, 0);
}

/* Under DELAY the interval counts from the end of the handler, and is the new one. */
VIRTUAL_TEST(with_the_policy_delay_the_new_interval_follows_the_handler) {
  probe *a =
      probe_start(t, queue, "a", &SCHEDULE(.first_ns = 10, .interval_ns = 10, .missed_policy = CHIME_MISSED_DELAY));
  a->on_tick = set_the_interval;
  a->other = a->number == 0 ? probe_every_quietly(t, queue, CHIME_HOUR) : NULL;
  ADVANCE(10);
  EXPECT_EQ(deadline_of(t, a->timer), 10 + CHIME_HOUR);
}

/* [3] A smaller leeway may not leave the tick where the larger one had put it. */
TEST(a_leeway_that_is_cut_off_brings_the_tick_forward) {
  chime_queue_t queue =
      csuite_queue_with(t, CHIME_QUEUE_VIRTUAL, &QUEUE_OPTIONS(.flags = CHIME_QUEUE_FLAG_HONOUR_LEEWAY));
  probe *a = probe_start(t, queue, "a", &SCHEDULE(.first_ns = 1001, .interval_ns = 1000, .leeway_ns = 999));
  ADVANCE(1);
  EXPECT_OK(chime_timer_set_interval(a->timer, 1));
  ADVANCE(1000);
  EXPECT_EQ(a->ticks, 1);
}

/* ---- The schedule ----------------------------------------------------------------------------------------------------- */

/* What was given comes back, and can be given again: to another timer, too. */
TESTS_ON_ALL_QUEUES(a_schedule_comes_back_as_it_was_given) {
  const chime_schedule given[] = {
      SCHEDULE(.first_ns = 0),
      SCHEDULE(.first_ns = CHIME_FOREVER, .leeway_ns = 5),
      SCHEDULE(.first_ns = 3 * CHIME_HOUR, .resume_policy = CHIME_RESUME_REMAINING,
               .missed_policy = CHIME_MISSED_DELAY),
      SCHEDULE(.flags = CHIME_SCHEDULE_DEADLINE, .first_ns = INT64_MIN),
      SCHEDULE(.flags = CHIME_SCHEDULE_DEADLINE, .first_ns = INT64_MAX, .interval_ns = 1),
      SCHEDULE(.interval_ns = CHIME_SECOND, .leeway_ns = CHIME_SECOND - 1000, .tick_limit = UINT64_MAX, .jitter_ns = 1),
      SCHEDULE(.first_ns = CHIME_SECOND, .interval_ns = CHIME_SECOND, .jitter_ns = CHIME_SECOND),
      SCHEDULE(.first_ns = 1, .interval_ns = INT64_MAX, .missed_policy = CHIME_MISSED_DELAY, .tick_limit = 1),
  };
  chime_schedule kept = SCHEDULE(.first_ns = 77);
  probe *p = probe_idle(t, queue, NULL), *another = probe_idle(t, queue, NULL);
  EXPECT_STATUS(chime_timer_get_schedule(p->timer, &kept), CHIME_IGNORED);
  EXPECT_EQ(kept.first_ns, 77);
  for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
    EXPECT_OK(chime_timer_reschedule(p->timer, &given[i]));
    kept = schedule_kept(t, p->timer);
    EXPECT(memcmp(&kept, &given[i], sizeof kept) == 0);
    EXPECT_OK(chime_timer_reschedule(another->timer, &kept));
    kept = schedule_kept(t, another->timer);
    EXPECT(memcmp(&kept, &given[i], sizeof kept) == 0);
  }
  EXPECT_OK(chime_timer_restart(p->timer, EVERY(CHIME_HOUR, CHIME_MINUTE)));
  EXPECT_OK(chime_timer_postpone(p->timer, 2 * CHIME_HOUR)); /* is not of the schedule */
  EXPECT_EQ(schedule_kept(t, p->timer).first_ns, CHIME_HOUR);
  EXPECT_OK(chime_timer_restart_after(p->timer, 3 * CHIME_HOUR));
  EXPECT_EQ(schedule_kept(t, p->timer).first_ns, 3 * CHIME_HOUR);
  EXPECT_OK(chime_timer_restart_until(p->timer, CHIME_FOREVER));
  kept = schedule_kept(t, p->timer);
  EXPECT(kept.first_ns == CHIME_FOREVER && kept.flags == CHIME_SCHEDULE_DEADLINE && kept.interval_ns == CHIME_MINUTE);
  EXPECT_OK(chime_timer_release(p->timer));
  EXPECT_STATUS(chime_timer_get_schedule(p->timer, &kept), CHIME_ERROR_INVALID_HANDLE);
}

/* ---- Timers in the background ------------------------------------------------------------------------------------------- */

TESTS_ON_ALL_QUEUES(a_timer_says_whether_it_is_in_the_background) {
  chime_timer_options options = TIMER_OPTIONS(.handler = ignore_tick, .flags = CHIME_TIMER_BACKGROUND);
  for (int made_so = 0; made_so < 2; made_so++) {
    chime_timer_t timer;
    options.flags = made_so ? CHIME_TIMER_BACKGROUND : 0;
    REQUIRE_OK(chime_timer_create(queue, &options, &timer));
    EXPECT_EQ(info_of(t, timer).background, made_so);
    for (int state = 0; state < 4; state++) { /* idle, running, suspended, cancelled */
      if (state == 1) EXPECT_OK(chime_timer_activate(timer, AFTER(CHIME_HOUR)));
      if (state == 2) EXPECT_OK(chime_timer_suspend(timer));
      if (state == 3) EXPECT_OK(chime_timer_cancel(timer));
      for (int i = 0; i < 4; i++) {
        EXPECT_OK(chime_timer_set_background(timer, i / 2 == made_so));
        EXPECT_EQ(info_of(t, timer).background, i / 2 == made_so);
      }
      EXPECT_EQ(state_of(t, timer), state == 3 ? CHIME_STATE_CANCELLED : (chime_state)state);
    }
    EXPECT_STATUS(chime_timer_set_background(timer, 2), CHIME_ERROR_INVALID_ARGUMENT);
    EXPECT_OK(chime_timer_release(timer));
    EXPECT_STATUS(chime_timer_set_background(timer, 1), CHIME_ERROR_INVALID_HANDLE);
  }
}

static void put_the_other_in_the_background(csuite *t, probe *p, const chime_tick *tick) {
  EXPECT_OK(chime_timer_set_background(p->other->timer, 1));
}

/* uv_unref and uv_ref. What is due with it does not begin any more, once nothing else is left. */
HOST_TEST(a_run_waits_for_no_timer_that_was_put_in_the_background, 0) {
  probe *first = probe_quiet(t, queue, 0, 0, put_the_other_in_the_background), *other = probe_after(t, queue, NULL, 0);
  first->other = other;
  EXPECT_OK(chime_queue_run(queue, 0));
  EXPECT(first->ticks == 1 && other->ticks == 0);
  EXPECT_EQ(state_of(t, other->timer), CHIME_STATE_RUNNING);
  EXPECT_OK(chime_queue_run(queue, 0));
  EXPECT_EQ(other->ticks, 0);
  EXPECT_OK(chime_timer_set_background(other->timer, 0));
  EXPECT_OK(chime_queue_run(queue, 0));
  EXPECT_EQ(other->ticks, 1);
}

typedef struct runner {
  csuite *t;
  chime_queue_t queue;
  int ended;
} runner;

THREAD(run_to_the_end, runner, r) {
  EXPECT_OK(chime_queue_run(r->queue, 0));
  store(&r->ended, 1);
}

/* By another thread, whether the run sleeps already or not. */
HOST_TEST(a_run_that_sleeps_ends_when_its_timer_goes_into_the_background, 0) {
  for (int round = 0; round < 2; round++) {
    runner r = {t, queue, 0};
    pthread_t thread;
    probe *a = probe_after(t, queue, NULL, CHIME_HOUR), *b = probe_after(t, queue, NULL, 2 * CHIME_HOUR);
    if (!spawn(t, &thread, run_to_the_end, &r)) return;
    if (round == 1) sleep_ns(5 * CHIME_MILLISECOND);
    EXPECT_OK(chime_timer_set_background(a->timer, 1));
    EXPECT_EQ(load(&r.ended), 0);
    EXPECT_OK(chime_timer_set_background(b->timer, 1));
    pthread_join(thread, NULL);
    EXPECT_OK(chime_timer_release(a->timer));
    EXPECT_OK(chime_timer_release(b->timer));
  }
}

/* ---- CHIME_QUEUE_RUN_ONCE ----------------------------------------------------------------------------------------------- */

/* All that is due together, and no more; then what is left decides. */
HOST_TEST(run_once_returns_when_something_was_called, 0) {
  const uint32_t once = CHIME_QUEUE_RUN_ONCE, no_wait = once | CHIME_QUEUE_RUN_NO_WAIT;
  EXPECT_STATUS(chime_queue_run(queue, once), CHIME_IGNORED);
  EXPECT_STATUS(chime_queue_run(queue, no_wait), CHIME_IGNORED);
  EXPECT_STATUS(chime_queue_run(queue, no_wait | CHIME_QUEUE_RUN_UNTIL_STOPPED), CHIME_TIMED_OUT);
  int64_t now = now_of(t, queue);
  probe *a = probe_start(t, queue, NULL, AT(now)), *b = probe_start(t, queue, NULL, AT(now));
  probe *later = probe_after(t, queue, NULL, 20 * CHIME_MILLISECOND);
  EXPECT_OK(chime_queue_run(queue, once));
  EXPECT(a->ticks == 1 && b->ticks == 1);
  EXPECT_OK(chime_queue_run(queue, once)); /* it waits for that */
  EXPECT_EQ(later->ticks, 1);
  EXPECT_STATUS(chime_queue_run(queue, once), CHIME_IGNORED);
  EXPECT_OK(chime_queue_async(queue, ignore_call, NULL, NULL));
  EXPECT_OK(chime_queue_run(queue, no_wait));
  EXPECT_OK(chime_queue_async(queue, ignore_call, NULL, NULL));
  EXPECT_OK(chime_queue_run(queue, once | CHIME_QUEUE_RUN_UNTIL_STOPPED));
  EXPECT_OK(chime_queue_stop(queue));
  EXPECT_STATUS(chime_queue_run(queue, once), CHIME_STOPPED);
  probe *background = probe_after(t, queue, NULL, 0);
  EXPECT_OK(chime_timer_set_background(background->timer, 1));
  EXPECT_STATUS(chime_queue_run(queue, once), CHIME_IGNORED);
  EXPECT_EQ(background->ticks, 0);
  EXPECT_OK(chime_queue_run(queue, once | CHIME_QUEUE_RUN_UNTIL_STOPPED));
  EXPECT_EQ(background->ticks, 1);
}

/* ---- The timers of a queue ------------------------------------------------------------------------------------------------ */

enum { MOST_LISTED = 100 };

static int is_listed(const chime_timer_t *list, size_t count, chime_timer_t timer) {
  int found = 0;
  for (size_t i = 0; i < count && i < MOST_LISTED; i++) found += list[i] == timer;
  return found;
}

/* In each state, without those that were released; and what has no timer of its own is not listed. */
TESTS_ON_ALL_QUEUES(the_timers_of_a_queue_are_listed) {
  enum { TIMERS = 40 };
  probe *p[TIMERS];
  chime_timer_t list[MOST_LISTED];
  size_t count = 99;
  EXPECT_OK(chime_queue_list_timers(queue, NULL, 0, &count));
  EXPECT_EQ(count, 0);
  for (int i = 0; i < TIMERS; i++) {
    p[i] = i % 4 == 0 ? probe_idle(t, queue, NULL) : probe_after(t, queue, NULL, CHIME_HOUR);
    if (i % 4 == 2) EXPECT_OK(chime_timer_suspend(p[i]->timer));
    if (i % 4 == 3) EXPECT_OK(chime_timer_cancel(p[i]->timer));
  }
  probe *value = probe_value(t, queue, NULL, CHIME_HOUR);
  for (int released = 0; released <= TIMERS; released++) {
    EXPECT_OK(chime_queue_list_timers(queue, list, MOST_LISTED, &count));
    EXPECT_EQ(count, TIMERS - released);
    for (int i = 0; i < TIMERS; i++) EXPECT_EQ(is_listed(list, count, p[i]->timer), i >= released);
    if (released < TIMERS) EXPECT_OK(chime_timer_release(p[released]->timer));
  }
  EXPECT_OK(chime_timer_after(queue, CHIME_HOUR, ignore_tick, NULL, NULL, NULL)); /* one that nobody holds */
  EXPECT_OK(chime_queue_list_timers(queue, list, 1, &count));
  EXPECT_EQ(count, 1);
  EXPECT_EQ(state_of(t, list[0]), CHIME_STATE_RUNNING);
  EXPECT_OK(chime_expiring_release(value->id));
  csuite_shutdown(t, queue);
  EXPECT_STATUS(chime_queue_list_timers(queue, list, 1, &count), CHIME_ERROR_INVALID_HANDLE);
}
