/*
 * main_queue.c - running and stopping the main queue, and the queue while nobody runs it. (Its timers are tested with
 * those of the other kinds: what ends in _on_the_main_queue.) These tests need the process's main thread, one after
 * the other; each leaves no stop pending. Nobody else may drain libdispatch's main queue meanwhile.
 */
#include "harness.h"

#include <signal.h>

static pthread_t main_thread;

static chime_queue_t main_queue(csuite *t) {
  chime_queue_t queue = 0;
  main_thread = pthread_self();
  EXPECT_OK(chime_queue_create_main(NULL, &queue));
  csuite_ends(t, queue, 100 * CHIME_MILLISECOND); /* nobody drains it then */
  return queue;
}

#define MAIN_TEST(name) ON_A_QUEUE(TEST_ALONE, name, main_queue(t))

static void expect_main_thread(csuite *t, probe *p, const chime_tick *tick) {
  EXPECT(pthread_equal(pthread_self(), main_thread));
}

static void stop_on_the_third(csuite *t, probe *p, const chime_tick *tick) {
  expect_main_thread(t, p, tick);
  if (tick->sequence != 3) return;
  EXPECT_OK(chime_main_stop());
  EXPECT_STATUS(chime_timer_cancel(p->timer), CHIME_RUNNING);
}

MAIN_TEST(handlers_run_on_the_main_thread_until_the_stop) {
  probe *p = probe_quiet(t, queue, 0, CHIME_MILLISECOND, stop_on_the_third);
  {
    QUEUE_OR_RETURN(another, SERIAL);
    let_later_ticks_come(t, another, 2 * CHIME_MILLISECOND);
  }
  EXPECT_EQ(load(&p->ticks), 0); /* nobody runs the main queue */
  EXPECT_STATUS(chime_main_run(), CHIME_STOPPED);
  EXPECT_EQ(load(&p->ticks), 3);
}

MAIN_TEST(a_stop_that_comes_before_makes_the_next_run_return) {
  probe *p = probe_after(t, queue, "a", CHIME_HOUR);
  EXPECT_OK(chime_main_stop());
  EXPECT_STATUS(chime_main_stop(), CHIME_IGNORED); /* one is pending */
  EXPECT_STATUS(chime_main_run(), CHIME_STOPPED);
  EXPECT_OK(chime_main_stop()); /* none is pending any more */
  EXPECT_STATUS(chime_main_run(), CHIME_STOPPED);
  EXPECT_EQ(load(&p->ticks), 0);
}

THREAD_OF_TEST(stop_in_a_while) {
  sleep_ns(20 * CHIME_MILLISECOND); /* it waits by then, most often */
  EXPECT_OK(chime_main_stop());
}

MAIN_TEST(a_stop_from_another_thread_ends_a_run_that_waits) {
  pthread_t thread;
  probe_after(t, queue, "a", CHIME_HOUR);
  if (!spawn(t, &thread, stop_in_a_while, t)) return;
  EXPECT_STATUS(chime_main_run(), CHIME_STOPPED);
  pthread_join(thread, NULL);
}

THREAD_OF_TEST(run_from_a_thread) { EXPECT_STATUS(chime_main_run(), CHIME_ERROR_WRONG_THREAD); }

/* Only the main thread may run it, and once. */
static void run_inside(csuite *t, probe *p, const chime_tick *tick) {
  EXPECT_STATUS(chime_main_run(), CHIME_ERROR_WOULD_DEADLOCK);
  run_on_a_thread(t, run_from_a_thread, t);
  chime_main_stop();
}

MAIN_TEST(a_nested_run_would_deadlock) { /* [1] */
  probe_quiet(t, queue, 0, 0, run_inside);
  EXPECT_STATUS(chime_main_run(), CHIME_STOPPED);
}

/* ---- Stops by a signal handler, of host-driven queues, too ------------------------------------------------------- */

static chime_queue_t stopped_queue; /* 0: the main queue */
static volatile sig_atomic_t stopped;

static void stop_on_signal(int number) {
  (void)number;
  stopped = (stopped_queue == 0 ? chime_main_stop() : chime_queue_stop(stopped_queue)) == CHIME_OK;
}

static void *signal_soon(void *argument) {
  sleep_ns(20 * CHIME_MILLISECOND);
  system_signal_thread(*(pthread_t *)argument);
  return NULL;
}

static void a_signal_handler_may_stop(csuite *t, chime_queue_t queue) {
  pthread_t self = pthread_self(), thread;
  if (!system_has_signals()) {
    csuite_skip(t, "there are no signals between threads");
    return;
  }
  stopped_queue = queue;
  stopped = 0;
  REQUIRE(system_handle_signal(stop_on_signal));
  if (spawn(t, &thread, signal_soon, &self)) {
    EXPECT_STATUS(queue == 0 ? chime_main_run() : chime_queue_run(queue, CHIME_QUEUE_RUN_UNTIL_STOPPED), CHIME_STOPPED);
    pthread_join(thread, NULL);
    EXPECT_EQ(stopped, 1);
  }
  system_handle_signal(NULL);
}

TEST_ALONE(a_signal_handler_may_stop_the_main_queue) { a_signal_handler_may_stop(t, 0); }
TEST_ALONE(a_signal_handler_may_stop_the_run_of_a_host_driven_queue) { a_signal_handler_may_stop(t, host_queue(t, 0)); }

/* ---- Functions -------------------------------------------------------------------------------------------------- */

THREAD(sync_and_give_up, probe, p) {
  EXPECT_STATUS(chime_queue_sync(p->queue, probe_function, p, 20 * CHIME_MILLISECOND), CHIME_ERROR_TIMED_OUT);
}

THREAD(sync_then_stop, probe, p) {
  EXPECT_OK(chime_queue_sync(p->queue, probe_function, p, PATIENCE));
  EXPECT_OK(chime_main_stop());
}

MAIN_TEST(sync_on_the_main_thread_runs_at_once_and_from_another_thread_waits_for_a_run) {
  probe *given_up = probe_new(t, queue, "a"), *p = probe_new(t, queue, "b");
  pthread_t thread;
  p->on_tick = expect_main_thread;
  EXPECT_OK(chime_queue_sync(queue, probe_function, p, CHIME_FOREVER));
  run_on_a_thread(t, sync_and_give_up, given_up); /* nobody runs the main queue */
  if (!spawn(t, &thread, sync_then_stop, p)) return;
  EXPECT_STATUS(chime_main_run(), CHIME_STOPPED);
  pthread_join(thread, NULL);
  EXPECT_EQ(load(&p->ticks), 2);
  EXPECT_EQ(load(&given_up->ticks), 0); /* it will not run either */
}

/* [8]: "What can no longer be delivered on the queue is delivered in this call when the timeout ends." */
MAIN_TEST(shutdown_delivers_what_a_main_queue_that_nobody_drains_cannot) {
  probe *idle = probe_idle(t, queue, "a");
  probe *running = probe_start_full(t, queue, "b", AFTER(CHIME_HOUR));
  probe *released = probe_idle(t, queue, "c");
  EXPECT_OK(chime_timer_release(released->timer));
  EXPECT_OK(chime_queue_shutdown(queue, 50 * CHIME_MILLISECOND));
  EXPECT_EQ(load(&idle->finalized) + load(&running->finalized) + load(&released->finalized), 3);
  EXPECT_EQ(load(&running->cancelled), 1);
  EXPECT_EQ(load(&running->ticks), 0);
}
