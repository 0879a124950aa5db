/* host.c - queues that the host drives: descriptor, what they report, run and stop. (Records: records.c.) */
#include "harness.h"

/* ---- Driving ---------------------------------------------------------------------------------------------------- */

HOST_TEST(nothing_to_wait_for_is_not_mixed_up_with_due_at_once, 0) {
  EXPECT_EQ(next_deadline(t, queue), CHIME_FOREVER);
  EXPECT_EQ(poll_timeout(t, queue), -1);
  probe_after(t, queue, "a", 0);
  EXPECT(next_deadline(t, queue) <= now_of(t, queue));
  EXPECT_EQ(poll_timeout(t, queue), 0);
  EXPECT_EQ(process(t, queue, 0), 1);
  EXPECT_EQ(next_deadline(t, queue), CHIME_FOREVER);
  /* An extra tick that was dropped is not due any more. */
  probe *p = probe_after(t, queue, NULL, CHIME_HOUR);
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ(process(t, queue, 0), 0);
    EXPECT_OK(chime_timer_fire(p->timer));
    EXPECT(next_deadline(t, queue) <= now_of(t, queue));
    EXPECT_OK(i == 0 ? chime_timer_restart_after(p->timer, CHIME_HOUR) : chime_timer_cancel(p->timer));
    EXPECT(next_deadline(t, queue) > now_of(t, queue));
    EXPECT_EQ(poll_timeout(t, queue) == -1, i == 1);
  }
}

HOST_TEST(the_poll_timeout_is_rounded_up, 0) {
  chime_timer_t timer;
  process(t, queue, 0);
  REQUIRE_OK(chime_timer_after(queue, CHIME_HOUR + 1, probe_handler, NULL, NULL, &timer));
  process(t, queue, 0);
  EXPECT_BETWEEN(next_deadline(t, queue), deadline_of(t, timer), deadline_of(t, timer) + 1024);
  int32_t milliseconds = poll_timeout(t, queue);
  /* Not early: after that many milliseconds the deadline has come. */
  EXPECT(now_of(t, queue) + milliseconds * CHIME_MILLISECOND >= deadline_of(t, timer));
  EXPECT_BETWEEN(milliseconds, 3600 * 1000 - 60 * 1000, 3600 * 1000 + 1);
  EXPECT_OK(chime_timer_release(timer));
}

static void count_due(const chime_tick *tick, void *context) { ++*(int *)context; }

static void run_what_is_due(csuite *t, chime_queue_t queue, int *ran) {
  chime_tick ticks[4];
  size_t count;
  if (chime_queue_take_ticks(queue, ticks, sizeof *ticks, 4, &count) == CHIME_OK) *ran += (int)count;
  else process(t, queue, 0);
}

/* By the clock, also in the microsecond that has begun, which is a tick of the wheel. */
static void check_what_is_due(csuite *t, chime_queue_t queue, chime_handler handler) {
  int ran = 0;
  const chime_timer_options options = TIMER_OPTIONS(.handler = handler, .context = &ran);
  for (int i = 0; i < csuite_scaled(2000) && !csuite_failed(t); i++, ran = 0) {
    for (int j = 0; j < 2; j++) EXPECT_OK(chime_timer_start(queue, &options, AFTER(0), NULL));
    run_what_is_due(t, queue, &ran);
    EXPECT_EQ(ran, 2);
    int64_t deadline = monotonic_ns() + 3 * CHIME_MICROSECOND;
    EXPECT_OK(chime_timer_start(queue, &options, AT(deadline), NULL));
    run_what_is_due(t, queue, &ran); /* places it, or is late */
    while (monotonic_ns() < deadline) continue;
    if (ran == 2) EXPECT_EQ(poll_timeout(t, queue), 0);
    run_what_is_due(t, queue, &ran);
    EXPECT_EQ(ran, 3);
  }
}

HOST_TEST(process_runs_all_that_is_due, 0) { check_what_is_due(t, queue, count_due); }
HOST_TEST(all_that_is_due_is_taken, CHIME_QUEUE_FLAG_RECORDS) { check_what_is_due(t, queue, NULL); }

static void check_own_time(csuite *t, probe *p, const chime_tick *tick) {
  EXPECT_BETWEEN(tick->scheduled_ns, p->number, INT64_MAX);
  EXPECT_BETWEEN(monotonic_ns(), p->number, INT64_MAX);
}

/* [3]: elsewhere the way to the handler takes longer than the wheel's tick, a microsecond, and hides an early one. */
HOST_TEST(a_host_that_never_rests_gets_no_tick_early, CHIME_QUEUE_FLAG_BOUND) {
  probe *p = probe_new(t, queue, NULL);
  p->on_tick = check_own_time;
  for (int i = 0; i < csuite_scaled(1000); i++) {
    int64_t delay = 20 * CHIME_MICROSECOND, end = monotonic_ns() + PATIENCE;
    p->number = monotonic_ns() + delay;
    EXPECT_OK(chime_timer_after(queue, delay, probe_handler, p, NULL, NULL));
    while (p->ticks == i && monotonic_ns() < end) process(t, queue, 0);
    REQUIRE(p->ticks == i + 1);
  }
}

enum { RELEASE = 7, RESTART_UNTIL, CHANGES };

static chime_status change(int64_t kind, chime_timer_t timer, int64_t deadline) {
  switch (kind) {
    case 0: return chime_timer_cancel(timer);
    case 1: return chime_timer_suspend(timer);
    case 2: return chime_timer_resume(timer);
    case 3:
    case 4: return chime_timer_postpone_until(timer, deadline);
    case RELEASE: return chime_timer_release(timer);
    case RESTART_UNTIL: return chime_timer_restart_until(timer, deadline);
    default: return chime_timer_restart(timer, AT(deadline));
  }
}

/*
 * [2] [3]: such queues look at time in units of 1,024 ns: what they report is not before the earliest timer, and at
 * most a unit beyond it. The thread that made a bound queue changes its timers by plain stores. Each has a twin on a
 * virtual queue, which is exact. Nothing is due here.
 */
HOST_TEST(a_host_driven_queue_reports_its_earliest_timer_to_the_unit, CHIME_QUEUE_FLAG_BOUND) {
  enum { TIMERS = 300 };
  probe *timers[TIMERS], *twins[TIMERS];
  dice d = {UINT64_C(800)};
  int64_t base = monotonic_ns() + CHIME_HOUR;
  QUEUE_OR_RETURN(exact, VIRTUAL);
  for (int i = 0; i < TIMERS; i++) {
    timers[i] = probe_idle(t, queue, NULL);
    twins[i] = probe_idle(t, exact, NULL);
  }
  for (int step = 0; step < csuite_scaled(10000) && !csuite_failed(t); step++) {
    int64_t i = roll_below(&d, TIMERS), kind = roll_below(&d, CHANGES);
    int64_t deadline = 1 + roll_below(&d, INT64_C(1) << (1 + roll_below(&d, 53)));
    chime_status expected = change(kind, twins[i]->timer, deadline);
    EXPECT_STATUS(change(kind, timers[i]->timer, base + deadline), expected);
    if (kind == RELEASE) {
      timers[i] = probe_idle(t, queue, NULL);
      twins[i] = probe_idle(t, exact, NULL);
    }
    if (step % 97 == 0) EXPECT_EQ(process(t, queue, 0), 0);
    int64_t earliest = next_deadline(t, exact);
    if (earliest < CHIME_FOREVER) earliest += base;
    EXPECT_BETWEEN(next_deadline(t, queue) - earliest, 0, 1024);
  }
}

HOST_TEST(process_runs_at_most_max_and_leaves_the_rest_readable, 0) {
  int fd = fd_of(t, queue);
  for (int i = 0; i < 10; i++) probe_after(t, queue, "a", 0);
  sleep_ns(2 * CHIME_MICROSECOND); /* a tick of the wheel: by then all are due */
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ(process(t, queue, 4), 4);
    EXPECT(is_readable(fd, 0));
  }
  EXPECT_EQ(process(t, queue, 4), 2);
  EXPECT(!is_readable(fd, 0));
}

THREAD(restart, probe, p) { EXPECT_OK(chime_timer_restart(p->timer, AFTER(5 * CHIME_MILLISECOND))); }

/* Once the queue knows of the timer, and until it is processed. */
HOST_TEST(an_earlier_timer_of_another_thread_wakes_the_host, 0) {
  int fd = fd_of(t, queue);
  EXPECT(!is_readable(fd, 2));
  probe *p = probe_after(t, queue, "a", CHIME_HOUR);
  process(t, queue, 0);
  EXPECT(!is_readable(fd, 0));
  run_on_a_thread(t, restart, p);
  EXPECT(is_readable(fd, LONG)); /* not in an hour */
  EXPECT(process_until(t, queue, &p->ticks, 1));
  EXPECT(p->last.actual_ns >= p->last.scheduled_ns);
  EXPECT(!is_readable(fd, 2));
}

HOST_TEST(a_hundred_thousand_pending_timers_wake_nobody, 0) { /* [13] */
  for (int i = 0, count = csuite_scaled(100000); i < count; i++) {
    REQUIRE_OK(chime_timer_after(queue, CHIME_HOUR + i * CHIME_MILLISECOND, probe_handler, NULL, NULL, NULL));
  }
  process(t, queue, 0);
  EXPECT(!is_readable(fd_of(t, queue), 300));
  EXPECT_EQ(stats_of(t, queue).passes, 1);
}

typedef struct function {
  csuite *t;
  int number;
  int *next; /* the number of the function that comes next */
} function;

static void take(void *context) {
  function *f = context;
  csuite *t = f->t;
  EXPECT_EQ((*f->next)++, f->number);
}

/* [12]: exactly so many run, in the order of the calls that brought them, and the queue says that there are more. */
HOST_TEST(one_function_at_a_time_of_a_hundred_thousand, 0) {
  int count = csuite_scaled(100000), next = 0;
  function *functions = csuite_memory(t, (size_t)count * sizeof *functions);
  for (int i = 0; i < count; i++) {
    functions[i] = (function){t, i, &next};
    EXPECT_OK(chime_queue_async(queue, take, &functions[i], NULL));
  }
  while (next < count && !csuite_failed(t)) {
    int before = next;
    uint32_t most = before % 10 == 9 && before + 5 < count ? 5 : 1;
    EXPECT(next_deadline(t, queue) <= now_of(t, queue)); /* those that wait are something to process */
    EXPECT_EQ(process(t, queue, most), most);
    EXPECT_EQ(next - before, most);
  }
  EXPECT_EQ(process(t, queue, 1), 0);
}

/* What each call that drives a queue must answer here: p->status. */
THREAD(expect_refused, probe, p) {
  chime_tick tick;
  size_t taken;
  uint32_t count;
  if (p->number == CHIME_QUEUE_FLAG_RECORDS) {
    EXPECT_STATUS(chime_queue_take_ticks(p->queue, &tick, sizeof tick, 1, &taken), p->status);
  } else {
    EXPECT_STATUS(chime_queue_process(p->queue, 0, &count), p->status);
    EXPECT_STATUS(chime_queue_run(p->queue, 0), p->status);
  }
}

static void drive_inside(csuite *t, probe *p, const chime_tick *tick) {
  p->status = CHIME_ERROR_WOULD_DEADLOCK;
  expect_refused(p);
  p->status = CHIME_ERROR_BUSY;
  run_on_a_thread(t, expect_refused, p);
}

HOST_TEST(driving_inside_a_handler_would_deadlock, 0) { /* [1] */
  probe_after(t, queue, "a", 0)->on_tick = drive_inside;
  EXPECT_EQ(process(t, queue, 0), 1);
}

TEST(a_bound_queue_refuses_other_threads) {
  for (uint32_t flags = 0; flags <= CHIME_QUEUE_FLAG_RECORDS; flags += CHIME_QUEUE_FLAG_RECORDS) {
    probe *p = probe_new(t, host_queue(t, CHIME_QUEUE_FLAG_BOUND | flags), "a");
    p->status = CHIME_ERROR_WRONG_THREAD;
    p->number = flags;
    run_on_a_thread(t, expect_refused, p);
  }
}

typedef struct owner {
  csuite *t;
  pthread_t thread;
  probe *p; /* on the queue that is bound to that thread */
} owner;

THREAD(own_a_bound_queue, owner, o) {
  o->thread = pthread_self();
  o->p = probe_after(t, host_queue(t, CHIME_QUEUE_FLAG_BOUND), "a", 0);
  EXPECT(is_readable(fd_of(t, o->p->queue), LONG));
}

/* No thread is the one that has ended, whatever the system calls it. */
TEST(a_bound_queue_refuses_a_new_thread_with_the_name_of_one_that_has_ended) {
  owner o = {t, 0, NULL};
  run_on_a_thread(t, own_a_bound_queue, &o);
  o.p->status = CHIME_ERROR_WRONG_THREAD;
  run_on_a_namesake(t, o.thread, expect_refused, o.p);
  EXPECT_EQ(o.p->ticks, 0);
}

/* ---- Run, stop --------------------------------------------------------------------------------------------------- */

static void stop_the_queue(csuite *t, probe *p, const chime_tick *tick) {
  EXPECT_OK(chime_queue_stop(p->queue));
  EXPECT_STATUS(chime_queue_stop(p->queue), CHIME_IGNORED);
}

/* Nor beside one that is suspended. The background timer, which does not hold the run either, ends one that does not return. */
HOST_TEST(run_returns_beside_a_timer_that_never_comes, 0) {
  chime_timer_options options = TIMER_OPTIONS(.handler = probe_handler, .flags = CHIME_TIMER_BACKGROUND);
  probe *never = probe_after(t, queue, "never", CHIME_FOREVER), *watchdog = probe_new(t, queue, NULL);
  EXPECT_OK(chime_timer_suspend(probe_every_quietly(t, queue, CHIME_HOUR)->timer));
  watchdog->on_tick = stop_the_queue;
  options.context = watchdog;
  REQUIRE_OK(chime_timer_start(queue, &options, AFTER(PATIENCE), &watchdog->timer));
  EXPECT_OK(chime_queue_run(queue, 0));
  probe *comes = probe_start(t, queue, "comes", &SCHEDULE(.interval_ns = CHIME_MILLISECOND, .tick_limit = 3));
  EXPECT_OK(chime_queue_run(queue, 0));
  EXPECT_EQ(state_of(t, comes->timer), CHIME_STATE_FINISHED);
  EXPECT_EQ(never->ticks, 0);
  EXPECT_OK(chime_timer_release(watchdog->timer));
}

/* [17] Only CHIME_FOREVER is never: all agree. 1,024 ns is the unit of the wheel. */
TEST(what_is_far_is_not_never) {
  static const int64_t from_the_end[] = {1, 2, 1022, 1023, 1024, 1025, 5000};
  for (chime_clock clock = CHIME_CLOCK_MONOTONIC; clock <= CHIME_CLOCK_WALL + 1; clock++) {
    const int is_virtual = clock > CHIME_CLOCK_WALL;
    const chime_queue_options options = QUEUE_OPTIONS(.clock = is_virtual ? CHIME_CLOCK_MONOTONIC : clock);
    chime_queue_t queue = csuite_queue_with(t, is_virtual ? CHIME_QUEUE_VIRTUAL : CHIME_QUEUE_HOST, &options);
    for (size_t i = 0; i < sizeof from_the_end / sizeof *from_the_end; i++) {
      const int64_t far = CHIME_FOREVER - from_the_end[i];
      int32_t timeout = 0;
      int64_t next = 0;
      probe *p = probe_start(t, queue, NULL, AT(far));
      /* Where its two clocks drift apart, a queue on the wall clock wants another look, at once. */
      for (int look = 0; look < (is_virtual ? 0 : clock == CHIME_CLOCK_WALL ? 100 : 1) && timeout == 0; look++) {
        EXPECT_STATUS(chime_queue_run(queue, CHIME_QUEUE_RUN_NO_WAIT), CHIME_TIMED_OUT);
        EXPECT_OK(chime_queue_poll_timeout(queue, &timeout));
      }
      /* By the wall clock as it is looked at then, which on some systems is nanoseconds off. */
      if (clock != CHIME_CLOCK_WALL) EXPECT_EQ(next_deadline(t, queue) < far, 0);
      EXPECT(next_deadline(t, queue) < CHIME_FOREVER);
      if (!is_virtual) EXPECT_EQ(timeout, INT32_MAX);
      EXPECT_OK(chime_timer_next_deadline(p->timer, &next));
      EXPECT_EQ(next, far);
      EXPECT_OK(chime_timer_release(p->timer));
    }
  }
}

static void stop_and_run_again(csuite *t, probe *p, const chime_tick *tick) {
  stop_the_queue(t, p, tick);
  EXPECT_STATUS(chime_queue_run(p->queue, CHIME_QUEUE_RUN_UNTIL_STOPPED), CHIME_ERROR_WOULD_DEADLOCK);
}

/* A stop in the handler is left to the run that is under way. */
HOST_TEST(stop_ends_run_and_a_stop_before_ends_the_next, 0) {
  probe *p = probe_quiet(t, queue, 0, CHIME_MILLISECOND, stop_and_run_again);
  EXPECT_STATUS(chime_queue_run(queue, CHIME_QUEUE_RUN_UNTIL_STOPPED), CHIME_STOPPED);
  EXPECT_EQ(p->ticks, 1);
  EXPECT_OK(chime_timer_release(p->timer));
  EXPECT_OK(chime_queue_stop(queue));
  EXPECT_STATUS(chime_queue_run(queue, CHIME_QUEUE_RUN_UNTIL_STOPPED), CHIME_STOPPED);
}

/* What is due runs, and nothing is waited for. */
HOST_TEST(a_run_that_may_not_wait_returns_instead, 0) {
  EXPECT_OK(chime_queue_run(queue, CHIME_QUEUE_RUN_NO_WAIT));
  EXPECT_STATUS(chime_queue_run(queue, CHIME_QUEUE_RUN_NO_WAIT | CHIME_QUEUE_RUN_UNTIL_STOPPED), CHIME_TIMED_OUT);
  probe *late = probe_after(t, queue, "late", CHIME_HOUR);
  probe *due = probe_after(t, queue, "due", 0);
  AWAIT(chime_queue_run(queue, CHIME_QUEUE_RUN_NO_WAIT) == CHIME_TIMED_OUT && due->ticks == 1);
  EXPECT_OK(chime_queue_stop(queue));
  EXPECT_STATUS(chime_queue_run(queue, CHIME_QUEUE_RUN_NO_WAIT), CHIME_STOPPED);
  EXPECT_STATUS(chime_queue_run(queue, CHIME_QUEUE_RUN_NO_WAIT), CHIME_TIMED_OUT);
  EXPECT_OK(chime_timer_release(late->timer));
  EXPECT_OK(chime_queue_run(queue, CHIME_QUEUE_RUN_NO_WAIT));
  EXPECT_EQ(late->ticks, 0);
}

/* ---- One queue after the other ---------------------------------------------------------------------------------- */

typedef struct current {
  chime_queue_t queue; /* by __atomic builtins; 0: the end */
  int runs;            /* of the threads, one runs it */
} current;

/* Wakers and a runner against shutdown; the number of the descriptor is taken at once by a pipe that nobody may touch. */
static void *use_all_the_time(void *argument) {
  current *c = argument;
  int runs = add(&c->runs, 1) == 1;
  chime_queue_t queue;
  while ((queue = __atomic_load_n(&c->queue, __ATOMIC_ACQUIRE)) != 0) {
    if (runs) {
      chime_queue_run(queue, CHIME_QUEUE_RUN_UNTIL_STOPPED);
    } else {
      chime_timer_after(queue, 0, ignore_tick, NULL, NULL, NULL);
      chime_queue_stop(queue);
    }
  }
  return NULL;
}

/* A stop of the next queue, before the others know of it, must not be lost to who still waits for the queue before. */
TEST(a_closed_descriptor_is_never_touched_again) {
  enum { THREADS = 3 };
  int started = 0;
  pthread_t threads[THREADS];
  chime_queue_t queue = 0;
  const chime_queue_options options = QUEUE_OPTIONS(.timer_limit = 64);
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_HOST, &options, &queue));
  current c = {queue, 0};
  while (started < THREADS && spawn(t, &threads[started], use_all_the_time, &c)) started++;
  for (int i = 0; i < csuite_scaled(5000); i++) {
    int fd = fd_of(t, queue);
    if (!EXPECT_OK(chime_queue_shutdown(queue, PATIENCE))) break;
    EXPECT(system_others_may_have(fd));
    if (!EXPECT_OK(chime_queue_create(CHIME_QUEUE_HOST, &options, &queue))) break;
    EXPECT_OK(chime_queue_stop(queue));
    if (!EXPECT_STATUS(chime_queue_run(queue, 0), CHIME_STOPPED)) break;
    __atomic_store_n(&c.queue, queue, __ATOMIC_RELEASE);
  }
  __atomic_store_n(&c.queue, (chime_queue_t)0, __ATOMIC_RELEASE);
  EXPECT(chime_queue_stop(queue) >= 0); /* for the run that is under way */
  while (started > 0) pthread_join(threads[--started], NULL);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}

typedef struct stopping {
  chime_queue_t queue;
  int calls, last;
} stopping;

static void stop_at_last_call(void *context) {
  stopping *s = context;
  if (++s->calls == s->last) chime_queue_stop(s->queue);
}
static void stop_at_last_tick(const chime_tick *tick, void *context) { stop_at_last_call(context); }

/* Functions or ticks; a stop in the first, or in the last, which is not kept for the next run. */
HOST_TEST(no_callback_of_a_run_begins_after_its_stop, 0) {
  enum { CALLBACKS = 1000 };
  stopping *s = csuite_memory(t, sizeof *s);
  int i, way;
  s->queue = queue;
  for (way = 0; way < 4; way++) {
    s->calls = 0;
    s->last = way % 2 ? CALLBACKS : 1;
    for (i = 0; i < CALLBACKS; i++) {
      if (way < 2) EXPECT_OK(chime_queue_async(queue, stop_at_last_call, s, NULL));
      else EXPECT_OK(chime_timer_after(queue, 0, stop_at_last_tick, s, NULL, NULL));
    }
    EXPECT_EQ(chime_queue_run(queue, 0), CHIME_STOPPED);
    EXPECT_EQ(s->calls, s->last);
    EXPECT_OK(chime_queue_run(queue, 0));
    EXPECT_EQ(s->calls, CALLBACKS);
  }
}
