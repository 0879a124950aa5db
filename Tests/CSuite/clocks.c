/* clocks.c - the clocks of queues, sleeping, precise queues, and the hooks of threads that Chime makes. */
#include "host.h"

/* ---- Clocks ----------------------------------------------------------------------------------------------------- */

TEST(a_deadline_of_each_clock_is_met) {
  const chime_clock clocks[] = {CHIME_CLOCK_MONOTONIC, CHIME_CLOCK_BOOTTIME, CHIME_CLOCK_WALL};
  size_t i;
  for (i = 0; i < 3; i++) {
    chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
    chime_queue_t queue = 0;
    chime_schedule schedule = schedule_of(0, 2 * CHIME_MILLISECOND);
    probe *p;
    int64_t now, after;
    if (clocks[i] == CHIME_CLOCK_WALL && !csuite_has_dispatch()) continue;
    options.clock = clocks[i];
    REQUIRE_OK(chime_queue_create(CHIME_QUEUE_HOST, &options, &queue));
    csuite_ends(t, queue, PATIENCE);
    REQUIRE_OK(chime_now(clocks[i], &now));
    EXPECT_BETWEEN(now_of(t, queue), now, now + 10 * CHIME_SECOND);
    schedule.flags = CHIME_SCHEDULE_DEADLINE;
    schedule.first_ns = now + 10 * CHIME_MILLISECOND;
    p = probe_start(t, queue, "a", &schedule);
    EXPECT_EQ(deadline_of(t, p->timer), schedule.first_ns);
    EXPECT(process_until(t, queue, &p->ticks, 1));
    REQUIRE_OK(chime_now(clocks[i], &after));
    EXPECT_EQ(p->first.scheduled_ns % (2 * CHIME_MILLISECOND), schedule.first_ns % (2 * CHIME_MILLISECOND));
    EXPECT(p->first.actual_ns >= schedule.first_ns && p->first.actual_ns <= after);
    EXPECT_TOOK_EFFECT(chime_timer_cancel(p->timer));
    EXPECT_OK(chime_timer_restart(p->timer, NULL)); /* the same deadline, which has passed */
    EXPECT_OK(chime_timer_postpone_until(p->timer, after + CHIME_HOUR));
    EXPECT_EQ(deadline_of(t, p->timer), after + CHIME_HOUR);
  }
}

TEST(wall_time_is_offered_on_every_kind_of_queue) {
  const chime_queue_kind kinds[] = {CHIME_QUEUE_SERIAL, CHIME_QUEUE_CONCURRENT, CHIME_QUEUE_PRECISE};
  size_t i;
  if (csuite_skips_without_dispatch(t)) return;
  for (i = 0; i < 3; i++) {
    chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
    chime_queue_t queue = 0;
    chime_schedule schedule = schedule_of(0, 0);
    probe *p;
    int64_t now;
    options.clock = CHIME_CLOCK_WALL;
    REQUIRE_OK(chime_queue_create(kinds[i], &options, &queue));
    csuite_ends(t, queue, PATIENCE);
    REQUIRE_OK(chime_now(CHIME_CLOCK_WALL, &now));
    schedule.flags = CHIME_SCHEDULE_DEADLINE;
    schedule.first_ns = now + 10 * CHIME_MILLISECOND;
    p = probe_idle(t, queue, "a");
    EXPECT_OK(chime_timer_activate(p->timer, &schedule));
    EXPECT(await(&p->ticks, 1));
    EXPECT_EQ(p->first.scheduled_ns, schedule.first_ns);
    EXPECT(p->first.actual_ns >= schedule.first_ns);
  }
}

TEST(sleep_until_is_never_early) {
  const chime_clock clocks[] = {CHIME_CLOCK_MONOTONIC, CHIME_CLOCK_BOOTTIME, CHIME_CLOCK_WALL};
  size_t i;
  for (i = 0; i < 3; i++) {
    int64_t now, after;
    REQUIRE_OK(chime_now(clocks[i], &now));
    EXPECT_OK(chime_sleep_until(clocks[i], now + 5 * CHIME_MILLISECOND));
    REQUIRE_OK(chime_now(clocks[i], &after));
    EXPECT_BETWEEN(after - now, 5 * CHIME_MILLISECOND, PATIENCE);
    EXPECT_OK(chime_sleep_until(clocks[i], INT64_MIN));
  }
  EXPECT_STATUS(chime_sleep_until(CHIME_CLOCK_VIRTUAL, 0), CHIME_ERROR_UNSUPPORTED);
  EXPECT_STATUS(chime_sleep_until(99, 0), CHIME_ERROR_INVALID_ARGUMENT);
}

/* ---- Precise queues and threads --------------------------------------------------------------------------------- */

TEST(real_time_priority_is_given_or_refused_by_a_status) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  chime_queue_t queue = 0;
  chime_status status;
  options.realtime_priority = 1;
  options.affinity = 1;
  status = chime_queue_create(CHIME_QUEUE_PRECISE, &options, &queue);
  if (status == CHIME_OK) {
    probe *p;
    csuite_ends(t, queue, PATIENCE);
    p = probe_every_quietly(t, queue, CHIME_MILLISECOND);
    EXPECT(await(&p->ticks, 5));
  } else {
    EXPECT(status == CHIME_ERROR_PERMISSION || status == CHIME_ERROR_INVALID_ARGUMENT); /* no such processor here */
    EXPECT_EQ(queue, 0);
  }
}

static void note_thread(void *context) { *(pthread_t *)context = pthread_self(); }

TEST(sync_on_a_precise_queue_runs_on_its_thread) {
  pthread_t first, second;
  QUEUE_OR_RETURN(queue, PRECISE);
  EXPECT_OK(chime_queue_sync(queue, note_thread, &first, CHIME_FOREVER));
  EXPECT_OK(chime_queue_sync(queue, note_thread, &second, CHIME_SECOND));
  EXPECT(pthread_equal(first, second) && !pthread_equal(first, pthread_self()));
}

typedef struct hooks {
  int entered, left, inside, wrong;
} hooks;

static void on_enter(void *context) {
  hooks *h = context;
  add(&h->entered, 1);
  if (add(&h->inside, 1) != 1) add(&h->wrong, 1);
}

static void on_leave(void *context) {
  hooks *h = context;
  add(&h->inside, -1);
  add(&h->left, 1);
}

static void expect_inside(probe *p, const chime_tick *tick) {
  hooks *h = p->user;
  (void)tick;
  if (load(&h->inside) != 1) add(&h->wrong, 1);
}

TEST(enter_and_leave_stand_around_handlers) {
  const chime_queue_kind kinds[] = {CHIME_QUEUE_SERIAL, CHIME_QUEUE_PRECISE};
  size_t i;
  for (i = 0; i < 2; i++) {
    chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
    hooks *h = csuite_memory(t, sizeof *h);
    chime_queue_t queue = 0;
    probe *p;
    if (kinds[i] != CHIME_QUEUE_PRECISE && !csuite_has_dispatch()) continue;
    options.enter = on_enter;
    options.leave = on_leave;
    options.hook_context = h;
    REQUIRE_OK(chime_queue_create(kinds[i], &options, &queue));
    p = probe_idle(t, queue, "a");
    p->user = h;
    p->on_tick = expect_inside;
    chime_schedule schedule = schedule_of(0, CHIME_MILLISECOND);
    EXPECT_OK(chime_timer_activate(p->timer, &schedule));
    EXPECT(await(&p->ticks, 3));
    EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
    EXPECT(load(&h->entered) > 0);
    EXPECT_EQ(load(&h->wrong), 0);
  }
}

static void on_thread(void *context) { add(context, 1); }

TEST(threads_that_chime_makes_call_the_hooks) {
  int *calls = csuite_memory(t, 2 * sizeof *calls);
  chime_queue_t queue = 0;
  int64_t end = monotonic_ns() + PATIENCE;
  csuite_keep_memory(t); /* threads of other tests may call the hooks, too */
  EXPECT_OK(chime_set_thread_hooks(on_thread, on_thread, calls));
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_PRECISE, NULL, &queue));
  EXPECT_OK(chime_set_thread_hooks(NULL, NULL, NULL));
  EXPECT(await(calls, 1));
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  while (load(calls) < 2 && monotonic_ns() < end) sleep_ns(CHIME_MILLISECOND);
  EXPECT(load(calls) >= 2);
}
