/*
 * misuse.c - common mistakes, each as a person would make it: `misuse MISTAKE` makes one and prints the answers of the calls,
 * then what Chime says of the timer; `misuse` lists them, in the order of the table in Troubleshooting.md. check.py compares
 * that table with what is printed, with the trace, and with what gdb finds.
 */
#define _GNU_SOURCE
#include "basics.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static chime_queue_t queue;
static chime_timer_t timer;
static chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
static chime_schedule schedule = CHIME_SCHEDULE_INIT;

/* Prints the name of the function that is called, and its answer. */
#define told(call) tell(#call, call)
static void tell(const char *call, chime_status status) {
  const char *detail = CHIME_FAILED(status) ? chime_last_error_detail() : "";
  printf("answer: %.*s %s%s%s\n", (int)strcspn(call, "("), call, chime_status_name(status), *detail == 0 ? "" : ": ",
         detail);
}

static void await_deadline(void) {
  int64_t deadline = CHIME_FOREVER;
  chime_timer_next_deadline(timer, &deadline);
  while (monotonic_ns() <= deadline) sleep_ns(CHIME_MILLISECOND);
}

static void begin(chime_queue_kind kind, uint32_t flags) {
  chime_queue_create(kind, &QUEUE_OPTIONS(.flags = flags), &queue);
}

static void start(int64_t first_ns, int64_t interval_ns) {
  schedule.first_ns = first_ns;
  schedule.interval_ns = interval_ns;
  told(chime_timer_start(queue, &options, &schedule, &timer));
}

static void stay(const chime_tick *tick, void *context) {
  (void)tick;
  store(context, 1);
  for (;;) sleep_ns(CHIME_SECOND); /* reads a file over the network */
}

static void slow_handler(void) {
  static int begun;
  begin(CHIME_QUEUE_SERIAL, 0);
  options.handler = stay;
  options.context = &begun;
  options.label = "slow";
  start(0, 0);
  await(&begun, 1);
  options.handler = ignore_tick;
  options.label = "late";
  start(CHIME_MILLISECOND, 0);
  await_deadline();
}

static void forgotten_suspend(void) {
  begin(CHIME_QUEUE_SERIAL, 0);
  start(CHIME_HOUR, CHIME_HOUR);
  told(chime_timer_suspend(timer));
  told(chime_timer_suspend(timer));
}

static void released_id(void) {
  begin(CHIME_QUEUE_SERIAL, 0);
  options.label = "timeout";
  start(CHIME_HOUR, 0);
  told(chime_timer_release(timer));
  told(chime_timer_postpone(timer, CHIME_HOUR));
}

static void size_unset(void) {
  begin(CHIME_QUEUE_SERIAL, 0);
  memset(&schedule, 0, sizeof schedule); /* CHIME_SCHEDULE_INIT */
  start(CHIME_SECOND, CHIME_SECOND);
}

static void *drive(void *context) {
  (void)context;
  told(chime_queue_process(queue, 0, NULL));
  return NULL;
}

static void wrong_thread(void) {
  pthread_t thread;
  begin(CHIME_QUEUE_HOST, CHIME_QUEUE_FLAG_BOUND);
  chime_timer_start(queue, &options, &schedule, &timer);
  await_deadline();
  pthread_create(&thread, NULL, drive, NULL);
  pthread_join(thread, NULL);
}

static void undrained_host(void) {
  begin(CHIME_QUEUE_HOST, 0);
  start(0, 0);
  await_deadline();
}

/* The main thread waits for something else. */
static void undrained_main(void) {
  chime_queue_create_main(NULL, &queue);
  start(0, 0);
  await_deadline();
}

chime_timer_t begin_and_forget(chime_queue_t *of_timer); /* nobody_holds.cpp */

static void nobody_holds(void) {
  timer = begin_and_forget(&queue);
  told(chime_timer_resume(timer));
}

static void milliseconds(void) {
  static int is_behind_the_tick;
  chime_state state = CHIME_STATE_RUNNING;
  begin(CHIME_QUEUE_SERIAL, 0);
  options.label = "timeout";
  start(500, 0); /* 500 * CHIME_MILLISECOND */
  while (state != CHIME_STATE_FINISHED) chime_timer_state(timer, &state);
  chime_queue_async(queue, count_call, &is_behind_the_tick, NULL);
  await(&is_behind_the_tick, 1);
}

/* Two million ticks a second, if somebody drove the queue. */
static void interval(void) {
  begin(CHIME_QUEUE_HOST, 0);
  start(500, 500); /* 500 * CHIME_MILLISECOND */
  await_deadline();
}

/* Waits until the end of a tick is in the trace. */
static void await_trace(void) {
  static char text[65536];
  for (int i = 0; i < 30000 && strstr(text, "\"ph\":\"E\"") == NULL; i++) {
    FILE *file = fopen(getenv("CHIME_TRACE"), "r");
    if (file != NULL) text[fread(text, 1, sizeof text - 1, file)] = 0;
    if (file != NULL) fclose(file);
    sleep_ns(CHIME_MILLISECOND);
  }
}

static void unloaded(void) {
  static int has_ticked;
  void *plugin = dlopen(getenv("MISUSE_PLUGIN"), RTLD_NOW);
  if (plugin == NULL) exit(1);
  *(void **)&options.handler = dlsym(plugin, "tick_of_the_plugin");
  begin(CHIME_QUEUE_PRECISE, 0);
  options.context = &has_ticked;
  options.label = "plugin's";
  start(200 * CHIME_MILLISECOND, 200 * CHIME_MILLISECOND);
  await(&has_ticked, 1);
  await_trace();
  /* What the plugin should have done: chime_queue_shutdown(queue, CHIME_FOREVER). */
  told(dlclose(plugin) == 0 ? CHIME_OK : CHIME_ERROR_RESOURCE);
  fflush(stdout);
  for (;;) sleep_ns(CHIME_SECOND);
}

/* Prints what the functions say, completes the trace, and stops for a debugger. */
static void look(void) {
  static char text[4096];
  chime_status status = chime_timer_explain(timer, text, sizeof text, NULL);
  printf("explain: %s\n", status == CHIME_OK ? text : chime_status_name(status));
  if (chime_queue_dump(queue, text, sizeof text, NULL) == CHIME_OK) {
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) printf("dump: %s\n", line);
  }
  fflush(stdout);
  chime_trace_to_file(NULL);
  if (getenv("MISUSE_DEBUGGER") != NULL) raise(SIGTRAP);
  _Exit(0);
}

static const struct {
  const char *mistake;
  void (*make)(void);
} mistakes[] = {
    {"a handler that is too slow; another timer of its queue", slow_handler},
    {"a timer suspended and forgotten", forgotten_suspend},
    {"an id used after its release", released_id},
    {"a structure without its `size`", size_unset},
    {"a bound queue driven by another thread", wrong_thread},
    {"a host-driven queue that is never processed", undrained_host},
    {"a main queue that is never drained", undrained_main},
    {"C++: a timer whose object is dropped", nobody_holds},
    {"a delay in milliseconds, without its unit", milliseconds},
    {"an interval in milliseconds, without its unit", interval},
    {"a plugin unloaded without shutdown: it crashes", unloaded},
};

int main(int argc, char **argv) {
  options.handler = ignore_tick;
  options.label = "heartbeat";
  for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
    if (argc < 2) puts(mistakes[i].mistake);
    else if (strcmp(argv[1], mistakes[i].mistake) == 0) mistakes[i].make(), look();
  }
  return argc < 2 ? 0 : 2;
}
