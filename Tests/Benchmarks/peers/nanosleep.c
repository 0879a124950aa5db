/*
 * clock_nanosleep with a timer slack of 1 ns: the bare mechanism under Chime's precise queues. It is one wait after the
 * other, so it can only beat.
 */
#include "../harness.h"

#include <sys/prctl.h>
#include <sys/utsname.h>

const int peer_traits = PEER_THREAD_SAFE;

void peer_print_version(void) {
  struct utsname name;
  REQUIRE(uname(&name) == 0);
  printf("%s", name.release);
}

void peer_open(size_t count) { REQUIRE(prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL) == 0); }

void peer_repeat(int64_t interval_ns) {}

void peer_run(void) {
  int64_t due_ns = bench.base_ns;
  while (!bench.done) {
    uint64_t due_times = 0;
    struct timespec time;
    do {
      due_ns += bench.interval_ns;
      due_times++;
    } while (due_ns + bench.interval_ns <= bench_now_ns());
    time = bench_timespec(due_ns);
    REQUIRE(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == 0);
    bench_beat(due_times);
  }
}
