/*
 * wall_clock.c - the wall clock is stepped, both ways.
 *
 * The machine's clock is not touched: this program's clock_gettime stands before libc's, for the library too, and moves
 * CLOCK_REALTIME by what `step` says; what the kernel would do at a step, make a timerfd with TFD_TIMER_CANCEL_ON_SET
 * readable, `step` does to the descriptors that the library has set like that. Everything behind it is the real path. Not
 * covered is the kernel's own part.
 */
#include "waits.h"

#include <sys/timerfd.h>
#include <time.h>

enum { MOST_FILES = 16 };

static int64_t offset_ns;
static int watched[MOST_FILES];
static int watched_count;

static int (*next_gettime)(clockid_t, struct timespec *);
static int (*next_settime)(int, int, const struct itimerspec *, struct itimerspec *);

int clock_gettime(clockid_t clock, struct timespec *time) {
  int result;
  if (next_gettime == NULL) *(void **)(void *)&next_gettime = fault_next("clock_gettime");
  result = next_gettime(clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) {
    int64_t now = (int64_t)time->tv_sec * 1000000000 + time->tv_nsec + __atomic_load_n(&offset_ns, __ATOMIC_SEQ_CST);
    time->tv_sec = (time_t)(now / 1000000000);
    time->tv_nsec = (long)(now % 1000000000);
  }
  return result;
}

int timerfd_settime(int file, int flags, const struct itimerspec *new_value, struct itimerspec *old_value) {
  if (next_settime == NULL) *(void **)(void *)&next_settime = fault_next("timerfd_settime");
  if ((flags & TFD_TIMER_CANCEL_ON_SET) != 0 && watched_count < MOST_FILES) watched[watched_count++] = file;
  return next_settime(file, flags, new_value, old_value);
}

static void step(int64_t by_ns) {
  const struct itimerspec at_once = {.it_value.tv_nsec = 1};
  int i, count = watched_count;
  __atomic_add_fetch(&offset_ns, by_ns, __ATOMIC_SEQ_CST);
  for (i = 0; i < count; i++) next_settime(watched[i], 0, &at_once, NULL);
}

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
  chime_queue_t queue = place_queue(where, &QUEUE_OPTIONS(.clock = CHIME_CLOCK_WALL));
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
  chime_queue_t queue = place_queue(where, &QUEUE_OPTIONS(.clock = CHIME_CLOCK_WALL));
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
  EXPECT_EQ(w->call(TIMEOUT), CHIME_TIMED_OUT);
  waited = monotonic_ns() - begun;
  /* At PATIENCE the handler that it waits for returns. */
  EXPECT_BETWEEN(waited, TIMEOUT, PATIENCE - 1);
  fault_seen("%s %d ms", w->name, (int)(waited / CHIME_MILLISECOND));
  pthread_join(stepper, NULL);
  wait_end(w);
}
