/* hold.c - see hold.h. */
#include "storms.h" /* first: it says which POSIX */

#include <errno.h>
#include <signal.h>

#include "hold.h"

static int is_held, may_go;

static void stand_still(int number) {
  int before = errno;
  (void)number;
  store(&is_held, 1);
  while (load(&may_go) == 0) sleep_ns(20 * CHIME_MICROSECOND); /* nanosleep may be called here */
  store(&is_held, 0);
  errno = before;
}

void hold_prepare(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = stand_still;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, NULL);
}

void hold(pthread_t thread) {
  store(&may_go, 0);
  pthread_kill(thread, SIGUSR1);
  while (load(&is_held) == 0) sleep_ns(5 * CHIME_MICROSECOND);
}

void hold_end(void) {
  store(&may_go, 1);
  while (load(&is_held) != 0) sleep_ns(5 * CHIME_MICROSECOND);
}
