/*
 * turns.c - what ends with a timer: its turn in a pass, so that one that is made in the slot of a timer that was
 * released does not come before its own. Promises 10 and 12.
 */
#include "harness.h"

/* So many that one of them has the slot, in whatever order slots are given out. */
enum { MADE = 300 };

typedef struct plan {
  chime_queue_t queue;
  chime_tick_kind kind; /* that those made later ask for: FIRED, or ARMED */
  probe *b, *made[MADE];
  int callbacks;
} plan;

/* Of extra ticks that were asked for at one instant, that comes first whose timer was activated first. */
static void activate(csuite *t, probe *p) { EXPECT_OK(chime_timer_activate(p->timer, AFTER(CHIME_HOUR))); }

static void take_a_turn(csuite *t, probe *p, const chime_tick *tick) { p->number = ++((plan *)p->user)->callbacks; }

/* a's callback: b, whose turn is next, goes, and others come. */
static void take_a_turn_and_replace_b(csuite *t, probe *p, const chime_tick *tick) {
  plan *s = p->user;
  take_a_turn(t, p, tick);
  EXPECT_TOOK_EFFECT(chime_timer_release(s->b->timer));
  for (int i = 0; i < MADE; i++) {
    int is_fired = s->kind == CHIME_TICK_FIRED;
    chime_timer_options options = is_fired ? probe_options(s->made[i]) : probe_full_options(s->made[i]);
    EXPECT_OK(chime_timer_create(s->queue, &options, &s->made[i]->timer));
    activate(t, s->made[i]);
    if (is_fired) EXPECT_OK(chime_timer_fire(s->made[i]->timer));
  }
}

/* b has nothing to call last, so that its slot is free at once. */
static void check_turns(csuite *t, chime_queue_t queue, chime_tick_kind kind) {
  enum { A, B, C, BEFORE };
  plan *s = csuite_memory(t, sizeof *s);
  probe *probes[BEFORE + MADE];
  s->kind = kind;
  s->queue = queue;
  for (int i = 0; i < BEFORE + MADE; i++) {
    probe *p = probes[i] = probe_new(t, queue, NULL);
    p->user = s;
    p->on_tick = p->on_armed = i == A ? take_a_turn_and_replace_b : take_a_turn;
    if (i >= BEFORE) s->made[i - BEFORE] = p;
  }
  s->b = probes[B];
  for (int i = A; i < BEFORE; i++) {
    chime_timer_options options = probe_options(probes[i]);
    if (i == B) options.finalizer = NULL;
    REQUIRE_OK(chime_timer_create(queue, &options, &probes[i]->timer));
    activate(t, probes[i]);
  }
  ADVANCE(0);
  for (int i = A; i < BEFORE; i++) EXPECT_OK(chime_timer_fire(probes[i]->timer));
  ADVANCE(0);
  /* Those that were asked for first come first: b's turn, before c's, is nobody's. */
  EXPECT_EQ(probes[B]->number, 0);
  EXPECT_EQ(probes[A]->number, 1);
  for (int i = C; i < BEFORE + MADE; i++) {
    if (!EXPECT_EQ(probes[i]->number, i)) break;
  }
}

VIRTUAL_TEST(an_extra_tick_is_not_early_by_the_turn_of_a_timer_that_went) { /* [10] [12] */
  check_turns(t, queue, CHIME_TICK_FIRED);
}
VIRTUAL_TEST(a_registration_is_not_early_by_the_turn_of_a_timer_that_went) { check_turns(t, queue, CHIME_TICK_ARMED); }
