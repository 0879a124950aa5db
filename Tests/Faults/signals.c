/*
 * signals.c - a signal every millisecond, with a handler that does not ask for SA_RESTART, on the thread that waits: system
 * calls end with EINTR all the time. No wait of Chime's ends early, fails, or changes errno. And Chime's own threads have
 * all signals blocked.
 */
#include "places.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { SENTINEL = 4242, WAIT_MS = 120, LEAST_SIGNALS = 3 };

static int signals;
static timer_t storm;

static void on_signal(int number) {
  (void)number;
  add(&signals, 1);
}

/* From here on, on this thread. */
static void begin_storm(void) {
  struct sigaction action;
  struct sigevent event;
  struct itimerspec each;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  EXPECT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGUSR1;
  event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
  EXPECT_EQ(timer_create(CLOCK_MONOTONIC, &event, &storm), 0);
  memset(&each, 0, sizeof each);
  each.it_value.tv_nsec = each.it_interval.tv_nsec = 1000000;
  EXPECT_EQ(timer_settime(storm, 0, &each, NULL), 0);
  errno = SENTINEL;
}

static void end_storm(const char *what, int64_t begun, int least_ms) {
  int error = errno;
  int64_t waited = monotonic_ns() - begun;
  timer_delete(storm);
  EXPECT_EQ(error, SENTINEL);
  EXPECT(waited >= (int64_t)least_ms * 1000000);
  EXPECT(load(&signals) >= LEAST_SIGNALS);
  fault_seen("%s: %d ms, %d signals", what, (int)(waited / 1000000), load(&signals));
}

static void sleeping(int clock) {
  int64_t now = 0, begun = monotonic_ns();
  EXPECT_OK(chime_now(clock, &now));
  begin_storm();
  EXPECT_OK(chime_sleep_until(clock, now + WAIT_MS * CHIME_MILLISECOND));
  end_storm("chime_sleep_until", begun, WAIT_MS);
}

static void waiting(int for_tick) {
  static int ticks;
  chime_queue_t queue = 0;
  int64_t begun = monotonic_ns();
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_HOST, NULL, &queue));
  if (for_tick) EXPECT_OK(chime_timer_after(queue, WAIT_MS * CHIME_MILLISECOND, count_tick, &ticks, NULL, NULL));
  begin_storm();
  if (for_tick) {
    /* A timer that was added makes the descriptor readable once: so it may say that something is due before it is. */
    do {
      EXPECT_OK(chime_queue_wait(queue, PATIENCE));
      EXPECT_OK(chime_queue_process(queue, 0, NULL));
    } while (load(&ticks) == 0);
  } else {
    EXPECT_EQ(chime_queue_wait(queue, WAIT_MS * CHIME_MILLISECOND), CHIME_TIMED_OUT);
  }
  end_storm(for_tick ? "chime_queue_wait, until due" : "chime_queue_wait, timeout", begun, WAIT_MS);
  chime_queue_release(queue);
}

static void running(int argument) {
  static int ticks;
  chime_queue_t queue = 0;
  int64_t begun = monotonic_ns();
  (void)argument;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_HOST, NULL, &queue));
  EXPECT_OK(chime_timer_after(queue, WAIT_MS * CHIME_MILLISECOND, count_tick, &ticks, NULL, NULL));
  begin_storm();
  EXPECT_OK(chime_queue_run(queue, 0));
  end_storm("chime_queue_run", begun, WAIT_MS);
  EXPECT_EQ(load(&ticks), 1);
  chime_queue_release(queue);
}

/* A handler that is busy for WAIT_MS, on a queue with a thread; then a call that waits for it. */
static int has_begun;
static void stay(const chime_tick *tick, void *context) {
  (void)tick;
  (void)context;
  store(&has_begun, 1);
  sleep_ms(WAIT_MS);
}

/* clang-format off */
enum { SYNC, SYNC_WITH_TIMEOUT, SYNC_TIMED_OUT, CANCEL_AND_WAIT, CANCEL_WITH_TIMEOUT, CANCEL_TIMED_OUT, SHUTDOWN, WAITS };
/* clang-format on */

static void waiting_for_a_handler(place where, int wait) {
  /* clang-format off */
  static const char *const names[] = {"sync",   "sync, timeout", "sync, timed out", "cancel_and_wait",
                                      "cancel_and_wait, timeout", "cancel_and_wait, timed out", "shutdown"};
  /* clang-format on */
  static int called;
  chime_queue_t queue = 0;
  chime_timer_t timer = 0;
  int64_t begun;
  int is_short = wait == SYNC_TIMED_OUT || wait == CANCEL_TIMED_OUT;
  int has_none = wait == SYNC || wait == CANCEL_AND_WAIT || wait == SHUTDOWN;
  int64_t timeout = is_short ? WAIT_MS / 2 * CHIME_MILLISECOND : has_none ? CHIME_FOREVER : PATIENCE;
  chime_status expected = is_short ? CHIME_TIMED_OUT : CHIME_OK;
  REQUIRE_OK(place_make(where, NULL, &queue));
  begun = monotonic_ns();
  EXPECT_OK(chime_timer_every(queue, CHIME_MILLISECOND, stay, NULL, NULL, &timer));
  while (load(&has_begun) == 0) sleep_ms(1);
  if (is_short) begun = monotonic_ns();
  begin_storm();
  if (wait <= SYNC_TIMED_OUT) {
    EXPECT_EQ(chime_queue_sync(queue, count_call, &called, timeout), expected);
  } else if (wait <= CANCEL_TIMED_OUT) {
    EXPECT_EQ(chime_timer_cancel_and_wait(timer, timeout), expected);
  } else {
    EXPECT_EQ(chime_queue_shutdown(queue, timeout), expected);
  }
  end_storm(names[wait], begun, is_short ? WAIT_MS / 2 : WAIT_MS);
  if (wait == SYNC || wait == SYNC_WITH_TIMEOUT) EXPECT_EQ(load(&called), 1);
  if (wait != SHUTDOWN) EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}

static void on_serial(int wait) { waiting_for_a_handler(SERIAL, wait); }
static void on_precise(int wait) { waiting_for_a_handler(PRECISE, wait); }

static void stop_main(const chime_tick *tick, void *context) {
  (void)tick;
  (void)context;
  chime_main_stop();
}

static void main_queue(int argument) {
  chime_queue_t queue = 0;
  int64_t begun = monotonic_ns();
  (void)argument;
  REQUIRE_OK(chime_queue_main(NULL, &queue));
  EXPECT_OK(chime_timer_after(queue, WAIT_MS * CHIME_MILLISECOND, stop_main, NULL, NULL, NULL));
  begin_storm();
  EXPECT_EQ(chime_main_run(), CHIME_STOPPED);
  end_storm("chime_main_run", begun, WAIT_MS);
}

static void run_loop(int until_tick) {
  static int ticks;
  chime_run_loop_t loop = 0;
  chime_queue_t queue = 0;
  int64_t begun = monotonic_ns();
  REQUIRE_OK(chime_run_loop_current(&loop));
  REQUIRE_OK(chime_run_loop_queue_create(loop, NULL, NULL, &queue));
  if (until_tick) EXPECT_OK(chime_timer_after(queue, WAIT_MS * CHIME_MILLISECOND, count_tick, &ticks, NULL, NULL));
  begin_storm();
  EXPECT_EQ(chime_run_loop_run(NULL, until_tick ? PATIENCE : WAIT_MS * CHIME_MILLISECOND,
                               until_tick ? CHIME_RUN_LOOP_UNTIL_TICK : 0),
            until_tick ? CHIME_OK : CHIME_TIMED_OUT);
  end_storm(until_tick ? "until a tick" : "until its timeout", begun, WAIT_MS);
  EXPECT_EQ(load(&ticks), until_tick);
}

/* ---- What Chime's threads block --------------------------------------------------------------------------------- */

/* A line of a thread's status, after its label. */
static int thread_status(const char *thread, const char *label, char *value, size_t capacity) {
  char path[300], line[256];
  FILE *file;
  int found = 0;
  snprintf(path, sizeof path, "/proc/self/task/%s/status", thread);
  file = fopen(path, "r");
  if (file == NULL) return 0;
  while (!found && fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, label, strlen(label)) != 0) continue;
    snprintf(value, capacity, "%s", line + strlen(label));
    value[strcspn(value, "\n")] = 0;
    found = 1;
  }
  fclose(file);
  return found;
}

/* Expects each thread but the main one to block everything that can be blocked; returns how many there are. */
static int expect_blocked(const char *name) {
  /* All but KILL and STOP, and the two that the C library keeps for itself. */
  const unsigned long long all = ~(1ULL << (SIGKILL - 1) | 1ULL << (SIGSTOP - 1) | 3ULL << (32 - 1));
  DIR *tasks = opendir("/proc/self/task");
  struct dirent *task;
  int count = 0;
  if (!EXPECT(tasks != NULL)) return 0;
  while ((task = readdir(tasks)) != NULL) {
    char value[64], comm[64] = "";
    unsigned long long blocked;
    if (task->d_name[0] == '.' || atoi(task->d_name) == (int)getpid()) continue;
    if (!thread_status(task->d_name, "SigBlk:\t", value, sizeof value)) continue;
    thread_status(task->d_name, "Name:\t", comm, sizeof comm);
    blocked = strtoull(value, NULL, 16);
    if (name != NULL && strcmp(comm, name) != 0) {
      fault_seen("(a thread of libdispatch blocks %016llx) ", blocked);
      continue;
    }
    EXPECT_EQ(blocked & all, all);
    count++;
  }
  closedir(tasks);
  return count;
}

static void blocked_by_own_threads(int argument) {
  static int ticks, begun;
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  chime_queue_t queue = 0, on_loop = 0;
  chime_run_loop_t loop = 0;
  (void)argument;
  options.label = "chime.own";
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_PRECISE, &options, &queue));
  EXPECT_OK(chime_run_loop_create("chime.own", &loop));
  EXPECT_OK(chime_run_loop_queue_create(loop, NULL, NULL, &on_loop));
  EXPECT_OK(chime_queue_async(on_loop, count_call, &begun, NULL));
  EXPECT(await(&begun, 1));
  EXPECT_OK(chime_timer_every(queue, CHIME_MILLISECOND, count_tick, &ticks, NULL, NULL));
  EXPECT(await(&ticks, 3));
  EXPECT_EQ(expect_blocked("chime.own"), 2);
  fault_seen("precise and run loop: all signals blocked");
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}

/* libdispatch's threads are its own affair; a signal to the process must not end in one of its waits all the same. */
static void dispatch_threads(int argument) {
  chime_queue_t queue = 0;
  static int ticks;
  (void)argument;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue));
  EXPECT_OK(chime_timer_every(queue, CHIME_MILLISECOND, count_tick, &ticks, NULL, NULL));
  EXPECT(await(&ticks, 3));
  expect_blocked("none of these");
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}

int main(int argc, char **argv) {
  static const fault_case cases[] = {
      {"sleep-until", sleeping, CHIME_CLOCK_MONOTONIC, CHIME_CLOCK_WALL, 0, 0},
      {"queue-wait", waiting, 0, 1, 0, 0},
      {"queue-run", running, 0, 0, 0, 0},
      {"serial", on_serial, 0, WAITS - 1, 0, 0},
      {"precise", on_precise, 0, WAITS - 1, 0, 0},
      {"main-run", main_queue, 0, 0, 0, 0},
      {"run-loop-run", run_loop, 0, 1, 0, 0},
      {"own-threads", blocked_by_own_threads, 0, 0, 0, 0},
      {"dispatch-threads", dispatch_threads, 0, 0, 0, 0},
      {NULL, NULL, 0, 0, 0, 0},
  };
  return fault_main(argc, argv, cases);
}
