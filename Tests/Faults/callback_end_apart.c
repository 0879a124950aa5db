/*
 * callback_end_apart.c - as callback_end.c, for the callbacks that do not belong to any kind of queue: hooks of threads,
 * destructors that chime_queue_take_ticks calls, callbacks that drive another queue, actions of weak timers; and many ends
 * in a row on the same threads.
 */
#include "ending.h"

static int ticks, finalized;
static chime_queue_t queue;
static chime_timer_t timer;

/* ---- Callbacks that have a place of their own ------------------------------------------------------------------- */

/* The functions that Chime's own threads begin and end with. */
CASES(thread_hooks, argument, 0, 3) {
  int is_end_hook = argument / 2;
  ending_by_cancellation = argument % 2;
  EXPECT_OK(chime_set_thread_hooks(is_end_hook ? NULL : end_in_call, is_end_hook ? end_in_call : NULL, NULL));
  place_expect_works(PRECISE);
  EXPECT(await(&ended, 1));
}

/* chime_queue_take_ticks calls nothing but the destructor of a target that a tick of the call before held last. */
static chime_target_t held_target;

static void take_twice(void) {
  chime_tick tick;
  uint32_t count;
  EXPECT_OK(chime_queue_wait(queue, PATIENCE));
  EXPECT_OK(chime_queue_take_ticks(queue, &tick, sizeof tick, 1, &count));
  EXPECT_OK(chime_target_release(held_target));
  EXPECT_EQ(load(&ended), 0);
  chime_queue_take_ticks(queue, &tick, sizeof tick, 1, &count);
}

CASES(destructor_in_take_ticks, argument, 0, 1) {
  const chime_queue_options options = {.size = sizeof options, .flags = CHIME_QUEUE_RECORDS};
  chime_timer_options silent = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = schedule_of(CHIME_MILLISECOND, CHIME_MILLISECOND);
  host_thread taker;
  chime_tick tick;
  uint32_t count;
  ending_by_cancellation = argument;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_HOST, &options, &queue));
  REQUIRE_OK(chime_target_create(&ending_calls, end_in_call, &held_target));
  silent.target = held_target;
  EXPECT_OK(chime_timer_start(queue, &silent, &schedule, &timer));
  host_thread_start(&taker, take_twice);
  host_thread_expect_end(&taker);
  EXPECT_EQ(load(&ended), 1);
  silent.target = 0;
  EXPECT_OK(chime_timer_start(queue, &silent, &schedule, NULL));
  EXPECT_OK(chime_queue_wait(queue, PATIENCE));
  EXPECT_OK(chime_queue_take_ticks(queue, &tick, sizeof tick, 1, &count));
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}

/* A callback of one queue drives another one, whose callback ends the thread: both are over, and both queues go on. */
static chime_queue_t inner_queue;
static chime_timer_t inner_timer;
static int went_on;

static void advance_inner_queue(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  chime_queue_advance(inner_queue, CHIME_MILLISECOND);
  add(&went_on, 1);
}

CASES(inside_another_queues_callback, argument, 0, 1) {
  static int inner_ticks;
  chime_state state;
  ending_by_cancellation = argument;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &inner_queue));
  EXPECT_OK(chime_timer_every(inner_queue, CHIME_MILLISECOND, end_in_tick, NULL, NULL, &inner_timer));
  EXPECT_OK(chime_timer_every(inner_queue, CHIME_MILLISECOND, count_tick, &inner_ticks, NULL, NULL));
  queue = place_tick(SERIAL, &ticks, NULL);
  EXPECT_OK(chime_timer_every(queue, CHIME_MILLISECOND, advance_inner_queue, NULL, NULL, &timer));
  EXPECT(await(&ended, 1));
  EXPECT(await(&ticks, load(&ticks) + 3));
  EXPECT(chime_timer_cancel_and_wait(timer, PATIENCE) == CHIME_IGNORED);
  EXPECT_EQ(went_on, 0);
  EXPECT_OK(chime_timer_state(inner_timer, &state));
  EXPECT_EQ(state, CHIME_STATE_CANCELLED);
  EXPECT_OK(chime_queue_advance(inner_queue, 3 * CHIME_MILLISECOND));
  EXPECT(inner_ticks >= 3);
  EXPECT_OK(chime_queue_shutdown(inner_queue, PATIENCE));
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}

/* The call finishes its work after one callback has ended its thread; what the others do there does not keep it alive. */
static void drive_once(void) { chime_queue_advance(queue, CHIME_MILLISECOND); }
static void process_once(void) { chime_queue_process(queue, 0, NULL); }

CASES(beside_other_callbacks, argument, 0, 3) {
  const chime_handler handlers[] = {advance_inner_queue, end_in_tick, advance_inner_queue, end_in_tick};
  int where = argument / 2 ? VIRTUAL : HOST, i;
  host_thread driver;
  ending_by_cancellation = argument % 2;
  REQUIRE_OK(place_make(where, NULL, &queue));
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &inner_queue));
  for (i = 0; i < 4; i++) EXPECT_OK(chime_timer_after(queue, 0, handlers[i], NULL, NULL, NULL));
  if (where == HOST) EXPECT_OK(chime_queue_wait(queue, PATIENCE));
  host_thread_start(&driver, where == HOST ? process_once : drive_once);
  host_thread_expect_end(&driver);
  EXPECT(host_thread_was_ended(&driver));
  EXPECT_EQ(went_on, 2);
  EXPECT_EQ(ending_calls, 2); /* the second only counts */
  EXPECT_OK(chime_queue_shutdown(inner_queue, PATIENCE));
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}

/* Many callbacks end the same few threads, again and again. */
static void exit_at_once(const chime_tick *tick, void *context) {
  (void)tick;
  add(context, 1);
  pthread_exit(NULL);
}

CASES(again_and_again, where, SERIAL, RUN_LOOP) {
  enum { ENDS = 500 };
  int i, ends = 0;
  queue = place_tick(where, &ticks, NULL);
  for (i = 0; i < ENDS; i++) {
    EXPECT_OK(chime_timer_after(queue, i * 10 * CHIME_MICROSECOND, exit_at_once, &ends, count_call, NULL));
  }
  EXPECT(await(&ends, 2 * ENDS)); /* each finalizer once, though nobody holds these timers */
  EXPECT(await(&ticks, load(&ticks) + 3));
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  EXPECT_EQ(ends, 2 * ENDS);
}

/* ---- Run loops -------------------------------------------------------------------------------------------------- */

static chime_weak_timer_t weak_timer;

static void fire(void) {
  EXPECT_OK(chime_weak_timer_create(CHIME_HOUR, 1, 0, end_in_tick, &finalized, count_call, &weak_timer));
  chime_weak_timer_fire(weak_timer);
}

static void run_loop(void) {
  EXPECT_OK(chime_weak_timer_schedule(CHIME_MILLISECOND, 1, 0, end_in_tick, &finalized, count_call, &weak_timer));
  chime_run_loop_run(NULL, PATIENCE, 0);
}

/* The action of one: on the thread of the loop, or in chime_weak_timer_fire. */
CASES(action_of_a_weak_timer, argument, 0, 3) {
  int is_fired = argument / 2;
  host_thread runner;
  int32_t valid = 1;
  ending_by_cancellation = argument % 2;
  host_thread_start(&runner, is_fired ? fire : run_loop);
  host_thread_expect_end(&runner);
  EXPECT(host_thread_was_ended(&runner));
  EXPECT(await(&finalized, 1));
  EXPECT_OK(chime_weak_timer_is_valid(weak_timer, &valid));
  EXPECT_EQ(valid, 0);
  place_expect_works(RUN_LOOP);
}
