/*
 * repeating.c - with refusing.c a library for LD_PRELOAD: one allocation of libchime's in $REFUSE_ONE_IN is refused, or one
 * pthread_create where $REFUSE_THREADS is set, and each call that then answers NO_MEMORY or RESOURCE is made again until it
 * answers something else. A refused call has changed nothing, so a program that knows nothing of all this must find every
 * other answer, callback and finalizer as if it had been made once: that is how the C suite and the load test run without.
 * Promise 19.
 *
 * Only what the headers let answer so is made again. An out-parameter that a refused call has written ends the program.
 * At its end it says how often each came to pass, and that is a failure, too, if nothing was refused.
 */
#define _GNU_SOURCE
#include "chime_run_loop.h"
#include "refusing.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_TRIES = 1000, NOTHING_REFUSED = 3 };

static long repeated; /* calls that were refused */

static void give_up(const char *name, const char *what) {
  fprintf(stderr, "%s: %s\n", name, what);
  abort();
}

static void *find_next(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found == NULL) give_up(name, "is not in libchime");
  return found;
}

/* Whether the call was refused, and is to be made again. */
static int is_refused(const char *name, chime_status status, const uint64_t *given, uint64_t before, int tries) {
  if (status != CHIME_ERROR_NO_MEMORY && status != CHIME_ERROR_RESOURCE) return 0;
  if (given != NULL && *given != before) give_up(name, "was refused, and has written its result");
  if (tries == MOST_TRIES) give_up(name, "is refused again and again");
  __atomic_add_fetch(&repeated, 1, __ATOMIC_RELAXED);
  return 1;
}

/* One that gives an id to *given; NULL where it gives none. */
#define REPEATED(name, parameters, arguments, given) \
  chime_status name parameters { \
    static chime_status(*next) parameters; \
    chime_status status; \
    const uint64_t *result = given; \
    uint64_t before = result == NULL ? 0 : *result; \
    int tries = 0; \
    if (next == NULL) *(void **)(void *)&next = find_next(#name); \
    do { \
      status = next arguments; \
    } while (is_refused(#name, status, result, before, tries++)); \
    return status; \
  }

#define QUEUE_OPTIONS const chime_queue_options *options, chime_queue_t *queue
REPEATED(chime_queue_create, (chime_queue_kind kind, QUEUE_OPTIONS), (kind, options, queue), queue)
REPEATED(chime_queue_create_main, (QUEUE_OPTIONS), (options, queue), queue)
REPEATED(chime_queue_create_on_dispatch, (void *dispatch_queue, QUEUE_OPTIONS), (dispatch_queue, options, queue), queue)
REPEATED(chime_queue_sync, (chime_queue_t queue, chime_function function, void *context, int64_t timeout_ns),
         (queue, function, context, timeout_ns), NULL)
REPEATED(chime_queue_async, (chime_queue_t queue, chime_function function, void *context, chime_finalizer finalizer),
         (queue, function, context, finalizer), NULL)
REPEATED(chime_queue_get_stats, (chime_queue_t queue, chime_queue_stats *stats), (queue, stats), NULL)
REPEATED(chime_main_run, (void), (), NULL)

#define HANDLER chime_handler handler, void *context, chime_finalizer finalizer
REPEATED(chime_timer_create, (chime_queue_t queue, const chime_timer_options *options, chime_timer_t *timer),
         (queue, options, timer), timer)
REPEATED(chime_timer_start,
         (chime_queue_t queue, const chime_timer_options *options, const chime_schedule *schedule,
          chime_timer_t *timer),
         (queue, options, schedule, timer), timer)
REPEATED(chime_timer_after, (chime_queue_t queue, int64_t delay_ns, HANDLER, chime_timer_t *timer),
         (queue, delay_ns, handler, context, finalizer, timer), timer)
REPEATED(chime_timer_every, (chime_queue_t queue, int64_t interval_ns, HANDLER, chime_timer_t *timer),
         (queue, interval_ns, handler, context, finalizer, timer), timer)
REPEATED(chime_timer_activate, (chime_timer_t timer, const chime_schedule *schedule), (timer, schedule), NULL)
REPEATED(chime_timer_restart, (chime_timer_t timer, const chime_schedule *schedule), (timer, schedule), NULL)
REPEATED(chime_timer_restart_after, (chime_timer_t timer, int64_t delay_ns), (timer, delay_ns), NULL)
REPEATED(chime_timer_restart_until, (chime_timer_t timer, int64_t deadline_ns), (timer, deadline_ns), NULL)
REPEATED(chime_timer_reschedule, (chime_timer_t timer, const chime_schedule *schedule), (timer, schedule), NULL)
REPEATED(chime_timer_set_interval, (chime_timer_t timer, int64_t interval_ns), (timer, interval_ns), NULL)
REPEATED(chime_timer_set_background, (chime_timer_t timer, int32_t background), (timer, background), NULL)
REPEATED(chime_timer_fire, (chime_timer_t timer), (timer), NULL)
REPEATED(chime_timer_add_handler, (chime_timer_t timer, const char *key, HANDLER),
         (timer, key, handler, context, finalizer), NULL)
REPEATED(chime_timer_remove_handler, (chime_timer_t timer, const char *key), (timer, key), NULL)
REPEATED(chime_target_create, (void *object, chime_finalizer destructor, chime_target_t *target),
         (object, destructor, target), target)
REPEATED(chime_expiring_create,
         (chime_queue_t queue, int64_t lifetime_ns, void *value, chime_finalizer finalizer,
          const chime_expiring_options *options, chime_expiring_t *expiring),
         (queue, lifetime_ns, value, finalizer, options, expiring), expiring)
REPEATED(chime_expiring_on_expiry, (chime_expiring_t expiring, HANDLER), (expiring, handler, context, finalizer), NULL)
REPEATED(chime_expiring_reset, (chime_expiring_t expiring, int64_t lifetime_ns), (expiring, lifetime_ns), NULL)

REPEATED(chime_run_loop_current, (chime_run_loop_t * loop), (loop), loop)
REPEATED(chime_run_loop_main, (chime_run_loop_t * loop), (loop), loop)
REPEATED(chime_run_loop_create, (const chime_run_loop_options *options, chime_run_loop_t *loop), (options, loop), loop)
REPEATED(chime_run_loop_run, (const char *mode, int64_t timeout_ns, uint32_t flags), (mode, timeout_ns, flags), NULL)
REPEATED(chime_run_loop_add_common_mode, (chime_run_loop_t loop, const char *mode), (loop, mode), NULL)
REPEATED(chime_queue_create_on_run_loop, (chime_run_loop_t loop, const char *mode, QUEUE_OPTIONS),
         (loop, mode, options, queue), queue)

static void tell(void) {
  long refused = refuse_none(), calls = __atomic_load_n(&repeated, __ATOMIC_RELAXED);
  fflush(NULL);
  fprintf(stderr, "%ld of %ld refused, %ld calls made again\n", refused, allocations(), calls);
  if (calls == 0) _exit(NOTHING_REFUSED);
}

__attribute__((constructor)) static void begin(void) {
  const char *text = getenv("REFUSE_ONE_IN");
  long one_in = text == NULL ? 0 : atol(text);
  if (one_in <= 0 || dlsym(RTLD_NEXT, "chime_version") == NULL) return; /* a shell that starts the program */
  refuse_only_around(find_next("chime_version"));
  refuse(getenv("REFUSE_THREADS") == NULL ? REFUSE_RANDOM : REFUSE_THREADS, one_in);
  atexit(tell);
}
