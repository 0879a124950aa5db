/* host.c - queues that the host drives, records, precise queues, their clocks and their threads. */
#include "harness.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

static int fd_of(csuite *t, chime_queue_t queue) {
  int32_t fd = -1;
  EXPECT_OK(chime_queue_fd(queue, &fd));
  return fd;
}

enum { LONG = (int)(PATIENCE / CHIME_MILLISECOND) };

static int is_readable(int fd, int milliseconds) {
  struct pollfd entry = {fd, POLLIN, 0};
  return poll(&entry, 1, milliseconds) == 1;
}

/* Processes until that many callbacks have run. */
static int process_until(csuite *t, chime_queue_t queue, const int *value, int least) {
  int64_t end = monotonic_ns() + PATIENCE;
  int fd = fd_of(t, queue);
  while (load(value) < least) {
    if (monotonic_ns() > end) return EXPECT(!"what must come comes");
    is_readable(fd, 100);
    process(t, queue, 0);
  }
  return 1;
}

static int32_t poll_timeout(csuite *t, chime_queue_t queue) {
  int32_t milliseconds = 7;
  EXPECT_OK(chime_queue_poll_timeout(queue, &milliseconds));
  return milliseconds;
}

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
  int32_t number = 7;
  int64_t deadline = 7;
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
  EXPECT_OK(chime_queue_shutdown(queue, CHIME_FOREVER));
  EXPECT_STATUS(chime_queue_fd(queue, &number), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_STATUS(chime_queue_next_deadline(queue, &deadline), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_STATUS(chime_queue_poll_timeout(queue, &number), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_STATUS(chime_queue_wait(queue, 0), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_STATUS(chime_queue_process(queue, 0, &count), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_STATUS(chime_queue_take_ticks(queue, ticks, sizeof ticks[0], 1, &count), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_STATUS(chime_queue_run(queue, 0), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_STATUS(chime_queue_stop(queue), CHIME_ERROR_INVALID_HANDLE);
  EXPECT(number == 7 && deadline == 7 && count == 7);
}

TEST(options_of_another_kind_of_queue_are_refused) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  chime_queue_t queue = 7;
  options.flags = CHIME_QUEUE_BOUND;
  EXPECT_STATUS(chime_queue_create(CHIME_QUEUE_SERIAL, &options, &queue), CHIME_ERROR_INVALID_ARGUMENT);
  options.flags = CHIME_QUEUE_RECORDS;
  EXPECT_STATUS(chime_queue_create(CHIME_QUEUE_PRECISE, &options, &queue), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_queue_create(CHIME_QUEUE_VIRTUAL, &options, &queue), CHIME_ERROR_INVALID_ARGUMENT);
  options.flags = CHIME_QUEUE_HONOUR_LEEWAY;
  EXPECT_STATUS(chime_queue_create(CHIME_QUEUE_HOST, &options, &queue), CHIME_ERROR_INVALID_ARGUMENT);
  options.flags = 0;
  options.realtime_priority = 1;
  EXPECT_STATUS(chime_queue_create(CHIME_QUEUE_HOST, &options, &queue), CHIME_ERROR_INVALID_ARGUMENT);
  options.realtime_priority = 100;
  EXPECT_STATUS(chime_queue_create(CHIME_QUEUE_PRECISE, &options, &queue), CHIME_ERROR_INVALID_ARGUMENT);
  options.realtime_priority = 0;
  options.affinity = 1;
  EXPECT_STATUS(chime_queue_create(CHIME_QUEUE_SERIAL, &options, &queue), CHIME_ERROR_INVALID_ARGUMENT);
  options.affinity = (uint64_t)1 << 63; /* no machine of these tests has that many processors */
  EXPECT_STATUS(chime_queue_create(CHIME_QUEUE_PRECISE, &options, &queue), CHIME_ERROR_INVALID_ARGUMENT);
  options.affinity = 0;
  options.reserved = 1;
  EXPECT_STATUS(chime_queue_create(CHIME_QUEUE_PRECISE, &options, &queue), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(queue, 7);
}

/* ---- Driving ---------------------------------------------------------------------------------------------------- */

TEST(nothing_to_wait_for_is_not_mixed_up_with_due_at_once) {
  chime_queue_t queue = host_queue(t, 0);
  probe *p;
  EXPECT_EQ(next_deadline(t, queue), CHIME_FOREVER);
  EXPECT_EQ(poll_timeout(t, queue), -1);
  p = probe_after(t, queue, "a", 0);
  p->quiet = 1;
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
    probes[i]->quiet = 1;
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
  p->quiet = 1;
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
  p->quiet = 1;
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
  p->quiet = 1;
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
  p->quiet = 1;
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
  p->quiet = 1;
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
  p->quiet = 1;
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

/* ---- Records ---------------------------------------------------------------------------------------------------- */

#define ALL_RECORDS (CHIME_TIMER_RECORD_ARMED | CHIME_TIMER_RECORD_CANCELLED | CHIME_TIMER_RECORD_FINALIZE)

static chime_timer_t record_timer(csuite *t, chime_queue_t queue, void *context, uint32_t flags,
                                  chime_schedule schedule) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_timer_t timer = 0;
  options.context = context;
  options.flags = flags;
  EXPECT_OK(chime_timer_start(queue, &options, &schedule, &timer));
  return timer;
}

static uint32_t take(csuite *t, chime_queue_t queue, chime_tick *ticks, uint32_t capacity) {
  uint32_t count = 99;
  EXPECT_OK(chime_queue_take_ticks(queue, ticks, sizeof *ticks, capacity, &count));
  return count;
}

/* Takes until there are records. */
static uint32_t take_some(csuite *t, chime_queue_t queue, chime_tick *ticks, uint32_t capacity) {
  int64_t end = monotonic_ns() + PATIENCE;
  uint32_t count = 0;
  while (count == 0 && EXPECT(monotonic_ns() < end)) {
    EXPECT_OK(chime_queue_wait(queue, PATIENCE));
    count = take(t, queue, ticks, capacity);
  }
  return count;
}

TEST(records_say_what_callbacks_would) {
  chime_queue_t queue = host_queue(t, CHIME_QUEUE_RECORDS);
  char context[] = "c";
  chime_tick ticks[8];
  chime_timer_t timer = record_timer(t, queue, context, ALL_RECORDS, schedule_of(0, CHIME_HOUR));
  EXPECT_OK(chime_queue_async(queue, NULL, &ticks, NULL));
  REQUIRE(take_some(t, queue, ticks, 8) == 2);
  EXPECT(ticks[0].kind == CHIME_TICK_FUNCTION && ticks[0].context == &ticks && ticks[0].timer == 0);
  EXPECT(ticks[1].kind == CHIME_TICK_ARMED && ticks[1].timer == timer && ticks[1].context == context);
  REQUIRE(take_some(t, queue, ticks, 8) == 1);
  EXPECT(ticks[0].kind == CHIME_TICK_DUE && ticks[0].sequence == 1 && ticks[0].actual_ns >= ticks[0].scheduled_ns);
  EXPECT_EQ(take(t, queue, ticks, 8), 0);
  EXPECT_OK(chime_timer_fire(timer));
  REQUIRE(take_some(t, queue, ticks, 8) == 1);
  EXPECT(ticks[0].kind == CHIME_TICK_FIRED && ticks[0].sequence == 2);
  EXPECT_STATUS(chime_timer_cancel(timer), CHIME_RUNNING); /* taken, and not ended */
  REQUIRE(take_some(t, queue, ticks, 8) == 1);
  EXPECT_EQ(ticks[0].kind, CHIME_TICK_CANCELLED);
  EXPECT_EQ(take(t, queue, ticks, 8), 0);
  EXPECT_OK(chime_timer_release(timer));
  REQUIRE(take_some(t, queue, ticks, 8) == 1);
  EXPECT(ticks[0].kind == CHIME_TICK_FINALIZE && ticks[0].context == context && ticks[0].timer == timer);
  EXPECT_EQ(take(t, queue, ticks, 8), 0);
  EXPECT(is_stale(timer));
}

TEST(a_taken_tick_keeps_its_timer_busy_until_the_next_take) {
  chime_queue_t queue = host_queue(t, CHIME_QUEUE_RECORDS);
  chime_tick ticks[4];
  chime_timer_t timer = record_timer(t, queue, ticks, CHIME_TIMER_RECORD_FINALIZE, schedule_of(0, CHIME_MILLISECOND));
  REQUIRE(take_some(t, queue, ticks, 4) == 1);
  EXPECT_EQ(info_of(t, timer).busy, 1);
  EXPECT_STATUS(chime_timer_cancel_and_wait(timer, CHIME_FOREVER), CHIME_ERROR_WOULD_DEADLOCK);
  EXPECT_STATUS(chime_timer_release(timer), CHIME_RUNNING);
  EXPECT(is_stale(timer));
  REQUIRE(take_some(t, queue, ticks, 4) == 1);
  EXPECT_EQ(ticks[0].kind, CHIME_TICK_FINALIZE);
}

TEST(a_repeating_timer_of_records_goes_on_when_the_host_only_polls) {
  chime_queue_t queue = host_queue(t, CHIME_QUEUE_RECORDS);
  int fd = fd_of(t, queue), i, seen = 0;
  chime_tick ticks[4];
  chime_schedule schedule = schedule_of(2 * CHIME_MILLISECOND, 2 * CHIME_MILLISECOND);
  schedule.missed_policy = CHIME_MISSED_DELAY;
  record_timer(t, queue, NULL, 0, schedule_of(2 * CHIME_MILLISECOND, 2 * CHIME_MILLISECOND));
  record_timer(t, queue, ticks, CHIME_TIMER_RECORD_FINALIZE, schedule);
  for (i = 0; i < 1000 && seen < 20; i++) {
    if (!EXPECT(is_readable(fd, LONG))) return;
    seen += (int)take(t, queue, ticks, 4);
  }
  EXPECT(seen >= 20);
}

/*
 * One take ends a batch that an earlier one had begun, and looks for what has fallen due since: there is the timer again
 * whose record was just taken. It is busy, and what was to bring it has been used up.
 */
TEST(a_timer_due_again_while_its_record_is_taken_is_not_forgotten) {
  enum { OTHERS = 200 };
  chime_queue_t queue = host_queue(t, CHIME_QUEUE_RECORDS);
  int fd = fd_of(t, queue), round, i;
  chime_tick ticks[OTHERS + 8];
  for (round = 0; round < 20; round++) {
    chime_timer_t repeating, others[OTHERS + 1];
    chime_schedule spaced = schedule_of(1, 1);
    int64_t until;
    uint32_t count;
    spaced.missed_policy = CHIME_MISSED_DELAY; /* one that misses ticks is not forgotten for another reason */
    others[0] = record_timer(t, queue, NULL, 0, schedule_of(0, 0));
    repeating = record_timer(t, queue, NULL, 0, spaced);
    /* Their records take longer than it is to the timer's next tick. */
    for (i = 1; i <= OTHERS; i++) others[i] = record_timer(t, queue, NULL, 0, schedule_of(2, 0));
    sleep_ns(CHIME_MILLISECOND);
    count = take_some(t, queue, ticks, 1);
    EXPECT(count == 1 && ticks[0].timer == others[0]);
    count = take(t, queue, ticks, OTHERS + 8);
    EXPECT(count >= OTHERS + 1 && ticks[0].timer == repeating);
    EXPECT(next_deadline(t, queue) != CHIME_FOREVER);
    if (!EXPECT(is_readable(fd, LONG))) return;
    until = monotonic_ns() + PATIENCE;
    do {
      count = take(t, queue, ticks, 1);
    } while (count == 0 && EXPECT(monotonic_ns() < until));
    EXPECT(count == 1 && ticks[0].timer == repeating);
    EXPECT_TOOK_EFFECT(chime_timer_release(repeating));
    for (i = 0; i <= OTHERS; i++) EXPECT_TOOK_EFFECT(chime_timer_release(others[i]));
    take(t, queue, ticks, 1);
  }
}

TEST(the_generation_tells_which_record_of_a_batch_is_stale) {
  chime_queue_t queue = host_queue(t, CHIME_QUEUE_RECORDS);
  chime_tick ticks[4];
  chime_timer_t first = record_timer(t, queue, NULL, 0, schedule_of(0, CHIME_HOUR));
  chime_timer_t second = record_timer(t, queue, NULL, 0, schedule_of(0, CHIME_HOUR));
  REQUIRE(take_some(t, queue, ticks, 4) == 2);
  EXPECT(ticks[0].timer == first && ticks[1].timer == second);
  EXPECT_OK(chime_timer_check_generation(second, ticks[1].generation));
  EXPECT_STATUS(chime_timer_cancel(second), CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_check_generation(second, ticks[1].generation), CHIME_IGNORED);
  EXPECT_STATUS(chime_timer_release(first), CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_check_generation(first, ticks[0].generation), CHIME_ERROR_INVALID_HANDLE);
}

static void count_destructor(void *object) { add(object, 1); }

TEST(a_taken_tick_holds_its_target) {
  chime_queue_t queue = host_queue(t, CHIME_QUEUE_RECORDS);
  int *destroyed = csuite_memory(t, sizeof *destroyed);
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = schedule_of(0, CHIME_HOUR);
  chime_timer_t timer;
  chime_tick ticks[4];
  REQUIRE_OK(chime_target_create(destroyed, count_destructor, &options.target));
  REQUIRE_OK(chime_timer_start(queue, &options, &schedule, &timer));
  REQUIRE(take_some(t, queue, ticks, 4) == 1);
  EXPECT(ticks[0].target == destroyed);
  EXPECT_OK(chime_target_release(options.target));
  EXPECT_EQ(load(destroyed), 0);
  EXPECT_EQ(state_of(t, timer), CHIME_STATE_CANCELLED);
  EXPECT(is_readable(fd_of(t, queue), LONG));
  EXPECT_EQ(take(t, queue, ticks, 4), 0);
  EXPECT_EQ(load(destroyed), 1);
}

TEST(functions_and_records_do_not_mix) {
  chime_queue_t records = host_queue(t, CHIME_QUEUE_RECORDS), queue = host_queue(t, 0);
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = schedule_of(0, 0);
  chime_timer_t timer = 7;
  EXPECT_STATUS(chime_timer_after(records, 0, probe_handler, NULL, NULL, &timer), CHIME_ERROR_UNSUPPORTED);
  EXPECT_STATUS(chime_timer_after(queue, 0, NULL, NULL, NULL, &timer), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_timer_after(records, 0, NULL, NULL, probe_finalizer, &timer), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_queue_async(records, count_destructor, NULL, NULL), CHIME_ERROR_UNSUPPORTED);
  EXPECT_STATUS(chime_queue_async(queue, NULL, NULL, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_queue_async(records, NULL, NULL, count_destructor), CHIME_ERROR_INVALID_ARGUMENT);
  options.cancel_handler = probe_handler;
  EXPECT_STATUS(chime_timer_start(records, &options, &schedule, &timer), CHIME_ERROR_INVALID_ARGUMENT);
  options.handler = probe_handler;
  options.flags = CHIME_TIMER_RECORD_ARMED;
  EXPECT_STATUS(chime_timer_start(queue, &options, &schedule, &timer), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(timer, 7);
}

TEST(records_beyond_the_capacity_come_next_and_longer_ones_are_zeroed) {
  chime_queue_t queue = host_queue(t, CHIME_QUEUE_RECORDS);
  struct {
    chime_tick tick;
    uint64_t tail;
  } longer[3];
  uint32_t count = 0, all = 0;
  int i;
  for (i = 0; i < 7; i++)
    record_timer(t, queue, longer, CHIME_TIMER_RECORD_FINALIZE | CHIME_TIMER_SELF_RELEASE, schedule_of(0, 0));
  memset(longer, 0xFF, sizeof longer);
  EXPECT_OK(chime_queue_take_ticks(queue, &longer[0].tick, sizeof longer[0], 3, &count));
  EXPECT_EQ(count, 3);
  EXPECT(longer[0].tail == 0 && longer[2].tail == 0 && longer[2].tick.sequence == 1);
  for (i = 0, all = count; i < 20 && all < 14; i++) {
    if (!EXPECT(is_readable(fd_of(t, queue), LONG))) return;
    EXPECT_OK(chime_queue_take_ticks(queue, &longer[0].tick, sizeof longer[0], 3, &count));
    all += count;
  }
  EXPECT_EQ(all, 14); /* each was due, and each was finalized */
}

TEST(a_queue_of_records_ends_with_what_was_taken_and_what_was_not) {
  chime_queue_t queue = host_queue(t, CHIME_QUEUE_RECORDS);
  chime_tick ticks[2];
  int i;
  for (i = 0; i < 5; i++) record_timer(t, queue, ticks, ALL_RECORDS, schedule_of(0, CHIME_HOUR));
  take_some(t, queue, ticks, 2);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}

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
    p->quiet = 1;
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
    p->quiet = 1;
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
    p->quiet = 1;
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
