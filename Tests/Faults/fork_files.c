/*
 * fork_files.c - a forked child closes the descriptors that came with it and opens files of its own under the same numbers,
 * as daemons do, before it calls chime_reinitialize. That closes none of them, whatever they are: timerfds, pipes, files.
 * The parent's timers notice nothing.
 */
#include "places.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { QUEUES = 30, NUMBERS = 256 };

static chime_queue_t queues[QUEUES];
static int ticks[QUEUES];

/* ---- The parent ------------------------------------------------------------------------------------------------- */

static void make_queues(void) {
  int i;
  for (i = 0; i < QUEUES; i++) {
    place where = i == 0 ? SERIAL : i == 1 ? PRECISE : HOST;
    chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
    if (i == 2) options.clock = CHIME_CLOCK_BOOTTIME;
    if (i == 3) options.clock = CHIME_CLOCK_WALL;
    EXPECT_OK(place_make(where, &options, &queues[i]));
    EXPECT_OK(chime_timer_every(queues[i], 2 * CHIME_MILLISECOND, count_tick, &ticks[i], NULL, NULL));
  }
}

/* Every queue ticks: a host-driven one because its descriptor becomes readable at the time that the parent has set. */
static void expect_ticks(void) {
  int i;
  for (i = 0; i < QUEUES; i++) {
    int least = load(&ticks[i]) + 3;
    while (i > 1 && load(&ticks[i]) < least) {
      if (!EXPECT_OK(chime_queue_wait(queues[i], PATIENCE))) return;
      EXPECT_OK(chime_queue_process(queues[i], 0, NULL));
    }
    EXPECT(await(&ticks[i], least));
  }
}

/* ---- The child's own files -------------------------------------------------------------------------------------- */

typedef enum what { NOTHING, TIMER, READING_END, WRITING_END, DEVICE, COUNTER, WHATS } what;

static struct {
  what is;
  struct stat stat;
  int other_end;
  int64_t due_ns; /* what is left of a timerfd's time, so that one can be told from another */
  int signal;
} files[NUMBERS];
static int own_count;

static void note(int number, what is) {
  REQUIRE(number >= 0 && number < NUMBERS);
  files[number].is = is;
  EXPECT_OK(fstat(number, &files[number].stat));
  own_count++;
}

/* With settings as a program that wants signals might choose, each of them another one. */
static int open_timer(void) {
  struct itimerspec time = {{0, 0}, {0, 0}};
  int number = timerfd_create(own_count % 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME, own_count % 3 ? 0 : TFD_NONBLOCK);
  note(number, TIMER);
  if (number < 0 || number >= NUMBERS) return -1;
  time.it_value.tv_sec = 1000 + 10 * number;
  files[number].due_ns = (int64_t)time.it_value.tv_sec * CHIME_SECOND;
  EXPECT_OK(timerfd_settime(number, 0, &time, NULL));
  files[number].signal = 0;
  if (own_count % 4 == 0) return number;
  files[number].signal = SIGRTMIN + number % (SIGRTMAX - SIGRTMIN);
  EXPECT_OK(fcntl(number, F_SETSIG, files[number].signal));
  EXPECT_OK(fcntl(number, F_SETOWN, getpid()));
  return number;
}

static void open_something(int which) {
  int ends[2];
  if (which == 0) note(open("/dev/null", O_RDWR), DEVICE);
  if (which == 1) note(eventfd(0, 0), COUNTER);
  if (which == 2) {
    EXPECT_OK(pipe(ends));
    note(ends[0], READING_END);
    note(ends[1], WRITING_END);
    files[ends[1]].other_end = ends[0];
  }
  if (which > 2) open_timer();
}

static void expect_still_there(void) {
  int number, closed = 0, others = 0;
  for (number = 0; number < NUMBERS; number++) {
    struct itimerspec time;
    struct stat now;
    char byte = 0;
    int64_t gone_ns;
    if (files[number].is == NOTHING) continue;
    closed += fstat(number, &now) != 0;
    if (fstat(number, &now) != 0) fprintf(stderr, "%d, kind %d, was closed\n", number, files[number].is);
    if (fstat(number, &now) != 0) continue;
    others += now.st_ino != files[number].stat.st_ino || now.st_dev != files[number].stat.st_dev;
    if (files[number].is == WRITING_END) {
      EXPECT_EQ(write(number, "x", 1), 1);
      EXPECT_EQ(read(files[number].other_end, &byte, 1), 1);
      EXPECT_EQ(byte, 'x');
    }
    if (files[number].is != TIMER) continue;
    EXPECT_OK(timerfd_gettime(number, &time));
    gone_ns = files[number].due_ns - time.it_value.tv_sec * CHIME_SECOND - time.it_value.tv_nsec;
    EXPECT_BETWEEN(gone_ns, 0, CHIME_HOUR); /* it runs on, from what it was set to */
    others += fcntl(number, F_GETSIG) != files[number].signal;
  }
  EXPECT_EQ(closed, 0);
  EXPECT_EQ(others, 0); /* closed, and something else opened there */
}

/* The numbers from 3 on that are open, the one of this list left out. */
static int open_numbers(int *numbers) {
  DIR *list = opendir("/proc/self/fd");
  struct dirent *entry;
  int count = 0;
  if (list == NULL) return 0;
  while ((entry = readdir(list)) != NULL) {
    int number = atoi(entry->d_name);
    if (number > 2 && number != dirfd(list) && count < NUMBERS) numbers[count++] = number;
  }
  closedir(list);
  return count;
}

static void expect_chime_works(void) {
  place_expect_works(HOST);
  place_expect_works(PRECISE);
  place_expect_works(VIRTUAL);
}

/* Everything is closed, and as many files opened: the lowest number first, so that they come to lie where those were. */
static void replace_all(void) {
  int numbers[NUMBERS], count = open_numbers(numbers), i;
  EXPECT(count > QUEUES - 2);
  for (i = 0; i < count; i++) close(numbers[i]);
  for (i = 0; own_count < count; i++) open_something(i % 8);
  EXPECT_OK(chime_reinitialize());
  expect_still_there();
  expect_chime_works();
  expect_still_there();
}

/* Timers only, put in the place of what is there. */
static void replace_by_dup2(void) {
  int numbers[NUMBERS], count = open_numbers(numbers), i;
  for (i = 0; i < count; i++) {
    int number = open_timer();
    if (number < 0) return;
    EXPECT_EQ(dup2(number, numbers[i]), numbers[i]);
    files[numbers[i]] = files[number];
    files[number].is = NOTHING;
    close(number);
  }
  EXPECT_OK(chime_reinitialize());
  expect_still_there();
  expect_chime_works();
}

/* One that has restarted, made queues, and forked: its child does the same to those. */
static void have_a_child(void);
static void begin_anew_and_fork(void) {
  EXPECT_OK(chime_reinitialize());
  memset(queues, 0, sizeof queues);
  have_a_child();
}

static void in_a_child(void (*child)(void)) {
  int status = -1, waited = 0;
  pid_t pid = fork();
  if (pid == 0) {
    child();
    _exit(fault_failures() == 0 ? 0 : 1);
  }
  REQUIRE(pid > 0);
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (++waited > 30000) kill(pid, SIGKILL);
    sleep_ms(1);
  }
  EXPECT_EQ(status, 0);
}

static void have_a_child(void) {
  chime_queue_t made[QUEUES];
  int i;
  for (i = 0; i < QUEUES; i++) EXPECT_OK(chime_queue_create(CHIME_QUEUE_HOST, NULL, &made[i]));
  in_a_child(replace_all);
  for (i = 0; i < QUEUES; i++) {
    static int one;
    one = 0;
    EXPECT_OK(chime_timer_after(made[i], 0, count_tick, &one, NULL, NULL));
    EXPECT_OK(chime_queue_wait(made[i], PATIENCE));
    EXPECT_OK(chime_queue_process(made[i], 0, NULL));
    EXPECT_EQ(one, 1);
  }
}

static void replaced(int how) {
  static void (*const children[])(void) = {replace_all, replace_by_dup2, begin_anew_and_fork};
  static const char *const names[] = {"closed, then opened anew", "by dup2", "in a child's child"};
  int i;
  make_queues();
  expect_ticks();
  in_a_child(children[how]);
  expect_ticks();
  for (i = 0; i < QUEUES; i++) EXPECT_OK(chime_queue_shutdown(queues[i], PATIENCE));
  fault_seen("%s", names[how]);
}

int main(int argc, char **argv) {
  static const fault_case cases[] = {
      {"files-of-the-childs-own", replaced, 0, 2, 0, 0},
      {NULL, NULL, 0, 0, 0, 0},
  };
  return fault_main(argc, argv, cases);
}
