/*
 * fork_files.c - a forked child closes the descriptors that came with it and opens files of its own under the same numbers,
 * as daemons do, before it calls chime_reinitialize. That closes none of them, whatever they are. The parent's timers
 * notice nothing. Promise 15.
 */
#include "places.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { QUEUES = 30, NUMBERS = 256 };

static chime_queue_t queues[QUEUES];
static int ticks[QUEUES];

/* ---- The child's own files -------------------------------------------------------------------------------------- */

/* Devices, and timerfds with settings as a program that wants signals might choose, each of them another one. */
static int is_timer(int number) { return number % 3 != 0; }
static int seconds_of(int number) { return 1000 + 10 * number; }
static int signal_of(int number) { return number % 4 == 0 ? 0 : SIGRTMIN + number % (SIGRTMAX - SIGRTMIN); }

/* Opens one, which gets the lowest number that is free. */
static void open_own(int number) {
  const struct itimerspec time = {.it_value.tv_sec = seconds_of(number)};
  if (!is_timer(number)) {
    EXPECT_EQ(open("/dev/null", O_RDWR), number);
    return;
  }
  EXPECT_EQ(timerfd_create(number % 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME, number % 6 < 3 ? 0 : TFD_NONBLOCK), number);
  EXPECT_OK(timerfd_settime(number, 0, &time, NULL));
  EXPECT_OK(fcntl(number, F_SETSIG, signal_of(number)));
  if (signal_of(number) != 0) EXPECT_OK(fcntl(number, F_SETOWN, getpid()));
}

/* It is open, and is what it was: nothing else was opened there after it had been closed. */
static void expect_still_there(int number) {
  struct itimerspec time;
  int64_t gone_ns;
  if (!is_timer(number)) EXPECT_EQ(write(number, "x", 1), 1);
  if (!is_timer(number) || !EXPECT_OK(timerfd_gettime(number, &time))) return;
  gone_ns = (seconds_of(number) - time.it_value.tv_sec) * CHIME_SECOND - time.it_value.tv_nsec;
  EXPECT_BETWEEN(gone_ns, 0, CHIME_HOUR); /* it runs on, from what it was set to */
  EXPECT_EQ(fcntl(number, F_GETSIG), signal_of(number));
}

/* Closes all from 3 on, and opens as many, so that they come to lie where those were. */
static void replace_all(void) {
  int number, count = 0;
  for (number = 3; number < NUMBERS; number++) count += close(number) == 0;
  EXPECT(count > QUEUES - 2);
  for (number = 3; number < 3 + count; number++) open_own(number);
  EXPECT_OK(chime_reinitialize());
  for (number = 3; number < 3 + count; number++) expect_still_there(number);
  place_expect_works(HOST);
  place_expect_works(PRECISE);
  place_expect_works(VIRTUAL);
  for (number = 3; number < 3 + count; number++) expect_still_there(number);
}

/* ---- Those that fork -------------------------------------------------------------------------------------------- */

static void expect_ticks(void) {
  int i;
  for (i = 0; i < QUEUES; i++) EXPECT(await(&ticks[i], load(&ticks[i]) + 3));
}

/* Queues of all kinds with descriptors, and host-driven ones, whose descriptor becomes readable at the parent's time. */
static void make_queues(int is_child) {
  int i;
  for (i = 0; i < QUEUES; i++) {
    int where = is_child || i > 1 ? HOST : i == 0 ? SERIAL : PRECISE;
    static const chime_clock clocks[QUEUES] = {[2] = CHIME_CLOCK_BOOTTIME, [3] = CHIME_CLOCK_WALL};
    queues[i] = place_queue(where, &QUEUE_OPTIONS(.clock = is_child ? CHIME_CLOCK_MONOTONIC : clocks[i]));
    EXPECT_OK(chime_timer_every(queues[i], 2 * CHIME_MILLISECOND, count_tick, &ticks[i], NULL, NULL));
  }
  expect_ticks();
}

/* A child that has restarted and made queues is a parent like another. */
static void begin_anew_and_fork(void) {
  EXPECT_OK(chime_reinitialize());
  make_queues(1);
  fault_in_a_child(replace_all);
  expect_ticks();
}

CASES(files_of_the_childs_own, is_in_childs_child, 0, 1) {
  int i;
  make_queues(0);
  fault_in_a_child(is_in_childs_child ? begin_anew_and_fork : replace_all);
  expect_ticks();
  for (i = 0; i < QUEUES; i++) EXPECT_OK(chime_queue_shutdown(queues[i], PATIENCE));
}
