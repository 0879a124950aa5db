/*
 * walls.c - queues on the wall clock: what watches for steps goes with the last queue, and a host-driven one needs no thread.
 *
 * The machine's clock is not touched: clock_gettime and timerfd_settime of this program stand before libc's, for the library
 * too, as in Faults/wall_clock.c.
 */
#include "guest.h"

#include <errno.h>
#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { MOST_FILES = 64 };

static int64_t offset_ns;
static int watches[MOST_FILES]; /* whether a step makes the descriptor readable */

static int (*next_gettime)(clockid_t, struct timespec *);
static int (*next_settime)(int, int, const struct itimerspec *, struct itimerspec *);

int clock_gettime(clockid_t clock, struct timespec *time) {
  int result;
  if (next_gettime == NULL) *(void **)(void *)&next_gettime = fault_next("clock_gettime");
  result = next_gettime(clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) {
    int64_t now = (int64_t)time->tv_sec * CHIME_SECOND + time->tv_nsec + __atomic_load_n(&offset_ns, __ATOMIC_SEQ_CST);
    time->tv_sec = (time_t)(now / CHIME_SECOND);
    time->tv_nsec = (long)(now % CHIME_SECOND);
  }
  return result;
}

int timerfd_settime(int file, int flags, const struct itimerspec *new_value, struct itimerspec *old_value) {
  struct itimerspec value = *new_value;
  if (next_settime == NULL) *(void **)(void *)&next_settime = fault_next("timerfd_settime");
  if (file >= 0 && file < MOST_FILES) store(&watches[file], (flags & TFD_TIMER_CANCEL_ON_SET) != 0);
  return next_settime(file, flags, &value, old_value);
}

static void step(int64_t by_ns) {
  const struct itimerspec at_once = {.it_value.tv_nsec = 1};
  int file;
  __atomic_add_fetch(&offset_ns, by_ns, __ATOMIC_SEQ_CST);
  for (file = 0; file < MOST_FILES; file++) {
    if (load(&watches[file])) next_settime(file, 0, &at_once, NULL);
  }
}

static int none_left;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
  static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  if (load(&none_left)) return EAGAIN;
  if (next == NULL) *(void **)(void *)&next = fault_next("pthread_create");
  return next(thread, attributes, body, argument);
}

static const chime_queue_options wall = {.size = sizeof wall, .clock = CHIME_CLOCK_WALL};
static int ticks;

/* ---- The last queue ends --------------------------------------------------------------------------------------------- */

static int await_files(int most) {
  int64_t end = monotonic_ns() + PATIENCE;
  while (guest_files() > most && monotonic_ns() < end) sleep_ns(CHIME_MILLISECOND);
  return guest_files() <= most;
}

static void make_tick_and_end(int where, const chime_queue_options *options) {
  chime_queue_t queue = 0;
  chime_run_loop_t loop = 0;
  store(&ticks, 0);
  REQUIRE_OK(create_queue(where, options, &queue, &loop));
  EXPECT_OK(chime_timer_after(queue, CHIME_MILLISECOND, count_tick, &ticks, NULL, NULL));
  if (where == HOST) EXPECT_OK(chime_queue_run(queue, 0));
  EXPECT(await(&ticks, 1));
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  if (loop != 0) EXPECT_OK(chime_run_loop_release(loop));
}

/* libdispatch keeps what it has opened, and its threads in their time. */
static void expect_nothing_stays(int where, const chime_queue_options *options, int files) {
  int round;
  if (where == DISPATCH) fault_skip("its threads and descriptors are libdispatch's");
  for (round = 0; round < 2; round++) {
    make_tick_and_end(where, options);
    if (!guest_await_threads(1)) EXPECT_EQ(guest_threads(), 1);
    if (!await_files(files)) EXPECT_EQ(guest_files(), files);
  }
}

/* Threads and descriptors are those of before the first queue; and all begins again with the next. */
CASES(nothing_stays_after_the_last_queue, where, SERIAL, HOST) { expect_nothing_stays(where, NULL, guest_files()); }
CASES(nothing_stays_after_the_last_queue_on_the_wall_clock, where, SERIAL, HOST) {
  expect_nothing_stays(where, &wall, guest_files());
}

/* What watches for steps goes, whatever a queue of that kind leaves. */
CASES(nobody_watches_for_steps_without_a_queue, where, SERIAL, HOST) {
  if (where == DISPATCH) fault_skip("its threads and descriptors are libdispatch's");
  make_tick_and_end(where, NULL);
  if (!guest_await_threads(1)) EXPECT_EQ(guest_threads(), 1);
  expect_nothing_stays(where, &wall, guest_files());
}

/* ---- A host-driven queue ------------------------------------------------------------------------------------------------ */

static int64_t wall_ns(void) {
  int64_t now = 0;
  EXPECT_OK(chime_now(CHIME_CLOCK_WALL, &now));
  return now;
}

static void process_until(chime_queue_t queue, int least) {
  int32_t fd = -1;
  REQUIRE_OK(chime_queue_fd(queue, &fd));
  while (load(&ticks) < least) {
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    REQUIRE(poll(&entry, 1, PATIENCE / CHIME_MILLISECOND) == 1);
    EXPECT_OK(chime_queue_process(queue, 0, NULL));
  }
}

/* It begins no thread, and is made where none can be had; its own descriptor notices steps, forward and back. */
CASES(a_host_driven_queue_has_no_thread, are_none_left, 0, 1) {
  chime_queue_t queue = 0;
  guest_ends_within(100);
  store(&none_left, are_none_left);
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_HOST, &wall, &queue));
  EXPECT_EQ(guest_threads(), 1);
  EXPECT_OK(chime_timer_start(queue, &TIMER_OPTIONS(.handler = count_tick, .context = &ticks),
                              &SCHEDULE(.flags = CHIME_SCHEDULE_DEADLINE, .first_ns = wall_ns() + CHIME_MILLISECOND),
                              NULL));
  process_until(queue, 1);
  EXPECT_OK(chime_timer_start(queue, &TIMER_OPTIONS(.handler = count_tick, .context = &ticks),
                              &SCHEDULE(.flags = CHIME_SCHEDULE_DEADLINE, .first_ns = wall_ns() + CHIME_HOUR), NULL));
  EXPECT_OK(chime_queue_process(queue, 0, NULL));
  EXPECT_EQ(load(&ticks), 1);
  step(CHIME_HOUR + CHIME_SECOND);
  process_until(queue, 2);
  EXPECT_OK(chime_timer_start(queue, &TIMER_OPTIONS(.handler = count_tick, .context = &ticks),
                              &SCHEDULE(.flags = CHIME_SCHEDULE_DEADLINE, .first_ns = wall_ns() + CHIME_SECOND), NULL));
  EXPECT_OK(chime_queue_process(queue, 0, NULL));
  step(-CHIME_HOUR);
  EXPECT_OK(chime_queue_process(queue, 0, NULL));
  EXPECT_EQ(load(&ticks), 2);
  step(CHIME_HOUR + CHIME_SECOND);
  process_until(queue, 3);
  EXPECT_EQ(guest_threads(), 1);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}
