/*
 * sizes.c - what chime_memory_used and the system say of memory: a queue with its first timers, and a pending timer.
 * `make figures` runs it; prints JSON.
 */
#include <stdio.h>
#include <unistd.h>

#include "chime.h"
#include "harness.h"

enum { QUEUES = 200, TIMERS = 1000000 };

static double resident(void) {
  unsigned long size = 0, pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  REQUIRE(file != NULL && fscanf(file, "%lu %lu", &size, &pages) == 2);
  fclose(file);
  return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void on_tick(const chime_tick *tick, void *context) {}

static void start(chime_queue_t queue) {
  REQUIRE(!CHIME_FAILED(chime_timer_after(queue, CHIME_HOUR, on_tick, NULL, NULL, NULL)));
}

int main(void) {
  static const struct {
    const char *name;
    chime_queue_kind kind;
  } kinds[] = {{"serial", CHIME_QUEUE_SERIAL}, {"host", CHIME_QUEUE_HOST}, {"virtual", CHIME_QUEUE_VIRTUAL}};
  chime_queue_t queue;
  uint64_t used;
  double before;
  int i, kind;
  printf("{");
  for (kind = 0; kind < 3; kind++) {
    REQUIRE(!CHIME_FAILED(chime_queue_create(kinds[kind].kind, NULL, &queue))); /* the tables of the process */
    start(queue);
    used = chime_memory_used();
    before = resident();
    for (i = 0; i < QUEUES; i++) {
      REQUIRE(!CHIME_FAILED(chime_queue_create(kinds[kind].kind, NULL, &queue)));
      start(queue);
    }
    printf("\"%s\": {\"used\": %.0f, \"resident\": %.0f}, ", kinds[kind].name,
           (double)(chime_memory_used() - used) / QUEUES, (resident() - before) / QUEUES);
  }
  used = chime_memory_used();
  for (i = 0; i < TIMERS; i++) start(queue);
  printf("\"timer\": {\"used\": %.0f}}\n", (double)(chime_memory_used() - used) / TIMERS);
  fflush(stdout);
  _exit(0);
}
