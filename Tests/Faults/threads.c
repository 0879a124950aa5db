/*
 * threads.c - no threads, for a moment or for good, or all of them taken. This program's pthread_create stands before libc's,
 * for the library too, and answers EAGAIN, as it does at a limit of processes or of a container. Promises 19 and 21.
 */
#include "guest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int to_grant;  /* how many calls before those */
static int to_refuse; /* how many of the next calls; below 0: all */
static int refused;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
  static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  if (load(&to_grant) > 0) {
    add(&to_grant, -1);
  } else if (load(&to_refuse) != 0) {
    if (load(&to_refuse) > 0) add(&to_refuse, -1);
    add(&refused, 1);
    return EAGAIN;
  }
  if (next == NULL) *(void **)(void *)&next = fault_next("pthread_create");
  return next(thread, attributes, body, argument);
}

/* ---- None can be had ------------------------------------------------------------------------------------------------ */

/* A queue with a thread of its own is refused. */
CASES(precise_and_run_loop, where, PRECISE, RUN_LOOP) {
  chime_queue_t queue = 0;
  store(&to_refuse, -1);
  EXPECT_EQ(place_make(where, NULL, &queue), CHIME_ERROR_RESOURCE);
  EXPECT_EQ(queue, 0);
  EXPECT_EQ(load(&refused), 1);
  store(&to_refuse, 0);
  place_expect_works(where);
}

/* A trace file without a thread to write it: the one that was there keeps what it had, and none is made. */
CASE(trace_file) {
  char made[] = "/tmp/chime-trace-XXXXXX", text[8] = "";
  int file = mkstemp(made);
  REQUIRE(file >= 0);
  EXPECT_EQ(write(file, "before", 6), 6);
  store(&to_refuse, -1);
  EXPECT_EQ(chime_trace_to_file(made), CHIME_ERROR_RESOURCE);
  EXPECT_EQ(pread(file, text, sizeof text, 0), 6);
  EXPECT(strcmp(text, "before") == 0);
  EXPECT_OK(unlink(made));
  EXPECT_EQ(chime_trace_to_file(made), CHIME_ERROR_RESOURCE);
  EXPECT_EQ(access(made, F_OK), -1);
  EXPECT_EQ(load(&refused), 2);
  store(&to_refuse, 0);
  EXPECT_OK(chime_trace_to_file(made));
  EXPECT_OK(chime_trace_to_file(NULL));
  EXPECT_OK(unlink(made));
  close(file);
}

/* One without a thread needs none. */
CASE(host_driven_and_virtual) {
  static int ticks;
  chime_queue_t queue = 0;
  store(&to_refuse, -1);
  REQUIRE_OK(place_make(HOST, NULL, &queue));
  EXPECT_OK(chime_timer_after(queue, CHIME_MILLISECOND, count_tick, &ticks, NULL, NULL));
  EXPECT_OK(chime_queue_run(queue, 0));
  EXPECT_EQ(load(&ticks), 1);
  EXPECT_OK(chime_queue_shutdown(queue, 0));
  place_expect_works(VIRTUAL);
  EXPECT_EQ(load(&refused), 0);
}

/* The first queue of the pool is refused; the next ones share the threads that there are, and each tick comes. */
CASES(on_the_threads_that_there_are, where, SERIAL, CONCURRENT) {
  enum { QUEUES = 20, TICKS = 5 };
  static int ticks[QUEUES];
  chime_queue_t queues[QUEUES] = {0};
  int i;
  store(&to_refuse, -1);
  EXPECT_EQ(place_make(where, NULL, &queues[0]), CHIME_ERROR_RESOURCE);
  EXPECT_EQ(queues[0], 0);
  EXPECT_EQ(load(&refused), 1);
  store(&to_refuse, 0);
  queues[0] = place_tick(where, &ticks[0], NULL);
  EXPECT(await(&ticks[0], 1));
  store(&to_refuse, -1);
  for (i = 1; i < QUEUES; i++) queues[i] = place_tick(where, &ticks[i], NULL);
  for (i = 0; i < QUEUES; i++) EXPECT(await(&ticks[i], load(&ticks[i]) + TICKS));
  for (i = 0; i < QUEUES; i++) EXPECT_OK(chime_queue_shutdown(queues[i], PATIENCE));
  store(&to_refuse, 0);
  place_expect_works(where);
}

/* ---- One is refused once -------------------------------------------------------------------------------------------- */

/*
 * A handler stays, and the thread that was to serve the other queues is refused once. It is tried again within 10 ms. The
 * best of several rounds counts, since the machine may be busy; but each round ends.
 */
CASES(a_thread_refused_once, where, SERIAL, CONCURRENT) {
  enum { ROUNDS = 8 };
  static int ticks;
  chime_queue_t queues[ROUNDS], other = place_tick(where, &ticks, NULL);
  int64_t best = INT64_MAX;
  int i;
  REQUIRE(await(&ticks, 3));
  for (i = 0; i < ROUNDS; i++) {
    int64_t begun;
    int before = load(&refused);
    REQUIRE_OK(place_make(where, NULL, &queues[i]));
    store(&to_refuse, 1);
    EXPECT_OK(chime_timer_after(queues[i], 0, stay, NULL, NULL, NULL));
    REQUIRE(await(&staying, i + 1));
    begun = monotonic_ns();
    REQUIRE(await(&ticks, load(&ticks) + 5));
    if (load(&refused) > before && load(&to_refuse) == 0 && monotonic_ns() - begun < best)
      best = monotonic_ns() - begun;
    store(&to_refuse, 0);
    REQUIRE(await(&ticks, load(&ticks) + 5));
  }
  EXPECT(load(&refused) >= 1);
  EXPECT_BETWEEN(best, 0, 40 * CHIME_MILLISECOND); /* with the five ticks that are awaited, a millisecond each */
  fault_seen("%d refused: %lld us", load(&refused), (long long)best / 1000);
  store(&may_go, 1);
  for (i = 0; i < ROUNDS; i++) EXPECT_OK(chime_queue_shutdown(queues[i], PATIENCE));
  EXPECT_OK(chime_queue_shutdown(other, PATIENCE));
}

/* The thread for a queue is refused while all others have handlers that stay. Later it can be had, and whoever wants the
 * queue's first tick begins it. */
CASE(a_thread_that_can_be_had_later) {
  static int ticks;
  chime_queue_t queues[3];
  int i;
  for (i = 0; i < 2; i++) {
    REQUIRE_OK(place_make(SERIAL, NULL, &queues[i]));
    EXPECT_OK(chime_timer_after(queues[i], 0, stay, NULL, NULL, NULL));
  }
  REQUIRE(await(&staying, 2));
  store(&to_refuse, -1);
  REQUIRE_OK(place_make(SERIAL, NULL, &queues[2]));
  EXPECT(load(&refused) >= 1);
  store(&to_refuse, 0);
  sleep_ns(20 * CHIME_MILLISECOND); /* until when the system is not asked again, and more */
  EXPECT_OK(chime_timer_after(queues[2], 0, count_tick, &ticks, NULL, NULL));
  EXPECT(await(&ticks, 1));
  store(&may_go, 1);
  for (i = 0; i < 3; i++) EXPECT_OK(chime_queue_shutdown(queues[i], PATIENCE));
}

/* ---- All wait for a queue that has no thread ------------------------------------------------------------------------- */

enum { MOST_THREADS = 255 };

static chime_queue_t awaited;
static int answered, ran, ran_before;

static void wait_for_turn(const chime_tick *tick, void *context) {
  stay(tick, context);
  EXPECT_OK(chime_queue_sync(awaited, count_call, &ran, CHIME_FOREVER));
  EXPECT(load(&ran_before) >= 1); /* it has had its turn before */
  add(&answered, 1);
}

/* As many handlers as the pool has threads, each on one, wait for a queue for whose function none is left. Then all
   queues end, and so do the threads. */
CASES(all_threads_wait_for_a_queue, argument, 0, 1) {
  static chime_queue_t queues[MOST_THREADS];
  int i;
  REQUIRE_OK(place_make(SERIAL, NULL, &awaited));
  for (i = 0; i < MOST_THREADS; i++) {
    REQUIRE_OK(place_make(SERIAL, NULL, &queues[i]));
    EXPECT_OK(chime_timer_after(queues[i], 0, wait_for_turn, NULL, NULL, NULL));
  }
  REQUIRE(await(&staying, MOST_THREADS));
  if (argument == 0) EXPECT_OK(chime_queue_async(awaited, count_call, &ran_before, NULL));
  else EXPECT_OK(chime_timer_after(awaited, 0, count_tick, &ran_before, NULL, NULL));
  if (argument == 1) {
    store(&ran_before, 1); /* a tick that is due has no turn before a function of sync */
    sleep_ns(2 * CHIME_MILLISECOND);
  }
  store(&may_go, 1);
  EXPECT(await(&answered, MOST_THREADS));
  EXPECT_EQ(load(&ran), MOST_THREADS);
  for (i = 0; i < MOST_THREADS; i++) EXPECT_OK(chime_queue_shutdown(queues[i], PATIENCE));
  EXPECT_OK(chime_queue_shutdown(awaited, PATIENCE));
  EXPECT(guest_await_threads(1));
}

static int kind_of_wait;
static chime_timer_t waited_for;

static void wait_alone(const chime_tick *tick, void *context) {
  (void)tick;
  if (kind_of_wait == 0) {
    EXPECT_OK(chime_queue_async(awaited, count_call, &ran_before, NULL));
    EXPECT_OK(chime_queue_sync(awaited, count_call, &ran, CHIME_FOREVER));
  }
  if (kind_of_wait == 1) EXPECT_OK(chime_queue_shutdown(awaited, CHIME_FOREVER));
  if (kind_of_wait == 2) EXPECT_OK(chime_timer_release_and_wait(waited_for, CHIME_FOREVER));
  if (kind_of_wait == 3) {
    EXPECT_OK(chime_queue_async(awaited, count_call, &ran, count_call));
    EXPECT_OK(chime_queue_shutdown(awaited, CHIME_FOREVER));
    EXPECT(load(&ran) >= 1);
  }
  add(context, 1);
}

/* One thread is granted, and its handler waits: for a function, for the end of a queue, for a timer, for the end of a queue
   with a function; the queue is serial, or concurrent. */
CASES(the_only_thread_waits, argument, 0, 7) {
  static int finalized;
  const int is_concurrent = argument / 4;
  chime_queue_t queue;
  kind_of_wait = argument % 4;
  if (is_concurrent && kind_of_wait == 0) fault_skip("a concurrent queue takes no sync");
  store(&to_grant, 1);
  store(&to_refuse, -1);
  REQUIRE_OK(place_make(is_concurrent ? CONCURRENT : SERIAL, NULL, &awaited));
  REQUIRE_OK(place_make(SERIAL, NULL, &queue));
  EXPECT_OK(chime_timer_after(awaited, CHIME_HOUR, ignore_tick, &finalized, count_call, &waited_for));
  EXPECT_OK(chime_timer_after(queue, 0, wait_alone, &answered, NULL, NULL));
  EXPECT(await(&answered, 1));
  if (kind_of_wait == 0) EXPECT_EQ(load(&ran_before), 1);
  if (kind_of_wait == 0) EXPECT_EQ(load(&ran), 1);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  if (kind_of_wait % 2 == 0) EXPECT_OK(chime_queue_shutdown(awaited, PATIENCE));
  EXPECT_EQ(load(&finalized), 1);
}

/* ---- The turn that the waiting thread gives ends its thread ---------------------------------------------------------- */

static int by_cancellation;

static void end_thread(void *context) {
  add(context, 1);
  if (by_cancellation) {
    EXPECT_OK(pthread_cancel(pthread_self()));
    pthread_testcancel();
  } else {
    pthread_exit(NULL);
  }
}

static void wait_beside(const chime_tick *tick, void *context) {
  (void)tick;
  EXPECT_OK(chime_queue_async(awaited, end_thread, &ran_before, NULL));
  EXPECT_OK(chime_queue_sync(awaited, count_call, &ran, CHIME_FOREVER));
  add(context, 1);
}

/* One thread is granted. The main thread waits while a handler has it, or its handler waits. By pthread_exit, and by
   cancellation. */
CASES(who_waits_outlives_the_turn_that_it_gives, argument, 0, 3) {
  const int in_handler = argument % 2;
  chime_queue_t queue;
  by_cancellation = argument / 2;
  store(&to_grant, 1);
  store(&to_refuse, -1);
  REQUIRE_OK(place_make(SERIAL, NULL, &awaited));
  REQUIRE_OK(place_make(SERIAL, NULL, &queue));
  EXPECT_OK(chime_timer_after(queue, 0, in_handler ? wait_beside : stay, &answered, NULL, NULL));
  if (!in_handler) {
    EXPECT(await(&staying, 1));
    wait_beside(NULL, &answered);
    store(&may_go, 1);
  }
  EXPECT(await(&answered, 1));
  EXPECT_EQ(load(&ran_before), 1);
  EXPECT_EQ(load(&ran), 1);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  EXPECT_OK(chime_queue_shutdown(awaited, PATIENCE));
}

/* ---- The turn that the waiting thread gives forks -------------------------------------------------------------------- */

enum { TURN, ENTER, LEAVE, POINTS };

static int waits, point, child_id, is_child;

/* Nothing more is called in the child, whose only thread is the one that waits, and ends. */
static void fork_at(int here) {
  pid_t pid;
  if (load(&is_child)) _exit(10 + here);
  if (!load(&waits) || point != here || load(&child_id) != 0) return;
  pid = fork();
  if (pid == 0) alarm(PATIENCE / CHIME_SECOND);
  store(pid == 0 ? &is_child : &child_id, pid == 0 ? 1 : (int)pid);
}
static void fork_in_enter(void *context) { (void)context, fork_at(ENTER); }
static void fork_in_leave(void *context) { (void)context, fork_at(LEAVE); }
static void fork_in_turn(void *context) { (void)context, fork_at(TURN); }

static void wait_for_fork(const chime_tick *tick, void *context) {
  chime_status status;
  (void)tick;
  store(&waits, 1);
  if (kind_of_wait == 0) EXPECT_OK(chime_queue_async(awaited, count_call, &ran_before, NULL));
  if (kind_of_wait == 1) status = chime_queue_shutdown(awaited, CHIME_FOREVER);
  else status = chime_queue_sync(awaited, fork_in_turn, NULL, CHIME_FOREVER);
  if (load(&is_child)) {
    if (status != CHIME_ERROR_FORKED) _exit(9);
    return;
  }
  EXPECT_OK(status);
  add(context, 1);
}

/* Between the hooks, and in each: in a wait for a function, and for the queue's end; in a function that has its turn at once;
   in the hooks of a concurrent queue, in a wait for its end. */
CASES(the_only_thread_waits_and_forks, argument, 0, 3 * POINTS - 1) {
  const int is_concurrent = argument > 2 * POINTS;
  chime_queue_t queue;
  int status = -1;
  kind_of_wait = is_concurrent ? 1 : argument / POINTS;
  point = argument % POINTS;
  store(&to_grant, 1);
  store(&to_refuse, -1);
  awaited =
      place_queue(is_concurrent ? CONCURRENT : SERIAL, &QUEUE_OPTIONS(.enter = fork_in_enter, .leave = fork_in_leave));
  REQUIRE_OK(place_make(SERIAL, NULL, &queue));
  if (!is_concurrent) EXPECT_OK(chime_timer_after(awaited, CHIME_HOUR, ignore_tick, NULL, fork_in_turn, NULL));
  EXPECT_OK(chime_timer_after(queue, 0, wait_for_fork, &answered, NULL, NULL));
  EXPECT(await(&answered, 1));
  REQUIRE(load(&child_id) > 0);
  EXPECT_EQ(waitpid(load(&child_id), &status, 0), load(&child_id));
  EXPECT_EQ(status, 0);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}
