/*
 * faulting.c - a handler of a timer faults, and the host has a handler for that signal: garbage collectors, crash reporters
 * and debuggers in the process do. It is called, on whichever thread. All other signals are blocked on Chime's threads.
 * Promise 21.
 */
#include "guest.h"

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static int ticks, faults;
static char *page;
static size_t page_size;

/* Makes the page accessible, as a garbage collector's barrier does: the handler goes on. */
static void open_page(int number, siginfo_t *info, void *context) {
  (void)number, (void)context;
  add(&faults, 1);
  if ((char *)info->si_addr < page || (char *)info->si_addr >= page + page_size) _exit(3);
  mmap(page, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static void touch(const chime_tick *tick, void *context) {
  *(volatile char *)page = 1;
  count_tick(tick, context);
}

/* A page that is protected, or lies beyond the end of its file. */
CASES(a_page, argument, 0, 2 * RUN_LOOP + 1) {
  const struct sigaction action = {.sa_sigaction = open_page, .sa_flags = SA_SIGINFO};
  const int where = argument / 2, is_file = argument % 2;
  FILE *file = tmpfile();
  chime_queue_t queue;
  REQUIRE(file != NULL);
  REQUIRE_OK(sigaction(is_file ? SIGBUS : SIGSEGV, &action, NULL));
  page_size = (size_t)sysconf(_SC_PAGESIZE);
  page = is_file ? mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0)
                 : mmap(NULL, page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(page != MAP_FAILED);
  queue = place_queue(where, NULL);
  EXPECT_OK(chime_timer_after(queue, 0, touch, &ticks, NULL, NULL));
  EXPECT(await(&ticks, 1));
  EXPECT_EQ(load(&faults), 1);
  place_end(where, queue);
}

/* ---- The mask ---------------------------------------------------------------------------------------------------------- */

static sigset_t mask;

static void note_mask(const chime_tick *tick, void *context) {
  pthread_sigmask(SIG_SETMASK, NULL, &mask);
  count_tick(tick, context);
}

/* Those of faults are let through, whatever the thread that made the queue has blocked; all others are not. */
CASES(the_mask, argument, 0, 2 * RUN_LOOP + 1) {
  const int where = argument / 2;
  chime_queue_t queue;
  sigset_t all;
  int number;
  guest_needs_own_threads(where);
  sigfillset(&all);
  if (argument % 2) REQUIRE_OK(pthread_sigmask(SIG_SETMASK, &all, NULL));
  queue = place_queue(where, NULL);
  EXPECT_OK(chime_timer_after(queue, 0, note_mask, &ticks, NULL, NULL));
  REQUIRE(await(&ticks, 1));
  for (number = 1; number <= SIGRTMAX; number++) {
    if (number == SIGKILL || number == SIGSTOP || number == SIGABRT || (number > SIGSYS && number < SIGRTMIN)) continue;
    if (sigismember(&mask, number) != !guest_is_fault(number)) {
      fprintf(stderr, "signal %d is %sblocked\n", number, guest_is_fault(number) ? "" : "not ");
      EXPECT(0);
    }
  }
  place_end(where, queue);
}
