/*
 * wall_clock.c - the wall clock is stepped, both ways; the system sleeps; and what watches for steps goes with the last queue.
 * Promise 21.
 *
 * The machine's clock is not touched: this program's clock_gettime stands before libc's, for the library too, and moves
 * CLOCK_REALTIME by what `step` says, CLOCK_BOOTTIME by what `asleep` says; what the kernel would do at a step, make a timerfd with TFD_TIMER_CANCEL_ON_SET
 * readable, `step` does to the descriptors that the library has set like that. Everything behind it is the real path. Not
 * covered is the kernel's own part.
 */
#include "guest.h"
#include "waits.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <time.h>

enum { MOST_FILES = 64 };

static int64_t offset_ns, asleep_ns;
static int watches[MOST_FILES]; /* whether a step makes the descriptor readable */
static int none_left;           /* threads */

static int (*next_gettime)(clockid_t, struct timespec *);
static int (*next_settime)(int, int, const struct itimerspec *, struct itimerspec *);

int clock_gettime(clockid_t clock, struct timespec *time) {
  int result;
  if (next_gettime == NULL) *(void **)(void *)&next_gettime = fault_next("clock_gettime");
  result = next_gettime(clock, time);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_BOOTTIME)) {
    const int64_t *ahead = clock == CLOCK_REALTIME ? &offset_ns : &asleep_ns;
    int64_t now = (int64_t)time->tv_sec * CHIME_SECOND + time->tv_nsec + __atomic_load_n(ahead, __ATOMIC_SEQ_CST);
    time->tv_sec = (time_t)(now / CHIME_SECOND);
    time->tv_nsec = (long)(now % CHIME_SECOND);
  }
  return result;
}

int timerfd_settime(int file, int flags, const struct itimerspec *new_value, struct itimerspec *old_value) {
  if (next_settime == NULL) *(void **)(void *)&next_settime = fault_next("timerfd_settime");
  REQUIRE(file < MOST_FILES);
  if (file >= 0) store(&watches[file], (flags & TFD_TIMER_CANCEL_ON_SET) != 0);
  return next_settime(file, flags, new_value, old_value);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
  static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  if (load(&none_left)) return EAGAIN;
  if (next == NULL) *(void **)(void *)&next = fault_next("pthread_create");
  return next(thread, attributes, body, argument);
}

/* No queue notices until it looks. */
static void step_unnoticed(int64_t by_ns) { __atomic_add_fetch(&offset_ns, by_ns, __ATOMIC_SEQ_CST); }

static void step(int64_t by_ns) {
  const struct itimerspec at_once = {.it_value.tv_nsec = 1};
  int file;
  step_unnoticed(by_ns);
  for (file = 0; file < MOST_FILES; file++) {
    if (load(&watches[file])) next_settime(file, 0, &at_once, NULL);
  }
}

/* The system has slept: the monotonic clock has not gone on, the others have. */
static void sleep_for(int64_t duration_ns) {
  __atomic_add_fetch(&asleep_ns, duration_ns, __ATOMIC_SEQ_CST);
  step(duration_ns);
}

static const chime_queue_options boottime = {.size = sizeof boottime, .clock = CHIME_CLOCK_BOOTTIME};
static const chime_queue_options wall = {.size = sizeof wall, .clock = CHIME_CLOCK_WALL};

static int64_t wall_ns(void) {
  int64_t now = 0;
  EXPECT_OK(chime_now(CHIME_CLOCK_WALL, &now));
  return now;
}

typedef struct record {
  chime_tick last;
  int count;
} record;

static record by_deadline, by_delay, repeating;

static void on_tick(const chime_tick *tick, void *context) {
  record *r = context;
  EXPECT(tick->actual_ns >= tick->scheduled_ns);
  r->last = *tick;
  add(&r->count, 1);
}

static void start(chime_queue_t queue, record *r, uint32_t flags, int64_t first, int64_t interval) {
  const chime_schedule schedule = SCHEDULE(.flags = flags, .first_ns = first, .interval_ns = interval);
  EXPECT_OK(chime_timer_start(queue, &TIMER_OPTIONS(.handler = on_tick, .context = r), &schedule, NULL));
}

/*
 * Stepped forward: absolute deadlines come with the clock, delays do not, a repeating one coalesces. Nothing else would
 * wake the queue within the hour.
 */
CASES(forward, where, SERIAL, HOST) {
  chime_queue_t queue = place_queue(where, &wall);
  start(queue, &by_deadline, CHIME_SCHEDULE_DEADLINE, wall_ns() + CHIME_HOUR, 0);
  start(queue, &by_delay, 0, CHIME_HOUR, 0);
  start(queue, &repeating, CHIME_SCHEDULE_DEADLINE, wall_ns() + 10 * CHIME_MINUTE, 10 * CHIME_MINUTE);
  let_others_tick();
  EXPECT_EQ(load(&by_deadline.count), 0);
  step(CHIME_HOUR + CHIME_MINUTE);
  EXPECT(await(&by_deadline.count, 1));
  EXPECT(await(&repeating.count, 1));
  EXPECT_EQ(repeating.last.missed, 5);
  let_others_tick();
  EXPECT_EQ(load(&by_delay.count), 0);
  EXPECT_EQ(load(&by_deadline.count), 1);
  EXPECT_EQ(load(&repeating.count), 1);
  place_end(where, queue);
}

/* Stepped back: absolute deadlines wait, delays do not, a repeating one goes on at the next grid point after now. */
CASES(backward, where, SERIAL, HOST) {
  chime_queue_t queue = place_queue(where, &wall);
  int64_t begun = monotonic_ns();
  start(queue, &by_deadline, CHIME_SCHEDULE_DEADLINE, wall_ns() + CHIME_MINUTE, 0);
  start(queue, &by_delay, 0, 200 * CHIME_MILLISECOND, 0);
  start(queue, &repeating, CHIME_SCHEDULE_DEADLINE, wall_ns(), 50 * CHIME_MILLISECOND);
  EXPECT(await(&repeating.count, 1));
  step(-CHIME_HOUR);
  EXPECT(await(&by_delay.count, 1));
  EXPECT(monotonic_ns() - begun >= 200 * CHIME_MILLISECOND);
  EXPECT(await(&repeating.count, load(&repeating.count) + 3)); /* not an hour later */
  EXPECT(repeating.last.scheduled_ns <= wall_ns());
  EXPECT_EQ(load(&by_deadline.count), 0);
  step(CHIME_HOUR + CHIME_MINUTE);
  EXPECT(await(&by_deadline.count, 1));
  EXPECT_EQ(load(&by_delay.count), 1);
  place_end(where, queue);
}

/*
 * Stepped back by less than the interval: a grid gives no time twice. By more: one that has not begun waits for its first
 * deadline.
 */
CASES(no_time_twice, where, SERIAL, HOST) {
  chime_queue_t queue = place_queue(where, &wall);
  int64_t first = wall_ns(), later = first + CHIME_HOUR;
  start(queue, &repeating, CHIME_SCHEDULE_DEADLINE, first, CHIME_HOUR);
  start(queue, &by_deadline, CHIME_SCHEDULE_DEADLINE, later, CHIME_MINUTE);
  EXPECT(await(&repeating.count, 1));
  step(-10 * CHIME_MINUTE);
  let_others_tick();
  step(10 * CHIME_MINUTE);
  let_others_tick();
  EXPECT_EQ(load(&repeating.count), 1);
  EXPECT_EQ(load(&by_deadline.count), 0);
  step(CHIME_HOUR);
  EXPECT(await(&repeating.count, 2) && await(&by_deadline.count, 1));
  EXPECT_EQ(repeating.last.scheduled_ns, first + CHIME_HOUR);
  EXPECT_EQ(repeating.last.missed, 0);
  EXPECT_EQ(by_deadline.last.scheduled_ns, later);
  place_end(where, queue);
}

/* A grid that has begun goes on after each step back, also where it stands before its first deadline by then. */
CASES(each_step_back, where, SERIAL, HOST) {
  const int64_t steps[] = {10 * 24 * CHIME_HOUR, 4 * CHIME_HOUR, 24 * CHIME_HOUR};
  chime_queue_t queue = place_queue(where, &wall);
  const chime_schedule hourly =
      SCHEDULE(.flags = CHIME_SCHEDULE_DEADLINE, .first_ns = wall_ns(), .interval_ns = CHIME_HOUR);
  chime_timer_t timer;
  EXPECT_OK(chime_timer_start(queue, &TIMER_OPTIONS(.handler = on_tick, .context = &repeating), &hourly, &timer));
  EXPECT(await(&repeating.count, 1));
  for (int i = 0; i < 3; i++) {
    int64_t next = INT64_MAX, end = monotonic_ns() + 30 * CHIME_SECOND;
    step(-steps[i]);
    /* Two steps that the queue sees as one are one. */
    while (next > wall_ns() + CHIME_HOUR && monotonic_ns() < end) EXPECT_OK(chime_timer_next_deadline(timer, &next));
    EXPECT_EQ(load(&repeating.count), i + 1);
    step(CHIME_HOUR);
    EXPECT(await(&repeating.count, i + 2));
    EXPECT_EQ(repeating.last.missed, 0);
  }
  place_end(where, queue);
}

/* With CHIME_MISSED_DELAY the first tick has a time of day, and the others keep their distance from the one before. */
CASES(spacing_is_a_distance, where, SERIAL, HOST) {
  chime_queue_t queue = place_queue(where, &wall);
  const chime_schedule schedule = SCHEDULE(.flags = CHIME_SCHEDULE_DEADLINE, .first_ns = wall_ns() + CHIME_HOUR,
                                           .interval_ns = CHIME_HOUR, .missed_policy = CHIME_MISSED_DELAY);
  EXPECT_OK(chime_timer_start(queue, &TIMER_OPTIONS(.handler = on_tick, .context = &repeating), &schedule, NULL));
  step(CHIME_HOUR);
  EXPECT(await(&repeating.count, 1));
  step(2 * CHIME_HOUR);
  let_others_tick();
  EXPECT_EQ(load(&repeating.count), 1);
  place_end(where, queue);
}

/*
 * By a delay: the clock has no part in it any more. Until a deadline: the clock decides, whatever the schedule was, but not
 * about what was left when a timer was suspended.
 */
CASES(postponements, where, SERIAL, HOST) {
  chime_queue_t queue = place_queue(where, &wall);
  chime_timer_t timer;
  const int64_t noon = wall_ns() + CHIME_HOUR;
  for (int kind = 0; kind < 4; kind++) {
    const int interval = kind % 2, policy = kind / 2;
    const chime_schedule schedule = SCHEDULE(.flags = CHIME_SCHEDULE_DEADLINE, .first_ns = noon - CHIME_MINUTE,
                                             .interval_ns = interval * CHIME_MINUTE);
    EXPECT_OK(chime_timer_start(queue, &TIMER_OPTIONS(.handler = on_tick, .context = &by_delay), &schedule, &timer));
    EXPECT_OK(chime_timer_postpone(timer, 2 * CHIME_HOUR));
    if (interval == 0) EXPECT_OK(chime_timer_suspend(timer));
    EXPECT_OK(chime_timer_postpone(timer, 3 * CHIME_HOUR));
    if (interval == 0) EXPECT_OK(chime_timer_resume(timer));
    EXPECT_OK(chime_timer_start(
        queue, &TIMER_OPTIONS(.handler = on_tick, .context = &by_deadline),
        &SCHEDULE(.first_ns = CHIME_MINUTE, .interval_ns = interval * CHIME_HOUR, .resume_policy = policy), &timer));
    EXPECT_OK(chime_timer_postpone_until(timer, noon));
  }
  EXPECT_OK(chime_timer_start(queue, &TIMER_OPTIONS(.handler = on_tick, .context = &by_delay),
                              &SCHEDULE(.first_ns = CHIME_MINUTE, .resume_policy = CHIME_RESUME_REMAINING), &timer));
  EXPECT_OK(chime_timer_postpone_until(timer, noon));
  EXPECT_OK(chime_timer_suspend(timer));
  step(CHIME_HOUR / 2);
  let_others_tick();
  step(CHIME_HOUR);
  EXPECT(await(&by_deadline.count, 4));
  EXPECT_OK(chime_timer_resume(timer));
  let_others_tick();
  EXPECT_EQ(load(&by_deadline.count), 4);
  EXPECT_EQ(by_deadline.last.scheduled_ns, noon);
  step(2 * CHIME_HOUR);
  let_others_tick();
  EXPECT_EQ(load(&by_delay.count), 0);
  place_end(where, queue);
}

static chime_timer_t postponed[2];

static void step_and_postpone(const chime_tick *tick, void *context) {
  (void)tick;
  step(2 * CHIME_HOUR);
  EXPECT_OK(chime_timer_postpone(postponed[0], CHIME_HOUR));
  step(-4 * CHIME_HOUR);
  EXPECT_OK(chime_timer_postpone_until(postponed[1], wall_ns() + CHIME_HOUR));
  add(context, 1);
}

/* The queue has not noticed the step yet. */
CASES(postponements_behind_a_step, where, SERIAL, HOST) {
  chime_queue_t queue = place_queue(where, &wall);
  const chime_schedule at = SCHEDULE(.flags = CHIME_SCHEDULE_DEADLINE, .first_ns = wall_ns() + CHIME_HOUR);
  const chime_timer_options options[2] = {TIMER_OPTIONS(.handler = on_tick, .context = &by_deadline),
                                          TIMER_OPTIONS(.handler = on_tick, .context = &by_delay)};
  int stepped = 0;
  EXPECT_OK(chime_timer_start(queue, &options[0], &at, &postponed[0]));
  EXPECT_OK(chime_timer_start(queue, &options[1], &SCHEDULE(.first_ns = CHIME_SECOND), &postponed[1]));
  EXPECT_OK(chime_timer_after(queue, 0, step_and_postpone, &stepped, NULL, NULL));
  EXPECT(await(&stepped, 1));
  start(queue, &repeating, 0, CHIME_SECOND + 50 * CHIME_MILLISECOND, 0);
  EXPECT(await(&repeating.count, 1));
  EXPECT_EQ(load(&by_delay.count), 0);
  step(3 * CHIME_HOUR); /* beyond both deadlines: that of the first has gone with its postponement */
  EXPECT(await(&by_delay.count, 1));
  EXPECT_EQ(load(&by_deadline.count), 0);
  place_end(where, queue);
}

static int64_t next_of(chime_timer_t timer) {
  int64_t next = 0;
  EXPECT_OK(chime_timer_next_deadline(timer, &next));
  return next;
}

/*
 * What is not later changes nothing: the next time of a grid stays, though the queue knows nothing of the last step, and a
 * pass has followed one back. After a step back by more than the interval, the next time is near, and a delay later.
 */
CASES(what_is_later_is_decided_by_the_clock_as_it_is, where, SERIAL, HOST) {
  chime_queue_t queue = place_queue(where, &wall);
  const int64_t first = wall_ns(), next = first + CHIME_HOUR;
  const chime_schedule hourly =
      SCHEDULE(.flags = CHIME_SCHEDULE_DEADLINE, .first_ns = first, .interval_ns = CHIME_HOUR);
  chime_timer_t timers[2];
  int64_t left = 0;
  for (int i = 0; i < 2; i++) {
    EXPECT_OK(chime_timer_start(queue, &TIMER_OPTIONS(.handler = on_tick, .context = &repeating), &hourly, &timers[i]));
  }
  EXPECT(await(&repeating.count, 2));
  step(-50 * CHIME_MINUTE);
  let_others_tick();
  step_unnoticed(70 * CHIME_MINUTE);
  EXPECT_OK(chime_timer_postpone(timers[0], CHIME_SECOND));
  EXPECT_OK(chime_timer_postpone_until(timers[1], wall_ns()));
  for (int noticed = 0; noticed < 2; noticed++) {
    for (int i = 0; i < 2; i++) EXPECT_EQ(next_of(timers[i]), next);
    step(0);
    let_others_tick();
  }
  EXPECT_EQ(load(&repeating.count), 2);
  step(CHIME_HOUR);
  EXPECT(await(&repeating.count, 4));
  EXPECT_EQ(repeating.last.scheduled_ns, next);
  step_unnoticed(-24 * CHIME_HOUR);
  EXPECT_OK(chime_timer_postpone(timers[0], 3 * CHIME_HOUR));
  step(0);
  let_others_tick();
  EXPECT_OK(chime_timer_remaining(timers[0], &left));
  EXPECT_BETWEEN(left, 2 * CHIME_HOUR, 3 * CHIME_HOUR);
  place_end(where, queue);
}

static void postpone_to_noon(const chime_tick *tick, void *noon) {
  EXPECT_EQ(chime_timer_postpone_until(tick->timer, *(int64_t *)noon), CHIME_RUNNING);
  add(&repeating.count, 1);
}

/* Inside the handler, too, with CHIME_MISSED_DELAY: the time of day counts, if it is later than the handler's end allows. */
CASES(postponed_in_the_handler, where, SERIAL, HOST) {
  chime_queue_t queue = place_queue(where, &wall);
  int64_t noon = wall_ns() + 3 * CHIME_HOUR;
  const chime_schedule hourly = SCHEDULE(.interval_ns = CHIME_HOUR, .missed_policy = CHIME_MISSED_DELAY);
  const chime_timer_options options = TIMER_OPTIONS(.handler = postpone_to_noon, .context = &noon);
  EXPECT_OK(chime_timer_start(queue, &options, &hourly, NULL));
  EXPECT(await(&repeating.count, 1));
  step(4 * CHIME_HOUR);
  EXPECT(await(&repeating.count, 2));
  place_end(where, queue);
}

/* The clock is set back and forth again, and only queries look meanwhile. They say that something is to be done. */
CASE(queries_follow_no_step) {
  const chime_queue_options options = {
      .size = sizeof options, .clock = CHIME_CLOCK_WALL, .flags = CHIME_QUEUE_FLAG_BOUND};
  const int64_t first = wall_ns();
  chime_queue_t queue;
  chime_timer_t timer;
  uint32_t count;
  int64_t next = 0;
  int32_t timeout = -1;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_HOST, &options, &queue));
  EXPECT_OK(chime_timer_start(
      queue, &TIMER_OPTIONS(.handler = on_tick, .context = &repeating),
      &SCHEDULE(.flags = CHIME_SCHEDULE_DEADLINE, .first_ns = first, .interval_ns = CHIME_MINUTE * 10), &timer));
  EXPECT_OK(chime_queue_process(queue, 0, &count));
  for (int i = 0; i < 2; i++) {
    const int64_t way = i == 0 ? -CHIME_HOUR : CHIME_HOUR;
    step_unnoticed(way);
    EXPECT_OK(chime_queue_next_deadline(queue, &next));
    EXPECT_BETWEEN(next, first + way, wall_ns());
    EXPECT_OK(chime_queue_poll_timeout(queue, &timeout));
    EXPECT_EQ(timeout, 0);
    step_unnoticed(-way);
    EXPECT_OK(chime_queue_next_deadline(queue, &next));
    EXPECT_BETWEEN(next - first, 10 * CHIME_MINUTE, 10 * CHIME_MINUTE + 1024);
    EXPECT_OK(chime_queue_process(queue, 0, &count));
    EXPECT_EQ(count, 0);
    EXPECT_EQ(next_of(timer), first + 10 * CHIME_MINUTE);
  }
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}

/* A lifetime is a distance: the value neither goes with a step forward nor stays with one back. */
CASES(lifetimes, where, SERIAL, HOST) {
  chime_queue_t queue = place_queue(where, &wall);
  chime_expiring_t lasts, ends;
  void *value = NULL;
  int kept = 1, ended = 0;
  EXPECT_OK(chime_expiring_create(queue, CHIME_MINUTE, &kept, NULL, NULL, &lasts));
  EXPECT_OK(chime_expiring_reset(lasts, CHIME_HOUR));
  step(2 * CHIME_HOUR);
  let_others_tick();
  EXPECT_OK(chime_expiring_acquire(lasts, &value));
  EXPECT(value == &kept);
  EXPECT_OK(chime_expiring_yield(lasts));
  EXPECT_OK(chime_expiring_create(queue, 50 * CHIME_MILLISECOND, &kept, NULL, NULL, &ends));
  EXPECT_OK(chime_expiring_on_expiry(ends, count_tick, &ended, NULL));
  step(-4 * CHIME_HOUR);
  EXPECT(await(&ended, 1));
  EXPECT_EQ(chime_expiring_acquire(ends, &value), CHIME_IGNORED);
  EXPECT_OK(chime_expiring_release(lasts));
  EXPECT_OK(chime_expiring_release(ends));
  place_end(where, queue);
}

/* Queues on the monotonic clock do not notice: no due time is delivered or missed that it has not reached. */
CASES(monotonic_does_not_notice, where, SERIAL, HOST) {
  enum { PERIOD = 20 * CHIME_MILLISECOND };
  chime_queue_t queue = place_queue(where, &QUEUE_OPTIONS(.clock = CHIME_CLOCK_MONOTONIC));
  int64_t begun = monotonic_ns();
  start(queue, &repeating, 0, PERIOD, PERIOD);
  EXPECT(await(&repeating.count, 2));
  step(CHIME_HOUR);
  EXPECT(await(&repeating.count, load(&repeating.count) + 2));
  step(-2 * CHIME_HOUR);
  EXPECT(await(&repeating.count, load(&repeating.count) + 2));
  place_end(where, queue);
  EXPECT_BETWEEN(repeating.last.sequence + repeating.last.missed, 6, (monotonic_ns() - begun) / PERIOD + 1);
}

static int64_t boottime_ns(void) {
  int64_t now = 0;
  EXPECT_OK(chime_now(CHIME_CLOCK_BOOTTIME, &now));
  return now;
}

/* Boottime goes on in sleep, for deadlines, delays and intervals. (Host-driven queues have the kernel's own timer for it.) */
CASES(a_sleep_is_counted_by_boottime, where, SERIAL, RUN_LOOP) {
  if (where == DISPATCH) fault_skip("no boottime there");
  chime_queue_t queue = place_queue(where, &boottime);
  start(queue, &by_deadline, CHIME_SCHEDULE_DEADLINE, boottime_ns() + CHIME_HOUR, 0);
  start(queue, &by_delay, 0, CHIME_HOUR, 0);
  start(queue, &repeating, 0, 10 * CHIME_MINUTE, 10 * CHIME_MINUTE);
  let_others_tick();
  EXPECT_EQ(load(&by_deadline.count), 0);
  sleep_for(CHIME_HOUR + CHIME_MINUTE);
  EXPECT(await(&by_deadline.count, 1));
  EXPECT(await(&by_delay.count, 1));
  EXPECT(await(&repeating.count, 1));
  EXPECT_EQ(repeating.last.missed, 5);
  start(queue, &by_delay, 0, 20 * CHIME_MILLISECOND, 0);
  EXPECT(await(&by_delay.count, 2));
  sleep_for(9 * CHIME_MINUTE);
  EXPECT(await(&repeating.count, 2));
  EXPECT_EQ(repeating.last.missed, 0);
  place_end(where, queue);
}

static void *step_soon(void *by_ns) {
  sleep_ns(50 * CHIME_MILLISECOND);
  step(*(int64_t *)by_ns);
  return NULL;
}

/* A timeout is a duration: a step of the wall clock, forward or back, makes it neither shorter nor longer. */
CASES(timeouts, argument, 0, 2 * wait_count - 1) {
  enum { TIMEOUT = 200 * CHIME_MILLISECOND };
  const wait *w = &waits[argument / 2];
  int64_t by_ns = argument % 2 == 0 ? CHIME_HOUR : -CHIME_HOUR, begun, waited;
  pthread_t stepper;
  if (w->flags & (SLEEPS | SHORT | ENDLESS)) fault_skip("no timeout");
  wait_prepare(w);
  stepper = spawn(step_soon, &by_ns);
  begun = monotonic_ns();
  EXPECT_EQ(w->call(TIMEOUT), wait_timed_out(w));
  waited = monotonic_ns() - begun;
  /* At PATIENCE the handler that it waits for returns. */
  EXPECT_BETWEEN(waited, TIMEOUT, PATIENCE - 1);
  fault_seen("%s %d ms", w->name, (int)(waited / CHIME_MILLISECOND));
  pthread_join(stepper, NULL);
  wait_end(w);
}

/* ---- What watches for steps ---------------------------------------------------------------------------------------- */

/* libdispatch keeps what it has opened, and its threads in their time. */
static void expect_nothing_stays(int where, const chime_queue_options *options) {
  const int files = guest_files();
  int round;
  guest_needs_own_threads(where);
  for (round = 0; round < 2; round++) {
    chime_queue_t queue = 0;
    chime_run_loop_t loop = 0;
    int ticked = 0, i;
    REQUIRE_OK(create_queue(where, options, &queue, &loop));
    EXPECT_OK(chime_timer_after(queue, CHIME_MILLISECOND, count_tick, &ticked, NULL, NULL));
    if (where == HOST) EXPECT_OK(chime_queue_run(queue, 0));
    EXPECT(await(&ticked, 1));
    EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
    if (loop != 0) EXPECT_OK(chime_run_loop_release(loop));
    EXPECT(guest_await_threads(1));
    for (i = 0; i < 30000 && guest_files() > files; i++) sleep_ns(CHIME_MILLISECOND);
    EXPECT_EQ(guest_files(), files);
  }
}

/* Threads and descriptors are those of before the first queue; and all begins again with the next. */
CASES(nothing_stays_after_the_last_queue, where, SERIAL, HOST) { expect_nothing_stays(where, NULL); }
CASES(nothing_stays_after_the_last_queue_on_the_wall_clock, where, SERIAL, HOST) { expect_nothing_stays(where, &wall); }
CASES(nothing_stays_after_the_last_queue_on_boottime, where, SERIAL, HOST) {
  if (where == DISPATCH) fault_skip("no boottime there");
  expect_nothing_stays(where, &boottime);
}

/* A host-driven queue begins no thread, and is made where none can be had; its own descriptor notices steps. */
CASE(a_host_driven_queue_has_no_thread) {
  chime_queue_t queue;
  uint32_t count = 0;
  store(&none_left, 1);
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_HOST, &wall, &queue));
  start(queue, &by_deadline, CHIME_SCHEDULE_DEADLINE, wall_ns() + CHIME_HOUR, 0);
  EXPECT_OK(chime_queue_process(queue, 0, &count));
  EXPECT_EQ(count, 0);
  step(CHIME_HOUR);
  EXPECT(place_is_readable(queue, (int)(PATIENCE / CHIME_MILLISECOND)));
  EXPECT_OK(chime_queue_process(queue, 0, &count));
  EXPECT_EQ(by_deadline.count, 1);
  EXPECT_EQ(guest_threads(), 1);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}
