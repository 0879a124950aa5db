/*
 * trace.c - programs whose trace trace.py reads: what they print is what must be in the file.
 *     trace env | call PATH | flood PATH | kill | fork PATH
 */
#include "basics.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(expected, call) check((call), (expected), #call, __LINE__)
static void check(chime_status got, chime_status expected, const char *call, int line) {
  if (got == expected) return;
  fprintf(stderr, "trace.c:%d: %s is %s (%s)\n", line, call, chime_status_name(got), chime_last_error_detail());
  exit(2);
}

static void count_tick(const chime_tick *tick, void *context) {
  (void)tick;
  add(context, 1);
}

static chime_queue_t queue_of(chime_queue_kind kind, const char *label) {
  chime_queue_t queue = 0;
  CHECK(CHIME_OK, chime_queue_create(kind, &QUEUE_OPTIONS(.label = label), &queue));
  return queue;
}

static chime_timer_t timer_of(chime_queue_t queue, const char *label, int *ticks, int64_t interval_ns, uint64_t limit) {
  const chime_timer_options options = TIMER_OPTIONS(.handler = count_tick, .context = ticks, .label = label);
  chime_schedule schedule = schedule_of(interval_ns, interval_ns);
  chime_timer_t timer = 0;
  schedule.tick_limit = limit;
  CHECK(CHIME_OK, chime_timer_start(queue, &options, &schedule, &timer));
  return timer;
}

static void await_finished(chime_timer_t timer) {
  chime_state state = CHIME_STATE_RUNNING;
  for (int i = 0; i < 3000 && state != CHIME_STATE_FINISHED; i++) {
    sleep_ns(10 * CHIME_MILLISECOND);
    CHECK(CHIME_OK, chime_timer_state(timer, &state));
  }
  if (CHIME_FAILED(chime_timer_cancel_and_wait(timer, 30 * CHIME_SECOND))) exit(2);
}

static void three_queues(void) {
  static int ticks[3];
  static const char *const labels[] = {"say \"hello\"\\",
                                       "\xe2\x8f\xb0 with a label of more than forty bytes \xe2\x8f\xb0", "c"};
  chime_queue_t serial = queue_of(CHIME_QUEUE_SERIAL, "first"), beside = queue_of(CHIME_QUEUE_CONCURRENT, "se\tcond");
  chime_queue_t virtual = queue_of(CHIME_QUEUE_VIRTUAL, NULL);
  chime_timer_t a = timer_of(serial, labels[0], &ticks[0], CHIME_MILLISECOND, 5);
  chime_timer_t b = timer_of(beside, labels[1], &ticks[1], 2 * CHIME_MILLISECOND, 7);
  chime_timer_t c = timer_of(virtual, labels[2], &ticks[2], 10, 0);
  await_finished(a);
  await_finished(b);
  CHECK(CHIME_OK, chime_queue_jump(virtual, 45));
  CHECK(CHIME_OK, chime_queue_advance(virtual, 10));
  CHECK(CHIME_OK, chime_timer_suspend(c));
  printf("tick %" PRIu64 " %d\ntick %" PRIu64 " %d\ntick %" PRIu64 " %d\n", a, ticks[0], b, ticks[1], c, ticks[2]);
  CHECK(CHIME_OK, chime_timer_release(c));
  CHECK(CHIME_OK, chime_queue_shutdown(serial, CHIME_FOREVER));
}

int main(int argc, char **argv) {
  static int ticks;
  const char *what = argc > 1 ? argv[1] : "", *path = argc > 2 ? argv[2] : "";
  if (strcmp(what, "env") == 0) {
    three_queues(); /* and ends */
  } else if (strcmp(what, "call") == 0) {
    chime_queue_t queue = queue_of(CHIME_QUEUE_VIRTUAL, "before");
    chime_timer_t timer = timer_of(queue, "older", &ticks, 10, 0);
    CHECK(CHIME_IGNORED, chime_trace_to_file(NULL));
    CHECK(CHIME_OK, chime_queue_advance(queue, 10)); /* not in the file */
    CHECK(CHIME_OK, chime_trace_to_file(path));
    CHECK(CHIME_OK, chime_queue_advance(queue, 20));
    CHECK(CHIME_OK, chime_trace_to_file(NULL));
    CHECK(CHIME_OK, chime_queue_advance(queue, 10)); /* nor this */
    CHECK(CHIME_IGNORED, chime_trace_to_file(NULL));
    printf("tick %" PRIu64 " %d\n", timer, ticks - 2);
  } else if (strcmp(what, "flood") == 0) {
    chime_queue_t queue = queue_of(CHIME_QUEUE_VIRTUAL, "flood");
    CHECK(CHIME_OK, chime_trace_to_file(path));
    chime_timer_t timer = timer_of(queue, NULL, &ticks, 10, 1);
    for (int i = 0; i < 100000; i++) {
      CHECK(CHIME_OK, chime_timer_suspend(timer));
      CHECK(CHIME_OK, chime_timer_resume(timer));
    }
    CHECK(CHIME_OK, chime_trace_to_file(NULL));
    printf("events 200002\n");
  } else if (strcmp(what, "kill") == 0) {
    three_queues();
    fflush(stdout);
    sleep_ns(300 * CHIME_MILLISECOND);
    raise(SIGKILL);
  } else if (strcmp(what, "fork") == 0) {
    chime_queue_t queue = queue_of(CHIME_QUEUE_VIRTUAL, "parent");
    chime_timer_t timer = timer_of(queue, "parent's", &ticks, 10, 0);
    int status = 0;
    CHECK(CHIME_OK, chime_trace_to_file(path));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      CHECK(CHIME_ERROR_FORKED, chime_trace_to_file(path));
      CHECK(CHIME_OK, chime_reinitialize());
      queue = queue_of(CHIME_QUEUE_VIRTUAL, "child");
      timer_of(queue, "child's", &ticks, 10, 0);
      CHECK(CHIME_OK, chime_queue_advance(queue, 1000));
      exit(0);
    }
    if (waitpid(child, &status, 0) != child || status != 0) return 4;
    CHECK(CHIME_OK, chime_queue_advance(queue, 30));
    printf("tick %" PRIu64 " %d\n", timer, ticks);
  } else {
    return 1;
  }
  return 0;
}
