/* What Linux says of this process. */
#ifndef BENCHMARKS_PROCESS_H
#define BENCHMARKS_PROCESS_H

#include "harness.h"

#include <dirent.h>

/** The CPU time of all threads. */
static inline int64_t process_cpu_ns(void) {
  struct timespec used;
  REQUIRE(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0);
  return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

/** How many threads there are, and how often they have given up the processor of their own accord. */
static inline int process_threads(unsigned long *sleeps) {
  DIR *tasks = opendir("/proc/self/task");
  struct dirent *task;
  int threads = 0;
  REQUIRE(tasks != NULL);
  *sleeps = 0;
  while ((task = readdir(tasks)) != NULL) {
    char path[300], line[128];
    unsigned long count;
    FILE *status;
    if (task->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
    status = fopen(path, "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
      if (sscanf(line, "voluntary_ctxt_switches: %lu", &count) == 1) *sleeps += count;
    if (status != NULL) fclose(status);
    threads++;
  }
  closedir(tasks);
  return threads;
}

#endif
