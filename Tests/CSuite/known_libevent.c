/*
 * known_libevent.c - the cases of libevent's regress.c and regress_timer_timeout.c that are about time, asked of Chime.
 *
 * A persistent event is a repeating timer, event_add on a pending event is restart, event_del is cancel, and event_del
 * from another thread, which waits for the callback, is cancel_and_wait. Where Chime has another rule than libevent the
 * comment says so.
 */
#include "harness.h"

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
TEST(a_deletion_by_other_threads_waits_for_the_callback) {
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

/* ---- Time that was read before ---------------------------------------------------------------------------------- */

/* regress_timer_timeout: right after it was set, no timer says that more is left than it was given. */
TEST(what_is_left_is_never_more_than_was_given) {
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
TEST(a_hundred_timers_of_two_durations_keep_their_order) {
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

TEST(many_timers_of_one_duration_share_a_visit_as_few_do) {
  const int few = csuite_scaled(400) + 100;
  timers_of_one_duration_share_a_visit(t, few);
  timers_of_one_duration_share_a_visit(t, 64 * few);
}
