/*
 * timerfd and epoll: a descriptor for each timer, edge-triggered, so that a tick needs no read. This is also the bare
 * mechanism under Chime's host-driven queues. Thread-safe; the kernel keeps the timers.
 */
#include "../harness.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <sys/utsname.h>
#include <unistd.h>

const int peer_traits = PEER_THREAD_SAFE | PEER_IN_KERNEL;

enum { AT_ONCE = 64, MOST_TIMERS = 200000 }; /* more descriptors than that no system permits */

static int loops[2];
static int *timers, beat;

void peer_print_version(void) {
  struct utsname name;
  REQUIRE(uname(&name) == 0);
  printf("%s", name.release);
}

void peer_open(size_t count) {
  struct rlimit files;
  REQUIRE(getrlimit(RLIMIT_NOFILE, &files) == 0);
  files.rlim_cur = files.rlim_max;
  REQUIRE(setrlimit(RLIMIT_NOFILE, &files) == 0);
  for (size_t i = 0; i < count; i++) {
    loops[i] = epoll_create1(0);
    REQUIRE(loops[i] >= 0);
  }
}

static void set(int timer, int64_t due_ns, int64_t interval_ns) {
  struct itimerspec spec = {.it_value = bench_timespec(due_ns), .it_interval = bench_timespec(interval_ns)};
  REQUIRE(timerfd_settime(timer, TFD_TIMER_ABSTIME, &spec, NULL) == 0);
}

static int start(int loop, size_t i, int64_t due_ns, int64_t interval_ns) {
  struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u64 = i};
  int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  if (timer < 0) {
    REQUIRE(errno == EMFILE || errno == ENFILE);
    bench_leave_out("the limit of open files");
  }
  set(timer, due_ns, interval_ns);
  REQUIRE(epoll_ctl(loop, EPOLL_CTL_ADD, timer, &event) == 0);
  return timer;
}

void peer_fill(const bench_offset *offsets, size_t count) {
  timers = bench_array(count, sizeof *timers);
  if (count > MOST_TIMERS) bench_leave_out("as many open files are more than systems permit");
  for (size_t i = 0; i < count; i++) timers[i] = start(loops[0], i, bench.base_ns + offsets[i].ns, 0);
}

void peer_create(size_t queue, const bench_offset *offsets, size_t count) {
  for (size_t i = 0; i < count; i++) REQUIRE(close(start(loops[queue], i, bench.base_ns + offsets[i].ns, 0)) == 0);
}

void peer_postpone(const uint32_t *which, const bench_offset *offsets, size_t count) {
  for (size_t i = 0; i < count; i++) set(timers[which[i]], bench.base_ns + offsets[i].ns, 0);
}

void peer_run(void) {
  struct epoll_event events[AT_ONCE];
  while (!bench.done) {
    int count = epoll_wait(loops[0], events, AT_ONCE, -1);
    for (int i = 0; i < count; i++) {
      uint64_t due_times;
      if (bench.interval_ns == 0) bench_tick(events[i].data.u64);
      else if (read(beat, &due_times, sizeof due_times) == sizeof due_times) bench_beat(due_times);
    }
  }
}

void peer_repeat(int64_t interval_ns) { beat = start(loops[0], 0, bench.base_ns + interval_ns, interval_ns); }
