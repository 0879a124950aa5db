/*
 * At night, when something hangs: the queues of the process (chime_queue_list), what each of its timers does
 * (chime_queue_dump), why a call failed (chime_last_error_detail), and a file with what happened, for ui.perfetto.dev
 * (chime_trace_to_file; CHIME_TRACE=trace.json in the environment does it without a line of code).
 *
 * Build:  make (or cc at_night.c -o build/at_night -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/at_night
 *
 * Output:
 *   refused: schedule.leeway_ns (300 ms) is not below interval_ns (250 ms)
 *   2 queues
 *   queue "invoices": 1 timers, 1 running, 0 passes, 0 merged, 0 ticks, 0 missed, 0 entries, 0 stale
 *   timer "daily": running, due in 10 h, every 24 h, 0 ticks, 0 missed
 *   queue "sensors": 1 timers, 1 running, 1 passes, 0 merged, 1 ticks, 0 missed, 1 entries, 1 stale
 *   timer "thermometer": running, due 860 ms ago, every 250 ms, 1 ticks, 0 missed, 3 missed while its handler runs
 *   the trace begins with: {"traceEvents":[
 */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <string.h>
#include <unistd.h>

/* Without the ids, which differ from run to run. */
static void print_dump(chime_queue_t queue) {
  char text[1024], *line;
  CHECK(chime_queue_dump(queue, text, sizeof text, NULL));
  for (line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    printf("%.*s %s\n", (int)strcspn(line, " "), line, strchr(line, '"'));
  }
}

static void look_at_everything(void) {
  chime_queue_t queues[8];
  uint64_t count, i;
  CHECK(chime_queue_list(queues, 8, &count));
  printf("%d queues\n", (int)count);
  for (i = 0; i < count && i < 8; i++) print_dump(queues[i]);
}

static void on_tick(const chime_tick *tick, void *context) {
  if (tick->sequence > 1) return;
  CHECK(chime_queue_jump(*(chime_queue_t *)context, 1110 * CHIME_MILLISECOND)); /* as a handler that hangs would */
  look_at_everything();
}

static chime_queue_t make_queue(const char *label) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  chime_queue_t queue;
  options.label = label;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, &options, &queue));
  return queue;
}

int main(void) {
  char path[] = "/tmp/at_night.XXXXXX", line[64] = "";
  chime_queue_t invoices = make_queue("invoices"), sensors = make_queue("sensors");
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  FILE *trace;

  if (mkstemp(path) < 0) return 1;
  CHECK(chime_trace_to_file(path));
  options.handler = on_tick;
  options.context = &sensors;
  options.label = "daily";
  schedule.first_ns = 10 * CHIME_HOUR;
  schedule.interval_ns = 24 * CHIME_HOUR;
  CHECK(chime_timer_start(invoices, &options, &schedule, NULL));
  options.label = "thermometer";
  schedule.first_ns = schedule.interval_ns = 250 * CHIME_MILLISECOND;
  schedule.leeway_ns = 300 * CHIME_MILLISECOND;
  EXPECT(CHIME_ERROR_INVALID_ARGUMENT, chime_timer_start(sensors, &options, &schedule, NULL));
  printf("refused: %s\n", chime_last_error_detail());
  schedule.leeway_ns = 0;
  CHECK(chime_timer_start(sensors, &options, &schedule, NULL));
  CHECK(chime_queue_advance(sensors, 250 * CHIME_MILLISECOND));
  CHECK(chime_trace_to_file(NULL)); /* all of it is in the file now */
  trace = fopen(path, "r");
  if (trace == NULL || fgets(line, sizeof line, trace) == NULL) return 1;
  printf("the trace begins with: %s", line);
  fclose(trace);
  unlink(path);
  CHECK(chime_queue_shutdown(invoices, CHIME_FOREVER));
  CHECK(chime_queue_shutdown(sensors, CHIME_FOREVER));
  return 0;
}
