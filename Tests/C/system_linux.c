/* system_linux.c - see system.h. */
#define _GNU_SOURCE
#include "system.h"

#if defined(__linux__)

#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int64_t system_boottime_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* One of the first two figures that /proc tells of it, which are in pages. */
static int64_t memory_kib(int figure) {
  long pages[2] = {-1, -1};
  FILE *statm = fopen("/proc/self/statm", "r");
  if (statm == NULL) return -1;
  if (fscanf(statm, "%ld %ld", &pages[0], &pages[1]) != 2) pages[figure] = -1;
  fclose(statm);
  return pages[figure] < 0 ? -1 : pages[figure] * (sysconf(_SC_PAGESIZE) / 1024);
}

int64_t system_mapped_kib(void) { return memory_kib(0); }
int64_t system_resident_kib(void) { return memory_kib(1); }

#ifndef __GLIBC_PREREQ
#define __GLIBC_PREREQ(major, minor) 0
#endif
int64_t system_allocated_bytes(void) {
#if __GLIBC_PREREQ(2, 33)
  return (int64_t)mallinfo2().uordblks;
#else
  return 0;
#endif
}

void system_name_of_thread(char *name, int capacity) {
  FILE *comm = fopen("/proc/thread-self/comm", "r");
  name[0] = 0;
  if (comm == NULL) return;
  if (fgets(name, capacity, comm) == NULL) name[0] = 0;
  fclose(comm);
  name[strcspn(name, "\n")] = 0;
}
#endif
