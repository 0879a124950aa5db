/*
 * cancelling.c - cancellations of Chime's own threads that no function of the host's acts upon: a handler leaves one pending,
 * or somebody cancels a thread that waits. Everything else goes on. Promises 20 and 21.
 */
#include "guest.h"

enum { TIMERS = 5 };

static int other_ticks;

/* ---- A handler leaves a cancellation pending ----------------------------------------------------------------------- */

static int handled, finalized;

static void cancel_own_thread(const chime_tick *tick, void *context) {
  (void)tick;
  add(context, 1);
  pthread_cancel(pthread_self());
}

/* Several timers whose handlers all do so, beside another queue. */
CASES(a_handler_cancels_its_thread_and_returns, where, SERIAL, RUN_LOOP) {
  chime_queue_t other = place_tick(SERIAL, &other_ticks, NULL), queue = place_queue(where, NULL);
  int i;
  for (i = 0; i < TIMERS; i++)
    EXPECT_OK(chime_timer_after(queue, i * CHIME_MILLISECOND, cancel_own_thread, &handled, count_call, NULL));
  REQUIRE(await(&handled, 2 * TIMERS)); /* each is finalized, too */
  EXPECT(await(&other_ticks, load(&other_ticks) + 20));
  place_end(where, queue);
  place_end(SERIAL, other);
  place_expect_works(where);
}

static void cancel_in_call(void *context) {
  add(context, 1);
  pthread_cancel(pthread_self());
}

/* A finalizer and a function of the queue. */
CASES(a_finalizer_cancels_its_thread_and_returns, where, SERIAL, RUN_LOOP) {
  chime_queue_t queue = place_queue(where, NULL);
  int i;
  for (i = 0; i < TIMERS; i++) {
    EXPECT_OK(chime_timer_after(queue, 0, ignore_tick, &finalized, cancel_in_call, NULL));
    EXPECT_OK(chime_queue_async(queue, cancel_in_call, &handled, cancel_in_call));
  }
  REQUIRE(await(&handled, 2 * TIMERS));
  REQUIRE(await(&finalized, TIMERS));
  place_end(where, queue);
  place_expect_works(where);
}

/* It makes it an asynchronous one, for which every instruction is a cancellation point. */
static void become_asynchronous(const chime_tick *tick, void *context) {
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  count_tick(tick, context);
}

static pthread_t handlers_thread;

static void note_thread(const chime_tick *tick, void *context) {
  handlers_thread = pthread_self();
  count_tick(tick, context);
}

/* ---- Somebody cancels a thread that waits -------------------------------------------------------------------------- */

/*
 * The thread that had the latest tick is cancelled while it waits for the next, or is about to, or has begun to run it: at
 * another time each round. (A thread of libdispatch is not Chime's: it ends.)
 */
CASES(somebody_cancels_a_thread_that_waits, where, SERIAL, RUN_LOOP) {
  enum { ROUNDS = 200 };
  static int ticks;
  chime_queue_t other = place_tick(SERIAL, &other_ticks, NULL), queue;
  int i;
  guest_needs_own_threads(where);
  queue = place_queue(where, NULL);
  for (i = 0; i < ROUNDS; i++) {
    store(&ticks, 0);
    REQUIRE_OK(chime_timer_after(queue, 100 * CHIME_MICROSECOND, note_thread, &ticks, NULL, NULL));
    REQUIRE(await(&ticks, 1));
    if (i % 4 != 0) sleep_ns(i * 10 * CHIME_MICROSECOND);
    EXPECT_OK(pthread_cancel(handlers_thread));
    if (i % 20 == 0) EXPECT(await(&other_ticks, load(&other_ticks) + 2));
  }
  place_end(where, queue);
  place_end(SERIAL, other);
  place_expect_works(where);
}

static int waits, is_cancelled, has_finished;

static void wait_without_a_point(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  handlers_thread = pthread_self();
  store(&waits, 1);
  while (!load(&is_cancelled)) continue;
  store(&has_finished, 1);
}

/* The handler behind it, on the same thread, has no cancellation point: it comes to its end. */
CASES(a_handler_behind_an_asynchronous_one, where, SERIAL, RUN_LOOP) {
  static int ticks;
  chime_queue_t queue;
  guest_needs_own_threads(where);
  queue = place_queue(where, NULL);
  EXPECT_OK(chime_timer_after(queue, 0, become_asynchronous, &ticks, NULL, NULL));
  EXPECT_OK(chime_timer_after(queue, 0, wait_without_a_point, NULL, NULL, NULL));
  REQUIRE(await(&waits, 1));
  EXPECT_OK(pthread_cancel(handlers_thread));
  store(&is_cancelled, 1);
  EXPECT(await(&has_finished, 1));
  place_end(where, queue);
  place_expect_works(where);
}

/* ---- A loop of Chime's own ends ------------------------------------------------------------------------------------ */

/* A weak timer's action leaves a cancellation pending, again and again; the last callbacks of the loop's queues come. */
CASES(a_weak_timer_cancels_its_loop_which_is_released, loop_first, 0, 1) {
  enum { ROUNDS = 20 };
  static int acted, ended;
  int i, round;
  for (round = 1; round <= ROUNDS && fault_failures() == 0; round++) {
    chime_run_loop_t loop;
    chime_queue_t queue;
    chime_weak_timer_t weak;
    int before = load(&acted);
    REQUIRE_OK(chime_run_loop_create(NULL, &loop));
    REQUIRE_OK(chime_queue_create_on_run_loop(loop, NULL, NULL, &queue));
    for (i = 0; i < TIMERS; i++)
      EXPECT_OK(chime_timer_every(queue, (i + 2) * CHIME_MILLISECOND, ignore_tick, &ended, count_call, NULL));
    REQUIRE_OK(chime_weak_timer_create(CHIME_MILLISECOND, 1, 0, cancel_own_thread, &acted, NULL, NULL, &weak));
    REQUIRE_OK(chime_weak_timer_add(weak, loop, NULL));
    REQUIRE(await(&acted, before + 1));
    if (loop_first) EXPECT_OK(chime_run_loop_release(loop));
    EXPECT(!CHIME_FAILED(chime_queue_release(queue)));
    if (!loop_first) EXPECT_OK(chime_run_loop_release(loop));
    EXPECT(await(&ended, round * TIMERS));
    chime_weak_timer_release(weak);
  }
  EXPECT_EQ(load(&ended), ROUNDS * TIMERS);
}

/* ---- The main thread ends ------------------------------------------------------------------------------------------ */

static chime_queue_t main_queue;

static void *watch_without_main(void *unused) {
  EXPECT(await(&handled, TIMERS));
  place_end(SERIAL, main_queue);
  place_expect_works(SERIAL);
  fault_leave();
  return unused;
}

/* Then libdispatch runs its main queue on threads of its own, which must not end by what a handler leaves. */
CASE(handlers_of_the_main_queue_cancel_threads_of_libdispatch) {
  int i;
  if (!place_is_there(DISPATCH)) fault_skip("no libdispatch");
  REQUIRE_OK(chime_queue_create_main(NULL, &main_queue));
  for (i = 0; i < TIMERS; i++)
    EXPECT_OK(chime_timer_after(main_queue, i * CHIME_MILLISECOND, cancel_own_thread, &handled, NULL, NULL));
  spawn(watch_without_main, NULL);
  pthread_exit(NULL);
}
