/*
 * states.c - the table of chime.h: what each call answers in each state, and the state that follows. (That an ignored call
 * changes nothing else, and calls inside handlers: Model.) Promises 1 and 2.
 */
#include "harness.h"

static chime_status activate(chime_timer_t timer) { return chime_timer_activate(timer, EVERY(5, 5)); }
static chime_status restart(chime_timer_t timer) { return chime_timer_restart(timer, EVERY(5, 5)); }
static chime_status restart_after(chime_timer_t timer) { return chime_timer_restart_after(timer, 5); }
static chime_status restart_until(chime_timer_t timer) { return chime_timer_restart_until(timer, 5); }
static chime_status reschedule(chime_timer_t timer) { return chime_timer_reschedule(timer, EVERY(5, 5)); }
static chime_status postpone(chime_timer_t timer) { return chime_timer_postpone(timer, 30); }
static chime_status postpone_until(chime_timer_t timer) { return chime_timer_postpone_until(timer, 30); }
static chime_status cancel_and_wait(chime_timer_t timer) { return chime_timer_cancel_and_wait(timer, CHIME_FOREVER); }

/* The state that follows, in the order of the states; IGNORED: none does, and that is the answer. */
enum { IDLE, RUNNING, SUSPENDED, FINISHED, CANCELLED, STATES, IGNORED = STATES, GONE };
static const struct {
  chime_status (*call)(chime_timer_t timer);
  int next[STATES];
} rows[] = {
    {activate, {RUNNING, IGNORED, IGNORED, RUNNING, RUNNING}},
    {restart, {RUNNING, RUNNING, RUNNING, RUNNING, RUNNING}},
    {restart_after, {RUNNING, RUNNING, RUNNING, RUNNING, RUNNING}},
    {restart_until, {RUNNING, RUNNING, RUNNING, RUNNING, RUNNING}},
    {reschedule, {IDLE, RUNNING, SUSPENDED, FINISHED, CANCELLED}},
    {chime_timer_suspend, {IGNORED, SUSPENDED, IGNORED, IGNORED, IGNORED}},
    {chime_timer_resume, {IGNORED, IGNORED, RUNNING, IGNORED, IGNORED}},
    {postpone, {IGNORED, RUNNING, SUSPENDED, IGNORED, IGNORED}},
    {postpone_until, {IGNORED, RUNNING, SUSPENDED, IGNORED, IGNORED}},
    {chime_timer_fire, {IDLE, RUNNING, SUSPENDED, FINISHED, IGNORED}},
    {chime_timer_cancel, {IGNORED, CANCELLED, CANCELLED, IGNORED, IGNORED}},
    {cancel_and_wait, {IGNORED, CANCELLED, CANCELLED, IGNORED, IGNORED}},
    {chime_timer_release, {GONE, GONE, GONE, GONE, GONE}},
};

VIRTUAL_TEST(each_call_in_each_state_answers_as_the_table_of_chime_h_says) {
  for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
    for (int state = IDLE; state < STATES; state++) {
      int next = rows[row].next[state];
      probe *p = probe_idle(t, queue, NULL);
      EXPECT_OK(chime_timer_reschedule(p->timer, AFTER(state == FINISHED ? 0 : 10)));
      if (state != IDLE) EXPECT_OK(chime_timer_activate(p->timer, NULL));
      if (state == SUSPENDED) EXPECT_OK(chime_timer_suspend(p->timer));
      if (state == FINISHED) ADVANCE(0);
      if (state == CANCELLED) EXPECT_OK(chime_timer_cancel(p->timer));
      EXPECT_EQ(state_of(t, p->timer), state);
      EXPECT_STATUS(rows[row].call(p->timer), next == IGNORED ? CHIME_IGNORED : CHIME_OK);
      if (next == GONE) EXPECT(is_stale(p->timer));
      else EXPECT_EQ(state_of(t, p->timer), next == IGNORED ? state : next);
    }
  }
}
