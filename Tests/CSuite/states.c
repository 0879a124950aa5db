/*
 * states.c - the table of chime.h, cell by cell, on a virtual and on a serial queue: the status, the state that
 * follows, the generation, and that an ignored call changes nothing. Promises 1 and 2.
 */
#include "harness.h"

typedef enum event {
  ACTIVATE,
  RESTART,
  SUSPEND,
  RESUME,
  RESCHEDULE,
  POSTPONE,
  POSTPONE_UNTIL,
  FIRE,
  CANCEL,
  CANCEL_AND_WAIT,
  RELEASE
} event;
enum { EVENTS = RELEASE + 1 };

static const char *const event_names[EVENTS] = {
    "activate",       "restart", "suspend", "resume",          "reschedule", "postpone",
    "postpone_until", "fire",    "cancel",  "cancel_and_wait", "release",
};

/* What follows: a state, or one of these. */
enum { IGNORED = -1, EXTRA_TICK = -2, STALE = -3 };

#define RUN CHIME_STATE_RUNNING
#define SUS CHIME_STATE_SUSPENDED
#define CAN CHIME_STATE_CANCELLED
static const int table[5][EVENTS] = {
    /* activate, restart, suspend, resume, reschedule, postpone, postpone_until, fire, cancel, cancel_and_wait, release */
    [CHIME_STATE_IDLE] = {RUN, RUN, IGNORED, IGNORED, CHIME_STATE_IDLE, IGNORED, IGNORED, EXTRA_TICK, IGNORED, IGNORED,
                          STALE},
    [CHIME_STATE_RUNNING] = {IGNORED, RUN, SUS, IGNORED, RUN, RUN, RUN, EXTRA_TICK, CAN, CAN, STALE},
    [CHIME_STATE_SUSPENDED] = {IGNORED, RUN, IGNORED, RUN, SUS, SUS, SUS, EXTRA_TICK, CAN, CAN, STALE},
    [CHIME_STATE_FINISHED] = {RUN, RUN, IGNORED, IGNORED, CHIME_STATE_FINISHED, IGNORED, IGNORED, EXTRA_TICK, IGNORED,
                              IGNORED, STALE},
    [CHIME_STATE_CANCELLED] = {RUN, RUN, IGNORED, IGNORED, CAN, IGNORED, IGNORED, IGNORED, IGNORED, IGNORED, STALE},
};

static void run_what_is_due(csuite *t, chime_queue_t queue, where place, probe *p, int ticks) {
  if (place == VIRTUAL) EXPECT_OK(chime_queue_advance(queue, 0));
  EXPECT(await(&p->ticks, ticks));
  come_to_rest(t, p->timer);
}

static probe *timer_in_state(csuite *t, chime_queue_t queue, where place, chime_state state) {
  chime_schedule in_an_hour = schedule_of(CHIME_HOUR, CHIME_HOUR);
  chime_schedule at_once = schedule_of(0, 0);
  probe *p = probe_idle(t, queue, "a");
  p->quiet = 1;
  if (state == CHIME_STATE_FINISHED) {
    EXPECT_OK(chime_timer_activate(p->timer, &at_once));
    run_what_is_due(t, queue, place, p, 1);
  } else if (state != CHIME_STATE_IDLE) {
    EXPECT_OK(chime_timer_activate(p->timer, &in_an_hour));
    if (state == CHIME_STATE_SUSPENDED) EXPECT_OK(chime_timer_suspend(p->timer));
    if (state == CHIME_STATE_CANCELLED) EXPECT_OK(chime_timer_cancel(p->timer));
  }
  EXPECT_EQ(state_of(t, p->timer), state);
  return p;
}

static chime_status do_event(probe *p, event e) {
  chime_schedule schedule = schedule_of(2 * CHIME_HOUR, CHIME_HOUR);
  switch (e) {
    case ACTIVATE: return chime_timer_activate(p->timer, &schedule);
    case RESTART: return chime_timer_restart(p->timer, &schedule);
    case SUSPEND: return chime_timer_suspend(p->timer);
    case RESUME: return chime_timer_resume(p->timer);
    case RESCHEDULE: return chime_timer_reschedule(p->timer, &schedule);
    case POSTPONE: return chime_timer_postpone(p->timer, 3 * CHIME_HOUR);
    case POSTPONE_UNTIL: return chime_timer_postpone_until(p->timer, INT64_MAX / 2);
    case FIRE: return chime_timer_fire(p->timer);
    case CANCEL: return chime_timer_cancel(p->timer);
    case CANCEL_AND_WAIT: return chime_timer_cancel_and_wait(p->timer, CHIME_FOREVER);
    case RELEASE: return chime_timer_release(p->timer);
  }
  return INT32_MIN;
}

/* "changes with every accepted activate, restart, reschedule, suspend and cancel" */
static int changes_the_generation(event e) {
  return e == ACTIVATE || e == RESTART || e == RESCHEDULE || e == SUSPEND || e == CANCEL || e == CANCEL_AND_WAIT;
}

static void check_cell(csuite *t, chime_queue_t queue, where place, chime_state state, event e) {
  probe *p = timer_in_state(t, queue, place, state);
  chime_timer_info before = info_of(t, p->timer), after;
  int ticks = load(&p->ticks);
  int expected = table[state][e];
  chime_status status = do_event(p, e);
  csuite_expect_status(t, status, expected == IGNORED ? CHIME_IGNORED : CHIME_OK, __FILE__, __LINE__, event_names[e]);
  if (expected == STALE) {
    EXPECT(is_stale(p->timer));
    return;
  }
  after = info_of(t, p->timer);
  if (expected == IGNORED) {
    csuite_expect(t, memcmp(&before, &after, sizeof before) == 0, __FILE__, __LINE__, event_names[e]);
    EXPECT_OK(chime_timer_check_generation(p->timer, before.generation));
  } else if (expected == EXTRA_TICK) {
    csuite_expect_equal(t, after.state, state, __FILE__, __LINE__, event_names[e]);
    run_what_is_due(t, queue, place, p, ticks + 1);
    EXPECT_EQ(load(&p->ticks), ticks + 1);
    EXPECT_EQ(p->last.kind, CHIME_TICK_FIRED);
    EXPECT_EQ(state_of(t, p->timer), state);
  } else {
    csuite_expect_equal(t, after.state, expected, __FILE__, __LINE__, event_names[e]);
    if (changes_the_generation(e)) {
      csuite_expect(t, before.generation != after.generation, __FILE__, __LINE__, event_names[e]);
      EXPECT_STATUS(chime_timer_check_generation(p->timer, before.generation), CHIME_IGNORED);
    }
    EXPECT_OK(chime_timer_check_generation(p->timer, after.generation));
    if (after.state == CHIME_STATE_RUNNING) {
      EXPECT(after.next_deadline_ns >= CHIME_HOUR);
      EXPECT(after.next_deadline_ns != CHIME_FOREVER);
    } else {
      EXPECT_EQ(after.next_deadline_ns, CHIME_FOREVER);
    }
    EXPECT_EQ(load(&p->ticks), ticks);
  }
  EXPECT_OK(chime_timer_release(p->timer));
}

static void check_row(csuite *t, where place, chime_state state) {
  int e;
  QUEUE_OR_RETURN(queue, place);
  for (e = ACTIVATE; e < EVENTS; e++) check_cell(t, queue, place, state, (event)e);
}

TESTS_ON_VIRTUAL_SERIAL_AND_MAIN(the_row_of_idle) { check_row(t, place, CHIME_STATE_IDLE); }
TESTS_ON_VIRTUAL_SERIAL_AND_MAIN(the_row_of_running) { check_row(t, place, CHIME_STATE_RUNNING); }
TESTS_ON_VIRTUAL_SERIAL_AND_MAIN(the_row_of_suspended) { check_row(t, place, CHIME_STATE_SUSPENDED); }
TESTS_ON_VIRTUAL_SERIAL_AND_MAIN(the_row_of_finished) { check_row(t, place, CHIME_STATE_FINISHED); }
TESTS_ON_VIRTUAL_SERIAL_AND_MAIN(the_row_of_cancelled) { check_row(t, place, CHIME_STATE_CANCELLED); }

/* ---- The column of the last tick -------------------------------------------------------------------------------- */

static void note_own_state(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  p->number = p->number * 10 + state_of(t, tick->timer);
  EXPECT_OK(chime_timer_check_generation(tick->timer, tick->generation));
}

TESTS_ON_VIRTUAL_AND_SERIAL(the_last_tick_finishes_before_its_handler_starts) {
  chime_schedule schedule = schedule_of(0, CHIME_MILLISECOND);
  QUEUE_OR_RETURN(queue, place);
  probe *p = probe_idle(t, queue, "a");
  p->on_tick = note_own_state;
  schedule.tick_limit = 3;
  schedule.missed_policy = CHIME_MISSED_DELAY; /* nothing is missed: three ticks */
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  if (place == VIRTUAL) EXPECT_OK(chime_queue_advance(queue, CHIME_SECOND));
  EXPECT(await(&p->ticks, 3));
  come_to_rest(t, p->timer);
  EXPECT_EQ(p->number, CHIME_STATE_RUNNING * 100 + CHIME_STATE_RUNNING * 10 + CHIME_STATE_FINISHED);
  EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_FINISHED);
}

TESTS_ON_VIRTUAL_AND_SERIAL(a_one_shot_is_finished_in_its_handler) {
  QUEUE_OR_RETURN(queue, place);
  probe *p = probe_quiet(t, queue, 0, 0, note_own_state);
  run_what_is_due(t, queue, place, p, 1);
  EXPECT_EQ(p->number, CHIME_STATE_FINISHED);
}

/* ---- The same calls inside the timer's own handler: what took effect answers RUNNING --------------------------- */

static void call_everything_in_the_own_handler(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  chime_schedule schedule = schedule_of(CHIME_HOUR, CHIME_HOUR);
  chime_timer_t timer = tick->timer;
  EXPECT_EQ(info_of(t, timer).busy, 1);
  EXPECT_EQ(state_of(t, timer), CHIME_STATE_RUNNING);
  EXPECT_STATUS(chime_timer_activate(timer, &schedule), CHIME_IGNORED);
  EXPECT_STATUS(chime_timer_resume(timer), CHIME_IGNORED);
  EXPECT_STATUS(chime_timer_suspend(timer), CHIME_RUNNING);
  EXPECT_EQ(state_of(t, timer), CHIME_STATE_SUSPENDED);
  EXPECT_STATUS(chime_timer_suspend(timer), CHIME_IGNORED);
  EXPECT_OK(chime_timer_resume(timer));
  EXPECT_EQ(state_of(t, timer), CHIME_STATE_RUNNING);
  EXPECT_STATUS(chime_timer_reschedule(timer, &schedule), CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_restart(timer, NULL), CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_cancel(timer), CHIME_RUNNING);
  EXPECT_EQ(state_of(t, timer), CHIME_STATE_CANCELLED);
  EXPECT_STATUS(chime_timer_cancel(timer), CHIME_IGNORED);
  EXPECT_STATUS(chime_timer_fire(timer), CHIME_IGNORED);
  EXPECT_STATUS(chime_timer_postpone(timer, 1), CHIME_IGNORED);
  EXPECT_STATUS(chime_timer_activate(timer, NULL), CHIME_OK);
  EXPECT_EQ(state_of(t, timer), CHIME_STATE_RUNNING);
  EXPECT_STATUS(chime_timer_cancel_and_wait(timer, CHIME_FOREVER), CHIME_ERROR_WOULD_DEADLOCK);
  EXPECT_EQ(state_of(t, timer), CHIME_STATE_CANCELLED);
  EXPECT_STATUS(chime_timer_cancel_and_wait(timer, CHIME_FOREVER), CHIME_ERROR_WOULD_DEADLOCK);
  EXPECT_STATUS(chime_timer_restart(timer, NULL), CHIME_RUNNING);
  EXPECT_EQ(info_of(t, timer).busy, 1);
  EXPECT_STATUS(chime_timer_release(timer), CHIME_RUNNING);
  EXPECT(is_stale(timer));
}

TESTS_ON_VIRTUAL_SERIAL_AND_MAIN(every_call_in_the_own_handler_answers) {
  QUEUE_OR_RETURN(queue, place);
  probe *p = probe_quiet(t, queue, 0, CHIME_HOUR, call_everything_in_the_own_handler);
  if (place == VIRTUAL) EXPECT_OK(chime_queue_advance(queue, 0));
  EXPECT(await(&p->finalized, 1));
  EXPECT_EQ(load(&p->ticks), 1);
}
TEST_ON(every_call_in_the_own_handler_answers, a_concurrent_queue, CONCURRENT)
