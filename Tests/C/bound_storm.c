/*
 * bound_storm.c - the thread that a host-driven queue is bound to changes a timer at the moment at which another thread does:
 * neither change is lost. Promises 1 and 2. (All interleavings: Tests/Threads/Interleavings, the pairs of calls.)
 */
#include "harness.h"

#include <sched.h>

typedef struct visit {
  chime_timer_t timer;
  chime_status (*call)(chime_timer_t timer);
  chime_status status;
  int asked, done, is_over; /* rounds; the last: there is none more */
} visit;

static chime_status restart(chime_timer_t timer) { return chime_timer_restart(timer, NULL); }
static chime_status (*const calls[])(chime_timer_t) = {chime_timer_cancel, chime_timer_release, restart,
                                                       chime_timer_suspend};
enum { CALLS = sizeof calls / sizeof calls[0], OF_THE_OWNER = 3, MEETINGS = 20000 };

static void never(const chime_tick *tick, void *context) { (void)tick, (void)context; }

/* Soon enough to meet the other thread, and not for ever on one processor. */
static void await_round(const int *rounds, int round, const int *is_over) {
  for (int tries = 0; load(rounds) != round && !load(is_over); tries++) {
    if (tries > 2000) sched_yield();
  }
}

static void *come(void *argument) {
  visit *v = argument;
  for (int round = 1;; round++) {
    await_round(&v->asked, round, &v->is_over);
    if (load(&v->is_over)) return NULL;
    v->status = v->call(v->timer);
    store(&v->done, round);
  }
}

static uint64_t generation_or_none(chime_timer_t timer) {
  uint64_t generation = 0;
  return chime_timer_generation(timer, &generation) == CHIME_OK ? generation : UINT64_MAX;
}

/* One meeting; the pauses move the two calls against each other. */
static void meet(csuite *t, visit *v, int round) {
  chime_status (*own)(chime_timer_t) = calls[round % OF_THE_OWNER];
  chime_queue_t queue = 0;
  chime_timer_t other = 0;
  EXPECT_OK(chime_queue_create(CHIME_QUEUE_HOST, &QUEUE_OPTIONS(.flags = CHIME_QUEUE_BOUND), &queue));
  EXPECT_OK(chime_timer_after(queue, CHIME_HOUR, never, NULL, NULL, &v->timer));
  uint64_t before = generation_or_none(v->timer);
  v->call = calls[round / OF_THE_OWNER % CALLS];
  store(&v->asked, round);
  for (int pause = round / (OF_THE_OWNER * CALLS) % 200; pause > 0; pause--) load(&v->done);
  chime_status status = own(v->timer);
  EXPECT_OK(chime_timer_after(queue, CHIME_HOUR, never, NULL, NULL, &other));
  EXPECT_OK(chime_timer_cancel(other));
  await_round(&v->done, round, &v->is_over);
  int is_released = generation_or_none(v->timer) == UINT64_MAX;
  int releases =
      (own == chime_timer_release && status == CHIME_OK) + (v->call == chime_timer_release && v->status == CHIME_OK);
  EXPECT_EQ(releases, is_released);
  int changes = (status == CHIME_OK) + (v->status == CHIME_OK);
  if (!is_released) EXPECT_EQ(generation_or_none(v->timer), before + (uint64_t)changes);
  EXPECT_STATUS(chime_timer_cancel(other), CHIME_IGNORED);
  EXPECT_OK(chime_queue_release(queue));
}

TEST(changes_of_the_bound_thread_and_of_another_are_both_made) {
  visit v = {0};
  pthread_t other;
  if (!spawn(t, &other, come, &v)) return;
  for (int round = 1; round <= csuite_scaled(MEETINGS) && !csuite_failed(t); round++) meet(t, &v, round);
  store(&v.is_over, 1);
  pthread_join(other, NULL);
}
