/*
 * run_loop.c - chime_run_loop.h: loops, their modes, running and stopping them, and queues on them. (What queues do on
 * every kind of place is tested on run loops too, in the other files.)
 *
 * Each test runs on a thread of its own, so that the calling thread's loop is nobody else's, and ends with it.
 */
#include "refusals.h"

/* ---- Ids -------------------------------------------------------------------------------------------------------- */

static void *other_threads_loop(void *argument) {
  chime_run_loop_current(argument);
  return NULL;
}

OWN_THREAD_TEST(a_thread_has_one_loop_and_no_two_threads_have_the_same) {
  chime_run_loop_t mine = 0, again = 0, others = 0, mains = 0;
  pthread_t thread;
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

OWN_THREAD_TEST(what_cannot_be_run_is_refused_at_once) { /* [1] */
  static const char *const no_modes[] = {"", CHIME_RUN_LOOP_COMMON_MODES};
  chime_run_loop_t loop = current_loop(t);
  chime_queue_t queue = UNTOUCHED;
  for (int i = 0; i < 2; i++) {
    EXPECT_STATUS(chime_run_loop_run(no_modes[i], 0, 0), CHIME_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(chime_run_loop_add_common_mode(loop, no_modes[i]), CHIME_ERROR_INVALID_ARGUMENT);
  }
  EXPECT_STATUS(chime_queue_create_on_run_loop(loop, "", NULL, &queue), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(queue, UNTOUCHED);
  EXPECT_STATUS(chime_run_loop_run("unheard of", CHIME_FOREVER, 0), CHIME_ERROR_INVALID_ARGUMENT);
  /* That did not make it known. */
  EXPECT_STATUS(chime_run_loop_run("unheard of", 0, 0), CHIME_ERROR_INVALID_ARGUMENT);
  /* Known, once something is in it, or it is a common mode. */
  EXPECT_OK(chime_queue_create_on_run_loop(loop, "heard of", NULL, &queue));
  EXPECT_STATUS(chime_run_loop_run("heard of", 0, 0), CHIME_TIMED_OUT);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  EXPECT_STATUS(chime_run_loop_run("heard of", 0, 0), CHIME_TIMED_OUT);
  EXPECT_OK(chime_run_loop_add_common_mode(loop, "common"));
  EXPECT_STATUS(chime_run_loop_run("common", 0, 0), CHIME_TIMED_OUT);
  EXPECT_STATUS(chime_run_loop_run("kCFRunLoopDefaultMode", 0, 0), CHIME_TIMED_OUT);
}

RUN_LOOP_TEST(a_run_lasts_for_its_time_or_until_the_visit_that_ticked, NULL) {
  int64_t before = monotonic_ns();
  /* Also with nothing in the mode. */
  run_for(t, NULL, 20 * CHIME_MILLISECOND);
  EXPECT_BETWEEN(monotonic_ns() - before, 20 * CHIME_MILLISECOND, PATIENCE);
  EXPECT_STATUS(chime_run_loop_run(NULL, 1, CHIME_RUN_LOOP_UNTIL_TICK), CHIME_TIMED_OUT);
  probe *first = probe_after(t, queue, "a", 0);
  probe *second = probe_after(t, queue, "b", CHIME_HOUR);
  sleep_ns(CHIME_MILLISECOND);
  EXPECT_EQ(load(&first->ticks), 0);
  run_for(t, NULL, 0); /* does what is due */
  EXPECT_EQ(load(&first->ticks), 1);
  EXPECT_STATUS(chime_run_loop_run(NULL, 0, CHIME_RUN_LOOP_UNTIL_TICK), CHIME_TIMED_OUT); /* of this run, not before */
  first = probe_after(t, queue, "c", 2 * CHIME_MILLISECOND);
  EXPECT_OK(chime_run_loop_run(NULL, CHIME_FOREVER, CHIME_RUN_LOOP_UNTIL_TICK));
  EXPECT_EQ(load(&first->ticks), 1);
  EXPECT_EQ(load(&second->ticks), 0);
}

static void count_due(const chime_tick *tick, void *context) { ++*(int *)context; }

/* By the clock, as in host.c. */
RUN_LOOP_TEST(a_run_of_no_time_runs_all_that_is_due, NULL) {
  for (int i = 0; i < csuite_scaled(500) && !csuite_failed(t); i++) {
    int ticks = 0;
    const chime_timer_options options = TIMER_OPTIONS(.handler = count_due, .context = &ticks);
    for (int j = 0; j < 2; j++) EXPECT_OK(chime_timer_start(queue, &options, AFTER(0), NULL));
    run_for(t, NULL, 0);
    EXPECT_EQ(ticks, 2);
    int64_t deadline = monotonic_ns() + 5 * CHIME_MICROSECOND;
    EXPECT_OK(chime_timer_start(queue, &options, AT(deadline), NULL));
    run_for(t, NULL, 0);
    while (monotonic_ns() < deadline) continue;
    run_for(t, NULL, 0);
    EXPECT_EQ(ticks, 3);
  }
}

/* More than a slice has: 256. */
RUN_LOOP_TEST(a_run_of_no_time_leaves_nothing_of_a_large_pass, NULL) {
  enum { TIMERS = 600 };
  int ticks = 0;
  const chime_timer_options options = TIMER_OPTIONS(.handler = count_due, .context = &ticks);
  for (int i = 0; i < TIMERS; i++) EXPECT_OK(chime_timer_start(queue, &options, AFTER(0), NULL));
  run_for(t, NULL, 0);
  EXPECT_EQ(ticks, TIMERS);
}

/* ---- Modes ------------------------------------------------------------------------------------------------------ */

#define OWN_MODE "mode \xc3\xb6" /* UTF-8 */

RUN_LOOP_TEST(a_timer_rests_while_the_loop_runs_in_another_mode, NULL) {
  chime_run_loop_t loop = current_loop(t);
  REQUIRE_OK(chime_run_loop_add_common_mode(loop, TRACKING));
  chime_queue_t common = queue_of_loop(t, loop, CHIME_RUN_LOOP_COMMON_MODES);
  probe *resting = probe_every_quietly(t, queue, 2 * CHIME_MILLISECOND);
  probe *ticking = probe_every_quietly(t, common, 2 * CHIME_MILLISECOND);
  probe *in_own = probe_after(t, queue_of_loop(t, loop, OWN_MODE), "a", 0);
  int64_t first = deadline_of(t, resting->timer);
  run_for(t, TRACKING, 30 * CHIME_MILLISECOND);
  run_until(t, TRACKING, &ticking->ticks, 1);
  EXPECT_EQ(load(&resting->ticks), 0);
  EXPECT_EQ(deadline_of(t, resting->timer), first);
  /* Back in its mode it gets one tick for all that it missed, on its grid. */
  run_for(t, NULL, 0);
  EXPECT_EQ(load(&resting->ticks), 1);
  EXPECT(resting->first.missed >= 13);
  EXPECT_EQ(resting->first.scheduled_ns, first + (int64_t)resting->first.missed * 2 * CHIME_MILLISECOND);
  run_until(t, NULL, &resting->ticks, 3);
  run_until(t, NULL, &ticking->ticks, load(&ticking->ticks) + 2);
  EXPECT_EQ(load(&in_own->ticks), 0);
  run_until(t, OWN_MODE, &in_own->ticks, 1);
}

RUN_LOOP_TEST(a_mode_becomes_common_for_timers_that_were_there_and_for_later_ones, CHIME_RUN_LOOP_COMMON_MODES) {
  chime_run_loop_t loop = current_loop(t);
  probe *before = probe_after(t, queue, "a", 0), *after;
  EXPECT_OK(chime_run_loop_add_common_mode(loop, TRACKING));
  after = probe_after(t, queue_of_loop(t, loop, CHIME_RUN_LOOP_COMMON_MODES), "b", 0);
  EXPECT_OK(chime_run_loop_add_common_mode(loop, TRACKING)); /* again changes nothing */
  run_for(t, TRACKING, 0);
  EXPECT_EQ(load(&before->ticks), 1);
  EXPECT_EQ(load(&after->ticks), 1);
}

typedef struct tracking {
  csuite *t;
  chime_run_loop_t loop;
  int begins;
} tracking;

/* What is due in the common modes is not this mode's until somebody says so. */
THREAD(run_in_a_mode, tracking, r) {
  r->loop = current_loop(t);
  queue_of_loop(t, r->loop, TRACKING);
  probe *p = probe_after(t, queue_of_loop(t, r->loop, CHIME_RUN_LOOP_COMMON_MODES), "a", 0);
  store(&r->begins, 1);
  EXPECT_OK(chime_run_loop_run(TRACKING, PATIENCE, CHIME_RUN_LOOP_UNTIL_TICK));
  EXPECT_EQ(load(&p->ticks), 1);
}

OWN_THREAD_TEST(a_mode_becomes_common_while_the_loop_waits_in_it) {
  tracking r = {.t = t};
  pthread_t thread;
  if (!spawn(t, &thread, run_in_a_mode, &r)) return;
  if (await(&r.begins, 1)) sleep_ns(20 * CHIME_MILLISECOND); /* it waits by then, most often */
  EXPECT_OK(chime_run_loop_add_common_mode(r.loop, TRACKING));
  pthread_join(thread, NULL);
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

static void stop_this_loop(csuite *t, probe *p, const chime_tick *tick) {
  EXPECT_OK(chime_run_loop_stop(*(chime_run_loop_t *)p->user));
}

/* Runs the loop until somebody stops it, and then for a while: nothing of its own queue ticks, the other's does. */
static void run_in_the_handler(csuite *t, probe *p, const chime_tick *tick) {
  if (tick->sequence > 1) return;
  EXPECT_OK(chime_timer_activate(p->other->timer, AFTER(8 * CHIME_MILLISECOND)));
  EXPECT_STATUS(chime_run_loop_run(NULL, PATIENCE, 0), CHIME_STOPPED);
  EXPECT_EQ(load(&p->other->ticks), 1);
  EXPECT_STATUS(chime_run_loop_run(NULL, 5 * CHIME_MILLISECOND, 0), CHIME_TIMED_OUT);
  EXPECT_EQ(load(&p->ticks), 1);
}

RUN_LOOP_TEST(a_run_inside_a_handler_serves_other_queues_and_a_stop_ends_the_innermost_run, NULL) {
  chime_run_loop_t loop = current_loop(t);
  probe *inner;
  probe *outer = probe_every(t, queue, "a", CHIME_MILLISECOND);
  outer->other = inner = probe_idle(t, queue_of_loop(t, loop, NULL), "b");
  outer->on_tick = run_in_the_handler;
  inner->on_tick = stop_this_loop;
  inner->user = &loop;
  EXPECT_OK(chime_run_loop_run(NULL, PATIENCE, CHIME_RUN_LOOP_UNTIL_TICK)); /* not the inner run's tick: its own */
  EXPECT_EQ(load(&outer->returned), 1);
  EXPECT_OK(chime_run_loop_run(NULL, PATIENCE, CHIME_RUN_LOOP_UNTIL_TICK));
  EXPECT_EQ(load(&outer->ticks), 2);
  EXPECT(outer->last.missed >= 5);                                /* what came due meanwhile */
  EXPECT_STATUS(chime_run_loop_run(NULL, 0, 0), CHIME_TIMED_OUT); /* no stop is left */
}

RUN_LOOP_TEST(a_run_until_a_tick_whose_handler_stops_it_was_stopped, NULL) {
  chime_run_loop_t loop = current_loop(t);
  probe *p = probe_after(t, queue, "a", 0);
  p->on_tick = stop_this_loop;
  p->user = &loop;
  EXPECT_STATUS(chime_run_loop_run(NULL, PATIENCE, CHIME_RUN_LOOP_UNTIL_TICK), CHIME_STOPPED);
  EXPECT_STATUS(chime_run_loop_run(NULL, 0, 0), CHIME_TIMED_OUT); /* no stop is left */
}

static void stop_and_run_in_the_handler(csuite *t, probe *p, const chime_tick *tick) {
  if (tick->sequence > 1) return;
  stop_this_loop(t, p, tick);
  EXPECT_STATUS(chime_run_loop_stop(*(chime_run_loop_t *)p->user), CHIME_IGNORED);
  EXPECT_STATUS(chime_run_loop_run(NULL, 5 * CHIME_MILLISECOND, 0), CHIME_TIMED_OUT);
}

RUN_LOOP_TEST(a_stop_ends_the_run_that_is_innermost_then_and_not_one_that_its_handler_begins, NULL) {
  chime_run_loop_t loop = current_loop(t);
  probe *p = probe_every(t, queue, "a", CHIME_MILLISECOND);
  p->on_tick = stop_and_run_in_the_handler;
  p->user = &loop;
  EXPECT_STATUS(chime_run_loop_run(NULL, PATIENCE, 0), CHIME_STOPPED);
  EXPECT_EQ(load(&p->ticks), 1);
  EXPECT_STATUS(chime_run_loop_run(NULL, 0, 0), CHIME_TIMED_OUT); /* no stop is left */
}

/* ---- Loops of Chime's own --------------------------------------------------------------------------------------- */

static void thread_ended(void *argument) { store((int *)argument, 1); }

/* In a function on the loop, whose probe has the loop's id, a key of its thread, and a gate that the thread's end opens. */
static void look_around(csuite *t, probe *p, const chime_tick *tick) {
  chime_run_loop_t current = 0;
  char name[32] = "";
  system_name_of_thread(name, sizeof name);
  pthread_setspecific(*(pthread_key_t *)p->user, &p->gate);
  if (name[0] != 0) EXPECT_TEXT(name, "csuite.own.loo"); /* 15 bytes would end within a character */
  EXPECT(system_blocks_signals());
  EXPECT_OK(chime_run_loop_current(&current));
  EXPECT_EQ(current, p->id);
  store(&p->flag, 1);
}

static void release_inside(csuite *t, probe *p, const chime_tick *tick) {
  look_around(t, p, tick);
  EXPECT_OK(chime_run_loop_release(p->id));
  EXPECT_STATUS(chime_run_loop_release(p->id), CHIME_ERROR_INVALID_HANDLE);
}

static void run_inside(csuite *t, probe *p, const chime_tick *tick) {
  look_around(t, p, tick);
  chime_status status = chime_run_loop_run(NULL, CHIME_FOREVER, 0);
  EXPECT(status == CHIME_OK || status == CHIME_STOPPED);
}

/* The loop's thread ends, after that action on it; what the call answers that ends it. */
static void own_loop_ends(csuite *t, probe_action action, chime_status (*end)(chime_run_loop_t loop)) {
  pthread_key_t end_of_thread;
  chime_queue_t none = UNTOUCHED;
  probe *p = probe_new(t, 0, NULL);
  p->user = &end_of_thread;
  p->on_tick = action;
  REQUIRE_OK(chime_run_loop_create(&RUN_LOOP_OPTIONS(.label = "csuite.own.loo\xc3\xa9"), &p->id));
  chime_queue_t queue = queue_of_loop(t, p->id, NULL);
  REQUIRE(queue != 0 && pthread_key_create(&end_of_thread, thread_ended) == 0);
  EXPECT_OK(chime_queue_async(queue, probe_function, p, NULL));
  EXPECT(await(&p->flag, 1));
  if (end != NULL) EXPECT_OK(end(p->id));
  EXPECT(await(&p->gate, 1));
  /* The id is stale when the thread has ended, or was released. */
  AWAIT(chime_run_loop_stop(p->id) == CHIME_ERROR_INVALID_HANDLE);
  EXPECT_STATUS(chime_run_loop_release(p->id), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_STATUS(chime_queue_create_on_run_loop(p->id, NULL, NULL, &none), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_EQ(none, UNTOUCHED);
  pthread_key_delete(end_of_thread);
}

OWN_THREAD_TEST(a_loop_of_chimes_own_runs_on_a_thread_of_its_own_until_released) {
  chime_run_loop_t unnamed = 0;
  EXPECT_OK(chime_run_loop_create(NULL, &unnamed));
  EXPECT_OK(chime_run_loop_release(unnamed));
  own_loop_ends(t, look_around, chime_run_loop_release);
}

OWN_THREAD_TEST(a_stop_ends_the_thread_of_a_loop_of_chimes_own) { own_loop_ends(t, look_around, chime_run_loop_stop); }

OWN_THREAD_TEST(a_loop_of_chimes_own_may_be_released_in_a_callback_on_it) { own_loop_ends(t, release_inside, NULL); }

/* Into that run, most often. */
static chime_status release_in_a_while(chime_run_loop_t loop) {
  sleep_ns(5 * CHIME_MILLISECOND);
  return chime_run_loop_release(loop);
}

OWN_THREAD_TEST(release_ends_the_thread_also_when_a_callback_runs_the_loop) {
  own_loop_ends(t, run_inside, release_in_a_while);
}

/* ---- Queues ----------------------------------------------------------------------------------------------------- */

/* Both are for the loop's own thread, and need no run. */
RUN_LOOP_TEST(shutdown_on_the_loops_own_thread_needs_no_run, NULL) {
  probe *p = probe_after(t, queue, "a", 0);
  int ran = 0;
  QUEUE_OR_RETURN(other, RUN_LOOP);
  EXPECT_OK(chime_queue_sync(queue, count_call, &ran, 0));
  EXPECT_STATUS(chime_queue_sync(other, count_call, &ran, PATIENCE), CHIME_ERROR_UNSUPPORTED);
  EXPECT_EQ(ran, 1);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  EXPECT_EQ(load(&p->ticks), 0);
  EXPECT_EQ(load(&p->finalized), 1);
}

/* Each wake-up is sent the moment the one before was served; no timer is there that would make up for a lost one. */
OWN_THREAD_TEST(no_wake_up_is_lost_however_it_meets_the_loop) {
  int i, rounds = csuite_scaled(100000);
  QUEUE_OR_RETURN(queue, RUN_LOOP);
  probe *p = probe_quiet(t, queue, 0, 0, NULL);
  for (i = 1; i <= rounds; i++) {
    int64_t end = monotonic_ns() + PATIENCE;
    while (load(&p->ticks) < i && monotonic_ns() < end) continue;
    REQUIRE(load(&p->ticks) == i);
    if (i < rounds) EXPECT_TOOK_EFFECT(chime_timer_restart(p->timer, AFTER(0)));
  }
}

typedef struct left_behind {
  csuite *t;
  chime_run_loop_t loop;
  probe *running, *released;
  int ran;
} left_behind;

THREAD(leave_a_queue_behind, left_behind, left) {
  chime_queue_t queue = queue_of_loop(t, left->loop = current_loop(t), NULL);
  left->running = probe_every_quietly(t, queue, CHIME_MILLISECOND);
  run_until(t, NULL, &left->running->ticks, 1);
  left->released = probe_every_quietly(t, queue, CHIME_MILLISECOND);
  EXPECT_OK(chime_timer_release(left->released->timer)); /* its finalizer waits for a run that does not come */
  EXPECT_OK(chime_queue_async(queue, count_call, &left->ran, NULL));
}

OWN_THREAD_TEST(a_queue_whose_loop_has_ended_is_ended_by_shutdown) {
  left_behind *left = csuite_memory(t, sizeof *left);
  pthread_t thread;
  left->t = t;
  if (!spawn(t, &thread, leave_a_queue_behind, left)) return;
  pthread_join(thread, NULL);
  EXPECT_STATUS(chime_run_loop_add_common_mode(left->loop, "a"), CHIME_ERROR_INVALID_HANDLE);
  int ticks = load(&left->running->ticks);
  {
    QUEUE_OR_RETURN(another, RUN_LOOP);
    let_later_ticks_come(t, another, 2 * CHIME_MILLISECOND);
  }
  EXPECT_EQ(load(&left->running->ticks), ticks);
  EXPECT_EQ(state_of(t, left->running->timer), CHIME_STATE_RUNNING);
  EXPECT_OK(chime_queue_shutdown(left->running->queue, CHIME_FOREVER));
  EXPECT_EQ(load(&left->running->finalized), 1);
  EXPECT_EQ(load(&left->released->finalized), 1);
}

/* ---- The main thread -------------------------------------------------------------------------------------------- */

static void run_loop_stop_main(void *context) {
  int *ran = context;
  chime_run_loop_t loop = 0;
  chime_run_loop_main(&loop);
  chime_run_loop_stop(loop);
  add(ran, 1);
}

/* Runs queues on it, and drains the main queue: each time until a function on the queue stops it, after which no other
   begins; or until a tick. */
TEST_ALONE(the_main_loop_runs_a_queue_of_its_own_and_the_main_queue) {
  chime_run_loop_t loop = 0;
  REQUIRE_OK(chime_run_loop_main(&loop));
  EXPECT_EQ(loop, current_loop(t));
  for (int i = 0; i < 2; i++) {
    chime_queue_t queue = 0;
    int ran = 0;
    REQUIRE_OK(i == 0 ? chime_queue_create_on_run_loop(loop, NULL, NULL, &queue)
                      : chime_queue_create_main(NULL, &queue));
    for (int j = 0; j < 3; j++) EXPECT_OK(chime_queue_async(queue, run_loop_stop_main, &ran, NULL));
    for (int j = 1; j <= 3; j++) {
      EXPECT_STATUS(chime_run_loop_run(NULL, PATIENCE, 0), CHIME_STOPPED);
      EXPECT_EQ(ran, j);
    }
    probe *p = probe_after(t, queue, NULL, CHIME_MILLISECOND);
    EXPECT_OK(chime_run_loop_run(NULL, CHIME_FOREVER, CHIME_RUN_LOOP_UNTIL_TICK));
    EXPECT_EQ(load(&p->ticks), 1);
    EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  }
  /* Two main queues have a tick that is due: each run ends with one. */
  chime_queue_t queues[2] = {0};
  probe *p[2];
  for (int i = 0; i < 2; i++) {
    REQUIRE_OK(chime_queue_create_main(NULL, &queues[i]));
    p[i] = probe_after(t, queues[i], NULL, 0);
  }
  sleep_ns(CHIME_MILLISECOND);
  for (int i = 1; i <= 2; i++) {
    EXPECT_OK(chime_run_loop_run(NULL, PATIENCE, CHIME_RUN_LOOP_UNTIL_TICK));
    EXPECT_EQ(load(&p[0]->ticks) + load(&p[1]->ticks), i);
  }
  for (int i = 0; i < 2; i++) EXPECT_OK(chime_queue_shutdown(queues[i], PATIENCE));
}
