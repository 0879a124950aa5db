/*
 * errno.c - every function leaves errno as it was, whatever the host's functions do to it: handlers, finalizers, destructors,
 * functions, the trace, the allocator; one that gives memory, and one that refuses it. All of them change it here, in each
 * call of both headers. What calls back by its comment in a header does so here, on some kind of queue.
 */
#include "calls.h"
#include "functions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENTINEL = 4242 };

static void trace(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  leave_another_errno();
}

static int refuses, blocks; /* refuses: the allocator, which holds so many */

static void *allocate(size_t alignment, size_t bytes, void *context) {
  void *memory = NULL;
  EXPECT(context == &blocks && alignment % sizeof(void *) == 0);
  if (!load(&refuses) && posix_memalign(&memory, alignment, bytes) != 0) memory = NULL;
  if (memory != NULL) add(&blocks, 1);
  errno = ANOTHER_ERRNO;
  return memory;
}

static void deallocate(void *memory, void *context) {
  add(context, -1);
  free(memory);
  errno = ANOTHER_ERRNO;
}

static void use_them(void) {
  const chime_allocator allocator = {
      .size = sizeof allocator, .allocate = allocate, .deallocate = deallocate, .context = &blocks};
  REQUIRE_OK(chime_set_allocator(&allocator));
  place_expect_works(SERIAL);
  EXPECT(load(&blocks) > 0);
  EXPECT_EQ(chime_set_allocator(&allocator), CHIME_ERROR_BUSY);
}

/* Returns how many callbacks ran inside. */
static int call_it(const subject *called, world *w) {
  int before = callbacks_here;
  w->made = UNTOUCHED;
  EXPECT_OK(chime_set_trace(trace, NULL, NULL));
  errno = SENTINEL;
  chime_status status = called->call(w);
  if (!EXPECT_EQ(errno, SENTINEL)) fprintf(stderr, "  after %s\n", called->name);
  before = callbacks_here - before;
  if (status >= 0) world_end_made(called, w->made);
  return before;
}

/* Each once with memory and once without. */
CASES(each_function, where, 0, PLACES - 1) {
  int i, ran = 0, before;
  use_them();
  for (i = 0; i < subject_count; i++) {
    world w = {.where = where};
    if (where != SERIAL && where != MAIN && subjects[i].flags & (ALONE | OF_THE_LOOP)) continue;
    world_make(&w);
    store(&refuses, 1);
    call_it(&subjects[i], &w);
    store(&refuses, 0);
    world_end(&w, (subjects[i].flags & ENDS_QUEUE) == 0);
    w = (world){.where = where};
    world_make(&w);
    ran += call_it(&subjects[i], &w);
    world_end(&w, (subjects[i].flags & ENDS_QUEUE) == 0);
  }
  expect_all_finalized();
  before = load(&blocks);
  place_expect_works(where);
  EXPECT_BETWEEN(load(&blocks), 0, before + 64); /* what is kept for the next queue */
  fault_seen("%s: %d callbacks", place_name(where), ran);
}

/* ---- What calls back --------------------------------------------------------------------------------------------- */

static int finalized, called_elsewhere;

static void finalize(void *context) {
  (void)context;
  add(&finalized, 1);
  leave_another_errno();
}

static void handle(const chime_tick *tick, void *context) { trace(tick, context); }

static void stop(const chime_tick *tick, void *context) {
  trace(tick, context);
  chime_main_stop();
}

/* What is due, ends or is let go of in a call of this thread. Without a trace function, whose calls would pass for others. */
typedef struct setting {
  chime_run_loop_t loop;
  chime_queue_t main;
  arguments given;
} setting;

/* On a queue that this thread drives. */
static void set_up(setting *s, chime_queue_kind kind, uint32_t flags) {
  static int object;
  static chime_tick ticks[4];
  static uint64_t out;
  chime_queue_t *queue = &s->given.queue;
  chime_timer_options options = TIMER_OPTIONS(.finalizer = finalize);
  memset(s, 0, sizeof *s);
  s->given = (arguments){.ticks = ticks,
                         .tick_size = sizeof ticks[0],
                         .capacity = 4,
                         .out = &out,
                         .handler = handle,
                         .function = count_call,
                         .key = "key",
                         .timeout_ns = CHIME_SECOND,
                         .deadline_ns = 1};
  REQUIRE_OK(chime_queue_create(kind, &QUEUE_OPTIONS(.flags = flags), queue));
  REQUIRE_OK(chime_target_create(&object, finalize, &s->given.target));
  if (flags & CHIME_QUEUE_FLAG_RECORDS) {
    options = TIMER_OPTIONS(.target = s->given.target);
    REQUIRE_OK(chime_timer_start(*queue, &options, AFTER(0), &s->given.timer));
    REQUIRE_OK(chime_queue_take_ticks(*queue, ticks, sizeof ticks[0], 4, (size_t *)(void *)&out));
    EXPECT_EQ(chime_target_release(s->given.target), CHIME_RUNNING); /* the taken tick holds it */
    return;
  }
  options.handler = handle;
  REQUIRE_OK(chime_timer_start(*queue, &options, AFTER(0), &s->given.timer));
  REQUIRE_OK(chime_timer_add_handler(s->given.timer, "key", handle, NULL, finalize));
  REQUIRE_OK(chime_expiring_create(*queue, CHIME_HOUR, &object, finalize, NULL, &s->given.expiring));
  REQUIRE_OK(chime_expiring_on_expiry(s->given.expiring, handle, NULL, finalize));
  REQUIRE_OK(chime_run_loop_current(&s->given.run_loop));
  REQUIRE_OK(chime_weak_timer_schedule(0, 0, 0, handle, NULL, finalize, NULL, &s->given.weak_timer));
}

/* Nothing holds the run then but what is due. */
static void end_the_value(setting *s) { REQUIRE_OK(chime_expiring_release(s->given.expiring)); }

static void set_another_trace(setting *s) {
  (void)s;
  REQUIRE_OK(chime_set_trace(handle, NULL, finalize));
}

static void yield_the_last(setting *s) {
  void *object;
  REQUIRE_OK(chime_expiring_acquire(s->given.expiring, &object));
  REQUIRE_OK(chime_expiring_release(s->given.expiring));
}

static pthread_t caller;

static void count_here(void *context) {
  (void)context;
  EXPECT(!pthread_equal(pthread_self(), caller));
  errno = ANOTHER_ERRNO;
  add(&called_elsewhere, 1);
}

static void run_the_main_queue(setting *s) {
  REQUIRE_OK(chime_queue_create_main(NULL, &s->main));
  REQUIRE_OK(chime_timer_after(s->main, 0, stop, NULL, NULL, NULL));
}

/* The function runs on the queue's thread. */
static void call_elsewhere(setting *s) { s->given.function = count_here; }

/* What those need that do not call back as things are. */
static const struct need {
  const char *name;
  chime_queue_kind kind;
  uint32_t flags;
  void (*prepare)(setting *s);
} needs[] = {{"queue_advance", CHIME_QUEUE_VIRTUAL, 0, NULL},
             {"queue_run", CHIME_QUEUE_HOST, 0, end_the_value},
             {"queue_sync", CHIME_QUEUE_PRECISE, 0, call_elsewhere},
             {"queue_take_ticks", CHIME_QUEUE_HOST, CHIME_QUEUE_FLAG_RECORDS, NULL},
             {"main_run", CHIME_QUEUE_HOST, 0, run_the_main_queue},
             {"set_trace", CHIME_QUEUE_HOST, 0, set_another_trace},
             {"expiring_yield", CHIME_QUEUE_HOST, 0, yield_the_last}};

static void expect_a_callback(const function_of_chime *f) {
  const struct need *need = needs, *end = needs + sizeof needs / sizeof needs[0];
  setting s;
  int before;
  chime_status status;
  while (need < end && strcmp(need->name, f->name) != 0) need++;
  set_up(&s, need < end ? need->kind : CHIME_QUEUE_HOST, need < end ? need->flags : 0);
  if (need < end && need->prepare != NULL) need->prepare(&s);
  caller = pthread_self();
  before = callbacks_here + load(&called_elsewhere);
  errno = SENTINEL;
  status = f->call(&s.given);
  EXPECT_EQ(errno, SENTINEL);
  EXPECT(status >= 0 || status == CHIME_STOPPED);
  EXPECT(callbacks_here + load(&called_elsewhere) > before);
  if (fault_failures() > 0) fprintf(stderr, "  in chime_%s\n", f->name);
  EXPECT_OK(chime_set_trace(NULL, NULL, NULL));
  chime_queue_shutdown(s.given.queue, CHIME_SECOND);
  chime_queue_shutdown(s.main, 0);
  chime_weak_timer_release(s.given.weak_timer);
}

CASE(each_function_that_calls_back) {
  int i, count = 0;
  use_them();
  for (i = 0; i < FUNCTIONS && fault_failures() == 0; i++) {
    if (!functions[i].calls_back) continue;
    expect_a_callback(&functions[i]);
    count++;
  }
  EXPECT(count > 15);
  fault_seen("%d functions, %d finalized", count, load(&finalized));
}
