/*
 * pairs_callbacks.c - the callbacks of a timer on which two calls meet: each checks that it is alone, and not stale.
 */
#include "pairs_meeting.h"

static void enter(meeting *m) {
  csuite *t = m->storm->t;
  EXPECT_EQ(add(&m->busy, 1), 1);    /* [6] */
  EXPECT_EQ(load(&m->finalized), 0); /* [8] */
}

static void leave(meeting *m) { add(&m->busy, -1); }

/* Takes one of the calls that may still come; 0 when there is none. */
static int take(int *left) {
  int value = load(left);
  while (value > 1 && !__atomic_compare_exchange_n(left, &value, value - 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {}
  return value != 1;
}

void pass_time(int turns) {
  volatile int i;
  for (i = 0; i < turns; i++) {}
}

void pair_on_tick(const chime_tick *tick, void *context) {
  meeting *m = context;
  csuite *t = m->storm->t;
  int count;
  enter(m);
  EXPECT(tick->actual_ns >= tick->scheduled_ns); /* [3] */
  EXPECT_EQ(tick->timer, m->timer);
  if (tick->generation == __atomic_load_n(&m->generation, __ATOMIC_ACQUIRE)) EXPECT(take(&m->stale)); /* [7] */
  __atomic_store_n(&m->inside, tick->generation, __ATOMIC_RELEASE);
  count = add(tick->kind == CHIME_TICK_FIRED ? &m->fired : &m->due, 1);
  pass_time(count % 4 * 100);
  __atomic_store_n(&m->inside, 0, __ATOMIC_RELEASE);
  leave(m);
}

void pair_on_armed(const chime_tick *tick, void *context) {
  meeting *m = context;
  (void)tick;
  enter(m);
  add(&m->armed, 1);
  leave(m);
}

void pair_on_cancelled(const chime_tick *tick, void *context) {
  meeting *m = context;
  (void)tick;
  enter(m);
  add(&m->cancelled, 1);
  leave(m);
}

void pair_on_finalize(void *context) {
  meeting *m = context;
  csuite *t = m->storm->t;
  EXPECT_EQ(load(&m->busy), 0);
  add(&m->finalized, 1);
}

void pair_on_destroy(void *object) { add(&((meeting *)object)->destroyed, 1); }

void pair_on_named(const chime_tick *tick, void *context) {
  named *n = context;
  csuite *t = n->meeting->storm->t;
  (void)tick;
  enter(n->meeting);
  EXPECT_EQ(load(&n->finalized), 0);
  EXPECT(take(&n->removed)); /* none after its removal but the one under way */
  pass_time(100);
  leave(n->meeting);
}

void pair_on_named_finalize(void *context) { add(&((named *)context)->finalized, 1); }

/* Of a timer that is made in the place of a released one: nobody knows it, so nothing happens to it. [10] */
void pair_on_next_tick(const chime_tick *tick, void *context) {
  csuite *t = ((meeting *)context)->storm->t;
  (void)tick;
  EXPECT(!"a call on a released timer has reached the next one");
}

void pair_on_next_finalize(void *context) { add(&((meeting *)context)->next_finalized, 1); }
