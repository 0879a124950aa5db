/*
 * queues_storm.c - one host-driven queue driven by several threads at once: nothing runs twice, nothing is lost, no two
 * of them are inside. And queues that end while other threads make timers on them and use those. Promises 1, 6, 8, 16.
 */
#include "harness.h"

#include <sched.h>

/* ---- One queue, several drivers ---------------------------------------------------------------------------------- */

enum { DRIVERS = 3, FED = 12000, FED_AT_ONCE = 64 };

typedef struct feast feast;

/* What the drivers are to run: a timer that nobody holds, or a function. */
typedef struct meal {
  feast *feast;
  int served;
  int finalized;
} meal;

struct feast {
  csuite *t;
  chime_queue_t queue;
  int records;
  int count;
  meal *meals;
  int inside;  /* callbacks that run */
  int served;  /* by the callbacks, or the records */
  int counted; /* by the calls that drove the queue */
  int over;
};

static void serve(meal *m) {
  csuite *t = m->feast->t;
  EXPECT_EQ(add(&m->served, 1), 1);
  add(&m->feast->served, 1);
}

static void on_tick(const chime_tick *tick, void *context) {
  meal *m = context;
  csuite *t = m->feast->t;
  EXPECT(tick->actual_ns >= tick->scheduled_ns); /* [3] */
  EXPECT_EQ(add(&m->feast->inside, 1), 1);
  serve(m);
  add(&m->feast->inside, -1);
}

static void on_function(void *context) {
  meal *m = context;
  csuite *t = m->feast->t;
  EXPECT_EQ(add(&m->feast->inside, 1), 1);
  serve(m);
  add(&m->feast->inside, -1);
}

static void on_finalize(void *context) {
  meal *m = context;
  csuite *t = m->feast->t;
  EXPECT_EQ(load(&m->served), 1);
  EXPECT_EQ(add(&m->finalized, 1), 1); /* [8] */
}

/* One record. A FINALIZE record comes with a later call, which may be another thread's and be looked at before. */
static void read_record(const chime_tick *tick) {
  meal *m = tick->context;
  csuite *t = m->feast->t;
  if (tick->kind == CHIME_TICK_FINALIZE) {
    EXPECT_EQ(add(&m->finalized, 1), 1);
    return;
  }
  EXPECT(tick->kind == CHIME_TICK_DUE || tick->kind == CHIME_TICK_FUNCTION);
  if (tick->kind == CHIME_TICK_FUNCTION) EXPECT_EQ(add(&m->finalized, 1), 1); /* functions have no FINALIZE */
  serve(m);
}

static void *drive(void *argument) {
  feast *f = argument;
  csuite *t = f->t;
  dice d = {UINT64_C(0xD21E) + (uint64_t)(uintptr_t)&argument};
  while (load(&f->over) == 0) {
    chime_tick ticks[8];
    uint32_t count = 77, i;
    uint32_t most = (uint32_t)roll_below(&d, 8);
    chime_status status = f->records ? chime_queue_take_ticks(f->queue, ticks, sizeof ticks[0], most + 1, &count)
                                     : chime_queue_process(f->queue, most, &count);
    if (status == CHIME_ERROR_BUSY) {
      EXPECT_EQ(count, 77);
      sched_yield();
      continue;
    }
    if (!EXPECT_OK(status)) break;
    add(&f->counted, (int)count);
    for (i = 0; f->records && i < count; i++) read_record(&ticks[i]);
  }
  return NULL;
}

static void feed(feast *f, meal *m, dice *d) {
  csuite *t = f->t;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = schedule_of(roll_below(d, 50) * CHIME_MICROSECOND, 0);
  m->feast = f;
  if (roll_below(d, 8) == 0) {
    EXPECT_OK(chime_queue_async(f->queue, f->records ? NULL : on_function, m, f->records ? NULL : on_finalize));
    return;
  }
  options.context = m;
  if (f->records) {
    options.flags = CHIME_TIMER_RECORD_FINALIZE;
  } else {
    options.handler = on_tick;
    options.finalizer = on_finalize;
  }
  EXPECT_OK(chime_timer_start(f->queue, &options, &schedule, NULL));
}

static void several_threads_drive_one_queue(csuite *t, int records) {
  feast *f = csuite_memory(t, sizeof *f);
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  pthread_t threads[DRIVERS];
  dice d = {UINT64_C(0xFEA57)};
  int driving = 0, i;
  f->t = t;
  f->records = records;
  f->count = csuite_scaled(FED);
  f->meals = csuite_memory(t, (size_t)f->count * sizeof *f->meals);
  if (records) options.flags = CHIME_QUEUE_RECORDS;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_HOST, &options, &f->queue));
  csuite_ends(t, f->queue, PATIENCE);
  while (driving < DRIVERS && spawn(t, &threads[driving], drive, f)) driving++;
  for (i = 0; i < f->count; i++) {
    feed(f, &f->meals[i], &d);
    if (i % FED_AT_ONCE == 0 && !EXPECT(await(&f->served, i - FED_AT_ONCE))) break;
  }
  EXPECT(await(&f->served, f->count)); /* nothing lost */
  for (i = 0; i < f->count; i++) {
    if (!EXPECT(await(&f->meals[i].finalized, 1))) break;
  }
  store(&f->over, 1);
  while (driving > 0) pthread_join(threads[--driving], NULL);
  for (i = 0; i < f->count; i++) {
    if (!EXPECT_EQ(load(&f->meals[i].served), 1) || !EXPECT_EQ(load(&f->meals[i].finalized), 1)) break;
  }
  if (!records) EXPECT_EQ(load(&f->counted), f->count); /* of the records each one was looked at */
  EXPECT_EQ(stats_of(t, f->queue).timers, 0);
}

TEST(several_threads_process_one_queue) { several_threads_drive_one_queue(t, 0); }
TEST(several_threads_take_the_records_of_one_queue) { several_threads_drive_one_queue(t, 1); }

/* ---- Queues end while timers are made on them -------------------------------------------------------------------- */

enum { MAKERS = 2, MOST = 200, ENDS = 100 };

typedef struct ending ending;

typedef struct life {
  ending *ending;
  int accepted;
  int finalized;
} life;

/* One queue and what was made on it. */
struct ending {
  csuite *t;
  chime_queue_t queue; /* by __atomic builtins; 0: not made yet */
  int over;            /* its shutdown has said OK */
  life lives[MAKERS][MOST];
};

typedef struct maker {
  csuite *t;
  ending *endings;
  int count;
  int number;
} maker;

static void expect_not_over(life *l) {
  csuite *t = l->ending->t;
  EXPECT_EQ(load(&l->ending->over), 0); /* [16] */
}

static void on_last_ticks(const chime_tick *tick, void *context) {
  (void)tick;
  expect_not_over(context);
}

static void on_last_function(void *context) { expect_not_over(context); }

static void on_last_finalizer(void *context) {
  life *l = context;
  csuite *t = l->ending->t;
  expect_not_over(l);
  EXPECT_EQ(add(&l->finalized, 1), 1); /* [8] */
}

/* Answers that a call may have whether or not the queue has ended. */
static void expect_possible(csuite *t, chime_status status) {
  if (status == CHIME_OK || status == CHIME_RUNNING || status == CHIME_IGNORED) return;
  EXPECT_STATUS(status, CHIME_ERROR_INVALID_HANDLE);
}

static void use(csuite *t, chime_timer_t timer, dice *d) {
  chime_schedule schedule = schedule_of(roll_below(d, 30) * CHIME_MICROSECOND, 10 * CHIME_MICROSECOND);
  chime_state state;
  switch (roll_below(d, 12)) {
    case 0: expect_possible(t, chime_timer_activate(timer, &schedule)); break;
    case 1: expect_possible(t, chime_timer_restart(timer, &schedule)); break;
    case 2: expect_possible(t, chime_timer_suspend(timer)); break;
    case 3: expect_possible(t, chime_timer_resume(timer)); break;
    case 4: expect_possible(t, chime_timer_reschedule(timer, &schedule)); break;
    case 5: expect_possible(t, chime_timer_postpone(timer, roll_below(d, 100000))); break;
    case 6: expect_possible(t, chime_timer_fire(timer)); break;
    case 7: expect_possible(t, chime_timer_cancel(timer)); break;
    case 8: expect_possible(t, chime_timer_state(timer, &state)); break;
    case 9: expect_possible(t, chime_timer_explain(timer, NULL, 0, NULL)); break;
    case 10: {
      chime_status status = chime_timer_cancel_and_wait(timer, 10 * CHIME_MICROSECOND);
      if (status != CHIME_TIMED_OUT) expect_possible(t, status);
      break;
    }
    default: expect_possible(t, chime_timer_release(timer)); break;
  }
}

/* Makes a timer; 0 when the queue has ended. A context that was refused stays the caller's: it is never finalized. */
static int make_one(ending *e, life *l, chime_queue_t queue, dice *d) {
  csuite *t = e->t;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule =
      schedule_of(roll_below(d, 30) * CHIME_MICROSECOND, roll_below(d, 2) * CHIME_MICROSECOND * 10);
  chime_timer_t timer = 0;
  chime_status status;
  int uses = (int)roll_below(d, 6);
  l->ending = e;
  options.handler = on_last_ticks;
  options.context = l;
  options.finalizer = on_last_finalizer;
  if (roll_below(d, 2) == 0) options.cancel_handler = on_last_ticks;
  switch (roll_below(d, 4)) {
    case 0: status = chime_timer_create(queue, &options, &timer); break;
    case 1: status = chime_timer_start(queue, &options, &schedule, NULL); break;
    case 2: status = chime_queue_async(queue, on_last_function, l, on_last_finalizer); break;
    default: status = chime_timer_start(queue, &options, &schedule, &timer); break;
  }
  if (status != CHIME_OK) {
    EXPECT_STATUS(status, CHIME_ERROR_INVALID_HANDLE);
    return 0;
  }
  l->accepted = 1;
  while (timer != 0 && uses-- > 0) use(t, timer, d);
  return 1;
}

static void *make_timers(void *argument) {
  maker *m = argument;
  csuite *t = m->t;
  dice d = {UINT64_C(0x3A4E2) + (uint64_t)m->number};
  int i, k;
  for (i = 0; i < m->count; i++) {
    int64_t end = monotonic_ns() + PATIENCE;
    ending *e = &m->endings[i];
    chime_queue_t queue;
    while ((queue = __atomic_load_n(&e->queue, __ATOMIC_ACQUIRE)) == 0) {
      if (csuite_failed(t) || !EXPECT(monotonic_ns() < end)) return NULL;
      sched_yield();
    }
    for (k = 0; k < MOST && make_one(e, &e->lives[m->number][k], queue, &d); k++) {}
  }
  return NULL;
}

static void queues_end_while_timers_are_made_on_them(csuite *t, chime_queue_kind kind) {
  int count = csuite_scaled(ENDS), making = 0, i, k, n;
  ending *endings = csuite_memory(t, (size_t)count * sizeof *endings);
  maker makers[MAKERS];
  pthread_t threads[MAKERS];
  dice d = {UINT64_C(0xE2D5)};
  for (i = 0; i < count; i++) endings[i].t = t;
  while (making < MAKERS) {
    maker new_maker = {t, endings, count, making};
    makers[making] = new_maker;
    if (!spawn(t, &threads[making], make_timers, &makers[making])) break;
    making++;
  }
  for (i = 0; i < count; i++) {
    chime_queue_t queue = 0;
    if (!EXPECT_OK(chime_queue_create(kind, NULL, &queue))) break;
    __atomic_store_n(&endings[i].queue, queue, __ATOMIC_RELEASE);
    sleep_ns(roll_below(&d, 40) * CHIME_MICROSECOND);
    if (kind == CHIME_QUEUE_VIRTUAL) {
      chime_status status = chime_queue_advance(queue, CHIME_MILLISECOND);
      if (status != CHIME_ERROR_BUSY) EXPECT_OK(status);
    } else if (kind == CHIME_QUEUE_HOST) {
      chime_status status = chime_queue_process(queue, 0, NULL);
      if (status != CHIME_ERROR_BUSY) EXPECT_OK(status);
    }
    if (!EXPECT_OK(chime_queue_shutdown(queue, PATIENCE))) break;
    store(&endings[i].over, 1);
  }
  for (; i < count; i++) __atomic_store_n(&endings[i].queue, 1, __ATOMIC_RELEASE); /* no id: lets the makers end */
  while (making > 0) pthread_join(threads[--making], NULL);
  for (i = 0; i < count; i++) {
    for (n = 0; n < MAKERS; n++) {
      for (k = 0; k < MOST; k++) {
        life *l = &endings[i].lives[n][k];
        if (!l->accepted && !EXPECT_EQ(load(&l->finalized), 0)) return;
        if (l->accepted && !EXPECT_EQ(load(&l->finalized), 1)) return;
      }
    }
  }
}

TEST(serial_queues_end_while_timers_are_made_on_them) {
  if (csuite_skips_without_dispatch(t)) return;
  queues_end_while_timers_are_made_on_them(t, CHIME_QUEUE_SERIAL);
}
TEST(concurrent_queues_end_while_timers_are_made_on_them) {
  if (csuite_skips_without_dispatch(t)) return;
  queues_end_while_timers_are_made_on_them(t, CHIME_QUEUE_CONCURRENT);
}
TEST(host_driven_queues_end_while_timers_are_made_on_them) {
  queues_end_while_timers_are_made_on_them(t, CHIME_QUEUE_HOST);
}
TEST(precise_queues_end_while_timers_are_made_on_them) {
  queues_end_while_timers_are_made_on_them(t, CHIME_QUEUE_PRECISE);
}
TEST(virtual_queues_end_while_timers_are_made_on_them) {
  queues_end_while_timers_are_made_on_them(t, CHIME_QUEUE_VIRTUAL);
}
