/*
 * pool.c - the threads that serial and concurrent queues share: handlers that never return on all threads but one,
 * thousands of queues made and ended, classes. Promise 21.
 */
#include "guest.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* However many stay, the next queue's ticks come: on a thread more than there are such handlers. */
CASES(handlers_that_never_return, where, SERIAL, CONCURRENT) {
  enum { STAYING = 12 };
  static int ticks;
  chime_queue_t queues[STAYING], queue = place_tick(where, &ticks, NULL);
  int i;
  for (i = 0; i < STAYING; i++) {
    if (i == 0 || where == SERIAL) queues[i] = place_queue(where, NULL);
    else queues[i] = queues[0];
    EXPECT_OK(chime_timer_after(queues[i], 0, stay, NULL, NULL, NULL));
  }
  EXPECT(await(&staying, STAYING));
  i = load(&ticks);
  EXPECT(await(&ticks, i + 20));
  store(&may_go, 1);
  for (i = 0; i < (where == SERIAL ? STAYING : 1); i++) EXPECT_OK(chime_queue_shutdown(queues[i], PATIENCE));
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}

/* A queue that is made when all threads have such handlers: two serial queues', or a concurrent queue's four; and one whose
 * handler has ended its own queue. */
CASES(a_queue_made_beside_handlers_that_stay, where, SERIAL, CONCURRENT) {
  static int ticks, released;
  chime_queue_t queues[4], queue;
  int i, count = where == SERIAL ? 2 : 4;
  for (i = 0; i < count; i++) {
    queues[i] = i == 0 || where == SERIAL ? place_queue(where, NULL) : queues[0];
    EXPECT_OK(chime_timer_after(queues[i], 0, stay, NULL, NULL, NULL));
  }
  EXPECT(await(&staying, count));
  if (where == SERIAL) EXPECT_EQ(chime_queue_release(queues[0]), CHIME_RUNNING);
  queue = place_tick(where, &ticks, NULL);
  EXPECT(await(&ticks, 20));
  EXPECT_OK(chime_queue_async(queue, count_call, &released, NULL));
  EXPECT(await(&released, 1));
  store(&may_go, 1);
  place_end(where, queue);
  if (where == SERIAL) place_end(where, queues[1]);
  else place_end(where, queues[0]);
}

/* Each of the handlers makes a queue, and waits for its timer. */
static void wait_for_a_new_queue(const chime_tick *tick, void *done) {
  static int ticks[2];
  int *mine = &ticks[add(&staying, 1) - 1];
  chime_queue_t queue;
  (void)tick;
  EXPECT(await(&staying, 2));
  queue = place_tick(SERIAL, mine, NULL);
  EXPECT(await(mine, 3));
  place_end(SERIAL, queue);
  add(done, 1);
}
CASE(handlers_that_wait_for_queues_that_they_make) {
  static int done;
  chime_queue_t queues[2];
  int i;
  for (i = 0; i < 2; i++) {
    queues[i] = place_queue(SERIAL, NULL);
    EXPECT_OK(chime_timer_after(queues[i], 0, wait_for_a_new_queue, &done, NULL, NULL));
  }
  EXPECT(await(&done, 2));
  for (i = 0; i < 2; i++) place_end(SERIAL, queues[i]);
}

/* ---- Many queues, and none -------------------------------------------------------------------------------------- */

/* They share threads and descriptors; when the last one has ended, the threads end. */
CASE(thousands_of_queues_made_and_ended) {
  enum { QUEUES = 3000, ROUNDS = 3 };
  static chime_queue_t queues[QUEUES];
  static int ticks;
  int i, round, most = 0, files;
  place_expect_works(SERIAL);
  files = guest_files();
  for (round = 0; round < ROUNDS && fault_failures() == 0; round++) {
    store(&ticks, 0);
    for (i = 0; i < QUEUES; i++) {
      REQUIRE_OK(chime_queue_create(i % 2, NULL, &queues[i]));
      EXPECT_OK(chime_timer_after(queues[i], (i % 10) * CHIME_MILLISECOND, count_tick, &ticks, NULL, NULL));
    }
    EXPECT(await(&ticks, QUEUES));
    if (guest_threads() > most) most = guest_threads();
    for (i = 0; i < QUEUES; i++) EXPECT_OK(chime_queue_shutdown(queues[i], PATIENCE));
    EXPECT_EQ(guest_files(), files);
  }
  EXPECT(guest_await_threads(1));
  place_expect_works(CONCURRENT); /* and they begin again */
  fault_seen("%d threads at most", most);
}

/* ---- Classes ---------------------------------------------------------------------------------------------------- */

/* Only the next case runs it. */
CASES(a_lower_class_on_this_processor, only, 1, 0) {
  enum { BUSY = 64 };
  static int busy_ticks, ticks;
  chime_queue_t queues[BUSY + 1];
  int i;
  for (i = 0; i <= BUSY; i++) {
    chime_timer_t timer;
    REQUIRE_OK(chime_queue_create(CHIME_QUEUE_SERIAL,
                                  &QUEUE_OPTIONS(.qos = i < BUSY ? CHIME_QOS_USER_INTERACTIVE : CHIME_QOS_BACKGROUND),
                                  &queues[i]));
    REQUIRE_OK(chime_timer_create(
        queues[i],
        &TIMER_OPTIONS(.handler = i < BUSY ? guest_tick_again : count_tick, .context = i < BUSY ? &busy_ticks : &ticks),
        &timer));
    REQUIRE_OK(chime_timer_activate(timer, EVERY(0, i < BUSY ? 0 : CHIME_MILLISECOND)));
  }
  EXPECT(await(&ticks, 3));
  fault_seen("%d ticks of the busy queues beside %d", load(&busy_ticks), load(&ticks));
  for (i = 0; i <= BUSY; i++) EXPECT_OK(chime_queue_shutdown(queues[i], PATIENCE));
}

/*
 * On one processor, which many queues of the highest class want all the time: those of the lowest have their turns, too.
 * The handlers are short, so that no thread more begins, in which the lowest would have its turn in any order.
 */
CASE(a_lower_class_beside_busy_ones) { guest_run_on_one_processor("a_lower_class_on_this_processor", 0); }

static void note_nice(const chime_tick *tick, void *context) {
  (void)tick;
  store(context, 100 + getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid)));
}

/* Whatever a class means, no queue's handlers stay behind for good when root's privileges are given up. */
CASE(root_is_dropped_after_the_first_tick) {
  enum { CLASSES = CHIME_QOS_USER_INTERACTIVE + 1, NOBODY = 65534 };
  chime_queue_t queues[CLASSES];
  int seen[CLASSES + 1] = {0}, usual = 100 + getpriority(PRIO_PROCESS, 0), i;
  for (i = 0; i < CLASSES; i++)
    REQUIRE_OK(chime_queue_create(CHIME_QUEUE_SERIAL, &QUEUE_OPTIONS(.qos = i), &queues[i]));
  EXPECT_OK(chime_timer_after(queues[CHIME_QOS_BACKGROUND], 0, note_nice, &seen[CLASSES], NULL, NULL));
  REQUIRE(await(&seen[CLASSES], 1));
  if (setuid(NOBODY) != 0) fault_skip("it is not root's process");
  for (i = 0; i < CLASSES; i++) {
    EXPECT_OK(chime_timer_after(queues[i], CHIME_MILLISECOND, note_nice, &seen[i], NULL, NULL));
    REQUIRE(await(&seen[i], 1));
    EXPECT_EQ(load(&seen[i]), usual);
    EXPECT_OK(chime_queue_shutdown(queues[i], PATIENCE));
  }
}
