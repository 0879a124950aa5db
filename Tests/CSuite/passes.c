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
  int activated[CROWD]; /* the members' numbers, as they were activated */
  int turns;
  int turn_of[CROWD]; /* 1 for the first that started */
  pthread_t thread_of[CROWD];
  grid grids[CROWD];
  int held; /* a function has begun that keeps the queue */
  int gate; /* and may end */
} crowd;

static crowd *crowd_new(csuite *t, chime_queue_t queue, int count, probe_action on_tick) {
  crowd *c = csuite_memory(t, sizeof *c);
  int i;
  c->t = t;
  c->queue = queue;
  c->count = count;
  c->merged = stats_of(t, queue).merged;
  for (i = 0; i < count; i++) {
    probe *p = c->members[i] = probe_idle(t, queue, "a");
    p->quiet = 1;
    p->number = i;
    p->user = c;
    p->on_tick = on_tick;
  }
  return c;
}

/* A crowd that was activated before the first of it is due; machines may be slow. NULL, with the failure recorded. */
static crowd *crowd_in_time(csuite *t, chime_queue_t queue, int count, probe_action on_tick,
                            void (*activate)(crowd *c)) {
  int64_t lead;
  for (lead = 10 * CHIME_MILLISECOND; lead < PATIENCE; lead *= 2) {
    crowd *c = crowd_new(t, queue, count, on_tick);
    int i;
    c->first = now_of(t, queue) + lead;
    activate(c);
    if (now_of(t, queue) < c->first) return c;
    for (i = 0; i < count; i++) chime_timer_cancel_and_wait(c->members[i]->timer, CHIME_FOREVER);
  }
  EXPECT(!"a crowd can be activated in time");
  return NULL;
}

static int await_all(crowd *c) {
  csuite *t = c->t;
  int i;
  for (i = 0; i < c->count; i++) {
    if (!await_finished(t, c->members[i]->timer)) return 0;
  }
  return 1;
}

/* Where a crowd before it was too late, a pass may still count some of that, too: no upper bound holds then. */
static int64_t merged_by(const crowd *c) { return (int64_t)(stats_of(c->t, c->queue).merged - c->merged); }

/* ---- Order ------------------------------------------------------------------------------------------------------ */

/* A tenth of the wheel's own unit lies between two instants, and four of the crowd are due at each. */
enum { INSTANTS = CROWD / 4, DISTANCE = 100 };

static int64_t last_instant(const crowd *c) { return c->first + (INSTANTS - 1) * DISTANCE; }

static void take_a_turn(probe *p, const chime_tick *tick) {
  crowd *c = p->user;
  (void)tick;
  c->thread_of[p->number] = pthread_self();
  c->turn_of[p->number] = add(&c->turns, 1);
}

static void activate_shuffled(crowd *c) {
  csuite *t = c->t;
  dice d = {UINT64_C(300)};
  int i;
  for (i = 0; i < c->count; i++) {
    int other = (int)roll_below(&d, i + 1);
    c->activated[i] = c->activated[other];
    c->activated[other] = i;
  }
  for (i = 0; i < c->count; i++) {
    int number = c->activated[i];
    chime_schedule schedule = schedule_at(c->first + number % INSTANTS * DISTANCE, 0);
    EXPECT_OK(chime_timer_activate(c->members[number]->timer, &schedule));
  }
}

/* The turn that each member has by deadline, then by activation. */
static void expected_turns(const crowd *c, int *turns) {
  int instant, i, turn = 0;
  for (instant = 0; instant < INSTANTS; instant++) {
    for (i = 0; i < c->count; i++) {
      if (c->activated[i] % INSTANTS == instant) turns[c->activated[i]] = ++turn;
    }
  }
}

static void keep_the_queue(void *context) {
  crowd *c = context;
  csuite *t = c->t;
  store(&c->held, 1);
  EXPECT(await(&c->gate, 1));
}

/* [12]: a function keeps the queue until all are due, so that one pass has them. */
static void ticks_due_in_one_pass_start_by_deadline_then_by_activation(csuite *t, where place) {
  int turns[CROWD], i;
  crowd *c;
  QUEUE_OR_RETURN(queue, place);
  c = crowd_new(t, queue, CROWD, take_a_turn);
  EXPECT_OK(chime_queue_async(queue, keep_the_queue, c, NULL));
  REQUIRE(await(&c->held, 1));
  c->first = now_of(t, queue) + CHIME_MILLISECOND;
  activate_shuffled(c);
  while (now_of(t, queue) < last_instant(c)) sleep_ns(CHIME_MILLISECOND);
  EXPECT_EQ(load(&c->turns), 0);
  store(&c->gate, 1);
  if (!await_all(c)) return;
  EXPECT_EQ(merged_by(c), CROWD - 1);
  expected_turns(c, turns);
  for (i = 0; i < CROWD; i++) {
    if (!EXPECT_EQ(c->turn_of[i], turns[i])) return;
  }
}
TEST_ON(ticks_due_in_one_pass_start_by_deadline_then_by_activation, a_serial_queue, SERIAL)
TEST_ON(ticks_due_in_one_pass_start_by_deadline_then_by_activation, a_wrapped_serial_queue, WRAPPED_SERIAL)
TEST_ON(ticks_due_in_one_pass_start_by_deadline_then_by_activation, the_main_queue, MAIN)
TEST_ON(ticks_due_in_one_pass_start_by_deadline_then_by_activation, a_run_loop_queue, RUN_LOOP)
TEST_ON(ticks_due_in_one_pass_start_by_deadline_then_by_activation, a_host_driven_queue, HOST)
TEST_ON(ticks_due_in_one_pass_start_by_deadline_then_by_activation, a_precise_queue, PRECISE)

static int threads_of(const crowd *c) {
  int count = 0, i, j;
  for (i = 0; i < c->count; i++) {
    for (j = 0; j < i && !pthread_equal(c->thread_of[i], c->thread_of[j]); j++) continue;
    count += j == i;
  }
  return count;
}

/*
 * [12]: ticks are handed to a concurrent queue in order, and its threads take them in that order; each thread may then be
 * held up before the handler begins, while others go on. So a tick may start before earlier ones, but not before more
 * of them than the other threads could hold.
 *
 * Nothing that the host does keeps the passes of such a queue, as functions run beside them. But all are activated
 * before the first is due, so that they come in the same order in one pass or in several; and they are due in fewer than
 * ten of the wheel's units, so that there are not more passes.
 */
static void ticks_due_in_one_pass_are_handed_over_in_order(csuite *t, where place) {
  int turns[CROWD], i, threads;
  crowd *c;
  QUEUE_OR_RETURN(queue, place);
  c = crowd_in_time(t, queue, CROWD, take_a_turn, activate_shuffled);
  if (c == NULL || !await_all(c)) return;
  EXPECT(merged_by(c) >= CROWD - 10);
  expected_turns(c, turns);
  threads = threads_of(c);
  for (i = 0; i < CROWD; i++) {
    if (!EXPECT_BETWEEN(c->turn_of[i], turns[i] - (threads - 1), CROWD)) return;
  }
}
TEST_ON(ticks_due_in_one_pass_are_handed_over_in_order, a_concurrent_queue, CONCURRENT)
TEST_ON(ticks_due_in_one_pass_are_handed_over_in_order, a_global_queue, GLOBAL)
TEST_ON(ticks_due_in_one_pass_are_handed_over_in_order, a_wrapped_concurrent_queue, WRAPPED_CONCURRENT)

/* ---- Leeway ----------------------------------------------------------------------------------------------------- */

/*
 * "It moves to the roundest instant of its window": a window that is at least 2^n ns long holds a multiple of 2^n, and
 * moves to one. So all windows together have no more wake-ups than there are such multiples from the beginning of the
 * first to the end of the last. A machine that is slow brings ticks together, never apart.
 */
static int64_t multiples(int64_t unit, int64_t from, int64_t to) { return to / unit - (from - 1) / unit; }

enum { ONE_SHOTS = 40 };
static const int64_t one_shot_distance = CHIME_MILLISECOND / 2, one_shot_leeway = 40 * CHIME_MILLISECOND;

static void activate_one_shots(crowd *c) {
  csuite *t = c->t;
  int i;
  for (i = 0; i < c->count; i++) {
    chime_schedule schedule = schedule_at(c->first + i * one_shot_distance, 0);
    schedule.leeway_ns = one_shot_leeway;
    EXPECT_OK(chime_timer_activate(c->members[i]->timer, &schedule));
  }
}

/* [3] [13] */
TESTS_ON_DISPATCH_QUEUES(one_shots_with_leeway_share_wake_ups) {
  const int64_t unit = INT64_C(1) << 25; /* 34 ms */
  int64_t last;
  crowd *c;
  int i;
  QUEUE_OR_RETURN(queue, place);
  c = crowd_in_time(t, queue, ONE_SHOTS, NULL, activate_one_shots);
  if (c == NULL || !await_all(c)) return;
  for (i = 0; i < ONE_SHOTS; i++) { /* the handler looked that it was not early */
    EXPECT_EQ(c->members[i]->last.scheduled_ns, c->first + i * one_shot_distance);
    EXPECT_EQ(c->members[i]->last.missed, 0);
  }
  last = c->first + (ONE_SHOTS - 1) * one_shot_distance + one_shot_leeway;
  EXPECT(merged_by(c) >= ONE_SHOTS - multiples(unit, c->first, last));
}

enum { REPEATING = 10, PERIODS = 4 };
static const int64_t period = 20 * CHIME_MILLISECOND, period_leeway = 19 * CHIME_MILLISECOND;

static void activate_repeating(crowd *c) {
  csuite *t = c->t;
  int i;
  for (i = 0; i < c->count; i++) {
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
 * [3] [4] [13]: each stays on its own grid, so that a tick which came late does not take the next one along. Twice as many
 * wake-ups: on a concurrent queue a tick may still be under way when the wake-up of the next one comes.
 */
TESTS_ON_DISPATCH_QUEUES(repeating_timers_with_leeway_share_wake_ups_and_keep_their_grids) {
  const int64_t unit = INT64_C(1) << 24; /* 17 ms */
  int64_t last = 0, ticks = 0;
  crowd *c;
  int i;
  QUEUE_OR_RETURN(queue, place);
  c = crowd_in_time(t, queue, REPEATING, check_grid, activate_repeating);
  if (c == NULL || !await_all(c)) return;
  for (i = 0; i < REPEATING; i++) {
    EXPECT_EQ(c->grids[i].due_times, PERIODS);
    ticks += load(&c->members[i]->ticks);
    if (last < c->members[i]->last.actual_ns) last = c->members[i]->last.actual_ns;
  }
  EXPECT(merged_by(c) >= ticks - 2 * multiples(unit, c->first, last));
}
