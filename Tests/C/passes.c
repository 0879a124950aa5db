/*
 * passes.c - what one pass does on each kind of queue with a real clock: the order of the ticks that are due in it
 * (promise 12), and how many of them leeway brings together (promise 13).
 */
#include "harness.h"

/* More than the 256 ticks that a pass takes before the queue's other users have their turn. */
enum { CROWD = 300 };

typedef struct crowd {
  csuite *t;
  chime_queue_t queue;
  int64_t first;   /* deadline of its first tick */
  uint64_t merged; /* before it was activated */
  int count;
  probe *members[CROWD];
  int turns;
  int turn_of[CROWD]; /* 1 for the first that started */
  pthread_t thread_of[CROWD];
  grid grids[CROWD];
} crowd;

/* A crowd that was activated before the first of it is due; machines may be slow. NULL, with the failure recorded. */
static crowd *crowd_in_time(csuite *t, chime_queue_t queue, int count, probe_action on_tick,
                            void (*activate)(crowd *c)) {
  for (int64_t lead = 10 * CHIME_MILLISECOND; lead < PATIENCE; lead *= 2) {
    crowd *c = csuite_memory(t, sizeof *c);
    *c = (crowd){.t = t, .queue = queue, .count = count, .merged = stats_of(t, queue).merged};
    for (int i = 0; i < count; i++) {
      probe *p = c->members[i] = probe_idle(t, queue, NULL);
      p->number = i;
      p->user = c;
      p->on_tick = on_tick;
    }
    c->first = now_of(t, queue) + lead;
    activate(c);
    if (now_of(t, queue) < c->first) return c;
    for (int i = 0; i < count; i++) chime_timer_cancel_and_wait(c->members[i]->timer, CHIME_FOREVER);
  }
  EXPECT(!"a crowd can be activated in time");
  return NULL;
}

static void await_all(crowd *c) {
  for (int i = 0; i < c->count; i++) await_finished(c->t, c->members[i]->timer);
}

/* Where a crowd before it was too late, some of that may count, too: no upper bound holds then. */
static int64_t merged_by(const crowd *c) { return (int64_t)(stats_of(c->t, c->queue).merged - c->merged); }

/* ---- Order ------------------------------------------------------------------------------------------------------ */

/* A tenth of the wheel's own unit lies between two instants, and four of the crowd are due at each. */
enum { INSTANTS = CROWD / 4, DISTANCE = 100 };

static void take_a_turn(csuite *t, probe *p, const chime_tick *tick) {
  crowd *c = p->user;
  c->thread_of[p->number] = pthread_self();
  c->turn_of[p->number] = add(&c->turns, 1);
}

/* Which member is activated after so many: all, shuffled. */
static int activated(int i) { return (i * 77 + 5) % CROWD; }

/* In the order of their numbers first, in which the wheel has them then; what counts is the last activation. */
static void activate_shuffled(crowd *c) {
  csuite *t = c->t;
  for (int i = 0; i < 2 * c->count; i++) {
    int number = i < c->count ? i : activated(i);
    int64_t deadline = c->first + number % INSTANTS * DISTANCE;
    chime_status status = chime_timer_restart(c->members[number]->timer, AT(deadline));
    EXPECT(status == CHIME_OK || status == CHIME_RUNNING); /* of a crowd that is too late, and is not counted */
  }
}

static int threads_of(const crowd *c) {
  int count = 0, j;
  for (int i = 0; i < c->count; i++) {
    for (j = 0; j < i && !pthread_equal(c->thread_of[i], c->thread_of[j]); j++) continue;
    count += j == i;
  }
  return count;
}

/*
 * [12]: all are activated before the first is due, so that they come in the same order in one pass or in several; and
 * they are due in fewer than ten of the wheel's units, so that there are not more passes.
 *
 * A concurrent queue is handed the ticks in order, and its threads take them in that order; each thread may then be
 * held up before the handler begins, while others go on. So a tick may start before earlier ones, but not before more
 * of them than the other threads could hold.
 */
TESTS_ON_DISPATCH_QUEUES(ticks_due_in_one_pass_start_by_deadline_then_by_activation) {
  int turn = 0;
  crowd *c = crowd_in_time(t, queue, CROWD, take_a_turn, activate_shuffled);
  if (c == NULL) return;
  await_all(c);
  EXPECT(merged_by(c) >= CROWD - 10);
  int held_up = runs_side_by_side(place) ? threads_of(c) - 1 : 0;
  for (int instant = 0; instant < INSTANTS; instant++) {
    for (int i = 0; i < CROWD; i++) {
      if (activated(i) % INSTANTS != instant) continue;
      turn++;
      if (!EXPECT_BETWEEN(c->turn_of[activated(i)], turn - held_up, CROWD)) return;
    }
  }
}

static void take_a_number(csuite *t, probe *p, const chime_tick *tick) {
  if (tick->kind == CHIME_TICK_DUE) p->number = add(p->user, 1);
}

/* Of the first of two timers three callbacks are pending, and an extra tick, when both are due. */
static void make_two_due(csuite *t, probe *p, const chime_tick *tick) {
  probe *a = p->other, *b = a->other;
  int64_t now = now_of(t, p->queue);
  EXPECT_OK(chime_timer_activate(a->timer, AFTER(CHIME_HOUR)));
  EXPECT_OK(chime_timer_cancel(a->timer));
  EXPECT_OK(chime_timer_activate(a->timer, AT(now + 1)));
  EXPECT_OK(chime_timer_fire(a->timer));
  EXPECT_OK(chime_timer_activate(b->timer, AT(now + 2)));
  if (p->flag) EXPECT_OK(chime_queue_jump(p->queue, 10));
  while (now_of(t, p->queue) < now + 2) continue;
}

/* [12] A concurrent queue begins with the next tick meanwhile. */
TESTS_ON_ALL_QUEUES(a_tick_is_not_put_off_by_other_callbacks_of_its_timer) {
  int order = 0;
  probe *a = probe_start_full(t, queue, NULL, NULL), *b = probe_idle(t, queue, NULL),
        *both = probe_idle(t, queue, NULL);
  if (runs_side_by_side(place)) return;
  both->other = a;
  a->other = b;
  a->user = b->user = &order;
  a->on_tick = b->on_tick = take_a_number;
  both->on_tick = make_two_due;
  both->flag = place == VIRTUAL;
  EXPECT_OK(chime_timer_activate(both->timer, AFTER(0)));
  run_due(t, queue, place);
  EXPECT(await(&b->returned, 1) && await(&a->returned, 2));
  EXPECT_EQ(load(&a->armed), 1); /* the cancel has dropped the other */
  EXPECT_EQ(load(&a->cancelled), 1);
  EXPECT_EQ(a->number, 1);
  EXPECT_EQ(b->number, 2);
}

/* ---- Leeway ----------------------------------------------------------------------------------------------------- */

/*
 * A timer with a leeway moves to a multiple of the largest of 1, 2, 5, 10, ... ns that is not above it. So all windows together
 * have no more wake-ups than there are such multiples from the beginning of the first to the end of the last. A machine that is slow brings ticks together, never apart.
 */
static int64_t multiples(int64_t unit, int64_t from, int64_t to) { return to / unit - (from - 1) / unit; }

enum { REPEATING = 10, PERIODS = 4 };
static const int64_t period = 20 * CHIME_MILLISECOND, period_leeway = 19 * CHIME_MILLISECOND;

static void activate_repeating(crowd *c) {
  csuite *t = c->t;
  for (int i = 0; i < c->count; i++) {
    chime_schedule schedule = schedule_at(c->first + i * 2 * CHIME_MILLISECOND, period);
    c->grids[i].first_ns = schedule.first_ns;
    c->grids[i].interval_ns = period;
    c->members[i]->user = &c->grids[i];
    schedule.leeway_ns = period_leeway;
    schedule.tick_limit = PERIODS;
    EXPECT_OK(chime_timer_activate(c->members[i]->timer, &schedule));
  }
}

/*
 * [3] [4] [13]: each stays on its own grid, so that a tick which came late does not take the next one along. Twice as
 * many wake-ups: on a concurrent queue a tick may still be under way when the wake-up of the next one comes.
 */
TESTS_ON_DISPATCH_QUEUES(repeating_timers_with_leeway_share_wake_ups_and_keep_their_grids) {
  const int64_t unit = 10 * CHIME_MILLISECOND;
  int64_t last = 0, ticks = 0;
  crowd *c = crowd_in_time(t, queue, REPEATING, check_grid, activate_repeating);
  if (c == NULL) return;
  await_all(c);
  for (int i = 0; i < REPEATING; i++) { /* the handler looked that it was not early */
    EXPECT_EQ(c->grids[i].due_times, PERIODS);
    ticks += load(&c->members[i]->ticks);
    if (last < c->members[i]->last.actual_ns) last = c->members[i]->last.actual_ns;
  }
  EXPECT(merged_by(c) >= ticks - 2 * multiples(unit, c->first, last));
}

/* ---- Timers that have ended ------------------------------------------------------------------------------------- */

/*
 * Whether in one of twenty rounds no pass came after that many calls of `end`, until ticks of another queue did that were
 * due later. A pass that was still under way when the others were counted makes another round necessary.
 */
static void expect_no_later_pass(csuite *t, chime_queue_t queue, void (*end)(probe *p, int round), int64_t delay_ns) {
  chime_queue_t other = csuite_queue(t, SERIAL);
  probe *p = probe_idle(t, queue, NULL);
  uint64_t before = 0, after = 1;
  for (int round = 0; round < 20 && before != after; round++) {
    end(p, round);
    before = stats_of(t, queue).passes;
    let_later_ticks_come(t, other, delay_ns);
    after = stats_of(t, queue).passes;
  }
  EXPECT_EQ(after, before);
}

/* As requests have them, whose timeouts are cancelled. */
static void cancel_a_thousand(probe *p, int round) {
  csuite *t = p->t;
  (void)round;
  for (int i = 0; i < 1000; i++) {
    chime_timer_t timer = 0;
    EXPECT_OK(chime_timer_start(p->queue, &TIMER_OPTIONS(.handler = ignore_tick), AFTER(CHIME_HOUR), &timer));
    EXPECT_OK(chime_timer_cancel(timer));
    EXPECT_OK(chime_timer_release(timer));
  }
}

/* [13] They may cost one pass at the time at which they were due. */
TESTS_ON(timers_that_have_ended_bring_no_pass_before_they_were_due) {
  expect_no_later_pass(t, queue, cancel_a_thousand, 50 * CHIME_MILLISECOND);
}
TEST_ON(timers_that_have_ended_bring_no_pass_before_they_were_due, a_serial_queue, SERIAL)
TEST_ON(timers_that_have_ended_bring_no_pass_before_they_were_due, a_precise_queue, PRECISE)
TEST_ON(timers_that_have_ended_bring_no_pass_before_they_were_due, a_dispatch_queue, DISPATCH)

static void finish_and_fire(probe *p, int round) {
  csuite *t = p->t;
  EXPECT_OK(chime_timer_activate(p->timer, &SCHEDULE(.interval_ns = 100 * CHIME_MILLISECOND, .tick_limit = 1)));
  EXPECT(await(&p->ticks, 2 * round + 1));
  EXPECT(!CHIME_FAILED(chime_timer_fire(p->timer)));
  EXPECT(await(&p->ticks, 2 * round + 2));
}

/* [13] A repeating timer that has finished is due no more, whatever is asked of it. */
TESTS_ON(a_finished_timer_that_is_fired_brings_no_later_pass) {
  expect_no_later_pass(t, queue, finish_and_fire, 150 * CHIME_MILLISECOND);
}
TEST_ON(a_finished_timer_that_is_fired_brings_no_later_pass, a_serial_queue, SERIAL)
TEST_ON(a_finished_timer_that_is_fired_brings_no_later_pass, a_concurrent_queue, CONCURRENT)
TEST_ON(a_finished_timer_that_is_fired_brings_no_later_pass, a_precise_queue, PRECISE)
TEST_ON(a_finished_timer_that_is_fired_brings_no_later_pass, a_dispatch_queue, DISPATCH)
