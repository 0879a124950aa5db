/*
 * metronome.c - a precise queue beats every 5 ms, 200 times; a machine too busy for that merges beats and says
 * so. In a terminal it draws how late they were.
 *
 * Build:  make (or cc metronome.c -o build/metronome -I../include -Lbuild/lib -lchime -pthread -Wl,-rpath,build/lib)
 * Run:    build/metronome
 *
 * Output:
 *   200 due times, 0 early
 *   drift after the last: 0 ns
 */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <semaphore.h>
#include <unistd.h>

#define BEATS 200
#define INTERVAL (5 * CHIME_MILLISECOND)

static int64_t lateness[BEATS], first_ns, last_ns;
static int beats, early, missed;
static sem_t finished;

static void beat(const chime_tick *tick, void *context) {
  (void)context;
  if (beats == 0) first_ns = tick->scheduled_ns - (int64_t)tick->missed * INTERVAL;
  last_ns = tick->scheduled_ns;
  lateness[beats++] = tick->actual_ns - tick->scheduled_ns;
  early += tick->actual_ns < tick->scheduled_ns;
  missed += (int)tick->missed;
  if (beats + missed == BEATS) sem_post(&finished);
}

static void draw(void) {
  static const int64_t limits[] = {5, 10, 20, 50, 100, 200, 500, 1000000};
  int64_t low = 0;
  size_t i;
  for (i = 0; i < sizeof limits / sizeof limits[0]; low = limits[i++]) {
    int k, count = 0;
    for (k = 0; k < beats; k++) count += lateness[k] >= low * 1000 && lateness[k] < limits[i] * 1000;
    printf("from %4d us  %3d  ", (int)low, count);
    for (k = 0; k < count; k += 4) putchar('#');
    putchar('\n');
  }
}

int main(void) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_queue_t queue;
  CHECK_ZERO(sem_init(&finished, 0, 0));
  CHECK(chime_queue_create(CHIME_QUEUE_PRECISE, NULL, &queue));
  options.handler = beat;
  schedule.first_ns = schedule.interval_ns = INTERVAL;
  schedule.tick_limit = BEATS;
  CHECK(chime_timer_start(queue, &options, &schedule, NULL));
  while (sem_wait(&finished) != 0) continue;
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  if (isatty(1)) draw();
  printf("%d due times, %d early\n", beats + missed, early);
  printf("drift after the last: %d ns\n", (int)(last_ns - first_ns - (BEATS - 1) * INTERVAL));
  return 0;
}
