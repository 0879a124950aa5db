/*
 * turns.c - what a pass has planned for a timer ends with that timer: one that is made in the slot of a timer that was
 * released does not come before its own turn. Promises 10 and 12.
 */
#include "harness.h"

/* So many that one of them has the slot, in whatever order slots are given out. */
enum { MADE = 300 };

typedef struct plan {
  csuite *t;
  chime_queue_t queue;
  chime_tick_kind kind; /* that those made later ask for: FIRED, or ARMED */
  probe *a, *b, *c, *made[MADE];
  int callbacks;
} plan;

/* Of extra ticks that were asked for at one instant, that comes first whose timer was activated first. */
static void activate(csuite *t, probe *p) {
  chime_schedule in_an_hour = schedule_of(CHIME_HOUR, 0);
  EXPECT_OK(chime_timer_activate(p->timer, &in_an_hour));
}

static void take_a_turn(probe *p, const chime_tick *tick) {
  (void)tick;
  p->number = ++((plan *)p->user)->callbacks;
}

/* a's callback: b, whose turn is next, goes, and others come. */
static void take_a_turn_and_replace_b(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  plan *s = p->user;
  int i;
  take_a_turn(p, tick);
  EXPECT_TOOK_EFFECT(chime_timer_release(s->b->timer));
  for (i = 0; i < MADE; i++) {
    int is_fired = s->kind == CHIME_TICK_FIRED;
    chime_timer_options options = is_fired ? probe_options(s->made[i]) : probe_full_options(s->made[i]);
    EXPECT_OK(chime_timer_create(s->queue, &options, &s->made[i]->timer));
    activate(t, s->made[i]);
    if (is_fired) EXPECT_OK(chime_timer_fire(s->made[i]->timer));
  }
}

static probe *planned(plan *s, probe_action action) {
  probe *p = probe_new(s->t, s->queue, "a");
  p->quiet = 1;
  p->user = s;
  p->on_tick = p->on_armed = action;
  return p;
}

static void run_passes(csuite *t, chime_queue_t queue, where place) {
  int i;
  for (i = 0; i < 3; i++) {
    EXPECT_OK(place == VIRTUAL ? chime_queue_advance(queue, 0) : chime_queue_process(queue, 0, NULL));
  }
}

/* b has nothing to call last, so that its slot is free at once. */
static void check_turns(csuite *t, where place, chime_tick_kind kind) {
  plan *s = csuite_memory(t, sizeof *s);
  chime_timer_options options;
  int i;
  s->t = t;
  s->kind = kind;
  s->queue = place == HOST ? host_queue(t, 0) : csuite_queue(t, place);
  REQUIRE(s->queue != 0);
  s->a = planned(s, take_a_turn_and_replace_b);
  s->b = planned(s, take_a_turn);
  s->c = planned(s, take_a_turn);
  for (i = 0; i < MADE; i++) s->made[i] = planned(s, take_a_turn);
  for (i = 0; i < 3; i++) {
    probe *p = i == 0 ? s->a : i == 1 ? s->b : s->c;
    options = probe_options(p);
    if (p == s->b) options.finalizer = NULL;
    REQUIRE_OK(chime_timer_create(s->queue, &options, &p->timer));
    activate(t, p);
  }
  run_passes(t, s->queue, place);
  EXPECT_OK(chime_timer_fire(s->a->timer));
  EXPECT_OK(chime_timer_fire(s->b->timer));
  EXPECT_OK(chime_timer_fire(s->c->timer));
  run_passes(t, s->queue, place);
  EXPECT_EQ(s->b->number, 0);
  /* Those that were asked for first come first: b's turn, before c's, is nobody's. */
  EXPECT_EQ(s->a->number, 1);
  EXPECT_EQ(s->c->number, 2);
  for (i = 0; i < MADE; i++) {
    if (!EXPECT_EQ(s->made[i]->number, 3 + i)) break;
  }
}

/* [10] [12] */
TEST(an_extra_tick_is_not_early_by_the_turn_of_a_timer_that_went_on_a_virtual_queue) {
  check_turns(t, VIRTUAL, CHIME_TICK_FIRED);
}
TEST(an_extra_tick_is_not_early_by_the_turn_of_a_timer_that_went_on_a_host_driven_queue) {
  check_turns(t, HOST, CHIME_TICK_FIRED);
}
TEST(a_registration_is_not_early_by_the_turn_of_a_timer_that_went_on_a_virtual_queue) {
  check_turns(t, VIRTUAL, CHIME_TICK_ARMED);
}
TEST(a_registration_is_not_early_by_the_turn_of_a_timer_that_went_on_a_host_driven_queue) {
  check_turns(t, HOST, CHIME_TICK_ARMED);
}

static void fire_own_again(probe *p, const chime_tick *tick) {
  if (tick->sequence == 1) p->status = chime_timer_fire(tick->timer);
}

/* [12]: a release outside a pass calls back, but is no pass for the others; nor is a look at them. Their order stays. */
TEST(a_release_between_fire_and_advance_changes_no_order) {
  chime_schedule schedule = schedule_of(9, 0);
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *other = probe_start_full(t, queue, "o", &schedule);
  probe *a = probe_start(t, queue, "a", &schedule);
  probe *b = probe_start(t, queue, "b", &schedule);
  a->on_tick = fire_own_again;
  ADVANCE(1);
  EXPECT_LOG("o^");
  EXPECT_OK(chime_timer_fire(a->timer));
  EXPECT_OK(chime_timer_fire(b->timer));
  EXPECT_OK(chime_timer_release(other->timer));
  info_of(t, a->timer);
  info_of(t, b->timer);
  ADVANCE(0);
  EXPECT_LOG("o- o. a1!1 b1!1 a2!1");
}
