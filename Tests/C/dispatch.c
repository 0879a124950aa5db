/*
 * dispatch.c - the promises in real time, on all queues that have a clock. What is asserted of time cannot be early;
 * how late something comes is never asserted, only that it comes. Promises 1 to 7, 12 and 17.
 */
#include "harness.h"

/* ---- Never early, no drift -------------------------------------------------------------------------------------- */

static void check_not_early(csuite *t, probe *p, const chime_tick *tick) {
  int64_t now = 0;
  EXPECT_OK(chime_now(CHIME_CLOCK_MONOTONIC, &now));
  EXPECT_BETWEEN(tick->scheduled_ns, p->number, INT64_MAX);
  EXPECT_BETWEEN(tick->actual_ns, p->number, now);
  EXPECT_EQ(tick->missed, 0);
}

TESTS_ON_DISPATCH_QUEUES(no_one_shot_is_early) { /* [3] */
  enum { COUNT = 100 };
  dice d = {UINT64_C(77777)};
  probe *probes[COUNT];
  for (int i = 0; i < COUNT; i++) {
    int64_t delay = roll_below(&d, 60 * CHIME_MILLISECOND);
    probes[i] = probe_idle(t, queue, "a");
    probes[i]->on_tick = check_not_early;
    probes[i]->number = now_of(t, queue) + delay;
    EXPECT_OK(chime_timer_activate(probes[i]->timer, AFTER(delay)));
  }
  for (int i = 0; i < COUNT; i++) {
    REQUIRE(await(&probes[i]->returned, 1));
    EXPECT_EQ(load(&probes[i]->ticks), 1);
    EXPECT_EQ(state_of(t, probes[i]->timer), CHIME_STATE_FINISHED);
  }
}

TESTS_ON_DISPATCH_QUEUES(a_hundred_ticks_of_two_milliseconds_do_not_drift) { /* [3] [4] [5] */
  grid *g = csuite_memory(t, sizeof *g);
  probe *p = probe_idle(t, queue, "a");
  chime_schedule schedule = schedule_at(now_of(t, queue) + 5 * CHIME_MILLISECOND, 2 * CHIME_MILLISECOND);
  schedule.tick_limit = 100;
  p->on_tick = check_grid;
  p->user = g;
  *g = (grid){schedule.first_ns, schedule.interval_ns, 0};
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  await_finished(t, p->timer);
  EXPECT_EQ(g->due_times, 100);
  EXPECT_EQ(p->last.sequence, load(&p->ticks));
  EXPECT_BETWEEN(p->last.actual_ns, g->first_ns + 99 * g->interval_ns, INT64_MAX);
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
  EXPECT(chime_timer_cancel_and_wait(p->timer, PATIENCE) >= 0); /* a tick asks the queue for the time */
}

/* [3] [4] */
TESTS_ON_DISPATCH_QUEUES(a_timer_with_jitter_keeps_its_grid) { check_grid_with_jitter(t, queue); }

/* Its deadline is a time of day, and moves with the clock; the random part is in it. */
TEST(a_time_of_day_with_jitter_keeps_its_grid) {
  check_grid_with_jitter(t, csuite_queue_with(t, CHIME_QUEUE_SERIAL, &QUEUE_OPTIONS(.clock = CHIME_CLOCK_WALL)));
}

TESTS_ON_DISPATCH_QUEUES(an_earlier_timer_added_later_comes_first) {
  probe *late = probe_after(t, queue, "a", CHIME_HOUR);
  let_later_ticks_come(t, queue, 0); /* then the queue sleeps for the hour */
  probe *early = probe_after(t, queue, "b", CHIME_MILLISECOND);
  EXPECT(await(&early->returned, 1));
  EXPECT_EQ(load(&late->ticks), 0);
}

/* "No tick starts before now + delay." */
TESTS_ON_DISPATCH_QUEUES(an_idle_timeout_comes_only_after_the_last_touch) {
  int64_t not_before = 0, delay = 40 * CHIME_MILLISECOND;
  probe *p = probe_quiet(t, queue, delay, 0, NULL);
  for (int i = 0; i < 20; i++) {
    int64_t now = now_of(t, queue);
    chime_status status = chime_timer_postpone(p->timer, delay);
    if (status & CHIME_IGNORED) break; /* this machine was slow: the timeout won */
    EXPECT_OK(status);
    not_before = now + delay;
    sleep_ns(4 * CHIME_MILLISECOND);
  }
  REQUIRE(await(&p->returned, 1));
  EXPECT_BETWEEN(p->last.actual_ns, not_before, INT64_MAX);
  EXPECT_BETWEEN(p->last.scheduled_ns, not_before, INT64_MAX);
  EXPECT_EQ(load(&p->ticks), 1);
}

/* ---- Stopping --------------------------------------------------------------------------------------------------- */

TESTS_ON_DISPATCH_QUEUES(calls_while_the_handler_runs_answer_running) { /* [7] */
  probe *p = probe_held(t, queue, CHIME_HOUR);
  EXPECT_EQ(info_of(t, p->timer).busy, 1);
  EXPECT_EQ(info_of(t, p->timer).sequence, 1);
  EXPECT_STATUS(chime_timer_postpone(p->timer, 2 * CHIME_HOUR), CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_postpone(p->timer, 0), CHIME_RUNNING); /* not later, and no tick but that one is earlier */
  EXPECT_STATUS(chime_timer_suspend(p->timer), CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_postpone_until(p->timer, INT64_MAX), CHIME_RUNNING);
  EXPECT_OK(chime_timer_resume(p->timer));
  EXPECT_STATUS(chime_timer_reschedule(p->timer, EVERY(CHIME_HOUR, CHIME_HOUR)), CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_restart(p->timer, NULL), CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_activate(p->timer, NULL), CHIME_IGNORED | CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_suspend(p->timer), CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_suspend(p->timer), CHIME_IGNORED | CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_cancel(p->timer), CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_cancel(p->timer), CHIME_IGNORED | CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_suspend(p->timer), CHIME_IGNORED | CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_postpone(p->timer, CHIME_HOUR), CHIME_IGNORED | CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_activate(p->timer, NULL), CHIME_RUNNING);
  EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_RUNNING);
  EXPECT_EQ(info_of(t, p->timer).busy, 1);
  open_gate(p);
  EXPECT_OK(chime_timer_cancel_and_wait(p->timer, CHIME_FOREVER));
  EXPECT_EQ(info_of(t, p->timer).busy, 0);
  EXPECT_EQ(load(&p->busy), 0);
  EXPECT_OK(chime_timer_activate(p->timer, NULL)); /* nothing is busy: OK again */
  EXPECT_OK(chime_timer_suspend(p->timer));
  EXPECT_OK(chime_timer_release(p->timer));
  EXPECT_EQ(load(&p->ticks), 1);
}

static void start_again_and_postpone(csuite *t, probe *p, const chime_tick *tick) {
  if (p->ticks > 1) return;
  EXPECT_STATUS(chime_timer_activate(tick->timer, AFTER(0)), CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_postpone(tick->timer, 1), CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_postpone_until(tick->timer, 0), CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_postpone(p->other->timer, CHIME_HOUR), CHIME_OK);
}

/* [7]: of a one-shot; a distance that its word holds, and a repeating timer's. */
TESTS_ON_ALL_QUEUES(calls_inside_the_handler_answer_running_and_those_on_others_ok) {
  probe *p = probe_idle(t, queue, NULL);
  p->on_tick = start_again_and_postpone;
  p->other = probe_every_quietly(t, queue, CHIME_HOUR);
  EXPECT_OK(chime_timer_activate(p->timer, AFTER(0)));
  run_due(t, queue, place);
  if (place == VIRTUAL) ADVANCE(1);
  EXPECT(await(&p->returned, 2));
}

static void stop_in_the_last_tick(csuite *t, probe *p, const chime_tick *tick) {
  EXPECT_EQ(state_of(t, tick->timer), CHIME_STATE_FINISHED);
  EXPECT_STATUS(chime_timer_cancel(tick->timer), CHIME_IGNORED | CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_suspend(tick->timer), CHIME_IGNORED | CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_postpone(tick->timer, 1), CHIME_IGNORED | CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_cancel_and_wait(tick->timer, CHIME_FOREVER), CHIME_ERROR_WOULD_DEADLOCK);
  EXPECT_EQ(state_of(t, tick->timer), CHIME_STATE_FINISHED);
}

/* [7]: of a one-shot, and of a limit. There is nothing to stop, and it runs: two answers in one. */
TESTS_ON_ALL_QUEUES(the_last_handler_is_said_to_be_running) {
  probe *once = probe_quiet(t, queue, 0, 0, stop_in_the_last_tick), *limited = probe_idle(t, queue, NULL);
  limited->on_tick = stop_in_the_last_tick;
  EXPECT_OK(chime_timer_activate(limited->timer, &SCHEDULE(.interval_ns = 1, .tick_limit = 1)));
  run_due(t, queue, place);
  EXPECT(await(&once->returned, 1) && await(&limited->returned, 1));
  come_to_rest(t, once->timer);
  come_to_rest(t, limited->timer);
  EXPECT_STATUS(chime_timer_cancel(once->timer), CHIME_IGNORED);
  EXPECT_STATUS(chime_timer_suspend(limited->timer), CHIME_IGNORED);
}

TESTS_ON_DISPATCH_QUEUES(the_last_handler_is_said_to_be_running_elsewhere) { /* [7] */
  probe *p = probe_held(t, queue, 0);
  EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_FINISHED);
  EXPECT_STATUS(chime_timer_suspend(p->timer), CHIME_IGNORED | CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_cancel(p->timer), CHIME_IGNORED | CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_cancel_and_wait(p->timer, 0), CHIME_ERROR_TIMED_OUT);
  EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_FINISHED);
  open_gate(p);
  EXPECT_STATUS(chime_timer_cancel_and_wait(p->timer, PATIENCE), CHIME_IGNORED);
  EXPECT_STATUS(chime_timer_cancel(p->timer), CHIME_IGNORED);
}

/* [6]: "A tick that falls due meanwhile waits for the return." */
TESTS_ON_DISPATCH_QUEUES(a_tick_due_while_the_handler_runs_waits_for_it) {
  probe *p = probe_held(t, queue, 0);
  EXPECT_TOOK_EFFECT(chime_timer_activate(p->timer, AFTER(0))); /* finished: a new life, due at once */
  if (runs_side_by_side(place)) let_later_ticks_come(t, queue, 0);
  EXPECT_EQ(load(&p->ticks), 1);
  open_gate(p);
  EXPECT(await(&p->returned, 2)); /* the probe checks that they did not overlap */
}

static void *open_gate_soon(void *argument) {
  sleep_ns(40 * CHIME_MILLISECOND);
  open_gate(argument);
  return NULL;
}

TESTS_ON_DISPATCH_QUEUES(cancel_and_wait_waits_for_the_handler) { /* [7] */
  probe *p = probe_held(t, queue, CHIME_HOUR);
  int64_t begin = monotonic_ns();
  pthread_t thread;
  EXPECT_STATUS(chime_timer_cancel_and_wait(p->timer, 30 * CHIME_MILLISECOND), CHIME_ERROR_TIMED_OUT);
  EXPECT(monotonic_ns() - begin >= 30 * CHIME_MILLISECOND);
  EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_CANCELLED); /* what was asked for is in effect */
  EXPECT_EQ(load(&p->returned), 0);
  EXPECT_STATUS(chime_timer_cancel_and_wait(p->timer, 0), CHIME_ERROR_TIMED_OUT);
  if (!spawn(t, &thread, open_gate_soon, p)) return;
  /* Cancelled already, and still it waits. (It may have returned before the call.) */
  EXPECT(!CHIME_FAILED(chime_timer_cancel_and_wait(p->timer, CHIME_FOREVER)));
  EXPECT_EQ(load(&p->gate), 1);
  EXPECT_EQ(load(&p->busy), 0);
  EXPECT_EQ(load(&p->ticks), 1);
  pthread_join(thread, NULL);
}

/* All begin; then each waits for the next, and the last for the first. */
static void meet_and_wait_for_the_next(csuite *t, probe *p, const chime_tick *tick) {
  int *met = p->user;
  add(met, 1);
  EXPECT(await(met, (int)p->number));
  p->status = chime_timer_cancel_and_wait(p->other->timer, PATIENCE);
}

static void check_ring(csuite *t, int count) {
  probe *probes[3];
  int *met = csuite_memory(t, sizeof *met);
  int deadlocks = 0;
  for (int i = 0; i < count; i++) {
    QUEUE_OR_RETURN(queue, SERIAL);
    probes[i] = probe_idle(t, queue, "a");
    probes[i]->on_tick = meet_and_wait_for_the_next;
    probes[i]->user = met;
    probes[i]->number = count;
  }
  for (int i = 0; i < count; i++) probes[i]->other = probes[(i + 1) % count];
  for (int i = 0; i < count; i++) EXPECT_OK(chime_timer_activate(probes[i]->timer, EVERY(0, CHIME_HOUR)));
  for (int i = 0; i < count; i++) {
    REQUIRE(await(&probes[i]->returned, 1));
    if (probes[i]->status == CHIME_ERROR_WOULD_DEADLOCK) deadlocks++;
    else EXPECT_OK(probes[i]->status);
    EXPECT_EQ(state_of(t, probes[i]->timer), CHIME_STATE_CANCELLED); /* with every answer */
  }
  EXPECT(deadlocks >= 1);
}

TEST(two_handlers_that_wait_for_each_other_get_would_deadlock) { check_ring(t, 2); } /* [1] */
TEST(three_handlers_that_wait_in_a_ring_get_would_deadlock) { check_ring(t, 3); }

/* ---- No stale tick ---------------------------------------------------------------------------------------------- */

/* A tick of the generation in `forbidden` must not start; `started` is the generation of the last one that did. */
typedef struct race {
  uint64_t forbidden, started;
} race;

static void check_not_stale(csuite *t, probe *p, const chime_tick *tick) {
  race *r = p->user;
  EXPECT(__atomic_load_n(&r->forbidden, __ATOMIC_SEQ_CST) != tick->generation);
  __atomic_store_n(&r->started, tick->generation, __ATOMIC_SEQ_CST);
}

static void spin_ns(int64_t duration_ns) {
  int64_t end = monotonic_ns() + duration_ns;
  while (monotonic_ns() < end) {}
}

typedef chime_status (*stopper)(chime_timer_t timer);

static chime_status stop_by_reschedule(chime_timer_t timer) { return chime_timer_reschedule(timer, AFTER(CHIME_HOUR)); }
static chime_status stop_by_restart(chime_timer_t timer) { return chime_timer_restart(timer, AFTER(CHIME_HOUR)); }
static chime_status stop_by_postpone(chime_timer_t timer) { return chime_timer_postpone(timer, CHIME_HOUR); }

/*
 * Bare timers have a handler and a context and nothing else, and are cancelled and released by one compare-and-swap, where
 * other timers, with their finalizers, take the long way.
 */
static probe *bare(csuite *t, chime_queue_t queue, probe_action on_tick) {
  probe *p = probe_new(t, queue, NULL);
  p->on_tick = on_tick;
  EXPECT_OK(chime_timer_create(queue, &TIMER_OPTIONS(.handler = probe_handler, .context = p), &p->timer));
  return p;
}

/* [7]: OK says that the one-shot has not started; it must not start any more. IGNORED says that it has. Half of
   the rounds are of a bare timer. */
static void check_stops(csuite *t, chime_queue_t queue, stopper stop) {
  dice d = {UINT64_C(1234567)};
  race *r = NULL;
  probe *p = NULL;
  for (int i = 0, rounds = csuite_scaled(3000); i < rounds && !csuite_failed(t); i++) {
    chime_schedule soon = schedule_of(roll_below(&d, 40) * CHIME_MICROSECOND, 0);
    if (i == 0 || i == rounds / 2 || stop == chime_timer_release) {
      p = i < rounds / 2 ? probe_idle(t, queue, NULL) : bare(t, queue, NULL);
      p->on_tick = check_not_stale;
      p->user = r = csuite_memory(t, sizeof *r);
    }
    EXPECT_TOOK_EFFECT(chime_timer_restart(p->timer, &soon));
    uint64_t generation = generation_of(t, p->timer);
    spin_ns(roll_below(&d, 120) * CHIME_MICROSECOND);
    chime_status status = stop(p->timer);
    if (status & CHIME_IGNORED) AWAIT(__atomic_load_n(&r->started, __ATOMIC_SEQ_CST) == generation);
    if (status != CHIME_OK) continue;
    __atomic_store_n(&r->forbidden, generation, __ATOMIC_SEQ_CST);
    /* Else one that comes is soon another generation's. */
    if (i % 50 == 0) let_later_ticks_come(t, queue, 50 * CHIME_MICROSECOND);
  }
}

TESTS_ON_DISPATCH_QUEUES(no_tick_starts_after_cancel) { check_stops(t, queue, chime_timer_cancel); }     /* [7] */
TESTS_ON_DISPATCH_QUEUES(no_tick_starts_after_suspend) { check_stops(t, queue, chime_timer_suspend); }   /* [7] */
TESTS_ON_DISPATCH_QUEUES(no_tick_starts_after_reschedule) { check_stops(t, queue, stop_by_reschedule); } /* [7] */
TESTS_ON_DISPATCH_QUEUES(no_tick_starts_after_restart) { check_stops(t, queue, stop_by_restart); }       /* [7] */
TESTS_ON_DISPATCH_QUEUES(no_tick_starts_after_postpone) { check_stops(t, queue, stop_by_postpone); }     /* [7] */
TESTS_ON_DISPATCH_QUEUES(no_tick_starts_after_release) { check_stops(t, queue, chime_timer_release); }   /* [7] */

/* [7]: of a timer that is idle, finished or suspended. OK: its extra tick does not start any more. IGNORED: it has ended. */
static void check_extra_ticks(csuite *t, where place, chime_queue_t queue, stopper stop, chime_state state) {
  for (int i = 0, rounds = csuite_scaled(100); i < rounds && !csuite_failed(t); i++) {
    probe *p = probe_idle(t, queue, NULL);
    if (state != CHIME_STATE_IDLE) {
      EXPECT_OK(chime_timer_activate(p->timer, AFTER(state == CHIME_STATE_FINISHED ? 0 : CHIME_HOUR)));
      run_due(t, queue, place);
    }
    if (state == CHIME_STATE_SUSPENDED) EXPECT_OK(chime_timer_suspend(p->timer));
    if (state == CHIME_STATE_FINISHED) EXPECT(await_finished(t, p->timer));
    int before = load(&p->ticks);
    EXPECT_OK(chime_timer_fire(p->timer));
    spin_ns(i % 5 * 5 * CHIME_MICROSECOND);
    chime_status status = stop(p->timer);
    come_to_rest(t, p->timer);
    EXPECT_EQ(load(&p->ticks), before + (status != CHIME_OK));
    if (place == VIRTUAL) run_due(t, queue, place);
    else let_later_ticks_come(t, queue, 0);
    EXPECT_EQ(load(&p->ticks), before + (status != CHIME_OK));
    EXPECT_EQ(state_of(t, p->timer), state);
    EXPECT_STATUS(stop(p->timer), CHIME_IGNORED);
    EXPECT_OK(chime_timer_release(p->timer));
  }
}

TESTS_ON_ALL_QUEUES(cancel_and_suspend_take_an_extra_tick_back) {
  check_extra_ticks(t, place, queue, chime_timer_cancel, CHIME_STATE_IDLE);
  check_extra_ticks(t, place, queue, chime_timer_cancel, CHIME_STATE_FINISHED);
  check_extra_ticks(t, place, queue, chime_timer_suspend, CHIME_STATE_IDLE);
  check_extra_ticks(t, place, queue, chime_timer_suspend, CHIME_STATE_FINISHED);
  check_extra_ticks(t, place, queue, chime_timer_suspend, CHIME_STATE_SUSPENDED);
}

static void cancel_start_and_release_own(csuite *t, probe *p, const chime_tick *tick) {
  EXPECT_OK(chime_timer_check_generation(tick->timer, tick->generation));
  EXPECT_STATUS(chime_timer_cancel(tick->timer), CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_check_generation(tick->timer, tick->generation), CHIME_IGNORED);
  EXPECT_STATUS(chime_timer_activate(tick->timer, NULL), CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_cancel_and_wait(tick->timer, CHIME_FOREVER), CHIME_ERROR_WOULD_DEADLOCK);
  EXPECT_STATUS(chime_timer_release(tick->timer), CHIME_RUNNING);
  EXPECT(is_stale(tick->timer));
}

TESTS_ON_ALL_QUEUES(a_bare_timer_says_that_its_handler_is_running) { /* [1] [2] [7] */
  probe *p = bare(t, queue, cancel_start_and_release_own);
  EXPECT_OK(chime_timer_activate(p->timer, EVERY(CHIME_MILLISECOND, CHIME_MILLISECOND)));
  if (place == VIRTUAL) ADVANCE(10 * CHIME_MILLISECOND);
  EXPECT(await(&p->returned, 1));
  EXPECT_EQ(load(&p->ticks), 1);
}

static void start_own_again(csuite *t, probe *p, const chime_tick *tick) {
  stay_until_gate_opens(t, p, tick);
  EXPECT_STATUS(chime_timer_restart(tick->timer, EVERY(0, CHIME_HOUR)), CHIME_RUNNING);
  if (p->number) EXPECT_STATUS(chime_timer_suspend(tick->timer), CHIME_RUNNING);
}

THREAD(open_gate_once_cancelled, probe, p) {
  AWAIT(state_of(t, p->timer) == CHIME_STATE_CANCELLED);
  open_gate(p);
}

/* [7]: as a retry does, or a back-off; also one that is suspended again, and so held up for another thread. */
TESTS_ON_DISPATCH_QUEUES(cancel_and_wait_ends_what_the_handler_starts_again) {
  for (int is_suspended = 0; is_suspended < 2; is_suspended++) {
    probe *p = probe_idle(t, queue, NULL);
    pthread_t thread;
    p->on_tick = start_own_again;
    p->number = is_suspended;
    EXPECT_OK(chime_timer_activate(p->timer, EVERY(0, CHIME_HOUR)));
    REQUIRE(await(&p->flag, 1) && spawn(t, &thread, open_gate_once_cancelled, p));
    EXPECT_OK(chime_timer_cancel_and_wait(p->timer, PATIENCE));
    int ticks = load(&p->ticks);
    EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_CANCELLED);
    EXPECT_STATUS(chime_timer_cancel(p->timer), CHIME_IGNORED);
    let_later_ticks_come(t, queue, 0);
    EXPECT_EQ(load(&p->ticks), ticks);
    pthread_join(thread, NULL);
  }
}

static void fire_own(csuite *t, probe *p, const chime_tick *tick) {
  stay_until_gate_opens(t, p, tick);
  EXPECT_OK(chime_timer_fire(tick->timer));
}

/* [7]: a timer that has finished gives itself an extra tick in each of its handlers. */
TESTS_ON_DISPATCH_QUEUES(cancel_and_wait_takes_back_the_extra_tick_that_the_handler_asks_for) {
  probe *p = probe_idle(t, queue, NULL);
  pthread_t thread;
  p->on_tick = fire_own;
  EXPECT_OK(chime_timer_activate(p->timer, AFTER(0)));
  REQUIRE(await(&p->flag, 1) && spawn(t, &thread, open_gate_soon, p));
  EXPECT(!CHIME_FAILED(chime_timer_cancel_and_wait(p->timer, PATIENCE)));
  int ticks = load(&p->returned);
  EXPECT_STATUS(chime_timer_cancel(p->timer), CHIME_IGNORED);
  let_later_ticks_come(t, queue, 0);
  EXPECT_EQ(load(&p->ticks), ticks);
  pthread_join(thread, NULL);
}

static void release_own_once_started_again(csuite *t, probe *p, const chime_tick *tick) {
  stay_until_gate_opens(t, p, tick);
  if (p->ticks == 1) EXPECT_STATUS(chime_timer_restart(tick->timer, AFTER(0)), CHIME_RUNNING);
  else EXPECT_STATUS(chime_timer_release(tick->timer), CHIME_RUNNING);
}

/* What is left to wait for is the handler. */
TESTS_ON_DISPATCH_QUEUES(cancel_and_wait_ends_beside_a_release_in_the_handler) {
  probe *p = probe_quiet(t, queue, 0, CHIME_HOUR, release_own_once_started_again);
  EXPECT(await(&p->flag, 1));
  open_gate(p);
  if (CHIME_FAILED(chime_timer_cancel_and_wait(p->timer, PATIENCE))) EXPECT(is_stale(p->timer));
  else EXPECT_EQ(load(&p->busy), 0);
}

/* ---- Fairness and extremes -------------------------------------------------------------------------------------- */

static void restart_own_at_once_until_told(csuite *t, probe *p, const chime_tick *tick) {
  if (load(&p->gate) == 0) EXPECT(!CHIME_FAILED(chime_timer_restart(tick->timer, AFTER(0))));
}

TESTS_ON_DISPATCH_QUEUES(a_timer_armed_at_zero_for_ever_starves_nobody) { /* [12] */
  probe *greedy = probe_quiet(t, queue, 0, 0, restart_own_at_once_until_told);
  probe *meek = probe_every_quietly(t, queue, CHIME_MILLISECOND);
  EXPECT(await(&meek->returned, 5) && await(&greedy->ticks, 1));
  open_gate(greedy);
  EXPECT(!CHIME_FAILED(chime_timer_cancel_and_wait(greedy->timer, CHIME_FOREVER)));
}

TESTS_ON_DISPATCH_QUEUES(a_deadline_long_past_is_due_at_once_and_does_not_spin) { /* [17] */
  chime_schedule at_zero = schedule_at(0, CHIME_MILLISECOND); /* of the clock: since then millions were missed */
  probe *p = probe_idle(t, queue, "a");
  int64_t begin = now_of(t, queue);
  EXPECT_OK(chime_timer_activate(p->timer, &at_zero));
  REQUIRE(await(&p->ticks, 3));
  EXPECT(!CHIME_FAILED(chime_timer_cancel_and_wait(p->timer, CHIME_FOREVER)));
  EXPECT_BETWEEN(p->first.missed, begin / CHIME_MILLISECOND, INT64_MAX);
  EXPECT_BETWEEN(load(&p->ticks), 3, (now_of(t, queue) - begin) / CHIME_MILLISECOND + 2);
}

/* [17]: nor does the second call of a timer whose period has no end. */
TESTS_ON_DISPATCH_QUEUES(a_timer_that_never_comes_can_be_ended) {
  probe *never = probe_start(t, queue, "a", EVERY(CHIME_FOREVER, CHIME_FOREVER));
  probe *once = probe_quiet(t, queue, 0, CHIME_FOREVER, NULL);
  EXPECT_EQ(deadline_of(t, never->timer), CHIME_FOREVER);
  EXPECT_EQ(state_of(t, never->timer), CHIME_STATE_RUNNING);
  REQUIRE(await(&once->returned, 1));
  let_later_ticks_come(t, queue, CHIME_MILLISECOND);
  EXPECT_EQ(load(&never->ticks), 0);
  EXPECT_EQ(load(&once->ticks), 1);
  EXPECT_OK(chime_timer_cancel_and_wait(never->timer, CHIME_FOREVER));
  EXPECT_OK(chime_timer_release(never->timer));
}
