#if defined(__linux__)
/* An epoll, in it a timerfd and an eventfd, edge-triggered, so that each event comes once, to one thread, and nothing is read. */
#include "poller.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "own_files.h"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441 /* the same number on every processor; from Linux 5.11 on */
#endif

static bool add(const chime_poller *poller, int file, uint32_t what) {
  struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u32 = what};
  return epoll_ctl(poller->file, EPOLL_CTL_ADD, file, &event) == 0;
}

bool chime_poller_open(chime_poller *poller) {
  chime_poller made = {epoll_create1(EPOLL_CLOEXEC), eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                       timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)};
  const int files[] = {made.file, made.bell, made.timer};
  bool is_open = made.file >= 0 && made.bell >= 0 && made.timer >= 0;
  is_open = is_open && add(&made, made.bell, CHIME_POLLER_BELL) && add(&made, made.timer, CHIME_POLLER_TIME);
  /* A sandbox may grant the descriptors and refuse what is done with them. */
  is_open = is_open && timerfd_settime(made.timer, 0, &(struct itimerspec){{0, 0}, {0, 0}}, NULL) == 0;
  for (int i = 0; i < 3; i++) {
    int error = errno;
    if (is_open) {
      chime_own_file(files[i]);
    } else if (files[i] >= 0) {
      close(files[i]);
    }
    errno = error;
  }
  if (is_open) *poller = made;
  return is_open;
}

bool chime_poller_add(const chime_poller *poller, int file) { return add(poller, file, CHIME_POLLER_FILE); }

void chime_poller_remove(const chime_poller *poller, int file) {
  int error = errno;
  epoll_ctl(poller->file, EPOLL_CTL_DEL, file, NULL);
  errno = error;
}

void chime_poller_close(chime_poller *poller) {
  int error = errno;
  chime_own_file_close(poller->bell);
  chime_own_file_close(poller->timer);
  chime_own_file_close(poller->file);
  *poller = (chime_poller){-1, -1, -1};
  errno = error;
}

/* Kernels before 5.11 and some sandboxes refuse it. A hint: whoever sees it too late asks once more. */
static int has_no_pwait2;

static int wait_for(int poller, struct epoll_event *event, int64_t nanoseconds) {
  if (nanoseconds >= 0 && !__atomic_load_n(&has_no_pwait2, __ATOMIC_RELAXED)) {
    struct timespec limit = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    long count = syscall(SYS_epoll_pwait2, poller, event, 1, &limit, (void *)0, (size_t)0);
    if (count >= 0 || errno == EINTR) return (int)count;
    __atomic_store_n(&has_no_pwait2, 1, __ATOMIC_RELAXED);
  }
  return epoll_wait(poller, event, 1, nanoseconds < 0 ? -1 : (int)((nanoseconds + 999999) / 1000000));
}

int chime_poller_wait(const chime_poller *poller, int64_t nanoseconds) {
  struct epoll_event event;
  int error = errno;
  int count = wait_for(poller->file, &event, nanoseconds);
  /* A sandbox that was entered later may refuse to wait. */
  if (count < 0 && errno != EINTR) nanosleep(&(struct timespec){0, 1000000}, NULL);
  errno = error;
  return count == 1 ? (int)event.data.u32 : CHIME_POLLER_NOTHING;
}

bool chime_poller_keeps_time(void) { return !__atomic_load_n(&has_no_pwait2, __ATOMIC_RELAXED); }

bool chime_poller_set(const chime_poller *poller, int64_t time) {
  int error = errno;
  int64_t start = time < 1 ? 1 : time; /* 0 would mean never */
  struct itimerspec spec = {{0, 0}, {start / 1000000000, start % 1000000000}};
  bool is_set = timerfd_settime(poller->timer, TFD_TIMER_ABSTIME, &spec, NULL) == 0;
  errno = error;
  return is_set;
}

bool chime_poller_is_set(const chime_poller *poller) {
  struct itimerspec left = {{0, 0}, {0, 0}};
  int error = errno;
  bool is_set = timerfd_gettime(poller->timer, &left) != 0 || left.it_value.tv_sec > 0 || left.it_value.tv_nsec > 0 ||
                poll(&(struct pollfd){poller->file, POLLIN, 0}, 1, 0) != 0;
  errno = error;
  return is_set;
}

void chime_poller_ring(const chime_poller *poller) {
  int error = errno;
  uint64_t one = 1;
  ssize_t written = write(poller->bell, &one, sizeof one);
  (void)written;
  errno = error;
}
#endif
