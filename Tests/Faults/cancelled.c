/*
 * cancelled.c - a thread is cancelled (pthread_cancel) inside Chime: promise 20. No call is a cancellation point. Each does
 * what it was to do and returns; the cancellation takes effect after it, at the host's next cancellation point. And each
 * leaves errno as it was: a host that looks at errno after its own call, with a timer started in between, reads its own
 * error.
 */
#include "calls.h"
#include "waits.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum { ROUNDS = 100, SENTINEL = 4242 };

/* ---- Every call, with a cancellation pending -------------------------------------------------------------------- */

typedef struct two_calls {
  const subject *called;
  world *w;
  int returned; /* of them */
} two_calls;

/* The second time in the state that the first has left. */
static void *call_twice(void *context) {
  two_calls *two = context;
  int i, state = -1;
  pthread_cancel(pthread_self());
  for (i = 0; i < 2; i++) {
    chime_status status;
    two->w->made = UNTOUCHED;
    errno = SENTINEL;
    status = two->called->call(two->w);
    if (!EXPECT_EQ(errno, SENTINEL)) fprintf(stderr, "  after %s\n", two->called->name);
    EXPECT(status != CHIME_ERROR_NO_MEMORY && status != CHIME_ERROR_RESOURCE);
    if (status >= 0) world_end_made(two->called, two->w->made);
    two->returned++;
  }
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
  EXPECT_EQ(state, PTHREAD_CANCEL_ENABLE);
  pthread_testcancel();
  return NULL;
}

static int calls;

static void call_cancelled(const subject *called, world *w) {
  two_calls two = {called, w, 0};
  EXPECT(join(spawn(call_twice, &two)) == PTHREAD_CANCELED);
  if (!EXPECT_EQ(two.returned, 2)) fprintf(stderr, "  of %s\n", called->name);
  calls += two.returned;
}

/* On a world of its own, and again with ids of what is gone. */
CASES(cancellation_pending, where, 0, PLACES - 1) {
  int i;
  for (i = 0; i < subject_count && fault_failures() == 0; i++) {
    const subject *called = &subjects[i];
    world w = {.where = where};
    if (where > 0 && called->flags & (ALONE | OF_THE_LOOP)) continue; /* it would be the same */
    world_make(&w);
    call_cancelled(called, &w);
    world_end(&w, (called->flags & ENDS_QUEUE) == 0);
    if ((called->flags & ALONE) == 0) call_cancelled(called, &w);
  }
  expect_all_finalized();
  fault_seen("%s: %d calls", place_name(where), calls);
  place_expect_works(where);
}

/* ---- Waits that are under way ----------------------------------------------------------------------------------- */

static int begun, asked, returned; /* asked: the cancellation */
static chime_status answer;

static void *wait_in_chime(void *context) {
  const wait *w = context;
  if (w->flags & OF_A_LOOP) wait_prepare(w);
  store(&begun, 1);
  answer = w->call(PATIENCE);
  store(&returned, 1);
  while (!load(&asked)) sched_yield();
  pthread_testcancel();
  return NULL;
}

/* Cancels a thread at a moment of its wait, before what it waits for comes or just as it comes. */
static void cancel_one(const wait *w, int delay_us) {
  pthread_t thread;
  begun = asked = returned = 0;
  if ((w->flags & OF_A_LOOP) == 0) wait_prepare(w);
  thread = spawn(wait_in_chime, (void *)w);
  while (!load(&begun)) usleep(10);
  if (delay_us > 0) usleep((useconds_t)delay_us);
  EXPECT_OK(pthread_cancel(thread));
  store(&asked, 1);
  if (delay_us % 2 == 0) usleep(200);
  wait_let_go(w, &returned);
  EXPECT(join(thread) == PTHREAD_CANCELED);
  REQUIRE(returned); /* and was not ended in the call */
  EXPECT_EQ(answer, wait_expected(w));
  wait_end(w);
}

CASES(who_waits_is_cancelled, number, 0, wait_count - 1) {
  const wait *w = &waits[number];
  int i;
  if (w->flags & ON_MAIN) fault_skip("see who_runs_the_main_queue_is_cancelled");
  for (i = 0; i < ROUNDS && fault_failures() == 0; i++) cancel_one(w, i * 37 % 300);
}

/* ---- chime_main_run --------------------------------------------------------------------------------------------- */

static chime_queue_t queue;
static int runs;

static void end_main_thread(void *context) {
  (void)context;
  EXPECT_EQ(runs, ROUNDS);
  EXPECT_OK(chime_queue_shutdown(queue, 0));
  fault_leave();
}

/* The case's process runs it on its main thread, which can be cancelled only once: the cancellation stays pending. */
CASE(who_runs_the_main_queue_is_cancelled) {
  int i, ran = 1;
  REQUIRE_OK(chime_queue_create_main(NULL, &queue));
  pthread_cleanup_push(end_main_thread, NULL);
  pthread_cancel(pthread_self());
  for (i = 0; i < ROUNDS && ran; i++) {
    ran = chime_timer_after(queue, 100 * CHIME_MICROSECOND, stop_main, &runs, NULL, NULL) == CHIME_OK &&
          chime_main_run() == CHIME_STOPPED;
  }
  pthread_testcancel();
  EXPECT(!"the cancellation took effect");
  pthread_cleanup_pop(0);
}
