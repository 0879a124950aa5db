/*
 * wall_clock.c - the wall clock is stepped, both ways.
 *
 * The machine's clock is not touched: this program's clock_gettime stands before libc's, for the library too, and moves
 * CLOCK_REALTIME by what `step` says; what the kernel would do at a step, make a timerfd with TFD_TIMER_CANCEL_ON_SET
 * readable, `step` does to the descriptors that the library has set like that. Everything behind it is the real path. Not
 * covered is the kernel's own part.
 */
#include "places.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { MOST_FILES = 16, MILLISECONDS = 1000000 };

static int64_t offset_ns;
static int watched[MOST_FILES];
static int watched_count;

static int (*next_gettime)(clockid_t, struct timespec *);
static int (*next_settime)(int, int, const struct itimerspec *, struct itimerspec *);

static void find_next(const char *name, void *function) {
  void *symbol = dlsym(RTLD_NEXT, name);
  memcpy(function, &symbol, sizeof symbol);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  int result;
  if (next_gettime == NULL) find_next("clock_gettime", &next_gettime);
  result = next_gettime(clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) {
    int64_t now = (int64_t)time->tv_sec * 1000000000 + time->tv_nsec + __atomic_load_n(&offset_ns, __ATOMIC_SEQ_CST);
    time->tv_sec = (time_t)(now / 1000000000);
    time->tv_nsec = (long)(now % 1000000000);
  }
  return result;
}

/* CoreFoundation reads the time of day by this one. */
int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  struct timespec now;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}

int timerfd_settime(int file, int flags, const struct itimerspec *new_value, struct itimerspec *old_value) {
  if (next_settime == NULL) find_next("timerfd_settime", &next_settime);
  if ((flags & TFD_TIMER_CANCEL_ON_SET) != 0 && watched_count < MOST_FILES) watched[watched_count++] = file;
  return next_settime(file, flags, new_value, old_value);
}

/* The timeout of a semaphore is a point on the wall clock, as libc and the kernel have it. */
int sem_timedwait(sem_t *semaphore, const struct timespec *end) {
  for (;;) {
    struct timespec now;
    if (sem_trywait(semaphore) == 0) return 0;
    if (errno != EAGAIN) return -1;
    clock_gettime(CLOCK_REALTIME, &now);
    if (now.tv_sec > end->tv_sec || (now.tv_sec == end->tv_sec && now.tv_nsec >= end->tv_nsec)) {
      errno = ETIMEDOUT;
      return -1;
    }
    sleep_ms(1);
  }
}

static void step(int64_t by_ns) {
  struct itimerspec at_once;
  int i, count = watched_count;
  memset(&at_once, 0, sizeof at_once);
  at_once.it_value.tv_nsec = 1;
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
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  options.handler = on_tick;
  options.context = r;
  schedule.flags = flags;
  schedule.first_ns = first;
  schedule.interval_ns = interval;
  EXPECT_OK(chime_timer_start(queue, &options, &schedule, NULL));
}

static chime_queue_t wall_queue(place where) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  chime_queue_t queue = 0;
  options.clock = CHIME_CLOCK_WALL;
  EXPECT_OK(place_make(where, &options, &queue));
  place_drive(where, queue);
  return queue;
}

/*
 * Stepped forward: absolute deadlines come with the clock, delays do not, a repeating one coalesces. Nothing else would
 * wake the queue within the hour.
 */
static void forward(int where) {
  chime_queue_t queue;
  queue = wall_queue((place)where);
  REQUIRE(queue != 0);
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
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  fault_seen("%s: a deadline comes, 5 periods missed in one tick, a delay is left alone", place_name((place)where));
}

/* Stepped back: absolute deadlines wait, delays do not, a repeating one goes on at the next grid point after now. */
static void backward(int where) {
  chime_queue_t queue;
  int64_t begun;
  queue = wall_queue((place)where);
  REQUIRE(queue != 0);
  begun = monotonic_ns();
  start(queue, &by_deadline, CHIME_SCHEDULE_DEADLINE, wall_ns() + CHIME_MINUTE, 0);
  start(queue, &by_delay, 0, 200 * CHIME_MILLISECOND, 0);
  start(queue, &repeating, CHIME_SCHEDULE_DEADLINE, wall_ns(), 50 * CHIME_MILLISECOND);
  EXPECT(await(&repeating.count, 1));
  step(-CHIME_HOUR);
  EXPECT(await(&by_delay.count, 1));
  EXPECT(monotonic_ns() - begun >= 200 * MILLISECONDS);
  EXPECT(await(&repeating.count, load(&repeating.count) + 3)); /* not an hour later */
  EXPECT(repeating.last.scheduled_ns <= wall_ns());
  EXPECT_EQ(load(&by_deadline.count), 0);
  step(CHIME_HOUR + CHIME_MINUTE);
  EXPECT(await(&by_deadline.count, 1));
  EXPECT_EQ(load(&by_delay.count), 1);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  fault_seen("%s: a deadline waits, a grid goes on, a delay is left alone", place_name((place)where));
}

/* Queues on the monotonic clock do not notice. */
static void monotonic(int where) {
  chime_queue_t queue = 0;
  int64_t begun;
  REQUIRE_OK(place_make((place)where, NULL, &queue));
  place_drive((place)where, queue);
  begun = monotonic_ns();
  start(queue, &repeating, 0, 20 * CHIME_MILLISECOND, 20 * CHIME_MILLISECOND);
  start(queue, &by_delay, 0, 300 * CHIME_MILLISECOND, 0); /* no earlier than that after `begun` */
  EXPECT(await(&repeating.count, 2));
  step(CHIME_HOUR);
  EXPECT(await(&repeating.count, load(&repeating.count) + 2));
  step(-2 * CHIME_HOUR);
  EXPECT(await(&by_delay.count, 1));
  EXPECT(monotonic_ns() - begun >= 300 * MILLISECONDS);
  EXPECT(await(&repeating.count, 5));
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  /* No due time was delivered or missed that the monotonic clock had not reached. */
  EXPECT_BETWEEN(repeating.last.sequence + repeating.last.missed, 5,
                 (monotonic_ns() - begun) / (20 * MILLISECONDS) + 1);
  fault_seen("%s", place_name((place)where));
}

/* ---- Timeouts --------------------------------------------------------------------------------------------------- */

enum { TIMEOUT_MS = 200, CANCEL_AND_WAIT = 0, SYNC = 1, SHUTDOWN = 2 };
static int has_begun;
static int may_return;

static void stay(const chime_tick *tick, void *context) {
  (void)tick;
  (void)context;
  store(&has_begun, 1);
  await(&may_return, 1);
}

static void *step_soon(void *context) {
  sleep_ms(50);
  step(*(int64_t *)context);
  return NULL;
}

/* A timeout is a duration: a step of the wall clock makes it neither shorter nor longer. */
static void time_out(int call, int64_t by_ns) {
  static int called;
  chime_queue_t queue = 0;
  chime_timer_t timer = 0;
  pthread_t stepper;
  chime_status status;
  int64_t begun, waited;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_PRECISE, NULL, &queue));
  EXPECT_OK(chime_timer_after(queue, 0, stay, NULL, NULL, &timer));
  EXPECT(await(&has_begun, 1));
  EXPECT_OK(pthread_create(&stepper, NULL, step_soon, &by_ns));
  begun = monotonic_ns();
  status = call == CANCEL_AND_WAIT ? chime_timer_cancel_and_wait(timer, TIMEOUT_MS * CHIME_MILLISECOND)
           : call == SYNC          ? chime_queue_sync(queue, count_call, &called, TIMEOUT_MS * CHIME_MILLISECOND)
                                   : chime_queue_shutdown(queue, TIMEOUT_MS * CHIME_MILLISECOND);
  waited = monotonic_ns() - begun;
  EXPECT_EQ(status, CHIME_TIMED_OUT);
  /* By then the handler has waited for its gate in vain, and returned. */
  EXPECT_BETWEEN(waited, (int64_t)TIMEOUT_MS * MILLISECONDS, PATIENCE - 1);
  fault_seen("%s %d ms",
             call == CANCEL_AND_WAIT ? "cancel_and_wait"
             : call == SYNC          ? "sync"
                                     : "shutdown",
             (int)(waited / MILLISECONDS));
  store(&may_return, 1);
  pthread_join(stepper, NULL);
}

static void timeouts_forward(int call) { time_out(call, CHIME_HOUR); }
static void timeouts_backward(int call) { time_out(call, -CHIME_HOUR); }

int main(int argc, char **argv) {
  static const fault_case cases[] = {
      {"forward", forward, SERIAL, PRECISE, 0, 0},
      {"forward-on-a-run-loop", forward, RUN_LOOP, RUN_LOOP, 0, 0},
      {"backward", backward, SERIAL, PRECISE, 0, 0},
      {"backward-on-a-run-loop", backward, RUN_LOOP, RUN_LOOP, 0, 0},
      {"monotonic-does-not-notice", monotonic, SERIAL, PRECISE, 0, 0},
      {"monotonic-does-not-notice-on-a-run-loop", monotonic, RUN_LOOP, RUN_LOOP, 0, 0},
      {"timeouts-forward", timeouts_forward, CANCEL_AND_WAIT, SHUTDOWN, 0, 0},
      {"timeouts-backward", timeouts_backward, CANCEL_AND_WAIT, SHUTDOWN, 0, 0},
      {NULL, NULL, 0, 0, 0, 0},
  };
  return fault_main(argc, argv, cases);
}
