/* loaded.c - see loaded.h. FAULTS_LIBRARIES in the environment names the directory of libchime.so.1. */
#include "loaded.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *path_of_chime(void) {
  static char path[1024];
  const char *directory = getenv("FAULTS_LIBRARIES");
  snprintf(path, sizeof path, "%s/libchime.so.1", directory != NULL ? directory : "../../examples-c/build/lib");
  return path;
}

const char *path_of_own(const char *file) {
  static char path[2048];
  ssize_t length = readlink("/proc/self/exe", path, 1024);
  char *name = length <= 0 ? path : (char *)memrchr(path, '/', (size_t)length) + 1;
  snprintf(name, sizeof path - 1024, "%s", file);
  return path;
}

static void *library;

void use_library(void *handle) { library = handle; }

#define CALLS(name, parameters, arguments) \
  chime_status name parameters { \
    chime_status(*function) parameters; \
    *(void **)(void *)&function = dlsym(library, #name); \
    return function arguments; \
  }
#define MAKES const chime_queue_options *options, chime_queue_t *made
CALLS(chime_queue_create, (chime_queue_kind kind, MAKES), (kind, options, made))
CALLS(chime_queue_global, (chime_qos qos, MAKES), (qos, options, made))
CALLS(chime_queue_main, (MAKES), (options, made))
CALLS(chime_run_loop_create, (const char *label, chime_run_loop_t *loop), (label, loop))
CALLS(chime_run_loop_queue_create, (chime_run_loop_t loop, const char *mode, MAKES), (loop, mode, options, made))
CALLS(chime_queue_run, (chime_queue_t queue, uint32_t flags), (queue, flags))
CALLS(chime_queue_advance, (chime_queue_t queue, int64_t by_ns), (queue, by_ns))
CALLS(chime_queue_async, (chime_queue_t queue, chime_function function_, void *context, chime_finalizer finalizer),
      (queue, function_, context, finalizer))
CALLS(chime_queue_shutdown, (chime_queue_t queue, int64_t timeout_ns), (queue, timeout_ns))
CALLS(chime_main_run, (void), ())
CALLS(chime_main_stop, (void), ())
CALLS(chime_timer_every,
      (chime_queue_t queue, int64_t interval_ns, chime_handler handler, void *context, chime_finalizer finalizer,
       chime_timer_t *timer),
      (queue, interval_ns, handler, context, finalizer, timer))
CALLS(chime_timer_state, (chime_timer_t timer, chime_state *state), (timer, state))
CALLS(chime_timer_release, (chime_timer_t timer), (timer))
