/*
 * signals.c - a signal every millisecond, with a handler that does not ask for SA_RESTART, on the thread that waits: system
 * calls end with EINTR all the time. No wait of Chime's ends early, fails, or changes errno.
 */
#include "waits.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { SENTINEL = 4242, WAIT_MS = 120, LEAST_SIGNALS = 3 };

static int signals, returned;

static void on_signal(int number) {
  (void)number;
  add(&signals, 1);
}

/* From here on, on this thread. */
static timer_t begin_storm(void) {
  const struct itimerspec each = {{0, 1000000}, {0, 1000000}};
  const struct sigaction action = {.sa_handler = on_signal};
  struct sigevent event = {
      .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1, .sigev_notify_thread_id = (pid_t)syscall(SYS_gettid)};
  timer_t storm;
  EXPECT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
  EXPECT_EQ(timer_create(CLOCK_MONOTONIC, &event, &storm), 0);
  EXPECT_EQ(timer_settime(storm, 0, &each, NULL), 0);
  return storm;
}

static void *let_go_later(void *w) {
  sleep_ns(WAIT_MS * CHIME_MILLISECOND);
  wait_let_go(w, &returned);
  return NULL;
}

/* argument: a wait, until what it waits for comes, or until its timeout. */
CASES(waiting, argument, 0, 2 * wait_count - 1) {
  const wait *w = &waits[argument / 2];
  int is_timed = argument % 2, error;
  pthread_t other;
  chime_status status;
  int64_t begun, waited;
  timer_t storm;
  if ((w->flags & SHORT) || (w->flags & (is_timed ? ENDLESS : SLEEPS))) fault_skip("no such wait");
  wait_prepare(w);
  begun = monotonic_ns();
  if (!is_timed) other = spawn(let_go_later, (void *)w);
  storm = begin_storm();
  errno = SENTINEL;
  status = w->call(is_timed ? WAIT_MS * CHIME_MILLISECOND : CHIME_FOREVER);
  error = errno;
  waited = monotonic_ns() - begun;
  timer_delete(storm);
  store(&returned, 1);
  if (!is_timed) pthread_join(other, NULL);
  EXPECT_EQ(status, is_timed && !(w->flags & SLEEPS) ? wait_timed_out(w) : wait_expected(w));
  EXPECT_EQ(error, SENTINEL);
  EXPECT(waited >= WAIT_MS * CHIME_MILLISECOND);
  EXPECT(load(&signals) >= LEAST_SIGNALS);
  fault_seen("%s%s: %d ms, %d signals", w->name, is_timed ? ", timeout" : "", (int)(waited / 1000000), load(&signals));
  wait_end(w);
}
