/*
 * storm.c - eight threads and the handlers themselves make random calls (storm.h) on one queue, beside queues that come and
 * go. Promises 1, 3, 6 to 11 and 14. (Each call beside the end of its queue: Tests/Interleavings.)
 */
#include "storm.h"

enum {
  THREADS = 8,
  DRIVERS = 3 /* of a virtual or host-driven queue */,
  CALLS = 160000 /* on each kind of queue */
};

int storm_lists(storm *s, chime_status status, uint32_t listed, const char *call) {
  if (status >= -16 && status < 16 && (UINT32_C(1) << (status + 16) & listed) != 0) return 1;
  return csuite_expect_status(s->t, status, CHIME_OK, __FILE__, __LINE__, call);
}

void storm_call(storm *s, dice *d, int inside) {
  int64_t number = roll_below(d, 16);
  if (number < 9) storm_call_timer(s, d, inside);
  else if (number < 10) storm_call_nothing(s, d);
  else if (number < 12) storm_call_target(s, d);
  else if (number < 15) storm_call_value(s, d);
  else storm_call_queue(s, d, inside);
}

/* ---- A timer that one thread has for itself ---------------------------------------------------------------------- */

/*
 * In the midst of the storm, no call of another thread reaches it, also not one with the id of a timer that had its slot
 * before; and each call says what it does to its handlers.
 */
enum { OWN_KEYS = 4 };

typedef struct caller {
  storm *storm;
  dice d;
  entry *timer;           /* NULL: none yet */
  uint64_t generation;    /* since its last call */
  entry *named[OWN_KEYS]; /* its named handlers */
} caller;

static void make_private(caller *c) {
  storm *s = c->storm;
  csuite *t = s->t;
  entry *e = storm_entry(s, NULL);
  chime_timer_options options = TIMER_OPTIONS(.handler = storm_on_tick, .context = e, .finalizer = storm_finalize);
  c->timer = NULL;
  memset(c->named, 0, sizeof c->named);
  if (e == NULL) return;
  e->is_private = 1;
  chime_schedule schedule = schedule_of(0, (20 + roll_below(&c->d, 80)) * storm_unit(s));
  if (roll_below(&c->d, 2) == 0) schedule.jitter_ns = roll_below(&c->d, schedule.interval_ns);
  chime_status status = chime_timer_start(s->queue, &options, &schedule, &e->id);
  LISTED(status, MAY(OK));
  if (!storm_accepts(e, status)) return;
  c->timer = e;
  c->generation = generation_of(t, e->id);
}

static void release_private(caller *c) {
  storm *s = c->storm;
  if (c->timer == NULL) return;
  chime_status status = chime_timer_release(c->timer->id);
  LISTED(status, MAY(OK) | MAY(RUNNING));
  storm_stops(c->timer, status);
  storm_remember(s, c->timer->id, &c->d);
  c->timer = NULL;
}

/* Adds, replaces or removes a named handler. */
static void change_handlers(caller *c) {
  static const char *const keys[OWN_KEYS] = {"a", "b", "c", "d"};
  storm *s = c->storm;
  int64_t k = roll_below(&c->d, OWN_KEYS);
  entry *before = c->named[k], *after = roll_below(&c->d, 3) == 0 ? NULL : storm_entry(s, NULL);
  uint32_t listed = (before != NULL ? MAY(OK) | MAY(RUNNING) : 0);
  chime_status status;
  if (after == NULL) {
    status = chime_timer_remove_handler(c->timer->id, keys[k]);
    LISTED(status, listed | (before == NULL ? MAY(IGNORED) : 0));
  } else {
    status = chime_timer_add_handler(c->timer->id, keys[k], storm_on_named, after, storm_finalize);
    LISTED(status, listed | MAY(OK));
    storm_accepts(after, status);
  }
  if (before != NULL) storm_stops(before, status);
  c->named[k] = after;
}

/* Between the two no tick starts. */
static void suspend_and_resume(caller *c) {
  storm *s = c->storm;
  chime_status status = chime_timer_suspend(c->timer->id);
  LISTED(status, MAY(OK) | MAY(RUNNING));
  storm_stops(c->timer, status);
  LISTED(chime_timer_cancel(s->queue), STALE); /* an id of another kind */
  store(&c->timer->left, 0);
  LISTED(chime_timer_resume(c->timer->id), MAY(OK));
  chime_timer_generation(c->timer->id, &c->generation);
}

/* Checks that nobody else's call has reached the timer, and makes one that it knows the answer of. */
static void call_private(caller *c) {
  storm *s = c->storm;
  csuite *t = s->t;
  if (c->timer == NULL) make_private(c);
  if (c->timer == NULL) return;
  /* [10] */
  EXPECT_EQ(state_of(t, c->timer->id), CHIME_STATE_RUNNING);
  EXPECT_OK(chime_timer_check_generation(c->timer->id, c->generation));
  EXPECT(deadline_of(t, c->timer->id) < now_of(t, s->queue) + CHIME_SECOND);
  switch (roll_below(&c->d, 8)) {
    case 0: release_private(c); break;
    case 1: suspend_and_resume(c); break;
    case 2: LISTED(chime_timer_fire(c->timer->id), MAY(OK)); break;
    default: change_handlers(c); break;
  }
}

/* ---- The threads ------------------------------------------------------------------------------------------------- */

/* Each kind of callback has come. */
static int has_seen_all(const storm *s) {
  return load(&s->ticks) > 0 && load(&s->named_calls) > 0 && load(&s->expiries) > 0 && load(&s->acquired) > 0;
}

static void call_once(caller *c, int number) {
  if (number % 8 == 0) call_private(c);
  storm_call(c->storm, &c->d, 0);
}

static void *call_at_random(void *argument) {
  caller *c = argument;
  storm *s = c->storm;
  for (int i = 0; i < s->calls_of_each_thread && !(i % 1024 == 0 && csuite_failed(s->t)); i++) {
    call_once(c, i);
  }
  /* The queue may have had too few turns beside all those calls: a few more, at its leisure. */
  int64_t end = monotonic_ns() + PATIENCE;
  for (int i = 0; !has_seen_all(s) && monotonic_ns() < end; i++) {
    call_once(c, i);
    sleep_ns(CHIME_MILLISECOND);
  }
  release_private(c);
  return NULL;
}

/* Several threads drive one queue. */
static void *drive_at_random(void *argument) {
  storm *s = argument;
  dice d = {UINT64_C(0xD21E) + (uint64_t)(uintptr_t)&argument};
  while (load(&s->end_of_time) == 0) {
    chime_queue_t queue = s->queue;
    if (s->place == VIRTUAL) {
      LISTED(chime_queue_advance(queue, roll_below(&d, 1000)), MAY(OK) | MAY(ERROR_BUSY) | MAY(ERROR_LIMIT));
    } else {
      LISTED(chime_queue_process(queue, (uint32_t)roll_below(&d, 8), NULL), MAY(OK) | MAY(ERROR_BUSY));
    }
  }
  return NULL;
}

typedef struct crew {
  pthread_t threads[THREADS];
  caller callers[THREADS];
  int count;
} crew;

static void begin(storm *s, crew *crew, int count) {
  for (crew->count = 0; crew->count < count; crew->count++) {
    caller *c = &crew->callers[crew->count];
    memset(c, 0, sizeof *c);
    c->storm = s;
    c->d.state = UINT64_C(0x5EED0000) + (uint64_t)crew->count * 7919 + (uint64_t)s->place;
    if (!spawn(s->t, &crew->threads[crew->count], call_at_random, c)) break;
  }
}

static void join(crew *crew) {
  while (crew->count > 0) pthread_join(crew->threads[--crew->count], NULL);
}

static storm *storm_new(csuite *t, where place, int capacity) {
  storm *s = csuite_memory(t, sizeof *s);
  s->t = t;
  s->place = place;
  s->capacity = capacity;
  s->book = csuite_memory(t, (size_t)capacity * sizeof *s->book);
  return s;
}

/* ---- On one queue ------------------------------------------------------------------------------------------------ */

TESTS_ON_STORMY_QUEUES(a_storm_of_calls) {
  int calls = csuite_scaled(CALLS / THREADS), driving = 0;
  storm *s = storm_new(t, place, calls * THREADS / 2 + 60000);
  crew crew;
  pthread_t drivers[DRIVERS];
  if (place == HOST) queue = host_queue(t, 0); /* that nobody else drives */
  s->queue = queue;
  s->calls_of_each_thread = calls;
  if (place == VIRTUAL || place == HOST) {
    while (driving < DRIVERS && spawn(t, &drivers[driving], drive_at_random, s)) driving++;
  }
  begin(s, &crew, THREADS);
  join(&crew);
  store(&s->over, 1);
  /* What nobody holds ends by itself; a handler that was under way may have put something there again. */
  int64_t end = monotonic_ns() + PATIENCE;
  do {
    storm_release_all(s);
    sleep_ns(CHIME_MILLISECOND);
  } while (stats_of(t, queue).timers > 0 && EXPECT(monotonic_ns() < end));
  store(&s->end_of_time, 1);
  while (driving > 0) pthread_join(drivers[--driving], NULL);
  EXPECT_EQ(stats_of(t, queue).running, 0);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  storm_release_all(s);
  storm_balance(s);
  EXPECT(has_seen_all(s));
}
