/*
 * storm.c - eight threads and the handlers themselves make a million random calls on shared timers. Nothing is known
 * of any one call but that its answer is one that its declaration lists; what must hold in every order is checked in
 * each callback and at the end. Promises 1, 3, 6, 8, 9, 10 and 14.
 */
#include "harness.h"

enum {
  THREADS = 8,
  SLOTS = 48,
  CALLS = 1000000, /* over the three kinds of queue */
  KINDS = 3
};

typedef struct storm storm;

/* The context of one timer, kept until the test ends: a callback after the finalizer is seen, not suffered. */
typedef struct life {
  storm *storm;
  int busy;
  int finalized;
} life;

struct storm {
  csuite *t;
  where place;
  chime_queue_t queue;
  chime_timer_t slots[SLOTS];
  life *lives;
  int capacity;
  int made;      /* lives handed out */
  int accepted;  /* of these, whose create or start said OK */
  int finalized; /* of these */
  int functions; /* accepted by async */
  int functions_run;
  int functions_finalized;
  int ticks;
  int over;        /* 1: handlers leave the timers alone */
  int end_of_time; /* virtual queue: 1: the advancing thread ends */
  int calls_per_thread;
};

static chime_timer_t slot_load(storm *s, int i) { return __atomic_load_n(&s->slots[i], __ATOMIC_ACQUIRE); }
static chime_timer_t slot_swap(storm *s, int i, chime_timer_t id) {
  return __atomic_exchange_n(&s->slots[i], id, __ATOMIC_ACQ_REL);
}

/* One bit for each status: what a declaration lists. */
static uint32_t bit(chime_status status) { return status >= -16 && status < 16 ? UINT32_C(1) << (status + 16) : 0; }
#define MAY_BE(status) (UINT32_C(1) << ((status) + 16))
#define STALE_TOO MAY_BE(CHIME_ERROR_INVALID_HANDLE)

static void expect_listed(csuite *t, chime_status status, uint32_t listed, int line, const char *call) {
  if ((bit(status) & listed) == 0) csuite_expect_status(t, status, CHIME_OK, __FILE__, line, call);
}
#define LISTED(call, listed) expect_listed(t, (call), (listed), __LINE__, #call)

static void storm_call(storm *s, dice *d, int inside);

static void enter(life *l) {
  csuite *t = l->storm->t;
  EXPECT_EQ(add(&l->busy, 1), 1);
  EXPECT_EQ(load(&l->finalized), 0);
}

static void storm_tick(const chime_tick *tick, void *context) {
  life *l = context;
  storm *s = l->storm;
  csuite *t = s->t;
  int count;
  enter(l);
  EXPECT(tick->context == context);
  EXPECT(tick->actual_ns >= tick->scheduled_ns);
  EXPECT(tick->sequence >= 1);
  if (s->place != VIRTUAL) {
    int64_t now = 0;
    chime_now(CHIME_CLOCK_MONOTONIC, &now);
    EXPECT(now >= tick->scheduled_ns);
  }
  count = add(&s->ticks, 1);
  if (load(&s->over) == 0) {
    dice d;
    d.state = (uint64_t)count * UINT64_C(0x9E3779B97F4A7C15) + 1;
    switch (roll_below(&d, 16)) {
      case 0: LISTED(chime_timer_cancel(tick->timer), MAY_BE(CHIME_RUNNING) | MAY_BE(CHIME_IGNORED) | STALE_TOO); break;
      case 1:
        LISTED(chime_timer_restart(tick->timer, NULL),
               MAY_BE(CHIME_RUNNING) | MAY_BE(CHIME_ERROR_INVALID_ARGUMENT) | STALE_TOO); /* it may have no schedule */
        break;
      case 2: LISTED(chime_timer_release(tick->timer), MAY_BE(CHIME_RUNNING) | STALE_TOO); break;
      case 3:
        LISTED(chime_timer_cancel_and_wait(tick->timer, CHIME_FOREVER), MAY_BE(CHIME_ERROR_WOULD_DEADLOCK) | STALE_TOO);
        break;
      case 4:
      case 5: storm_call(s, &d, 1); break;
      default: break;
    }
  }
  add(&l->busy, -1);
}

/* Registration and cancel handlers. */
static void storm_turn(const chime_tick *tick, void *context) {
  life *l = context;
  csuite *t = l->storm->t;
  enter(l);
  EXPECT(tick->kind == CHIME_TICK_ARMED || tick->kind == CHIME_TICK_CANCELLED);
  EXPECT_EQ(tick->sequence, 0);
  add(&l->busy, -1);
}

static void storm_finalize(void *context) {
  life *l = context;
  csuite *t = l->storm->t;
  EXPECT_EQ(load(&l->busy), 0);
  EXPECT_EQ(add(&l->finalized, 1), 1);
  add(&l->storm->finalized, 1);
}

static void storm_function(void *context) { add(&((storm *)context)->functions_run, 1); }
static void storm_function_finalize(void *context) { add(&((storm *)context)->functions_finalized, 1); }
static void storm_sync(void *context) { add((int *)context, 1); }

static chime_schedule random_schedule(storm *s, dice *d) {
  int64_t unit = s->place == VIRTUAL ? 1 : 1000;
  chime_schedule schedule = schedule_of(roll_below(d, 3000) * unit, 0);
  if (roll_below(d, 2) == 0) schedule.interval_ns = (1 + roll_below(d, 3000)) * unit;
  if (roll_below(d, 4) == 0 && schedule.interval_ns > 1) schedule.leeway_ns = roll_below(d, schedule.interval_ns);
  if (roll_below(d, 4) == 0) schedule.tick_limit = (uint64_t)roll_below(d, 5);
  if (roll_below(d, 4) == 0) schedule.missed_policy = CHIME_MISSED_DELAY;
  if (roll_below(d, 4) == 0) schedule.resume_policy = CHIME_RESUME_REMAINING;
  if (roll_below(d, 16) == 0) schedule.first_ns = CHIME_FOREVER;
  return schedule;
}

/* Makes a timer in slot i, and releases the one that was there. */
static void storm_make(storm *s, dice *d, int i) {
  csuite *t = s->t;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = random_schedule(s, d);
  chime_timer_t id = 0, old;
  chime_status status;
  int made = add(&s->made, 1) - 1;
  life *l;
  if (made >= s->capacity) return; /* as many as there is room for */
  l = &s->lives[made];
  l->storm = s;
  options.handler = storm_tick;
  options.context = l;
  options.finalizer = storm_finalize;
  if (roll_below(d, 2) == 0) options.registration_handler = storm_turn;
  if (roll_below(d, 2) == 0) options.cancel_handler = storm_turn;
  if (roll_below(d, 8) == 0) options.flags = CHIME_TIMER_SELF_RELEASE;
  switch (roll_below(d, 5)) {
    case 0: status = chime_timer_create(s->queue, &options, &id); break;
    case 1: status = chime_timer_start(s->queue, &options, &schedule, &id); break;
    case 2: status = chime_timer_after(s->queue, schedule.first_ns, storm_tick, l, storm_finalize, &id); break;
    case 3: status = chime_timer_every(s->queue, 1 + schedule.interval_ns, storm_tick, l, storm_finalize, &id); break;
    default: /* nobody holds it */
      status = chime_timer_after(s->queue, roll_below(d, 1000), storm_tick, l, storm_finalize, NULL);
      break;
  }
  if (!EXPECT_OK(status)) return;
  add(&s->accepted, 1);
  if (id == 0) return;
  old = slot_swap(s, i, id);
  LISTED(chime_timer_release(old), MAY_BE(CHIME_OK) | MAY_BE(CHIME_RUNNING) | MAY_BE(CHIME_IGNORED) | STALE_TOO);
}

#define TAKES_EFFECT (MAY_BE(CHIME_OK) | MAY_BE(CHIME_RUNNING) | STALE_TOO)
#define OR_IGNORED MAY_BE(CHIME_IGNORED)
#define OR_NO_SCHEDULE MAY_BE(CHIME_ERROR_INVALID_ARGUMENT)

static void storm_call(storm *s, dice *d, int inside) {
  csuite *t = s->t;
  int i = (int)roll_below(d, SLOTS);
  chime_timer_t id = slot_load(s, i);
  chime_schedule schedule = random_schedule(s, d);
  if (id == 0) {
    storm_make(s, d, i);
    return;
  }
  switch (roll_below(d, 64)) {
    /* clang-format off */
    case 0: case 1: case 2: case 3: case 4: case 5:
      LISTED(chime_timer_activate(id, &schedule), TAKES_EFFECT | OR_IGNORED);
      break;
    case 6: case 7:
      LISTED(chime_timer_activate(id, NULL), TAKES_EFFECT | OR_IGNORED | OR_NO_SCHEDULE);
      break;
    case 8: case 9: case 10: case 11: LISTED(chime_timer_restart(id, &schedule), TAKES_EFFECT); break;
    case 12: LISTED(chime_timer_restart(id, NULL), TAKES_EFFECT | OR_NO_SCHEDULE); break;
    case 13: case 14: case 15: case 16: case 17: LISTED(chime_timer_suspend(id), TAKES_EFFECT | OR_IGNORED); break;
    case 18: case 19: case 20: case 21: case 22: LISTED(chime_timer_resume(id), TAKES_EFFECT | OR_IGNORED); break;
    case 23: case 24: case 25: LISTED(chime_timer_reschedule(id, &schedule), TAKES_EFFECT); break;
    case 26: LISTED(chime_timer_reschedule(id, NULL), TAKES_EFFECT | OR_NO_SCHEDULE); break;
    case 27: case 28: case 29: case 30: case 31:
      LISTED(chime_timer_postpone(id, roll_below(d, 100000)), MAY_BE(CHIME_OK) | OR_IGNORED | STALE_TOO);
      break;
    case 32: case 33: {
      int64_t now = 0;
      chime_queue_now(s->queue, &now);
      LISTED(chime_timer_postpone_until(id, now + roll_below(d, 100000)), MAY_BE(CHIME_OK) | OR_IGNORED | STALE_TOO);
      break;
    }
    case 34: case 35: case 36: case 37: case 38: case 39:
      LISTED(chime_timer_fire(id), MAY_BE(CHIME_OK) | OR_IGNORED | STALE_TOO);
      break;
    case 40: case 41: case 42: LISTED(chime_timer_cancel(id), TAKES_EFFECT | OR_IGNORED); break;
    case 43: case 44:
      LISTED(chime_timer_cancel_and_wait(id, roll_below(d, 20) * CHIME_MICROSECOND),
             MAY_BE(CHIME_OK) | OR_IGNORED | STALE_TOO | MAY_BE(CHIME_TIMED_OUT) |
                 (inside ? MAY_BE(CHIME_ERROR_WOULD_DEADLOCK) : 0));
      break;
    case 45: case 46: case 47:
      id = slot_swap(s, i, 0);
      LISTED(chime_timer_release(id), TAKES_EFFECT | OR_IGNORED);
      break;
    case 48: case 49: case 50: storm_make(s, d, i); break;
    /* clang-format on */
    case 51: {
      chime_state state = -1;
      chime_status status = chime_timer_state(id, &state);
      LISTED(status, MAY_BE(CHIME_OK) | STALE_TOO);
      EXPECT(status == CHIME_OK ? state >= CHIME_STATE_IDLE && state <= CHIME_STATE_CANCELLED : state == -1);
      break;
    }
    case 52: {
      int64_t deadline = 0;
      LISTED(chime_timer_next_deadline(id, &deadline), MAY_BE(CHIME_OK) | STALE_TOO);
      break;
    }
    case 53: {
      uint64_t generation = 0;
      if (chime_timer_generation(id, &generation) == CHIME_OK) {
        LISTED(chime_timer_check_generation(id, generation), MAY_BE(CHIME_OK) | OR_IGNORED | STALE_TOO);
      }
      break;
    }
    case 54:
    case 55: {
      chime_timer_info info = CHIME_TIMER_INFO_INIT;
      chime_status status = chime_timer_get_info(id, &info);
      LISTED(status, MAY_BE(CHIME_OK) | STALE_TOO);
      if (status == CHIME_OK) { /* taken at one instant */
        EXPECT_EQ(info.queue, s->queue);
        if (info.state != CHIME_STATE_RUNNING) EXPECT_EQ(info.next_deadline_ns, CHIME_FOREVER);
        if (info.state != CHIME_STATE_SUSPENDED) EXPECT_EQ(info.remaining_ns, -1);
        if (info.state == CHIME_STATE_RUNNING) EXPECT_EQ(info.has_schedule, 1);
      }
      break;
    }
    case 56: {
      int ran = 0;
      uint32_t listed =
          s->place == SERIAL ? MAY_BE(CHIME_OK) | MAY_BE(CHIME_TIMED_OUT) : MAY_BE(CHIME_ERROR_UNSUPPORTED);
      if (inside) listed |= MAY_BE(CHIME_OK); /* inside a callback of the queue */
      chime_status status = chime_queue_sync(s->queue, storm_sync, &ran, roll_below(d, 200) * CHIME_MICROSECOND);
      LISTED(status, listed);
      EXPECT_EQ(ran, status == CHIME_OK ? 1 : 0);
      break;
    }
    case 57:
      if (EXPECT_OK(chime_queue_async(s->queue, storm_function, s, storm_function_finalize))) add(&s->functions, 1);
      break;
    case 58:
      if (s->place == VIRTUAL) {
        uint32_t listed = inside ? MAY_BE(CHIME_ERROR_WOULD_DEADLOCK)
                                 : MAY_BE(CHIME_OK) | MAY_BE(CHIME_ERROR_BUSY) | MAY_BE(CHIME_ERROR_LIMIT);
        LISTED(chime_queue_advance(s->queue, roll_below(d, 100)), listed);
      } else {
        LISTED(chime_queue_advance(s->queue, 1), MAY_BE(CHIME_ERROR_UNSUPPORTED));
      }
      break;
    case 59:
      if (s->place == VIRTUAL) {
        LISTED(chime_queue_jump(s->queue, roll_below(d, 1000)), MAY_BE(CHIME_OK));
      } else {
        LISTED(chime_queue_advance_to(s->queue, 1), MAY_BE(CHIME_ERROR_UNSUPPORTED));
      }
      break;
    case 60:
      if (roll_below(d, 20) == 0) {
        chime_queue_stats stats = CHIME_QUEUE_STATS_INIT;
        LISTED(chime_queue_get_stats(s->queue, &stats), MAY_BE(CHIME_OK));
        EXPECT(stats.timers <= (uint64_t)s->capacity);
      }
      break;
    case 61:
      if (roll_below(d, 20) == 0) {
        char text[512];
        LISTED(chime_queue_dump(s->queue, text, sizeof text, NULL), MAY_BE(CHIME_OK));
        EXPECT(strlen(text) < sizeof text);
      }
      break;
    case 62:
      if (roll_below(d, 50) == 0) { /* another queue comes and goes */
        chime_queue_t queue = 0;
        int serial = roll_below(d, 2) && csuite_has_dispatch();
        LISTED(chime_queue_create(serial ? CHIME_QUEUE_SERIAL : CHIME_QUEUE_VIRTUAL, NULL, &queue), MAY_BE(CHIME_OK));
        LISTED(chime_queue_release(queue), MAY_BE(CHIME_OK));
        LISTED(chime_queue_release(queue), STALE_TOO);
      }
      break;
    default:
      LISTED(chime_timer_cancel(s->queue), STALE_TOO); /* an id of another kind */
      break;
  }
}

typedef struct caller {
  storm *storm;
  uint64_t seed;
} caller;

static void *call_at_random(void *argument) {
  caller *c = argument;
  int64_t end = monotonic_ns() + PATIENCE;
  dice d;
  int i;
  d.state = c->seed;
  /* And on until something has ticked: the queue may have had no turn. */
  for (i = 0; i < c->storm->calls_per_thread || (load(&c->storm->ticks) == 0 && monotonic_ns() < end); i++) {
    storm_call(c->storm, &d, 0);
  }
  return NULL;
}

static void *advance_at_random(void *argument) {
  storm *s = argument;
  csuite *t = s->t;
  dice d = {UINT64_C(31337)};
  while (load(&s->end_of_time) == 0) {
    LISTED(chime_queue_advance(s->queue, roll_below(&d, 1000)),
           MAY_BE(CHIME_OK) | MAY_BE(CHIME_ERROR_BUSY) | MAY_BE(CHIME_ERROR_LIMIT));
  }
  return NULL;
}

static void run_storm(csuite *t, where place) {
  storm *s = csuite_memory(t, sizeof *s);
  caller callers[THREADS];
  pthread_t threads[THREADS], advancer;
  int spawned[THREADS], advancing = 0, i, made;
  int64_t end;
  QUEUE_OR_RETURN(queue, place);
  s->t = t;
  s->place = place;
  s->queue = queue;
  s->calls_per_thread = csuite_scaled(CALLS / KINDS / THREADS);
  s->capacity = s->calls_per_thread * THREADS;
  s->lives = csuite_memory(t, (size_t)s->capacity * sizeof *s->lives);
  if (place == VIRTUAL) advancing = spawn(t, &advancer, advance_at_random, s);
  for (i = 0; i < THREADS; i++) {
    callers[i].storm = s;
    callers[i].seed = UINT64_C(0x5EED0000) + (uint64_t)i * 7919 + (uint64_t)place;
    spawned[i] = spawn(t, &threads[i], call_at_random, &callers[i]);
  }
  for (i = 0; i < THREADS; i++) {
    if (spawned[i]) pthread_join(threads[i], NULL);
  }
  store(&s->over, 1);
  for (i = 0; i < SLOTS; i++) {
    chime_timer_t id = slot_swap(s, i, 0);
    LISTED(chime_timer_release(id), TAKES_EFFECT | OR_IGNORED);
  }
  /* What nobody holds ends by itself; a handler that was under way may have filled a slot again. */
  end = monotonic_ns() + PATIENCE;
  while (stats_of(t, queue).timers > 0) {
    for (i = 0; i < SLOTS; i++) {
      chime_timer_t id = slot_swap(s, i, 0);
      if (id != 0) chime_timer_release(id);
    }
    if (!EXPECT(monotonic_ns() < end)) break;
    sleep_ns(CHIME_MILLISECOND);
  }
  if (advancing) {
    store(&s->end_of_time, 1);
    pthread_join(advancer, NULL);
  }
  EXPECT_EQ(stats_of(t, queue).running, 0);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  made = load(&s->made) < s->capacity ? load(&s->made) : s->capacity;
  EXPECT_EQ(load(&s->accepted), made);
  EXPECT_EQ(load(&s->finalized), load(&s->accepted));
  for (i = 0; i < made; i++) {
    if (!EXPECT_EQ(load(&s->lives[i].finalized), 1)) break;
    if (!EXPECT_EQ(load(&s->lives[i].busy), 0)) break;
  }
  EXPECT_EQ(load(&s->functions_finalized), load(&s->functions));
  EXPECT(load(&s->functions_run) <= load(&s->functions));
  EXPECT(load(&s->ticks) > 0);
}

TEST(a_storm_of_calls_on_a_serial_queue) { run_storm(t, SERIAL); }
TEST(a_storm_of_calls_on_a_concurrent_queue) { run_storm(t, CONCURRENT); }
TEST(a_storm_of_calls_on_a_virtual_queue) { run_storm(t, VIRTUAL); }
