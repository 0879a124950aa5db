/* What the peers share whose timers are the kernel's own. */
#ifndef BENCHMARKS_KERNEL_H
#define BENCHMARKS_KERNEL_H

#include "../harness.h"

#include <sys/resource.h>
#include <sys/utsname.h>

enum { MOST_TIMERS = 200000 }; /* more descriptors or pending signals than that no system permits */

void peer_print_version(void) {
  struct utsname name;
  REQUIRE(uname(&name) == 0);
  printf("%s", name.release);
}

/** As far as this process may. */
static inline void raise_limit(int resource) {
  struct rlimit limit;
  REQUIRE(getrlimit(resource, &limit) == 0);
  limit.rlim_cur = limit.rlim_max;
  REQUIRE(setrlimit(resource, &limit) == 0);
}

static inline struct itimerspec expiration(int64_t due_ns, int64_t interval_ns) {
  return (struct itimerspec){.it_value = bench_timespec(due_ns), .it_interval = bench_timespec(interval_ns)};
}

#endif
