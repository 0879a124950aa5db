/* endings.c - calls that meet the end of their queue, and what comes after it in the same place. */
#include "harness.h"

#include <sched.h>

/* The queue that other threads use; 0 ends them. */
typedef struct meeting {
  csuite *t;
  int64_t queue; /* by __atomic builtins */
  int ticks;
  int finalized;
} meeting;

static chime_queue_t queue_of(meeting *m) { return (chime_queue_t)__atomic_load_n(&m->queue, __ATOMIC_ACQUIRE); }
static void set_queue(meeting *m, chime_queue_t queue) {
  __atomic_store_n(&m->queue, (int64_t)queue, __ATOMIC_RELEASE);
}

static void count_tick(const chime_tick *tick, void *context) {
  meeting *m = context;
  (void)tick;
  add(&m->ticks, 1);
}

static void count_finalizer(void *context) { add(&((meeting *)context)->finalized, 1); }

static void *ask_for_deadlines(void *argument) {
  meeting *m = argument;
  chime_queue_t queue;
  int64_t deadline;
  while ((queue = queue_of(m)) != 0) chime_queue_next_deadline(queue, &deadline);
  return NULL;
}

/* A cell serves one queue after the other: whoever asks about one that has ended must not touch the inbox of the next. */
TEST(who_asks_about_a_queue_that_ends_takes_nothing_from_the_next) {
  meeting *m = csuite_memory(t, sizeof *m);
  chime_queue_t queue = 0;
  pthread_t threads[8];
  int started = 0, round;
  m->t = t;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  set_queue(m, queue);
  while (started < 8 && spawn(t, &threads[started], ask_for_deadlines, m)) started++;
  for (round = 0; round < csuite_scaled(300) && !csuite_failed(t); round++) {
    chime_queue_t next = 0;
    int ticks, finalized;
    EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
    if (!EXPECT_OK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &next))) break;
    ticks = load(&m->ticks);
    finalized = load(&m->finalized);
    EXPECT_OK(chime_timer_after(next, 1, count_tick, m, count_finalizer, NULL));
    EXPECT_OK(chime_queue_advance(next, 10));
    EXPECT_EQ(load(&m->ticks), ticks + 1);
    EXPECT_OK(chime_queue_shutdown(next, PATIENCE));
    EXPECT_EQ(load(&m->finalized), finalized + 1);
    if (!EXPECT_OK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue))) break;
    set_queue(m, queue);
    sleep_ns(round % 8 * CHIME_MICROSECOND);
  }
  set_queue(m, 0);
  while (started > 0) pthread_join(threads[--started], NULL);
  chime_queue_shutdown(queue, PATIENCE);
}

static void do_nothing(void *context) { (void)context; }

static void *put_functions(void *argument) {
  meeting *m = argument;
  chime_queue_t queue;
  while ((queue = queue_of(m)) != 0) chime_queue_async(queue, do_nothing, NULL, NULL);
  return NULL;
}

TEST(functions_put_on_a_concurrent_queue_that_ends_do_not_hold_it_up) {
  meeting *m = csuite_memory(t, sizeof *m);
  chime_queue_t queue = 0;
  pthread_t threads[4];
  int started = 0, round;
  if (csuite_skips_without_dispatch(t)) return;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_CONCURRENT, NULL, &queue));
  set_queue(m, queue);
  while (started < 4 && spawn(t, &threads[started], put_functions, m)) started++;
  for (round = 0; round < csuite_scaled(300) && !csuite_failed(t); round++) {
    sleep_ns(200 * CHIME_MICROSECOND);
    EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
    if (!EXPECT_OK(chime_queue_create(CHIME_QUEUE_CONCURRENT, NULL, &queue))) break;
    set_queue(m, queue);
  }
  set_queue(m, 0);
  while (started > 0) pthread_join(threads[--started], NULL);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}

static void ignore_tick(const chime_tick *tick, void *context) { (void)tick, (void)context; }

static void leave_slowly(void *context) {
  sleep_ns(200 * CHIME_MICROSECOND);
  add(&((meeting *)context)->ticks, 1);
}

static void enter(void *context) { add(&((meeting *)context)->finalized, 1); }

TEST(shutdown_waits_for_the_leave_hook) {
  const chime_queue_kind kinds[] = {CHIME_QUEUE_SERIAL, CHIME_QUEUE_CONCURRENT, CHIME_QUEUE_PRECISE};
  size_t i;
  int round;
  for (i = 0; i < 3; i++) {
    if (kinds[i] != CHIME_QUEUE_PRECISE && !csuite_has_dispatch()) continue;
    for (round = 0; round < csuite_scaled(100) && !csuite_failed(t); round++) {
      meeting *m = csuite_memory(t, sizeof *m);
      chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
      chime_queue_t queue = 0;
      options.enter = enter;
      options.leave = leave_slowly;
      options.hook_context = m;
      REQUIRE_OK(chime_queue_create(kinds[i], &options, &queue));
      EXPECT_OK(chime_timer_after(queue, CHIME_MICROSECOND, ignore_tick, NULL, NULL, NULL));
      sleep_ns(round % 4 * 100 * CHIME_MICROSECOND);
      EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
      EXPECT_EQ(load(&m->ticks), load(&m->finalized)); /* left as often as entered */
    }
  }
}

static void release_the_queue(void *object) { chime_queue_release(*(chime_queue_t *)object); }

TEST(records_are_counted_only_when_they_were_written) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  chime_timer_options timer_options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = schedule_of(0, 0);
  chime_queue_t *queue = csuite_memory(t, sizeof *queue);
  chime_timer_t timer;
  chime_tick ticks[8];
  uint32_t i, count = 0;
  options.flags = CHIME_QUEUE_RECORDS;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_HOST, &options, queue));
  csuite_ends(t, *queue, PATIENCE);
  REQUIRE_OK(chime_target_create(queue, release_the_queue, &timer_options.target));
  REQUIRE_OK(chime_timer_start(*queue, &timer_options, &schedule, &timer));
  EXPECT_OK(chime_queue_wait(*queue, PATIENCE));
  REQUIRE_OK(chime_queue_take_ticks(*queue, ticks, sizeof ticks[0], 8, &count));
  EXPECT_EQ(count, 1);
  EXPECT_OK(chime_target_release(timer_options.target)); /* the taken tick holds it */
  for (i = 0; i < 3; i++) EXPECT_OK(chime_queue_async(*queue, NULL, ticks, NULL));
  memset(ticks, 0xEE, sizeof ticks);
  if (chime_queue_take_ticks(*queue, ticks, sizeof ticks[0], 8, &count) != CHIME_OK) return;
  for (i = 0; i < count; i++) EXPECT_EQ(ticks[i].kind, CHIME_TICK_FUNCTION);
}

TEST(the_next_deadline_knows_of_timers_whose_ticks_are_taken) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  chime_timer_options timer_options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = schedule_of(20 * CHIME_MILLISECOND, 20 * CHIME_MILLISECOND);
  chime_queue_t queue = 0;
  chime_timer_t timer;
  chime_tick tick;
  int64_t deadline;
  int32_t milliseconds;
  uint32_t count = 0;
  options.flags = CHIME_QUEUE_RECORDS;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_HOST, &options, &queue));
  csuite_ends(t, queue, PATIENCE);
  REQUIRE_OK(chime_timer_start(queue, &timer_options, &schedule, &timer));
  EXPECT_OK(chime_queue_wait(queue, PATIENCE));
  REQUIRE_OK(chime_queue_take_ticks(queue, &tick, sizeof tick, 1, &count));
  schedule = schedule_of(2 * CHIME_MILLISECOND, 2 * CHIME_MILLISECOND);
  EXPECT_STATUS(chime_timer_reschedule(timer, &schedule), CHIME_RUNNING);
  EXPECT_OK(chime_queue_next_deadline(queue, &deadline));
  EXPECT(deadline <= deadline_of(t, timer) + 1024);
  EXPECT_OK(chime_timer_fire(timer));
  EXPECT_OK(chime_queue_poll_timeout(queue, &milliseconds));
  EXPECT_EQ(milliseconds, 0);
}

/* A thread waits in one queue after the other; a stop of the next one must not be lost to it. */
static void *wait_for_the_end(void *argument) {
  meeting *m = argument;
  chime_queue_t queue;
  while ((queue = queue_of(m)) != 0) chime_queue_wait(queue, 10 * CHIME_MILLISECOND);
  return NULL;
}

TEST(a_stop_is_not_lost_to_who_waits_for_the_queue_before) {
  meeting *m = csuite_memory(t, sizeof *m);
  chime_queue_t queue = 0;
  pthread_t thread;
  int round;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_HOST, NULL, &queue));
  set_queue(m, queue);
  if (!spawn(t, &thread, wait_for_the_end, m)) return;
  for (round = 0; round < csuite_scaled(500) && !csuite_failed(t); round++) {
    chime_queue_t next = 0;
    EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
    if (!EXPECT_OK(chime_queue_create(CHIME_QUEUE_HOST, NULL, &next))) break;
    EXPECT_OK(chime_queue_stop(next));
    EXPECT_STATUS(chime_queue_wait(next, CHIME_SECOND), CHIME_STOPPED);
    EXPECT_OK(chime_queue_shutdown(next, PATIENCE));
    if (!EXPECT_OK(chime_queue_create(CHIME_QUEUE_HOST, NULL, &queue))) break;
    set_queue(m, queue);
    if (round % 2) sched_yield();
  }
  set_queue(m, 0);
  pthread_join(thread, NULL);
  chime_queue_shutdown(queue, PATIENCE);
}
