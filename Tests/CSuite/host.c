/* host.c - queues that the host drives: their functions, their descriptor, run, wait and stop. */
#include "host.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* ---- Statuses --------------------------------------------------------------------------------------------------- */

TEST(host_functions_refuse_other_queues) {
  const where places[] = {SERIAL, CONCURRENT, VIRTUAL, PRECISE};
  size_t i;
  for (i = 0; i < sizeof places / sizeof places[0]; i++) {
    chime_tick ticks[1];
    int32_t number = 7;
    int64_t deadline = 7;
    uint32_t count = 7;
    QUEUE_OR_RETURN(queue, places[i]);
    EXPECT_STATUS(chime_queue_fd(queue, &number), CHIME_ERROR_UNSUPPORTED);
    EXPECT_STATUS(chime_queue_poll_timeout(queue, &number), CHIME_ERROR_UNSUPPORTED);
    if (places[i] != VIRTUAL) {
      EXPECT_STATUS(chime_queue_next_deadline(queue, &deadline), CHIME_ERROR_UNSUPPORTED);
    }
    EXPECT_STATUS(chime_queue_wait(queue, 0), CHIME_ERROR_UNSUPPORTED);
    EXPECT_STATUS(chime_queue_process(queue, 0, &count), CHIME_ERROR_UNSUPPORTED);
    EXPECT_STATUS(chime_queue_take_ticks(queue, ticks, sizeof ticks[0], 1, &count), CHIME_ERROR_UNSUPPORTED);
    EXPECT_STATUS(chime_queue_run(queue, 0), CHIME_ERROR_UNSUPPORTED);
    EXPECT_STATUS(chime_queue_stop(queue), CHIME_ERROR_UNSUPPORTED);
    EXPECT(number == 7 && deadline == 7 && count == 7);
  }
}

TEST(host_functions_refuse_bad_arguments) {
  chime_tick ticks[1];
  uint32_t count = 7;
  chime_queue_t queue = host_queue(t, 0), records = host_queue(t, CHIME_QUEUE_RECORDS);
  EXPECT_STATUS(chime_queue_fd(queue, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_queue_next_deadline(queue, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_queue_poll_timeout(queue, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_queue_wait(queue, -1), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_queue_run(queue, 2), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_queue_take_ticks(records, NULL, sizeof ticks[0], 1, &count), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_queue_take_ticks(records, ticks, sizeof ticks[0], 1, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_queue_take_ticks(records, ticks, sizeof ticks[0], 0, &count), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_queue_take_ticks(records, ticks, sizeof ticks[0] - 8, 1, &count), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_queue_take_ticks(queue, ticks, sizeof ticks[0], 1, &count), CHIME_ERROR_UNSUPPORTED);
  EXPECT_STATUS(chime_queue_process(records, 0, &count), CHIME_ERROR_UNSUPPORTED);
  EXPECT_STATUS(chime_queue_run(records, 0), CHIME_ERROR_UNSUPPORTED);
  EXPECT_EQ(count, 7);
}

static void refuses(csuite *t, chime_queue_kind kind, const chime_queue_options *options, int line) {
  chime_queue_t queue = 7;
  chime_status status = chime_queue_create(kind, options, &queue);
  csuite_expect_status(t, status, CHIME_ERROR_INVALID_ARGUMENT, __FILE__, line, "chime_queue_create");
  csuite_expect_equal(t, (int64_t)queue, 7, __FILE__, line, "the queue's id");
}
#define REFUSES(kind, ...) \
  refuses(t, CHIME_QUEUE_##kind, &(chime_queue_options){.size = (uint32_t)sizeof(chime_queue_options), __VA_ARGS__}, \
          __LINE__)

TEST(options_of_another_kind_of_queue_are_refused) {
  REFUSES(SERIAL, .flags = CHIME_QUEUE_BOUND);
  REFUSES(PRECISE, .flags = CHIME_QUEUE_RECORDS);
  REFUSES(VIRTUAL, .flags = CHIME_QUEUE_RECORDS);
  REFUSES(HOST, .flags = CHIME_QUEUE_HONOUR_LEEWAY);
  REFUSES(HOST, .realtime_priority = 1);
  REFUSES(PRECISE, .realtime_priority = 100);
  REFUSES(SERIAL, .affinity = 1);
  REFUSES(PRECISE, .affinity = UINT64_C(1) << 63); /* no machine of these tests has that many processors */
  REFUSES(PRECISE, .reserved = 1);
}

/* ---- Driving ---------------------------------------------------------------------------------------------------- */

TEST(nothing_to_wait_for_is_not_mixed_up_with_due_at_once) {
  chime_queue_t queue = host_queue(t, 0);
  EXPECT_EQ(next_deadline(t, queue), CHIME_FOREVER);
  EXPECT_EQ(poll_timeout(t, queue), -1);
  probe_after(t, queue, "a", 0);
  EXPECT(next_deadline(t, queue) <= now_of(t, queue));
  EXPECT_EQ(poll_timeout(t, queue), 0);
  EXPECT_EQ(process(t, queue, 0), 1);
  EXPECT_EQ(next_deadline(t, queue), CHIME_FOREVER);
  EXPECT_EQ(poll_timeout(t, queue), -1);
}

TEST(the_poll_timeout_is_rounded_up) {
  chime_queue_t queue = host_queue(t, 0);
  chime_timer_t timer;
  int64_t deadline;
  int32_t milliseconds;
  process(t, queue, 0);
  REQUIRE_OK(chime_timer_after(queue, CHIME_HOUR + 1, probe_handler, NULL, NULL, &timer));
  process(t, queue, 0);
  deadline = next_deadline(t, queue);
  EXPECT_BETWEEN(deadline, deadline_of(t, timer), deadline_of(t, timer) + 1024);
  milliseconds = poll_timeout(t, queue);
  /* Not early: after that many milliseconds the deadline has come. */
  EXPECT(now_of(t, queue) + milliseconds * CHIME_MILLISECOND >= deadline_of(t, timer));
  EXPECT_BETWEEN(milliseconds, 3600 * 1000 - 60 * 1000, 3600 * 1000 + 1);
  EXPECT_OK(chime_timer_release(timer));
}

TEST(process_runs_at_most_max_and_leaves_the_rest_readable) {
  chime_queue_t queue = host_queue(t, 0);
  int fd = fd_of(t, queue), i;
  probe *probes[10];
  for (i = 0; i < 10; i++) {
    probes[i] = probe_after(t, queue, "a", 0);
  }
  EXPECT_EQ(process(t, queue, 4), 4);
  EXPECT(is_readable(fd, 0));
  EXPECT_EQ(process(t, queue, 4), 4);
  EXPECT(is_readable(fd, 0));
  EXPECT_EQ(process(t, queue, 4), 2);
  EXPECT(!is_readable(fd, 0));
  for (i = 0; i < 10; i++) EXPECT_EQ(load(&probes[i]->ticks), 1);
}

static void rearm_at_once(probe *p, const chime_tick *tick) { chime_timer_restart(tick->timer, NULL), (void)p; }

TEST(a_timer_rearmed_at_zero_delay_runs_in_the_next_process) {
  chime_queue_t queue = host_queue(t, 0);
  probe *p = probe_idle(t, queue, "a");
  chime_schedule schedule = schedule_of(0, 0);
  p->on_tick = rearm_at_once;
  REQUIRE_OK(chime_timer_activate(p->timer, &schedule));
  EXPECT_EQ(process(t, queue, 0), 1);
  EXPECT(is_readable(fd_of(t, queue), LONG));
  EXPECT_EQ(process(t, queue, 0), 1);
}

static void *start_later(void *argument) {
  probe *p = argument;
  sleep_ns(20 * CHIME_MILLISECOND);
  chime_timer_restart(p->timer, NULL);
  return NULL;
}

TEST(an_earlier_timer_of_another_thread_wakes_the_host) {
  chime_queue_t queue = host_queue(t, 0);
  chime_schedule schedule = schedule_of(5 * CHIME_MILLISECOND, 0);
  probe *p = probe_idle(t, queue, "a");
  pthread_t thread;
  REQUIRE_OK(chime_timer_reschedule(p->timer, &schedule));
  probe_after(t, queue, "later", CHIME_HOUR);
  process(t, queue, 0);
  EXPECT(!is_readable(fd_of(t, queue), 0));
  if (!spawn(t, &thread, start_later, p)) return;
  EXPECT(is_readable(fd_of(t, queue), LONG)); /* not in an hour */
  EXPECT(process_until(t, queue, &p->ticks, 1));
  pthread_join(thread, NULL);
}

TEST(a_hundred_thousand_pending_timers_wake_nobody) {
  chime_queue_t queue = host_queue(t, 0);
  int i, count = csuite_scaled(100000);
  for (i = 0; i < count; i++) {
    REQUIRE_OK(chime_timer_after(queue, CHIME_HOUR + i * CHIME_MILLISECOND, probe_handler, NULL, NULL, NULL));
  }
  process(t, queue, 0);
  EXPECT(!is_readable(fd_of(t, queue), 300));
  EXPECT_EQ(stats_of(t, queue).passes, 1);
}

static void process_in_handler(probe *p, const chime_tick *tick) {
  uint32_t count;
  (void)tick;
  p->status = chime_queue_process(p->queue, 0, &count);
  p->status2 = chime_queue_run(p->queue, 0);
  p->number = chime_queue_wait(p->queue, 0);
}

TEST(driving_inside_a_handler_would_deadlock) {
  chime_queue_t queue = host_queue(t, 0);
  probe *p = probe_after(t, queue, "a", 0);
  p->on_tick = process_in_handler;
  process(t, queue, 0);
  EXPECT_STATUS(p->status, CHIME_ERROR_WOULD_DEADLOCK);
  EXPECT_STATUS(p->status2, CHIME_ERROR_WOULD_DEADLOCK);
  EXPECT_STATUS((chime_status)p->number, CHIME_ERROR_WOULD_DEADLOCK);
}

typedef struct attempt {
  chime_queue_t queue;
  chime_status process, run, wait, take;
} attempt;

static void *drive_elsewhere(void *argument) {
  attempt *a = argument;
  chime_tick tick;
  uint32_t count;
  a->process = chime_queue_process(a->queue, 0, &count);
  a->run = chime_queue_run(a->queue, 0);
  a->wait = chime_queue_wait(a->queue, 0);
  a->take = chime_queue_take_ticks(a->queue, &tick, sizeof tick, 1, &count);
  return NULL;
}

static void elsewhere(probe *p, const chime_tick *tick) {
  pthread_t thread;
  (void)tick;
  if (pthread_create(&thread, NULL, drive_elsewhere, p->user) == 0) pthread_join(thread, NULL);
}

TEST(a_second_thread_gets_busy) {
  chime_queue_t queue = host_queue(t, 0);
  attempt a = {0, 7, 7, 7, 7};
  probe *p = probe_after(t, queue, "a", 0);
  a.queue = queue;
  p->user = &a;
  p->on_tick = elsewhere;
  process(t, queue, 0);
  EXPECT_STATUS(a.process, CHIME_ERROR_BUSY);
  EXPECT_STATUS(a.run, CHIME_ERROR_BUSY);
  EXPECT_STATUS(a.wait, CHIME_ERROR_BUSY);
}

TEST(a_bound_queue_refuses_other_threads) {
  chime_queue_t queue = host_queue(t, CHIME_QUEUE_BOUND),
                records = host_queue(t, CHIME_QUEUE_BOUND | CHIME_QUEUE_RECORDS);
  attempt a = {0, 7, 7, 7, 7}, b = {0, 7, 7, 7, 7};
  pthread_t thread;
  a.queue = queue;
  b.queue = records;
  if (!spawn(t, &thread, drive_elsewhere, &a)) return;
  pthread_join(thread, NULL);
  if (!spawn(t, &thread, drive_elsewhere, &b)) return;
  pthread_join(thread, NULL);
  EXPECT_STATUS(a.process, CHIME_ERROR_WRONG_THREAD);
  EXPECT_STATUS(a.run, CHIME_ERROR_WRONG_THREAD);
  EXPECT_STATUS(a.wait, CHIME_ERROR_WRONG_THREAD);
  EXPECT_STATUS(b.take, CHIME_ERROR_WRONG_THREAD);
  EXPECT_STATUS(b.wait, CHIME_ERROR_WRONG_THREAD);
}

/* ---- Run, wait, stop -------------------------------------------------------------------------------------------- */

TEST(run_returns_when_no_timer_runs) {
  chime_queue_t queue = host_queue(t, 0);
  chime_schedule schedule = schedule_of(CHIME_MILLISECOND, CHIME_MILLISECOND);
  probe *p, *never;
  EXPECT_OK(chime_queue_run(queue, 0)); /* nothing to do */
  schedule.tick_limit = 5;
  p = probe_start(t, queue, "a", &schedule);
  never = probe_every_quietly(t, queue, CHIME_HOUR);
  EXPECT_OK(chime_timer_suspend(never->timer));
  EXPECT_OK(chime_queue_run(queue, 0));
  EXPECT_STATUS(chime_timer_suspend(p->timer), CHIME_IGNORED);
  EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_FINISHED);
}

static void stop_the_queue(probe *p, const chime_tick *tick) {
  (void)tick;
  p->status = chime_queue_stop(p->queue);
  p->status2 = chime_queue_stop(p->queue);
}

TEST(stop_ends_run_and_a_stop_before_ends_the_next) {
  chime_queue_t queue = host_queue(t, 0);
  probe *p = probe_every_quietly(t, queue, CHIME_MILLISECOND);
  p->on_tick = stop_the_queue;
  EXPECT_STATUS(chime_queue_run(queue, CHIME_RUN_UNTIL_STOPPED), CHIME_STOPPED);
  EXPECT_STATUS(p->status, CHIME_OK);
  EXPECT_STATUS(p->status2, CHIME_IGNORED);
  EXPECT_OK(chime_timer_release(p->timer));
  EXPECT_OK(chime_queue_stop(queue));
  EXPECT_STATUS(chime_queue_run(queue, CHIME_RUN_UNTIL_STOPPED), CHIME_STOPPED);
  EXPECT_OK(chime_queue_stop(queue));
  EXPECT_STATUS(chime_queue_wait(queue, CHIME_FOREVER), CHIME_STOPPED);
}

static void *stop_soon(void *argument) {
  sleep_ns(20 * CHIME_MILLISECOND);
  chime_queue_stop(*(chime_queue_t *)argument);
  return NULL;
}

TEST(stop_from_another_thread_ends_a_waiting_run) {
  chime_queue_t queue = host_queue(t, 0);
  pthread_t thread;
  if (!spawn(t, &thread, stop_soon, &queue)) return;
  EXPECT_STATUS(chime_queue_run(queue, CHIME_RUN_UNTIL_STOPPED), CHIME_STOPPED);
  pthread_join(thread, NULL);
}

static chime_queue_t signalled_queue;
static chime_status signalled_status;

static void on_signal(int number) {
  (void)number;
  signalled_status = chime_queue_stop(signalled_queue);
}

static void *signal_soon(void *argument) {
  sleep_ns(20 * CHIME_MILLISECOND);
  pthread_kill(*(pthread_t *)argument, SIGUSR2);
  return NULL;
}

TEST(a_signal_handler_may_stop_run) {
  chime_queue_t queue = host_queue(t, 0);
  struct sigaction action, before;
  pthread_t self = pthread_self(), thread;
  sigset_t usr2;
  sigemptyset(&usr2);
  sigaddset(&usr2, SIGUSR2);
  pthread_sigmask(SIG_UNBLOCK, &usr2, NULL); /* threads of some test runners have signals blocked */
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  sigaction(SIGUSR2, &action, &before);
  signalled_queue = queue;
  signalled_status = 7;
  if (spawn(t, &thread, signal_soon, &self)) {
    EXPECT_STATUS(chime_queue_run(queue, CHIME_RUN_UNTIL_STOPPED), CHIME_STOPPED);
    EXPECT_STATUS(signalled_status, CHIME_OK);
    pthread_join(thread, NULL);
  }
  sigaction(SIGUSR2, &before, NULL);
}

TEST(wait_runs_nothing_and_tells_when_something_is_due) {
  chime_queue_t queue = host_queue(t, 0);
  probe *p;
  EXPECT_STATUS(chime_queue_wait(queue, 0), CHIME_TIMED_OUT);
  EXPECT_STATUS(chime_queue_wait(queue, 2 * CHIME_MILLISECOND), CHIME_TIMED_OUT);
  p = probe_after(t, queue, "a", 10 * CHIME_MILLISECOND);
  EXPECT_STATUS(chime_queue_wait(queue, CHIME_FOREVER), CHIME_OK);
  EXPECT(now_of(t, queue) >= deadline_of(t, p->timer));
  EXPECT_EQ(load(&p->ticks), 0);
  EXPECT_STATUS(chime_queue_wait(queue, 0), CHIME_OK);
  EXPECT_EQ(process(t, queue, 0), 1);
}

static void *run_for_ever(void *argument) {
  attempt *a = argument;
  a->run = chime_queue_run(a->queue, CHIME_RUN_UNTIL_STOPPED);
  return NULL;
}

TEST(shutdown_ends_a_run_on_another_thread) {
  int i;
  for (i = 0; i < csuite_scaled(200); i++) {
    chime_queue_t queue = host_queue(t, 0);
    attempt a = {0, 7, 7, 7, 7};
    pthread_t thread;
    probe *p = probe_every_quietly(t, queue, CHIME_HOUR);
    a.queue = queue;
    if (!spawn(t, &thread, run_for_ever, &a)) return;
    if (i % 2) sleep_ns(CHIME_MILLISECOND);
    EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
    pthread_join(thread, NULL);
    EXPECT(a.run == CHIME_ERROR_SHUT_DOWN || a.run == CHIME_ERROR_INVALID_HANDLE);
    EXPECT_EQ(load(&p->finalized), 1);
    if (csuite_failed(t) || i >= 28) return; /* a test ends at most 32 queues */
  }
}

/* Wakers run against shutdown; the number of the descriptor is taken at once by a pipe that nobody may touch. */
static void *wake_all_the_time(void *argument) {
  const int64_t *queue = argument;
  for (;;) {
    chime_queue_t current = (chime_queue_t)__atomic_load_n(queue, __ATOMIC_ACQUIRE);
    if (current == 0) return NULL;
    chime_timer_after(current, 0, probe_handler, NULL, NULL, NULL);
    chime_queue_stop(current);
  }
}

TEST(a_closed_descriptor_is_never_touched_again) {
  int64_t current;
  int i, started = 0;
  chime_queue_t queue = 0;
  pthread_t threads[2];
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  options.timer_limit = 64;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_HOST, &options, &queue));
  __atomic_store_n(&current, (int64_t)queue, __ATOMIC_RELEASE);
  while (started < 2 && spawn(t, &threads[started], wake_all_the_time, &current)) started++;
  for (i = 0; i < csuite_scaled(5000); i++) {
    chime_queue_t next = 0;
    int ends[2], fd = fd_of(t, queue);
    if (!EXPECT_OK(chime_queue_create(CHIME_QUEUE_HOST, &options, &next))) break;
    __atomic_store_n(&current, (int64_t)next, __ATOMIC_RELEASE);
    if (!EXPECT_OK(chime_queue_shutdown(queue, PATIENCE))) break;
    if (pipe(ends) == 0) {
      EXPECT(!is_readable(ends[0], 0));
      if (ends[0] == fd || ends[1] == fd) EXPECT(fcntl(fd, F_GETFD) != -1);
      close(ends[0]);
      close(ends[1]);
    }
    queue = next;
  }
  __atomic_store_n(&current, (int64_t)0, __ATOMIC_RELEASE);
  while (started > 0) pthread_join(threads[--started], NULL);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}
