/*
 * known_timeout.c - the random model and the periods of wahern/timeout.c's test-timeout.c, asked of Chime.
 *
 * The model is an array of what is armed, sorted by deadline, then by order of arming. Beside it runs a virtual queue:
 * timers are armed at deadlines of a range, or after delays, and moved and deleted; time goes on in steps of every size
 * up to a largest, by advance (each tick at its deadline) or by jump (all that became due in one pass). Each tick must
 * be the front of the array, at its own deadline, at the time that the step gives it: so none is early, late, twice, or
 * out of order. After each operation the queue must report exactly the array's front as its next deadline. At the end
 * time jumps to where numbers end.
 *
 * Each model has a seed of its own; CSUITE_SEED gives all of them another one. A failure names seed and step.
 */
#include "harness.h"

enum { MOST_TIMERS = 1000 };

/* Of one model; the names are those of timeout.c's configurations. */
typedef struct range {
  int64_t min_timeout; /* deadlines are drawn from here */
  int64_t max_timeout; /* to here */
  int64_t start_at;    /* the clock begins */
  int64_t end_at;      /* and goes on to here at least, before the end of time */
  int64_t max_step;
  int timers;
  int relative;  /* 1: delays from now instead of deadlines */
  int moving;    /* how many timers are moved, in the mean, in each ten steps */
  int removing;  /* the same for deletions */
  int refilling; /* 1: what has come or was deleted is armed again, for the next steps */
} range;

typedef struct entry {
  int64_t deadline;
  uint64_t order; /* of arming: decides among equal deadlines */
  int timer;
} entry;

typedef struct armed_timer {
  struct model *model;
  chime_timer_t timer;
  int index;
  int ticks; /* since it was armed */
} armed_timer;

typedef struct model {
  csuite *t;
  const range *range;
  chime_queue_t queue;
  uint64_t seed;
  dice dice;
  armed_timer timers[MOST_TIMERS];
  entry entries[MOST_TIMERS]; /* sorted */
  int count;
  uint64_t orders;
  int64_t now;   /* where the step began */
  int64_t until; /* where it ends */
  int jumped;    /* 1: all that is due in this step runs at `until` */
  int step;
  int ticks;
  int failed;
} model;

/* ---- The array -------------------------------------------------------------------------------------------------- */

static int comes_before(const entry *a, const entry *b) {
  return a->deadline != b->deadline ? a->deadline < b->deadline : a->order < b->order;
}

static void array_insert(model *m, int timer, int64_t deadline) {
  entry added;
  int low = 0, high = m->count;
  added.deadline = deadline;
  added.order = ++m->orders;
  added.timer = timer;
  while (low < high) {
    int middle = (low + high) / 2;
    if (comes_before(&m->entries[middle], &added)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  memmove(&m->entries[low + 1], &m->entries[low], (size_t)(m->count - low) * sizeof(entry));
  m->entries[low] = added;
  m->count++;
}

static int array_position(const model *m, int timer) {
  int i;
  for (i = 0; i < m->count; i++) {
    if (m->entries[i].timer == timer) return i;
  }
  return -1;
}

static void array_remove(model *m, int position) {
  m->count--;
  memmove(&m->entries[position], &m->entries[position + 1], (size_t)(m->count - position) * sizeof(entry));
}

/* ---- Comparing -------------------------------------------------------------------------------------------------- */

static int holds(model *m, int condition, int line, const char *what, int64_t actual, int64_t expected) {
  char text[320];
  if (condition) return 1;
  m->failed = 1;
  snprintf(text, sizeof text, "%s: %" PRId64 ", model %" PRId64 "; now %" PRId64 ", step %d of CSUITE_SEED=%" PRIu64,
           what, actual, expected, m->now, m->step, m->seed);
  return csuite_expect(m->t, 0, __FILE__, line, text);
}

static int same(model *m, int line, const char *what, int64_t actual, int64_t expected) {
  return holds(m, actual == expected, line, what, actual, expected);
}

#define SAME(what, actual, expected) same(m, __LINE__, what, (int64_t)(actual), (int64_t)(expected))
#define DONE(what, status) SAME(what, status, CHIME_OK)

/* [3] [12]: the tick is the front of the array, and nothing else. */
static void compare_tick(const chime_tick *tick, void *context) {
  armed_timer *timer = context;
  model *m = timer->model;
  int64_t deadline, actual;
  if (m->failed) return;
  m->ticks++;
  timer->ticks++;
  if (!SAME("a tick, armed timers are left", m->count > 0, 1)) return;
  deadline = m->entries[0].deadline;
  actual = m->jumped ? m->until : deadline;
  if (actual < m->now) actual = m->now;
  SAME("the timer that ticks", timer->index, m->entries[0].timer);
  SAME("its deadline", tick->scheduled_ns, deadline);
  SAME("its time", tick->actual_ns, actual);
  SAME("ticks of it", timer->ticks, 1);
  SAME("the tick's id", tick->timer, timer->timer);
  SAME("missed", tick->missed, 0);
  array_remove(m, 0);
}

/* The reported next deadline is the earliest there is: never beyond it, and, in virtual time, not before. What is
   overdue may be reported as due now. */
static void compare_next_deadline(model *m) {
  int64_t front = m->count > 0 ? m->entries[0].deadline : CHIME_FOREVER, reported = INT64_MIN;
  if (m->failed) return;
  DONE("the next deadline is told", chime_queue_next_deadline(m->queue, &reported));
  if (front > m->now) {
    SAME("the next deadline", reported, front);
  } else {
    holds(m, reported <= m->now, __LINE__, "the next deadline when something is due", reported, front);
  }
}

/* ---- Operations ------------------------------------------------------------------------------------------------- */

/* Of every magnitude up to the range's own, half of the time; else anywhere in it. */
static int64_t any_in(model *m, int64_t low, int64_t high) {
  int64_t span = high - low;
  if (span <= 0) return low;
  if (roll_below(&m->dice, 2) == 0) {
    int64_t part = INT64_C(1) << roll_below(&m->dice, 54);
    if (part < span) span = part;
  }
  return low + roll_below(&m->dice, span) + 1;
}

/* A schedule of a deadline that the model knows: by delay or by deadline. */
static chime_schedule any_schedule(model *m, int64_t *deadline) {
  chime_schedule schedule;
  int64_t drawn = any_in(m, m->range->min_timeout, m->range->max_timeout);
  if (m->range->relative) {
    *deadline = m->now + drawn;
    schedule = schedule_of(drawn, 0);
  } else {
    *deadline = drawn;
    schedule = schedule_at(drawn, 0);
  }
  return schedule;
}

static void arm(model *m, int index) {
  armed_timer *timer = &m->timers[index];
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  int64_t deadline, told = 0;
  chime_schedule schedule = any_schedule(m, &deadline);
  options.handler = compare_tick;
  options.context = timer;
  timer->ticks = 0;
  if (timer->timer == 0) {
    DONE("start", chime_timer_start(m->queue, &options, &schedule, &timer->timer));
  } else {
    DONE("restart", chime_timer_restart(timer->timer, &schedule));
  }
  array_insert(m, index, deadline);
  DONE("the timer's deadline is told", chime_timer_next_deadline(timer->timer, &told));
  SAME("the timer's deadline", told, deadline);
}

/* Where a timer that runs is moved to a deadline that others have, the contract does not say which is first: so it gets
   one of its own. */
static void move(model *m, int index) {
  armed_timer *timer = &m->timers[index];
  int position = array_position(m, index), i;
  int64_t deadline, told = 0;
  chime_schedule schedule = any_schedule(m, &deadline);
  if (position < 0) return;
  for (i = 0; i < m->count; i++) {
    if (m->entries[i].deadline == deadline) return;
  }
  if (roll_below(&m->dice, 2) == 0) {
    DONE("reschedule", chime_timer_reschedule(timer->timer, &schedule));
  } else { /* later, or not at all */
    DONE("postpone", chime_timer_postpone_until(timer->timer, deadline));
    if (deadline < m->entries[position].deadline) deadline = m->entries[position].deadline;
  }
  if (deadline != m->entries[position].deadline) {
    array_remove(m, position);
    array_insert(m, index, deadline);
  }
  DONE("the moved timer's deadline is told", chime_timer_next_deadline(timer->timer, &told));
  SAME("the moved timer's deadline", told, deadline);
}

/* By cancel, so that it can be armed again, or by release, so that its place is another's. */
static void delete_one(model *m, int index) {
  armed_timer *timer = &m->timers[index];
  int position = array_position(m, index);
  if (timer->timer == 0) return;
  if (roll_below(&m->dice, 2) == 0) {
    SAME("cancel", chime_timer_cancel(timer->timer), position >= 0 ? CHIME_OK : CHIME_IGNORED);
  } else {
    DONE("release", chime_timer_release(timer->timer));
    timer->timer = 0;
  }
  if (position >= 0) array_remove(m, position);
}

static void go_to(model *m, int64_t until, int jump) {
  m->until = until;
  m->jumped = jump;
  if (jump) {
    DONE("jump", chime_queue_jump(m->queue, until - m->now));
    m->now = until;
    compare_next_deadline(m);
    if (m->range->removing > 0) delete_one(m, (int)roll_below(&m->dice, m->range->timers)); /* of what is due, too */
    DONE("advance by 0", chime_queue_advance(m->queue, 0));
  } else {
    DONE("advance", chime_queue_advance_to(m->queue, until));
    m->now = until;
  }
  if (m->count > 0) holds(m, m->entries[0].deadline > until, __LINE__, "did not come", m->entries[0].deadline, until);
  compare_next_deadline(m);
}

static int times_in_ten(model *m, int mean) { return mean / 10 + (roll_below(&m->dice, 10) < mean % 10 ? 1 : 0); }

/* ---- A run ------------------------------------------------------------------------------------------------------ */

static uint64_t seed_or(uint64_t seed) {
  const char *text = getenv("CSUITE_SEED");
  uint64_t other = text == NULL ? 0 : strtoull(text, NULL, 10);
  return other == 0 ? seed : other;
}

static void run_model(csuite *t, const range *range, uint64_t seed, int most_steps) {
  model *m = csuite_memory(t, sizeof *m);
  int i, steps = csuite_scaled(most_steps);
  m->t = t;
  m->range = range;
  m->seed = seed_or(seed);
  m->dice.state = m->seed * UINT64_C(0x9E3779B97F4A7C15); /* neighbouring seeds begin far from each other */
  m->now = m->until = range->start_at;
  m->queue = virtual_queue_at(t, range->start_at);
  if (m->queue == 0) return;
  for (i = 0; i < range->timers; i++) {
    m->timers[i].model = m;
    m->timers[i].index = i;
    arm(m, i);
    compare_next_deadline(m);
  }
  go_to(m, m->now, 0); /* what is due at once */
  for (m->step = 1; m->step <= steps && !m->failed; m->step++) {
    int64_t left = range->end_at - m->now;
    int64_t step = any_in(m, 0, range->max_step);
    if (left > 0 && m->step == steps && step < left) step = left; /* to the end of the range */
    if (step > INT64_MAX - 1 - m->now) step = INT64_MAX - 1 - m->now;
    go_to(m, m->now + step, roll_below(&m->dice, 3) == 0);
    for (i = times_in_ten(m, range->removing); i > 0; i--) delete_one(m, (int)roll_below(&m->dice, range->timers));
    for (i = times_in_ten(m, range->moving); i > 0; i--) move(m, (int)roll_below(&m->dice, range->timers));
    compare_next_deadline(m);
    if (range->refilling) {
      i = (int)roll_below(&m->dice, range->timers);
      if (array_position(m, i) < 0) arm(m, i);
      compare_next_deadline(m);
    }
  }
  /* To the end of time: all that is left comes, and then nothing more. */
  if (!m->failed) go_to(m, INT64_MAX - 1, roll_below(&m->dice, 2) == 0);
  if (!m->failed) {
    SAME("timers left at the end of time", m->count, 0);
    SAME("ticks counted", stats_of(t, m->queue).ticks, m->ticks);
    SAME("the next deadline at the end of time", next_deadline(t, m->queue), CHIME_FOREVER);
    DONE("beyond the end", chime_queue_advance(m->queue, CHIME_FOREVER));
  }
  EXPECT(m->ticks > 0);
  chime_queue_shutdown(m->queue, PATIENCE);
}

static void run_models(csuite *t, const range *range, uint64_t seed, int models, int steps) {
  int i;
  for (i = 0; i < models && !csuite_failed(t); i++) run_model(t, range, seed + (uint64_t)i, steps);
}

/* ---- timeout.c's configurations --------------------------------------------------------------------------------- */

#define MODEL(name, seed, models, steps, ...) \
  TEST(name) { \
    static const range drawn_from = {__VA_ARGS__}; \
    run_models(t, &drawn_from, seed, models, steps); \
  }

/* cfg1: deadlines close together, many of them equal. cfg2, cfg2b, cfg2c: the same by delays. */
MODEL(the_model_of_close_deadlines_agrees, 100, 10, 200, 1, 100, 5, 1000, 10, 1000, 0, 0, 0, 0)
MODEL(the_model_of_close_delays_agrees, 200, 5, 400, 20, 1000, 10, 1100, 5, 1000, 1, 0, 0, 0)

/* cfg3: deadlines over 13 days, in steps of two seconds at most; then over what is left. cfg3b: up to 2^53, the largest
   whole number that a double holds. */
MODEL(the_model_of_far_deadlines_agrees, 300, 5, 1000, 2000, INT64_C(1) << 50, 100, INT64_C(1) << 49, INT64_C(1) << 31,
      1000, 0, 0, 0, 0)
MODEL(the_model_of_deadlines_up_to_2_to_the_53_agrees, 350, 5, 1000, INT64_C(1) << 50, INT64_C(1) << 52, 100,
      INT64_C(1) << 53, INT64_C(1) << 48, 1000, 0, 0, 0, 0)

/* cfg4: with deletions. */
MODEL(the_model_with_deletions_agrees, 400, 5, 1500, 2000, INT64_C(1) << 30, 100, INT64_C(1) << 26, 1 << 16, 1000, 0, 0,
      30, 0)

/* Beyond timeout.c: moved too, and armed again, so that arming, deleting and coming go on together; over ranges up to
   2^53 by delays, and over all numbers by deadlines. */
MODEL(the_model_with_moves_and_deletions_up_to_2_to_the_53_agrees, 500, 3, 10000, 0, INT64_C(1) << 53, 12345, 0,
      INT64_C(1) << 49, 200, 1, 20, 10, 1)
MODEL(the_model_with_moves_and_deletions_close_together_agrees, 600, 3, 10000, 0, 5000, 0, 0, 200, 200, 1, 20, 10, 1)
MODEL(the_model_over_all_numbers_agrees, 700, 3, 3000, INT64_MIN / 2, INT64_MAX / 2, 0, 0, INT64_C(1) << 52, 500, 0, 20,
      10, 1)

/* ---- Intervals -------------------------------------------------------------------------------------------------- */

/* check_intervals: repeating timers, time moved from one reported deadline to the next: at each of them somebody is
   due, and at the end each timer has come as often as its interval fits. */
static void check_intervals(csuite *t, const int64_t *intervals, int count, int64_t start_at, int64_t end_at) {
  probe *probes[32];
  int *ticks = csuite_memory(t, sizeof *ticks);
  int i;
  chime_queue_t queue = virtual_queue_at(t, start_at);
  for (i = 0; i < count; i++) {
    probes[i] = probe_every_quietly(t, queue, intervals[i]);
    probes[i]->user = ticks;
    probes[i]->on_tick = count_in_user;
  }
  for (;;) {
    int64_t next = next_deadline(t, queue);
    int before = *ticks, expected = 0;
    if (next > end_at) break;
    for (i = 0; i < count; i++) {
      if ((next - start_at) % intervals[i] == 0) expected++;
    }
    EXPECT(expected > 0);
    ADVANCE_TO(next);
    if (!EXPECT_EQ(*ticks - before, expected)) return;
  }
  ADVANCE_TO(end_at);
  for (i = 0; i < count; i++) {
    EXPECT_EQ(probes[i]->ticks, (end_at - start_at) / intervals[i]);
    EXPECT_EQ(probes[i]->missed, 0);
    EXPECT_EQ(state_of(t, probes[i]->timer), CHIME_STATE_RUNNING);
    EXPECT_EQ((deadline_of(t, probes[i]->timer) - start_at) % intervals[i], 0);
  }
}

TEST(phases_of_primes_meet_when_they_should) {
  static const int64_t primes[] = {2,  3,  5,  7,  11, 13, 17, 19, 23, 29, 31, 37, 41,
                                   43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97};
  check_intervals(t, primes, 25, 50, 5322);
}

/* ---- A queue of 1,024 ns ---------------------------------------------------------------------------------------- */

/* Host-driven queues look at time in units of 1,024 ns: what they report is not before the earliest timer, and at most
   a unit beyond it (on the thread that drives them). Nothing here becomes due. */
TEST(a_host_driven_queue_reports_its_earliest_timer_to_the_unit) {
  enum { COUNT = 300 };
  chime_timer_t timers[COUNT];
  int64_t deadlines[COUNT];
  uint64_t seed = seed_or(800);
  dice d;
  int i, step, steps = csuite_scaled(10000);
  chime_queue_t queue = host_queue(t, CHIME_QUEUE_BOUND);
  probe *p = probe_new(t, queue, "a");
  chime_timer_options options = probe_options(p);
  int64_t base = monotonic_ns() + CHIME_HOUR;
  options.finalizer = NULL;
  d.state = seed * UINT64_C(0x9E3779B97F4A7C15);
  for (i = 0; i < COUNT; i++) {
    EXPECT_OK(chime_timer_create(queue, &options, &timers[i]));
    deadlines[i] = CHIME_FOREVER;
  }
  for (step = 0; step < steps; step++) {
    int64_t earliest = CHIME_FOREVER, reported;
    int64_t deadline = base + roll_below(&d, INT64_C(1) << (1 + roll_below(&d, 53)));
    chime_schedule schedule = schedule_at(deadline, 0);
    i = (int)roll_below(&d, COUNT);
    if (roll_below(&d, 3) == 0) {
      chime_timer_cancel(timers[i]);
      deadlines[i] = CHIME_FOREVER;
    } else if (deadlines[i] != CHIME_FOREVER && roll_below(&d, 2) == 0) {
      EXPECT_OK(chime_timer_postpone_until(timers[i], deadline));
      if (deadline > deadlines[i]) deadlines[i] = deadline;
    } else {
      EXPECT_OK(chime_timer_restart(timers[i], &schedule));
      deadlines[i] = deadline;
    }
    for (i = 0; i < COUNT; i++) {
      if (deadlines[i] < earliest) earliest = deadlines[i];
    }
    reported = next_deadline(t, queue);
    if (step % 97 == 0) EXPECT_EQ(process(t, queue, 0), 0);
    if (reported >= earliest && reported - earliest <= 1024) continue;
    EXPECT_EQ(seed, 0); /* names the seed */
    EXPECT_BETWEEN(reported, earliest, earliest + 1024);
    return;
  }
  EXPECT_EQ(p->ticks, 0);
}
