/*
 * Writes the time of its first tick, in nanoseconds of CLOCK_MONOTONIC, and ends. One program for each way:
 *
 *     EMPTY          no timer at all: a C program that starts
 *     DLOPEN         the same, and libchime is loaded
 *     DISPATCH       a timer source of the libdispatch that is in libchime, linked into the program
 *     CHIME_KIND     Chime's one-shot of delay 0 on a queue of that kind; on a host-driven one with chime_queue_run
 */
#include "harness.h"

#include <unistd.h>

static void write_time(void) {
  int64_t now_ns = bench_now_ns();
  _exit(write(STDOUT_FILENO, &now_ns, sizeof now_ns) == sizeof now_ns ? EXIT_SUCCESS : EXIT_FAILURE);
}

#if defined(EMPTY) || defined(DLOPEN)
#include <dlfcn.h>

int main(void) {
#if defined(DLOPEN)
  REQUIRE(dlopen("libchime.so.0", RTLD_NOW) != NULL);
#endif
  write_time();
}

#elif defined(DISPATCH)
#include <dispatch/dispatch.h>

static void on_tick(void *context) { write_time(); }

int main(void) {
  dispatch_queue_t queue = dispatch_queue_create("first tick", DISPATCH_QUEUE_SERIAL);
  dispatch_source_t source = dispatch_source_create(DISPATCH_SOURCE_TYPE_TIMER, 0, 0, queue);
  dispatch_source_set_event_handler_f(source, on_tick);
  dispatch_source_set_timer(source, DISPATCH_TIME_NOW, DISPATCH_TIME_FOREVER, 0);
  dispatch_activate(source);
  for (;;) pause();
}

#else
#include <chime.h>

static void on_tick(const chime_tick *tick, void *context) { write_time(); }

int main(void) {
  chime_queue_t queue;
  REQUIRE(chime_queue_create(CHIME_KIND, NULL, &queue) == CHIME_OK);
  REQUIRE(chime_timer_after(queue, 0, on_tick, NULL, NULL, NULL) == CHIME_OK);
  if (CHIME_KIND == CHIME_QUEUE_HOST) REQUIRE(chime_queue_run(queue, 0) == CHIME_OK);
  for (;;) pause();
}

#endif
