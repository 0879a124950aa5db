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

enum { AT_ONCE = 64 };

static int loops[2];
static int *timers, beat;

static const char *version(void) {
  static struct utsname name;
  REQUIRE(uname(&name) == 0);
  return name.release;
}

static void open_loops(size_t count) {
  struct rlimit limit;
  size_t i;
  REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur = limit.rlim_max;
  REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  for (i = 0; i < count; i++) {
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

static void fill(const bench_offset *offsets, size_t count) {
  size_t i;
  timers = malloc((count + 1) * sizeof *timers);
  REQUIRE(timers != NULL);
  if (count > 200000) bench_leave_out("as many open files are more than systems permit");
  for (i = 0; i < count; i++) timers[i] = start(loops[0], i, bench.base_ns + offsets[i].ns, 0);
}

static void create(size_t queue, const bench_offset *offsets, size_t count) {
  size_t i;
  for (i = 0; i < count; i++) REQUIRE(close(start(loops[queue], i, bench.base_ns + offsets[i].ns, 0)) == 0);
}

static void postpone(const uint32_t *which, const bench_offset *offsets, size_t count) {
  size_t i;
  for (i = 0; i < count; i++) set(timers[which[i]], bench.base_ns + offsets[i].ns, 0);
}

static void run(void) {
  struct epoll_event events[AT_ONCE];
  while (!bench.done) {
    int i, count = epoll_wait(loops[0], events, AT_ONCE, -1);
    for (i = 0; i < count; i++) {
      uint64_t due_times;
      if (bench.interval_ns == 0) bench_tick(events[i].data.u64);
      else if (read(beat, &due_times, sizeof due_times) == sizeof due_times) bench_beat(due_times);
    }
  }
}

static void repeat(int64_t interval_ns) { beat = start(loops[0], 0, bench.base_ns + interval_ns, interval_ns); }

const bench_peer bench_this_peer = {
    .version = version,
    .thread_safe = 1,
    .in_kernel = 1,
    .open = open_loops,
    .fill = fill,
    .create = create,
    .postpone = postpone,
    .run = run,
    .repeat = repeat,
};
