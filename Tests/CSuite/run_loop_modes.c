/* run_loop_modes.c - queues on run loops tick in the modes that they were made for, and tell what they missed in others. */
#include "run_loop.h"

/* Each due time from the first tick's on was delivered or counted as missed. */
static void expect_on_its_grid(csuite *t, const probe *p, int64_t interval_ns) {
  int64_t due = load(&p->ticks) + p->missed;
  EXPECT_EQ(p->last.scheduled_ns, p->first.scheduled_ns + (due - 1 - (int64_t)p->first.missed) * interval_ns);
}

/* Runs for 30 ms, each time to the end, until the probe has so many ticks. */
static void run_beyond(csuite *t, const char *mode, const probe *p, int ticks) {
  int64_t end = monotonic_ns() + PATIENCE;
  do {
    EXPECT_STATUS(chime_run_loop_run(mode, 30 * CHIME_MILLISECOND, 0), CHIME_TIMED_OUT);
  } while (load(&p->ticks) < ticks && EXPECT(monotonic_ns() < end));
}

OWN_THREAD_TEST(a_tick_alone_does_not_end_a_run) {
  probe *p;
  RUN_LOOP_QUEUE_OR_RETURN(queue, NULL);
  p = probe_every_quietly(t, queue, 2 * CHIME_MILLISECOND);
  run_beyond(t, NULL, p, 1);
  expect_on_its_grid(t, p, 2 * CHIME_MILLISECOND);
}

OWN_THREAD_TEST(a_timer_of_the_default_mode_rests_while_the_loop_runs_in_another) {
  chime_run_loop_t loop = current_loop(t);
  chime_queue_t common;
  probe *resting, *ticking;
  int64_t first;
  RUN_LOOP_QUEUE_OR_RETURN(queue, NULL);
  REQUIRE_OK(chime_run_loop_add_common_mode(loop, TRACKING));
  common = queue_of_loop(t, loop, CHIME_RUN_LOOP_COMMON_MODES);
  resting = probe_every_quietly(t, queue, 2 * CHIME_MILLISECOND);
  ticking = probe_every_quietly(t, common, 2 * CHIME_MILLISECOND);
  first = deadline_of(t, resting->timer);
  run_beyond(t, TRACKING, ticking, 1);
  EXPECT_EQ(load(&resting->ticks), 0);
  EXPECT_EQ(deadline_of(t, resting->timer), first);
  /* Back in its mode it gets one tick for all that it missed, then its grid. */
  EXPECT_STATUS(chime_run_loop_run(NULL, 0, 0), CHIME_TIMED_OUT);
  EXPECT_EQ(load(&resting->ticks), 1);
  EXPECT(resting->first.missed >= 13);
  EXPECT_EQ(resting->first.scheduled_ns, first + (int64_t)resting->first.missed * 2 * CHIME_MILLISECOND);
  run_beyond(t, NULL, resting, 2);
  expect_on_its_grid(t, resting, 2 * CHIME_MILLISECOND);
  expect_on_its_grid(t, ticking, 2 * CHIME_MILLISECOND);
}

OWN_THREAD_TEST(a_queue_in_a_mode_of_the_callers_own_ticks_only_there) {
  chime_run_loop_t loop = current_loop(t);
  chime_queue_t own = 0;
  probe *p;
  EXPECT_STATUS(chime_run_loop_queue_create(loop, "", NULL, &own), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_run_loop_queue_create(loop, "\xfe", NULL, &own), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_run_loop_queue_create(loop, NULL, NULL, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  {
    chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
    options.size = 3;
    EXPECT_STATUS(chime_run_loop_queue_create(loop, NULL, &options, &own), CHIME_ERROR_INVALID_ARGUMENT);
  }
  EXPECT_EQ(own, 0);
  REQUIRE_OK(chime_run_loop_queue_create(loop,
                                         "m\xc3\xb6"
                                         "de",
                                         NULL, &own)); /* UTF-8 */
  csuite_ends(t, own, PATIENCE);
  p = probe_after(t, own, "a", 0);
  EXPECT_STATUS(chime_run_loop_run(NULL, 5 * CHIME_MILLISECOND, 0), CHIME_TIMED_OUT);
  EXPECT_EQ(load(&p->ticks), 0);
  EXPECT_OK(chime_run_loop_run("m\xc3\xb6"
                               "de",
                               PATIENCE, CHIME_RUN_LOOP_UNTIL_TICK));
  EXPECT_EQ(load(&p->ticks), 1);
}

OWN_THREAD_TEST(a_mode_becomes_common_for_timers_that_were_there_and_for_later_ones) {
  chime_run_loop_t loop = current_loop(t);
  chime_queue_t queues[2] = {0, 0};
  probe *p[2];
  int i;
  EXPECT_STATUS(chime_run_loop_add_common_mode(loop, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_run_loop_add_common_mode(loop, ""), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_run_loop_add_common_mode(loop, "\xff"), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_run_loop_add_common_mode(loop, CHIME_RUN_LOOP_COMMON_MODES), CHIME_ERROR_INVALID_ARGUMENT);
  for (i = 0; i < 2; i++) {
    REQUIRE_OK(chime_run_loop_queue_create(loop, CHIME_RUN_LOOP_COMMON_MODES, NULL, &queues[i]));
    csuite_ends(t, queues[i], PATIENCE);
    p[i] = probe_after(t, queues[i], "a", 0);
    if (i == 0) EXPECT_OK(chime_run_loop_add_common_mode(loop, TRACKING));
  }
  EXPECT_OK(chime_run_loop_add_common_mode(loop, TRACKING)); /* again changes nothing */
  EXPECT_STATUS(chime_run_loop_run(TRACKING, 0, 0), CHIME_TIMED_OUT);
  EXPECT_EQ(load(&p[0]->ticks), 1);
  EXPECT_EQ(load(&p[1]->ticks), 1);
}

OWN_THREAD_TEST(the_main_threads_loop_takes_modes_and_queues_from_any_thread) {
  chime_run_loop_t loop = 0;
  chime_queue_t queue = 0;
  probe *p;
  REQUIRE_OK(chime_run_loop_main(&loop));
  EXPECT_OK(chime_run_loop_add_common_mode(loop, "csuite.common"));
  REQUIRE_OK(chime_run_loop_queue_create(loop, "csuite.never", NULL, &queue));
  p = probe_after(t, queue, "a", 0);
  EXPECT_OK(chime_queue_shutdown(queue, CHIME_MILLISECOND)); /* what is left is delivered here */
  EXPECT_EQ(load(&p->ticks), 0);
  EXPECT_EQ(load(&p->finalized), 1);
}
