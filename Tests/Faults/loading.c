/*
 * loading.c - the library loaded and closed by hand. After dlclose with armed timers it stays (it is linked -z nodelete),
 * and so the timers tick on; the next dlopen finds everything as it was. After a shutdown that said CHIME_OK nothing runs.
 * And Chime more than once in a process: two plugins that each brought their own. Each copy has its own queues; timers work
 * in all of them, in every order of loading. Promise 16.
 */
#include "places.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* ---- The functions that places.c and the cases call: those of the library that was chosen last ------------------- */

static void *called;

#define CALLS(name, parameters, arguments) \
  chime_status name parameters { \
    chime_status(*function) parameters; \
    *(void **)(void *)&function = dlsym(called, #name); \
    return function arguments; \
  }
#define MAKES const chime_queue_options *options, chime_queue_t *made
CALLS(chime_queue_create, (chime_queue_kind kind, MAKES), (kind, options, made))
CALLS(chime_queue_create_main, (MAKES), (options, made))
CALLS(chime_run_loop_create, (const chime_run_loop_options *options, chime_run_loop_t *loop), (options, loop))
CALLS(chime_queue_create_on_run_loop, (chime_run_loop_t loop, const char *mode, MAKES), (loop, mode, options, made))
CALLS(chime_queue_run, (chime_queue_t queue, uint32_t flags), (queue, flags))
CALLS(chime_queue_advance, (chime_queue_t queue, int64_t by_ns), (queue, by_ns))
CALLS(chime_queue_async, (chime_queue_t queue, chime_function function_, void *context, chime_finalizer finalizer),
      (queue, function_, context, finalizer))
CALLS(chime_queue_shutdown, (chime_queue_t queue, int64_t timeout_ns), (queue, timeout_ns))
CALLS(chime_main_run, (void), ())
CALLS(chime_main_stop, (void), ())
#define STARTS chime_handler handler, void *context, chime_finalizer finalizer, chime_timer_t *timer
CALLS(chime_timer_after, (chime_queue_t queue, int64_t delay_ns, STARTS),
      (queue, delay_ns, handler, context, finalizer, timer))
CALLS(chime_timer_every, (chime_queue_t queue, int64_t interval_ns, STARTS),
      (queue, interval_ns, handler, context, finalizer, timer))
CALLS(chime_timer_state, (chime_timer_t timer, chime_state *state), (timer, state))

/* ---- Libraries ---------------------------------------------------------------------------------------------------- */

/* Beside this program, where the build has put them: libchime, and the same under another name. musl's dlopen does not
   know $ORIGIN. */
static const char *path_of(const char *name) {
  static char path[4096];
  snprintf(path, sizeof path - 64, "%s", fault_self());
  strcpy(strrchr(path, '/') + 1, name);
  return path;
}

static void *open_library(const char *name, int flags) {
  void *handle = dlopen(path_of(name), RTLD_NOW | flags);
  if (handle == NULL) fprintf(stderr, "%s\n", dlerror());
  REQUIRE(handle != NULL);
  return handle;
}

static void load_chime(void) { called = open_library(fault_library, RTLD_LOCAL); }
static void close_chime(void) { EXPECT_EQ(dlclose(called), 0); }

/* ---- Closed ------------------------------------------------------------------------------------------------------- */

/* With armed timers, which tick on; then after a shutdown: a callback that came all the same would have had its time. */
CASES(closed, where, 0, PLACES - 1) {
  static int ticks;
  chime_queue_t queue;
  chime_timer_t timer = 0;
  chime_state state = -1;
  int at_end;
  if (where == MAIN) fault_skip("nobody drains the main queue when it is closed");
  load_chime();
  queue = place_tick(where, &ticks, &timer);
  EXPECT(place_await(where, queue, &ticks, 3));
  close_chime();
  if (where != VIRTUAL) EXPECT(await(&ticks, load(&ticks) + 3));
  load_chime();
  EXPECT_OK(chime_timer_state(timer, &state));
  EXPECT_EQ(state, CHIME_STATE_RUNNING);
  EXPECT(place_await(where, queue, &ticks, load(&ticks) + 3));
  place_end(where, queue);
  at_end = load(&ticks);
  close_chime();
  load_chime();
  let_others_tick();
  EXPECT_EQ(load(&ticks), at_end);
  place_expect_works(where);
}

/* ---- More than once ----------------------------------------------------------------------------------------------- */

static int ticks[2];

/* A serial queue whose timer ticks while the other libraries are used. */
static chime_queue_t begin(void *library, int *count) {
  called = library;
  return place_tick(SERIAL, count, NULL);
}

/* Every kind of queue works in it, beside the others. */
static void expect_all_work(void *library) {
  int where;
  called = library;
  for (where = 0; where < PLACES; where++) {
    if (where != MAIN && place_is_there(where)) place_expect_works(where);
  }
}

static void end(void *library, chime_queue_t queue, int *count) {
  EXPECT(await(count, load(count) + 3));
  called = library;
  place_end(SERIAL, queue);
}

/* argument: which is loaded first, and how. */
CASES(a_copy, argument, 0, 3) {
  const char *const names[2] = {fault_library, fault_copy};
  int flags = argument < 2 ? RTLD_LOCAL : RTLD_GLOBAL, i;
  void *libraries[2];
  chime_queue_t queues[2];
  for (i = 0; i < 2; i++) libraries[i] = open_library(names[(argument + i) % 2], flags);
  EXPECT(dlsym(libraries[0], "chime_queue_create") != dlsym(libraries[1], "chime_queue_create"));
  for (i = 0; i < 2; i++) queues[i] = begin(libraries[i], &ticks[i]);
  for (i = 0; i < 2; i++) expect_all_work(libraries[i]);
  for (i = 0; i < 2; i++) end(libraries[i], queues[i], &ticks[i]);
}

/* Of the static storage for threads that glibc has for libraries like this one, others have taken what they could. */
CASE(where_little_static_storage_is_left) {
#ifdef __GLIBC__
  char name[] = "libcrowd0.so";
  if (fopen(path_of(name), "r") == NULL) fault_skip("the libraries that take it are not beside this program");
  for (; name[8] < '6'; name[8]++) open_library(name, RTLD_LOCAL);
  load_chime();
  expect_all_work(called);
#else
  fault_skip("only glibc has such storage");
#endif
}

/*
 * Alone in a namespace of its own. (Two that both use thread-specific data, one in each namespace, cannot work: glibc's
 * copies hand out the same keys, and a thread has one table of values for them.)
 */
CASE(in_a_namespace) {
#ifdef __GLIBC__
  void *library = dlmopen(LM_ID_NEWLM, path_of(fault_library), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != NULL);
  expect_all_work(library);
#else
  fault_skip("musl has no namespaces");
#endif
}
