/* system_posix.c - see system.h. */
#define _POSIX_C_SOURCE 200809L
#include "system.h"

#if !defined(_WIN32)

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int64_t clock_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t system_monotonic_ns(void) { return clock_ns(CLOCK_MONOTONIC); }
int64_t system_wall_ns(void) { return clock_ns(CLOCK_REALTIME); }

int system_open_files(void) {
  int count = 0;
  DIR *files = opendir("/dev/fd");
  if (files == NULL) return -1;
  while (readdir(files) != NULL) count++;
  closedir(files);
  return count;
}

int system_is_readable(int fd, int milliseconds) {
  struct pollfd entry = {fd, POLLIN, 0};
  int64_t end = system_monotonic_ns() + milliseconds * INT64_C(1000000);
  int count;
  while ((count = poll(&entry, 1, milliseconds)) < 0 && errno == EINTR) {
    int64_t left = end - system_monotonic_ns();
    milliseconds = left < 0 ? 0 : (int)(left / 1000000);
  }
  return count == 1;
}

int system_others_may_have(int fd) {
  int ends[2], is_right;
  if (pipe(ends) != 0) return 1;
  is_right = !system_is_readable(ends[0], 0);
  if (ends[0] == fd || ends[1] == fd) is_right = is_right && fcntl(fd, F_GETFD) != -1;
  close(ends[0]);
  close(ends[1]);
  return is_right;
}

int system_has_signals(void) { return 1; }

int system_handle_signal(void (*handler)(int)) {
  static struct sigaction before;
  struct sigaction action;
  if (handler == NULL) return sigaction(SIGUSR1, &before, NULL) == 0;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  return sigaction(SIGUSR1, &action, &before) == 0;
}

void system_signal_thread(pthread_t thread) { pthread_kill(thread, SIGUSR1); }

int system_blocks_signals(void) {
  sigset_t blocked;
  pthread_sigmask(SIG_BLOCK, NULL, &blocked);
  return sigismember(&blocked, SIGTERM) == 1 && sigismember(&blocked, SIGALRM) == 1;
}

void system_watch(unsigned seconds, void (*function)(int)) {
  signal(SIGALRM, function);
  alarm(seconds);
}

void system_give_up(const char *first, const char *second, const char *third) {
  const char *const texts[] = {first, second, third};
  for (int i = 0; i < 3; i++) {
    if (write(STDOUT_FILENO, texts[i], strlen(texts[i])) < 0) break;
  }
  _exit(1);
}
#endif
