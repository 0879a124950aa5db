/*
 * run_loop.c - chime_run_loop.h: loops, their modes, running and stopping them, and queues on them. (What queues do on
 * every kind of place is tested on run loops too, in the other files.)
 *
 * Each test runs on a thread of its own, so that the calling thread's loop is nobody else's, and ends with it.
 */
#include "run_loop.h"

#include <signal.h>

/* ---- Ids -------------------------------------------------------------------------------------------------------- */

static void *other_threads_loop(void *argument) {
  chime_run_loop_current(argument);
  return NULL;
}

OWN_THREAD_TEST(a_thread_has_one_loop_and_no_two_threads_have_the_same) {
  chime_run_loop_t mine = 0, again = 0, others = 0, mains = 0;
  pthread_t thread;
  EXPECT_STATUS(chime_run_loop_current(NULL), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_run_loop_main(NULL), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_OK(chime_run_loop_current(&mine));
  EXPECT_OK(chime_run_loop_current(&again));
  EXPECT(mine != 0 && mine == again);
  EXPECT(mine < (UINT64_C(1) << 53));
  EXPECT_OK(chime_run_loop_main(&mains));
  EXPECT_OK(chime_run_loop_main(&again));
  EXPECT(mains != 0 && mains == again && mains != mine);
  if (!spawn(t, &thread, other_threads_loop, &others)) return;
  pthread_join(thread, NULL);
  EXPECT(others != 0 && others != mine && others != mains);
  EXPECT_STATUS(chime_run_loop_stop(others), CHIME_ERROR_INVALID_HANDLE); /* its thread has ended */
  EXPECT_STATUS(chime_run_loop_release(mine), CHIME_IGNORED);             /* not Chime's to end */
  EXPECT_STATUS(chime_run_loop_release(mains), CHIME_IGNORED);
  EXPECT_OK(chime_run_loop_release(0));
}

/* ---- Running ---------------------------------------------------------------------------------------------------- */

OWN_THREAD_TEST(what_cannot_be_run_is_refused_at_once) {
  chime_run_loop_t loop = current_loop(t);
  chime_queue_t queue = 0;
  EXPECT_STATUS(chime_run_loop_run(NULL, -1, 0), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_run_loop_run(NULL, INT64_MIN, 0), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_run_loop_run(NULL, 0, 2), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_run_loop_run(CHIME_RUN_LOOP_COMMON_MODES, 0, 0), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_run_loop_run("", 0, 0), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_run_loop_run("\xff", 0, 0), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_run_loop_run("unheard of", CHIME_FOREVER, 0), CHIME_ERROR_INVALID_ARGUMENT);
  /* That did not make it known. */
  EXPECT_STATUS(chime_run_loop_run("unheard of", 0, 0), CHIME_ERROR_INVALID_ARGUMENT);
  /* Known, once something is in it, or it is a common mode. */
  EXPECT_OK(chime_run_loop_queue_create(loop, "heard of", NULL, &queue));
  EXPECT_STATUS(chime_run_loop_run("heard of", 0, 0), CHIME_TIMED_OUT);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  EXPECT_STATUS(chime_run_loop_run("heard of", 0, 0), CHIME_TIMED_OUT);
  EXPECT_OK(chime_run_loop_add_common_mode(loop, "common"));
  EXPECT_STATUS(chime_run_loop_run("common", 0, 0), CHIME_TIMED_OUT);
  EXPECT_STATUS(chime_run_loop_run("kCFRunLoopDefaultMode", 0, 0), CHIME_TIMED_OUT);
}

OWN_THREAD_TEST(a_run_waits_for_its_timeout_also_with_nothing_in_the_mode) {
  int64_t before = monotonic_ns();
  EXPECT_STATUS(chime_run_loop_run(NULL, 20 * CHIME_MILLISECOND, 0), CHIME_TIMED_OUT);
  EXPECT_BETWEEN(monotonic_ns() - before, 20 * CHIME_MILLISECOND, PATIENCE);
  EXPECT_STATUS(chime_run_loop_run(NULL, 0, 0), CHIME_TIMED_OUT);
  EXPECT_STATUS(chime_run_loop_run(NULL, 1, CHIME_RUN_LOOP_UNTIL_TICK), CHIME_TIMED_OUT);
}

OWN_THREAD_TEST(a_run_without_time_does_what_is_due_and_nothing_else) {
  probe *due, *later;
  RUN_LOOP_QUEUE_OR_RETURN(queue, NULL);
  due = probe_after(t, queue, "a", 0);
  later = probe_after(t, queue, "b", CHIME_HOUR);
  sleep_ns(CHIME_MILLISECOND);
  EXPECT_EQ(load(&due->ticks), 0);
  EXPECT_STATUS(chime_run_loop_run(NULL, 0, 0), CHIME_TIMED_OUT);
  EXPECT_EQ(load(&due->ticks), 1);
  EXPECT_EQ(load(&later->ticks), 0);
}

OWN_THREAD_TEST(a_run_until_a_tick_ends_with_the_visit_that_ticked) {
  probe *first, *second;
  RUN_LOOP_QUEUE_OR_RETURN(queue, NULL);
  EXPECT_STATUS(chime_run_loop_run(NULL, 1, CHIME_RUN_LOOP_UNTIL_TICK), CHIME_TIMED_OUT);
  first = probe_after(t, queue, "a", 2 * CHIME_MILLISECOND);
  second = probe_after(t, queue, "b", CHIME_HOUR);
  EXPECT_OK(chime_run_loop_run(NULL, CHIME_FOREVER, CHIME_RUN_LOOP_UNTIL_TICK));
  EXPECT_EQ(load(&first->ticks), 1);
  EXPECT_EQ(load(&second->ticks), 0);
  EXPECT_STATUS(chime_run_loop_run(NULL, 0, CHIME_RUN_LOOP_UNTIL_TICK), CHIME_TIMED_OUT); /* of this run, not before */
}

/* ---- Stopping --------------------------------------------------------------------------------------------------- */

OWN_THREAD_TEST(a_stop_before_a_run_ends_that_one_and_no_other) {
  chime_run_loop_t loop = current_loop(t);
  EXPECT_OK(chime_run_loop_stop(loop));
  EXPECT_STATUS(chime_run_loop_stop(loop), CHIME_IGNORED);
  EXPECT_STATUS(chime_run_loop_run(NULL, CHIME_FOREVER, 0), CHIME_STOPPED);
  EXPECT_STATUS(chime_run_loop_run(NULL, 5 * CHIME_MILLISECOND, 0), CHIME_TIMED_OUT);
  EXPECT_OK(chime_run_loop_stop(loop)); /* now that there is a mode that was run */
  EXPECT_STATUS(chime_run_loop_run(NULL, CHIME_FOREVER, 0), CHIME_STOPPED);
  EXPECT_STATUS(chime_run_loop_run(NULL, 0, 0), CHIME_TIMED_OUT);
  /* A refused run takes no stop away. */
  EXPECT_OK(chime_run_loop_stop(loop));
  EXPECT_STATUS(chime_run_loop_run(NULL, -1, 0), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_run_loop_run(NULL, 0, 0), CHIME_STOPPED);
}

static void *stop_in_a_while(void *argument) {
  sleep_ns(5 * CHIME_MILLISECOND);
  chime_run_loop_stop(*(chime_run_loop_t *)argument);
  return NULL;
}

OWN_THREAD_TEST(another_thread_stops_a_run_in_every_mode) {
  static const char *const modes[] = {NULL, TRACKING, NULL, TRACKING};
  chime_run_loop_t loop = current_loop(t);
  size_t i;
  EXPECT_OK(chime_run_loop_add_common_mode(loop, TRACKING));
  for (i = 0; i < sizeof modes / sizeof modes[0]; i++) {
    pthread_t thread;
    if (!spawn(t, &thread, stop_in_a_while, &loop)) return;
    EXPECT_STATUS(chime_run_loop_run(modes[i], CHIME_FOREVER, 0), CHIME_STOPPED);
    pthread_join(thread, NULL);
  }
}

static void *stop_again_and_again(void *argument) {
  probe *p = argument;
  int i;
  for (i = 0; i < (int)p->number; i++) {
    while (load(&p->flag) < i) {}
    add(&p->gate, chime_run_loop_stop(*(chime_run_loop_t *)p->user) == CHIME_OK);
  }
  return NULL;
}

OWN_THREAD_TEST(no_stop_is_lost_however_it_meets_the_run) {
  chime_run_loop_t loop = current_loop(t);
  probe *p = probe_new(t, 0, "a");
  pthread_t thread;
  int i;
  p->user = &loop;
  p->number = csuite_scaled(10000);
  if (!spawn(t, &thread, stop_again_and_again, p)) return;
  for (i = 0; i < (int)p->number; i++) {
    EXPECT_STATUS(chime_run_loop_run(NULL, PATIENCE, 0), CHIME_STOPPED);
    store(&p->flag, i + 1);
  }
  pthread_join(thread, NULL);
  EXPECT_EQ(load(&p->gate), p->number);
}

/* ---- Runs in handlers ------------------------------------------------------------------------------------------- */

static void stop_this_loop(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  (void)tick;
  EXPECT_OK(chime_run_loop_stop(*(chime_run_loop_t *)p->user));
}

/* Runs the loop until somebody stops it, and then for a while: nothing of its own queue ticks, the other's does. */
static void run_in_the_handler(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  chime_schedule later = schedule_of(8 * CHIME_MILLISECOND, 0);
  if (tick->sequence > 1) return;
  EXPECT_OK(chime_timer_activate(p->other->timer, &later));
  p->status = chime_run_loop_run(NULL, PATIENCE, 0);
  EXPECT_EQ(load(&p->other->ticks), 1);
  EXPECT_STATUS(chime_run_loop_run(NULL, 5 * CHIME_MILLISECOND, 0), CHIME_TIMED_OUT);
  EXPECT_EQ(load(&p->ticks), 1);
  store(&p->flag, 1);
}

OWN_THREAD_TEST(a_run_inside_a_handler_serves_other_queues_and_a_stop_ends_the_innermost_run) {
  chime_run_loop_t loop = current_loop(t);
  chime_queue_t second;
  probe *outer, *inner;
  RUN_LOOP_QUEUE_OR_RETURN(first, NULL);
  second = queue_of_loop(t, loop, NULL);
  outer = probe_idle(t, first, "a");
  inner = probe_idle(t, second, "b");
  outer->on_tick = run_in_the_handler;
  outer->other = inner;
  inner->on_tick = stop_this_loop;
  inner->user = &loop;
  {
    chime_schedule every = schedule_of(CHIME_MILLISECOND, CHIME_MILLISECOND);
    EXPECT_OK(chime_timer_activate(outer->timer, &every));
  }
  EXPECT_OK(chime_run_loop_run(NULL, PATIENCE, CHIME_RUN_LOOP_UNTIL_TICK)); /* not the inner run's tick: its own */
  EXPECT_EQ(load(&outer->flag), 1);
  EXPECT_STATUS(outer->status, CHIME_STOPPED);
  EXPECT_OK(chime_run_loop_run(NULL, PATIENCE, CHIME_RUN_LOOP_UNTIL_TICK));
  EXPECT_EQ(load(&outer->ticks), 2);
  EXPECT(outer->last.missed >= 5);                                /* what came due meanwhile */
  EXPECT_STATUS(chime_run_loop_run(NULL, 0, 0), CHIME_TIMED_OUT); /* no stop is left */
}

/* ---- Loops of Chime's own --------------------------------------------------------------------------------------- */

typedef struct own_loop {
  csuite *t;
  chime_run_loop_t loop;
  chime_queue_t queue;
  pthread_key_t end_of_thread;
  chime_status status;
  int ended, entered, gate;
} own_loop;

static void thread_ended(void *argument) { store((int *)argument, 1); }

/* A loop with a queue; `ended` becomes 1 when its thread ends. */
static int own_loop_start(csuite *t, own_loop *l) {
  l->t = t;
  if (!EXPECT_OK(chime_run_loop_create("csuite.own", &l->loop))) return 0;
  if (!EXPECT_OK(chime_run_loop_queue_create(l->loop, NULL, NULL, &l->queue))) return 0;
  return EXPECT_EQ(pthread_key_create(&l->end_of_thread, thread_ended), 0);
}

static void own_loop_end(own_loop *l) {
  csuite *t = l->t;
  chime_status status = chime_queue_shutdown(l->queue, PATIENCE);
  EXPECT(status == CHIME_OK || status == CHIME_ERROR_INVALID_HANDLE);
  pthread_key_delete(l->end_of_thread);
}

static void look_around(void *context) {
  own_loop *l = context;
  csuite *t = l->t;
  chime_run_loop_t current = 0;
  char name[32] = "";
  sigset_t blocked;
  FILE *comm = fopen("/proc/thread-self/comm", "r");
  pthread_setspecific(l->end_of_thread, &l->ended);
  if (comm != NULL) {
    if (fgets(name, sizeof name, comm) == NULL) name[0] = 0;
    fclose(comm);
    EXPECT_TEXT(name, "csuite.own\n");
  }
  pthread_sigmask(SIG_BLOCK, NULL, &blocked);
  EXPECT(sigismember(&blocked, SIGTERM) == 1 && sigismember(&blocked, SIGALRM) == 1);
  EXPECT_OK(chime_run_loop_current(&current));
  EXPECT_EQ(current, l->loop);
  store(&l->entered, 1);
}

OWN_THREAD_TEST(a_loop_of_chimes_own_runs_on_a_thread_of_its_own_until_released) {
  own_loop *l = csuite_memory(t, sizeof *l);
  chime_run_loop_t none = 7;
  chime_queue_t queue = 7;
  EXPECT_STATUS(chime_run_loop_create("a", NULL), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_run_loop_create("\xc3", &none), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(none, 7);
  EXPECT_OK(chime_run_loop_create(NULL, &none));
  EXPECT_OK(chime_run_loop_release(none));
  if (!own_loop_start(t, l)) return;
  EXPECT_OK(chime_queue_async(l->queue, look_around, l, NULL));
  EXPECT(await(&l->entered, 1));
  EXPECT_OK(chime_run_loop_release(l->loop));
  EXPECT_STATUS(chime_run_loop_release(l->loop), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_STATUS(chime_run_loop_stop(l->loop), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_STATUS(chime_run_loop_queue_create(l->loop, NULL, NULL, &queue), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_EQ(queue, 7);
  EXPECT(await(&l->ended, 1));
  own_loop_end(l);
}

OWN_THREAD_TEST(a_stop_ends_the_thread_of_a_loop_of_chimes_own) {
  own_loop *l = csuite_memory(t, sizeof *l);
  int64_t end = monotonic_ns() + PATIENCE;
  if (!own_loop_start(t, l)) return;
  EXPECT_OK(chime_queue_async(l->queue, look_around, l, NULL));
  EXPECT(await(&l->entered, 1));
  EXPECT_OK(chime_run_loop_stop(l->loop));
  EXPECT(await(&l->ended, 1));
  while (chime_run_loop_stop(l->loop) != CHIME_ERROR_INVALID_HANDLE && monotonic_ns() < end) {
    sleep_ns(CHIME_MICROSECOND);
  }
  EXPECT_STATUS(chime_run_loop_release(l->loop), CHIME_ERROR_INVALID_HANDLE); /* stale: the thread has ended */
  own_loop_end(l);
}

static void release_inside(void *context) {
  own_loop *l = context;
  csuite *t = l->t;
  look_around(l);
  EXPECT_OK(chime_run_loop_release(l->loop));
  EXPECT_STATUS(chime_run_loop_release(l->loop), CHIME_ERROR_INVALID_HANDLE);
}

OWN_THREAD_TEST(a_loop_of_chimes_own_may_be_released_in_a_callback_on_it) {
  own_loop *l = csuite_memory(t, sizeof *l);
  if (!own_loop_start(t, l)) return;
  EXPECT_OK(chime_queue_async(l->queue, release_inside, l, NULL));
  EXPECT(await(&l->ended, 1));
  own_loop_end(l);
}

static void run_inside(void *context) {
  own_loop *l = context;
  look_around(l);
  l->status = chime_run_loop_run(NULL, CHIME_FOREVER, 0);
}

OWN_THREAD_TEST(release_ends_the_thread_also_when_a_callback_runs_the_loop) {
  own_loop *l = csuite_memory(t, sizeof *l);
  if (!own_loop_start(t, l)) return;
  EXPECT_OK(chime_queue_async(l->queue, run_inside, l, NULL));
  EXPECT(await(&l->entered, 1));
  sleep_ns(5 * CHIME_MILLISECOND); /* into the run, most often */
  EXPECT_OK(chime_run_loop_release(l->loop));
  EXPECT(await(&l->ended, 1));
  EXPECT_STATUS(l->status, CHIME_STOPPED);
  own_loop_end(l);
}

OWN_THREAD_TEST(many_loops_begin_and_end) {
  chime_schedule at_once = schedule_of(0, 0);
  int i;
  for (i = 0; i < csuite_scaled(200); i++) {
    chime_run_loop_t loop = 0;
    chime_queue_t queue = 0;
    probe *p;
    REQUIRE_OK(chime_run_loop_create("csuite.many", &loop));
    REQUIRE_OK(chime_run_loop_queue_create(loop, NULL, NULL, &queue));
    p = probe_idle(t, queue, "a");
    EXPECT_OK(chime_timer_activate(p->timer, &at_once));
    if (i % 2 == 0) EXPECT(await(&p->ticks, 1));
    EXPECT_OK(chime_run_loop_release(loop));
    EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
    EXPECT_EQ(load(&p->finalized), 1);
  }
}

/* ---- Queues ----------------------------------------------------------------------------------------------------- */

static void set_to_one(void *value) { store(value, 1); }

OWN_THREAD_TEST(sync_is_for_the_loops_own_thread_only) {
  own_loop *l = csuite_memory(t, sizeof *l);
  int ran = 0;
  RUN_LOOP_QUEUE_OR_RETURN(mine, NULL);
  EXPECT_OK(chime_queue_sync(mine, set_to_one, &ran, 0));
  EXPECT_EQ(ran, 1);
  if (!own_loop_start(t, l)) return;
  ran = 0;
  EXPECT_STATUS(chime_queue_sync(l->queue, set_to_one, &ran, PATIENCE), CHIME_ERROR_UNSUPPORTED);
  EXPECT_EQ(ran, 0);
  own_loop_end(l);
  EXPECT_OK(chime_run_loop_release(l->loop));
}

OWN_THREAD_TEST(shutdown_on_the_loops_own_thread_needs_no_run) {
  probe *p;
  RUN_LOOP_QUEUE_OR_RETURN(queue, NULL);
  p = probe_after(t, queue, "a", 0);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  EXPECT_EQ(load(&p->ticks), 0);
  EXPECT_EQ(load(&p->finalized), 1);
}

static void answer(probe *p, const chime_tick *tick) {
  (void)tick;
  store(&p->flag, 1);
}

/* Each wake-up is sent the moment the one before was served; no timer is there that would make up for a lost one. */
OWN_THREAD_TEST(no_wake_up_is_lost_however_it_meets_the_loop) {
  own_loop *l = csuite_memory(t, sizeof *l);
  int64_t slowest = 0;
  int i;
  if (!own_loop_start(t, l)) return;
  {
    probe *p = probe_idle(t, l->queue, "a");
    chime_schedule now = schedule_of(0, 0);
    p->on_tick = answer;
    for (i = 0; i < csuite_scaled(100000); i++) {
      int64_t began = monotonic_ns(), took = 0;
      store(&p->flag, 0);
      EXPECT_TOOK_EFFECT(chime_timer_restart(p->timer, &now));
      while (!load(&p->flag) && took < PATIENCE) took = monotonic_ns() - began;
      if (took > slowest) slowest = took;
      if (took >= PATIENCE) break;
    }
    EXPECT_BETWEEN(slowest, 0, PATIENCE - 1);
    EXPECT_EQ(load(&p->ticks), csuite_scaled(100000));
  }
  own_loop_end(l);
  EXPECT_OK(chime_run_loop_release(l->loop));
}

typedef struct left_behind {
  csuite *t;
  chime_run_loop_t loop;
  chime_queue_t queue;
  probe *p[3];
} left_behind;

static void *leave_a_queue_behind(void *argument) {
  left_behind *left = argument;
  csuite *t = left->t;
  EXPECT_OK(chime_run_loop_current(&left->loop));
  EXPECT_OK(chime_run_loop_queue_create(left->loop, NULL, NULL, &left->queue));
  left->p[0] = probe_every_quietly(t, left->queue, CHIME_MILLISECOND);
  EXPECT_OK(chime_run_loop_run(NULL, PATIENCE, CHIME_RUN_LOOP_UNTIL_TICK));
  left->p[1] = probe_every_quietly(t, left->queue, CHIME_HOUR);
  left->p[2] = probe_every_quietly(t, left->queue, CHIME_MILLISECOND);
  EXPECT_OK(chime_timer_release(left->p[2]->timer)); /* its finalizer waits for a run that does not come */
  EXPECT_OK(chime_queue_async(left->queue, quiet_function, left, NULL));
  return NULL;
}

OWN_THREAD_TEST(a_queue_whose_loop_has_ended_is_ended_by_shutdown) {
  left_behind *left = csuite_memory(t, sizeof *left);
  chime_queue_t none = 7;
  pthread_t thread;
  int ticks;
  left->t = t;
  if (!spawn(t, &thread, leave_a_queue_behind, left)) return;
  pthread_join(thread, NULL);
  EXPECT_STATUS(chime_run_loop_queue_create(left->loop, NULL, NULL, &none), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_STATUS(chime_run_loop_add_common_mode(left->loop, "a"), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_EQ(none, 7);
  ticks = load(&left->p[0]->ticks);
  {
    QUEUE_OR_RETURN(another, RUN_LOOP);
    let_later_ticks_come(t, another, 2 * CHIME_MILLISECOND);
  }
  EXPECT_EQ(load(&left->p[0]->ticks), ticks);
  EXPECT_EQ(state_of(t, left->p[0]->timer), CHIME_STATE_RUNNING);
  EXPECT_OK(chime_queue_shutdown(left->queue, CHIME_FOREVER));
  EXPECT_EQ(load(&left->p[0]->finalized), 1);
  EXPECT_EQ(load(&left->p[1]->finalized), 1);
  EXPECT_EQ(load(&left->p[2]->finalized), 1);
}

/* ---- The main thread -------------------------------------------------------------------------------------------- */

static void run_loop_stop_main(void *context) {
  int *ran = context;
  chime_run_loop_t loop = 0;
  chime_run_loop_main(&loop);
  chime_run_loop_stop(loop);
  add(ran, 1);
}

TEST_ALONE(the_main_loop_runs_a_queue_of_its_own) {
  chime_run_loop_t loop = 0;
  chime_queue_t queue = 0;
  int ran = 0;
  REQUIRE_OK(chime_run_loop_main(&loop));
  REQUIRE_OK(chime_run_loop_queue_create(loop, NULL, NULL, &queue));
  EXPECT_OK(chime_queue_async(queue, run_loop_stop_main, &ran, NULL));
  EXPECT_STATUS(chime_run_loop_run(NULL, PATIENCE, 0), CHIME_STOPPED);
  EXPECT_EQ(ran, 1);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}

TEST_ALONE(running_the_main_loop_drains_the_main_queue) {
  chime_run_loop_t mine = 0, mains = 0;
  chime_queue_t queue = 0;
  int ran = 0;
  if (csuite_skips_without_dispatch(t)) return;
  EXPECT_OK(chime_run_loop_current(&mine));
  EXPECT_OK(chime_run_loop_main(&mains));
  EXPECT_EQ(mine, mains);
  REQUIRE_OK(chime_queue_main(NULL, &queue));
  EXPECT_OK(chime_queue_async(queue, run_loop_stop_main, &ran, NULL));
  EXPECT_STATUS(chime_run_loop_run(NULL, PATIENCE, 0), CHIME_STOPPED);
  EXPECT_EQ(ran, 1);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}
