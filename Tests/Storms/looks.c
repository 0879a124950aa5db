/*
 * looks.c - one thread drives a queue, another one asks about its timers all the time, and a third one sets them to the
 * time that they have already: nothing of that may make a pass forget a timer. Promises 1 and 18.
 */
#include "looks.h"

/* ---- Threads beside the driver ----------------------------------------------------------------------------------- */

void look_once(looked *l, dice *d) {
  static const int kinds = 16; /* most of them look at one timer */
  csuite *t = l->t;
  chime_timer_t timer = l->timers[roll_below(d, l->count)];
  chime_timer_info info = CHIME_TIMER_INFO_INIT;
  chime_queue_stats stats = CHIME_QUEUE_STATS_INIT;
  chime_state state = 0;
  uint64_t generation = 0, length = 0;
  int64_t time = 0;
  char text[512];
  switch (roll_below(d, kinds)) {
    case 0: EXPECT_OK(chime_queue_get_stats(l->queue, &stats)); break;
    case 1: EXPECT_OK(chime_queue_dump(l->queue, text, sizeof text, &length)); break;
    case 2: EXPECT_OK(chime_timer_explain(timer, text, sizeof text, &length)); break;
    case 3: EXPECT_OK(chime_timer_generation(timer, &generation)); break;
    case 4: EXPECT_OK(chime_timer_state(timer, &state)); break;
    case 5:
    case 6:
    case 7:
    case 8: EXPECT_OK(chime_timer_next_deadline(timer, &time)); break;
    default: EXPECT_OK(chime_timer_get_info(timer, &info)); break;
  }
}

static void *look(void *argument) {
  looked *l = argument;
  csuite *t = l->t;
  dice d = storm_dice(101);
  int i;
  for (i = 0; load(&l->over) == 0 && !(i % 1024 == 0 && csuite_failed(t)); i = (i + 1) % 1024) look_once(l, &d);
  return NULL;
}

/* Nothing of this moves a deadline, but by a moment that the driver allows for: that of its last round, if the deadline
   was read in that one. A timer that has ended is left as it is. */
static void *move(void *argument) {
  looked *l = argument;
  csuite *t = l->t;
  dice d = storm_dice(102);
  int64_t restarted[LOOKED] = {0};
  int i;
  for (i = 0; load(&l->over) == 0 && !(i % 1024 == 0 && csuite_failed(t)); i = (i + 1) % 1024) {
    int number = (int)roll_below(&d, l->count);
    int64_t deadline = __atomic_load_n(&l->deadlines[number], __ATOMIC_ACQUIRE);
    chime_schedule schedule = schedule_at(deadline, 0);
    switch (roll_below(&d, 4)) {
      case 0: EXPECT(!CHIME_FAILED(chime_timer_postpone_until(l->timers[number], deadline))); break;
      case 1:
        /* Once a round: a timer that were started again and again would keep the driver for ever. */
        if (restarted[number] != deadline) EXPECT_TOOK_EFFECT(chime_timer_restart(l->timers[number], &schedule));
        restarted[number] = deadline;
        break;
      default: EXPECT_TOOK_EFFECT(chime_timer_reschedule(l->timers[number], &schedule)); break;
    }
  }
  return NULL;
}

/* ---- The timers -------------------------------------------------------------------------------------------------- */

static void on_tick(const chime_tick *tick, void *context) {
  struct looked_tick *k = context;
  if (tick->actual_ns != tick->scheduled_ns) add(&k->late, 1);
  add(&k->ticks, 1);
}

looked *looked_new(csuite *t, chime_queue_t queue, uint32_t flags, int count) {
  looked *l = csuite_memory(t, sizeof *l);
  int i;
  l->t = t;
  l->queue = queue;
  l->count = count;
  l->dice = storm_dice(100);
  for (i = 0; i < l->count; i++) {
    chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
    if ((flags & CHIME_QUEUE_RECORDS) == 0) options.handler = on_tick;
    options.context = &l->of[i];
    EXPECT_OK(chime_timer_create(queue, &options, &l->timers[i]));
  }
  return l;
}

void looked_begin(looked *l, int with_moves) {
  l->looks = spawn(l->t, &l->looker, look, l);
  l->moves = with_moves && spawn(l->t, &l->mover, move, l);
}

void looked_end(looked *l) {
  store(&l->over, 1);
  if (l->looks) pthread_join(l->looker, NULL);
  if (l->moves) pthread_join(l->mover, NULL);
}

/** Starts timer `i`, and notes what it has done until then. */
static void start(looked *l, int i, int64_t deadline) {
  csuite *t = l->t;
  chime_schedule schedule = schedule_at(deadline, 0);
  l->before[i] = load(&l->of[i].ticks);
  __atomic_store_n(&l->deadlines[i], deadline, __ATOMIC_RELEASE);
  EXPECT_TOOK_EFFECT(chime_timer_restart(l->timers[i], &schedule));
}

static int has_ticked(const looked *l, int i) { return load(&l->of[i].ticks) != l->before[i]; }

static int count_without_tick(const looked *l) {
  int i, count = 0;
  for (i = 0; i < l->count; i++) count += !has_ticked(l, i);
  return count;
}

static void end_rounds(looked *l, int64_t rounds, int64_t red) {
  csuite *t = l->t;
  storm_rests(0);
  looked_end(l);
  storm_saw("%" PRId64 " of %" PRId64 " rounds are red", red, rounds);
  EXPECT_EQ(red, 0);
}

/* ---- Host-driven ------------------------------------------------------------------------------------------------- */

/* [1] [18] chime_queue_run(queue, 0) ends when no timer runs: so each has ticked by then. */
static void a_bound_host_runs_until_no_timer_runs(csuite *t, int with_moves) {
  int64_t rounds = 0, red = 0;
  chime_queue_t queue = host_queue(t, CHIME_QUEUE_BOUND);
  looked *l;
  REQUIRE(queue != 0);
  l = looked_new(t, queue, 0, LOOKED);
  looked_begin(l, with_moves);
  for (; storm_goes_on(t); rounds++) {
    int64_t now = now_of(t, queue);
    int i;
    for (i = 0; i < l->count; i++) start(l, i, now + roll_below(&l->dice, 60 * CHIME_MICROSECOND));
    storm_waits_for(0, "chime_queue_run");
    EXPECT_OK(chime_queue_run(queue, 0));
    red += count_without_tick(l) > 0;
  }
  end_rounds(l, rounds, red);
}
TEST(chime_queue_run_ends_only_when_no_timer_runs_beside_queries) { a_bound_host_runs_until_no_timer_runs(t, 0); }
TEST(chime_queue_run_ends_only_when_no_timer_runs_beside_queries_and_moves) {
  a_bound_host_runs_until_no_timer_runs(t, 1);
}

/* [18] */
TEST(what_is_due_is_processed_beside_queries) {
  int64_t rounds = 0, red = 0;
  chime_queue_t queue = host_queue(t, 0);
  looked *l;
  REQUIRE(queue != 0);
  l = looked_new(t, queue, 0, LOOKED);
  looked_begin(l, 0);
  for (; storm_goes_on(t); rounds++) {
    int64_t now = now_of(t, queue);
    int i;
    for (i = 0; i < l->count; i++) start(l, i, now);
    storm_waits_for(0, "chime_queue_process");
    EXPECT_OK(chime_queue_process(queue, 0, NULL));
    red += count_without_tick(l) > 0;
  }
  end_rounds(l, rounds, red);
}

/* [18] */
TEST(what_is_due_is_taken_as_records_beside_queries) {
  int64_t rounds = 0, red = 0;
  chime_queue_t queue = host_queue(t, CHIME_QUEUE_RECORDS);
  looked *l;
  REQUIRE(queue != 0);
  l = looked_new(t, queue, CHIME_QUEUE_RECORDS, LOOKED);
  looked_begin(l, 0);
  for (; storm_goes_on(t); rounds++) {
    chime_tick ticks[4 * LOOKED];
    int64_t now = now_of(t, queue);
    uint32_t count = 0, at_end = 0;
    int i;
    for (i = 0; i < l->count; i++) start(l, i, now);
    storm_waits_for(0, "chime_queue_take_ticks");
    EXPECT_OK(chime_queue_take_ticks(queue, ticks, sizeof ticks[0], 4 * LOOKED, &count));
    red += count != LOOKED;
    EXPECT_OK(chime_queue_take_ticks(queue, ticks, sizeof ticks[0], 4 * LOOKED, &at_end)); /* they are over */
  }
  end_rounds(l, rounds, red);
}

/* ---- The next deadline ------------------------------------------------------------------------------------------- */

typedef struct asker {
  looked *l;
  int64_t limit;
  int late;
} asker;

/* On other threads than the driver's it may be early, never late. */
static void *ask_for_the_next_deadline(void *argument) {
  asker *a = argument;
  csuite *t = a->l->t;
  while (load(&a->l->over) == 0) {
    if (next_deadline(t, a->l->queue) > a->limit) add(&a->late, 1);
  }
  return NULL;
}

/* [1] [18] The timer runs all the time, so there is always something to wait for. One timer: others would hide it. */
static void the_next_deadline_is_never_late(csuite *t, where place, int is_asked_by_others) {
  int64_t rounds = 0, red = 0, base;
  chime_queue_t queue = place == HOST ? host_queue(t, 0) : csuite_queue(t, place);
  looked *l;
  asker *a = csuite_memory(t, sizeof *a);
  pthread_t thread;
  int asks;
  REQUIRE(queue != 0);
  l = looked_new(t, queue, 0, 1);
  base = now_of(t, queue) + CHIME_HOUR;
  start(l, 0, base);
  a->l = l;
  a->limit = base + CHIME_HOUR + 1024;
  looked_begin(l, is_asked_by_others);
  asks = is_asked_by_others && spawn(t, &thread, ask_for_the_next_deadline, a);
  for (; storm_goes_on(t); rounds++) {
    storm_waits_for(0, "a call of the driver");
    if (!is_asked_by_others) { /* anew, so that it is in no wheel */
      EXPECT_OK(chime_timer_cancel(l->timers[0]));
      next_deadline(t, queue);
    }
    start(l, 0, base + roll_below(&l->dice, CHIME_HOUR));
    if (rounds % 2 == 0) EXPECT_OK(place == HOST ? chime_queue_process(queue, 0, NULL) : chime_queue_advance(queue, 0));
    red += next_deadline(t, queue) > a->limit;
  }
  store(&l->over, 1);
  if (asks) pthread_join(thread, NULL);
  end_rounds(l, rounds, red);
  if (is_asked_by_others) storm_saw("%d answers are late", load(&a->late));
  EXPECT_EQ(load(&a->late), 0);
}
#define NEXT_DEADLINE_ON(name, place) \
  TEST(the_next_deadline_is_never_late_beside_queries_on_a_##name) { the_next_deadline_is_never_late(t, place, 0); } \
  TEST(the_next_deadline_is_never_late_to_other_threads_on_a_##name) { the_next_deadline_is_never_late(t, place, 1); }
NEXT_DEADLINE_ON(host_driven_queue, HOST)
NEXT_DEADLINE_ON(virtual_queue, VIRTUAL)

/* ---- Virtual ----------------------------------------------------------------------------------------------------- */

/* [1] [18] An advance beyond the deadlines has called the handlers, and each at its deadline. */
static void an_advance_leaves_no_tick_behind(csuite *t, int with_moves) {
  int64_t rounds = 0, red = 0, late = 0;
  looked *l;
  int i;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  l = looked_new(t, queue, 0, LOOKED);
  looked_begin(l, with_moves);
  for (; storm_goes_on(t); rounds++) {
    int64_t now = now_of(t, queue);
    for (i = 0; i < l->count; i++) start(l, i, now + 1 + roll_below(&l->dice, 5000));
    storm_waits_for(0, "chime_queue_advance");
    EXPECT_OK(chime_queue_advance(queue, 5000));
    red += count_without_tick(l) > 0;
  }
  /* A mover that was held up sets a timer to the time of a round before, which is over. */
  for (i = 0; i < l->count && !with_moves; i++) late += load(&l->of[i].late);
  end_rounds(l, rounds, red);
  storm_saw("%" PRId64 " of %" PRId64 " rounds are red, %" PRId64 " ticks late", red, rounds, late);
  EXPECT_EQ(late, 0);
}
TEST(an_advance_leaves_no_tick_behind_beside_queries) { an_advance_leaves_no_tick_behind(t, 0); }
TEST(an_advance_leaves_no_tick_behind_beside_queries_and_moves) { an_advance_leaves_no_tick_behind(t, 1); }

/* ---- Every kind of queue that drives itself ---------------------------------------------------------------------- */

/* [1] [18] */
TESTS_ON_DISPATCH_QUEUES(each_tick_comes_beside_queries_and_moves) {
  int64_t rounds = 0;
  looked *l;
  int i;
  QUEUE_OR_RETURN(queue, place);
  l = looked_new(t, queue, 0, LOOKED);
  looked_begin(l, 1);
  for (; storm_goes_on(t); rounds++) {
    int64_t now = now_of(t, queue);
    for (i = 0; i < l->count; i++) start(l, i, now + roll_below(&l->dice, 200 * CHIME_MICROSECOND));
    storm_waits_for(0, "the wait for a tick");
    for (i = 0; i < l->count; i++) {
      while (!has_ticked(l, i)) sleep_ns(20 * CHIME_MICROSECOND);
    }
  }
  end_rounds(l, rounds, 0);
}
