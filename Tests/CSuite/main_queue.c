/*
 * main_queue.c - the main queue. These tests need the process's main thread, one after the other; each leaves no stop
 * pending. Nobody else may drain libdispatch's main queue meanwhile.
 */
#include "harness.h"

#include <signal.h>
#include <unistd.h>

static pthread_t main_thread;

/* Ends a run that nothing else ends, so that a failure is reported and not waited for. */
typedef struct watchdog {
  pthread_t thread;
  int over;
  int barked;
} watchdog;

static void *watch(void *argument) {
  watchdog *w = argument;
  int64_t end = monotonic_ns() + PATIENCE;
  while (load(&w->over) == 0) {
    if (monotonic_ns() > end) {
      store(&w->barked, 1);
      chime_main_stop();
      return NULL;
    }
    sleep_ns(CHIME_MILLISECOND);
  }
  return NULL;
}

static chime_status run_main(csuite *t) {
  watchdog *w = csuite_memory(t, sizeof *w);
  chime_status status;
  if (!spawn(t, &w->thread, watch, w)) return INT32_MIN;
  status = chime_main_run();
  store(&w->over, 1);
  pthread_join(w->thread, NULL);
  EXPECT_EQ(load(&w->barked), 0);
  return status;
}

static chime_queue_t main_queue(csuite *t) {
  chime_queue_t queue = 0;
  if (csuite_skips_without_dispatch(t)) return 0;
  main_thread = pthread_self();
  EXPECT_OK(chime_queue_main(NULL, &queue));
  csuite_ends(t, queue, 100 * CHIME_MILLISECOND); /* nobody drains it then */
  return queue;
}

#define MAIN_QUEUE_OR_RETURN(name) \
  chime_queue_t name = main_queue(t); \
  if (name == 0) return

static void stop_on_the_third(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  EXPECT(pthread_equal(pthread_self(), main_thread));
  if (tick->sequence == 3) {
    p->status = chime_main_stop();
    EXPECT_STATUS(chime_timer_cancel(p->timer), CHIME_RUNNING);
  }
}

TEST_ALONE(handlers_run_on_the_main_thread_until_the_stop) {
  MAIN_QUEUE_OR_RETURN(queue);
  probe *p = probe_quiet(t, queue, 0, CHIME_MILLISECOND, stop_on_the_third);
  {
    QUEUE_OR_RETURN(another, SERIAL);
    let_later_ticks_come(t, another, 2 * CHIME_MILLISECOND);
  }
  EXPECT_EQ(load(&p->ticks), 0); /* nobody runs the main queue */
  EXPECT_STATUS(run_main(t), CHIME_STOPPED);
  EXPECT_EQ(load(&p->ticks), 3);
  EXPECT_OK(p->status);
}

TEST_ALONE(a_stop_that_comes_before_makes_the_next_run_return) {
  MAIN_QUEUE_OR_RETURN(queue);
  probe *p = probe_after(t, queue, "a", CHIME_HOUR);
  EXPECT_OK(chime_main_stop());
  EXPECT_STATUS(chime_main_stop(), CHIME_IGNORED); /* one is pending */
  EXPECT_STATUS(run_main(t), CHIME_STOPPED);
  EXPECT_OK(chime_main_stop()); /* none is pending any more */
  EXPECT_STATUS(run_main(t), CHIME_STOPPED);
  EXPECT_EQ(load(&p->ticks), 0);
}

static void run_inside(probe *p, const chime_tick *tick) {
  (void)tick;
  p->status = chime_main_run();
  chime_main_stop();
}

TEST_ALONE(a_nested_run_would_deadlock) {
  MAIN_QUEUE_OR_RETURN(queue);
  probe *p = probe_quiet(t, queue, 0, 0, run_inside);
  EXPECT_STATUS(run_main(t), CHIME_STOPPED);
  EXPECT_STATUS(p->status, CHIME_ERROR_WOULD_DEADLOCK);
}

static void *run_from_a_thread(void *argument) {
  probe *p = argument;
  p->status = chime_main_run();
  return NULL;
}

TEST_ALONE(only_the_main_thread_may_run_it) {
  pthread_t thread;
  if (csuite_skips_without_dispatch(t)) return;
  probe *p = probe_new(t, 0, "a");
  if (spawn(t, &thread, run_from_a_thread, p)) pthread_join(thread, NULL);
  EXPECT_STATUS(p->status, CHIME_ERROR_WRONG_THREAD);
}

static void *stop_from_a_thread(void *argument) {
  probe *p = argument;
  sleep_ns(20 * CHIME_MILLISECOND);
  p->status = chime_main_stop();
  return NULL;
}

TEST_ALONE(any_thread_may_stop_it) {
  pthread_t thread;
  if (csuite_skips_without_dispatch(t)) return;
  probe *p = probe_new(t, 0, "a");
  if (!spawn(t, &thread, stop_from_a_thread, p)) return;
  EXPECT_STATUS(run_main(t), CHIME_STOPPED);
  pthread_join(thread, NULL);
  EXPECT_OK(p->status);
}

static volatile sig_atomic_t stopped_by_signal;

static void stop_on_signal(int number) {
  (void)number;
  stopped_by_signal = chime_main_stop() == CHIME_OK;
}

static void *signal_from_a_thread(void *argument) {
  (void)argument;
  sleep_ns(20 * CHIME_MILLISECOND);
  pthread_kill(main_thread, SIGUSR1);
  return NULL;
}

TEST_ALONE(a_signal_handler_may_stop_it) {
  struct sigaction action, before;
  pthread_t thread;
  if (csuite_skips_without_dispatch(t)) return;
  memset(&action, 0, sizeof action);
  action.sa_handler = stop_on_signal;
  sigemptyset(&action.sa_mask);
  main_thread = pthread_self();
  stopped_by_signal = 0;
  REQUIRE(sigaction(SIGUSR1, &action, &before) == 0);
  if (spawn(t, &thread, signal_from_a_thread, NULL)) {
    EXPECT_STATUS(run_main(t), CHIME_STOPPED);
    pthread_join(thread, NULL);
    EXPECT_EQ(stopped_by_signal, 1);
  }
  sigaction(SIGUSR1, &before, NULL);
}

typedef struct visit {
  csuite *t;
  chime_queue_t queue;
  int ran;
  int on_main;
  chime_status status;
} visit;

static void note_visit(void *context) {
  visit *v = context;
  store(&v->on_main, pthread_equal(pthread_self(), main_thread) ? 1 : 0);
  add(&v->ran, 1);
}

TEST_ALONE(sync_on_the_main_thread_runs_at_once) {
  visit *v = csuite_memory(t, sizeof *v);
  MAIN_QUEUE_OR_RETURN(queue);
  EXPECT_OK(chime_queue_sync(queue, note_visit, v, CHIME_FOREVER));
  EXPECT_EQ(v->ran, 1);
  EXPECT_EQ(v->on_main, 1);
}

static void *sync_briefly(void *argument) {
  visit *v = argument;
  v->status = chime_queue_sync(v->queue, note_visit, v, 20 * CHIME_MILLISECOND);
  return NULL;
}

static void *sync_then_stop(void *argument) {
  visit *v = argument;
  v->status = chime_queue_sync(v->queue, note_visit, v, PATIENCE);
  chime_main_stop();
  return NULL;
}

TEST_ALONE(sync_from_another_thread_waits_for_a_run) {
  pthread_t thread;
  visit *given_up = csuite_memory(t, sizeof *given_up);
  visit *v = csuite_memory(t, sizeof *v);
  MAIN_QUEUE_OR_RETURN(queue);
  given_up->queue = v->queue = queue;
  if (!spawn(t, &thread, sync_briefly, given_up)) return;
  pthread_join(thread, NULL); /* nobody runs the main queue */
  EXPECT_STATUS(given_up->status, CHIME_TIMED_OUT);
  if (!spawn(t, &thread, sync_then_stop, v)) return;
  EXPECT_STATUS(run_main(t), CHIME_STOPPED);
  pthread_join(thread, NULL);
  EXPECT_OK(v->status);
  EXPECT_EQ(load(&v->ran), 1);
  EXPECT_EQ(load(&given_up->ran), 0); /* it will not run either */
}

static void visit_and_stop(void *context) {
  note_visit(context);
  chime_main_stop();
}

static void visit_finalized(void *context) { ((visit *)context)->status = CHIME_OK; }

TEST_ALONE(async_runs_in_the_run) {
  visit *v = csuite_memory(t, sizeof *v);
  MAIN_QUEUE_OR_RETURN(queue);
  v->status = INT32_MIN;
  EXPECT_OK(chime_queue_async(queue, visit_and_stop, v, visit_finalized));
  EXPECT_EQ(load(&v->ran), 0);
  EXPECT_STATUS(run_main(t), CHIME_STOPPED);
  EXPECT_EQ(load(&v->ran), 1);
  EXPECT_EQ(load(&v->on_main), 1);
  EXPECT_OK(chime_queue_shutdown(queue, 100 * CHIME_MILLISECOND));
  EXPECT_OK(v->status); /* finalized */
}

/* [8]: "What can no longer be delivered on the queue is delivered in this call when the timeout ends." */
TEST_ALONE(shutdown_delivers_what_a_main_queue_that_nobody_drains_cannot) {
  chime_schedule in_an_hour = schedule_of(CHIME_HOUR, 0);
  MAIN_QUEUE_OR_RETURN(queue);
  probe *idle = probe_idle(t, queue, "a");
  probe *running = probe_start_full(t, queue, "b", &in_an_hour);
  probe *released = probe_idle(t, queue, "c");
  EXPECT_OK(chime_timer_release(released->timer));
  EXPECT_OK(chime_queue_shutdown(queue, 50 * CHIME_MILLISECOND));
  EXPECT_EQ(load(&idle->finalized), 1);
  EXPECT_EQ(load(&running->finalized), 1);
  EXPECT_EQ(load(&running->cancelled), 1);
  EXPECT_EQ(load(&running->ticks), 0);
  EXPECT_EQ(load(&released->finalized), 1);
}

TEST_ALONE(main_queue_options_are_checked) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  chime_queue_t queue = 77;
  EXPECT_STATUS(chime_queue_main(NULL, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  options.size = 4;
  EXPECT_STATUS(chime_queue_main(&options, &queue), CHIME_ERROR_INVALID_ARGUMENT);
  options.size = (uint32_t)sizeof options;
  options.flags = 2;
  EXPECT_STATUS(chime_queue_main(&options, &queue), CHIME_ERROR_INVALID_ARGUMENT);
  options.flags = 0;
  options.label = "\xff";
  EXPECT_STATUS(chime_queue_main(&options, &queue), CHIME_ERROR_INVALID_ARGUMENT);
  options.label = NULL;
  options.clock = CHIME_CLOCK_BOOTTIME;
  EXPECT_STATUS(chime_queue_main(&options, &queue), CHIME_ERROR_UNSUPPORTED);
  EXPECT_EQ(queue, 77);
}

static void check_not_early_and_stop(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  EXPECT_BETWEEN(tick->actual_ns, p->number, INT64_MAX);
  chime_main_stop();
}

/* [3] */
TEST_ALONE(no_tick_on_the_main_queue_is_early) {
  chime_schedule schedule = schedule_of(30 * CHIME_MILLISECOND, 0);
  MAIN_QUEUE_OR_RETURN(queue);
  probe *p = probe_idle(t, queue, "a");
  p->on_tick = check_not_early_and_stop;
  p->number = now_of(t, queue) + schedule.first_ns;
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  EXPECT_STATUS(run_main(t), CHIME_STOPPED);
  EXPECT_EQ(load(&p->ticks), 1);
}
