/* explain.c - chime_timer_explain: what it says of a timer in each state. */
#include "harness.h"

static const char *explanation(csuite *t, chime_timer_t timer) {
  char *text = csuite_memory(t, 400);
  uint64_t length = 0;
  EXPECT_OK(chime_timer_explain(timer, text, 400, &length));
  EXPECT_EQ(length, strlen(text));
  return text;
}

#define EXPECT_EXPLAINED(timer, text) EXPECT_TEXT(explanation(t, timer), text)

/* For sentences with a duration of real time in them. */
#define EXPECT_EXPLAINED_WITH(timer, part) EXPECT(strstr(explanation(t, timer), part) != NULL)

TEST(each_state_is_explained) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  chime_schedule schedule = schedule_of(1500 * CHIME_MILLISECOND, 0);
  probe *a = probe_idle(t, queue, "a");
  EXPECT_EXPLAINED(a->timer, "it was never activated, and has no schedule.");
  EXPECT_OK(chime_timer_reschedule(a->timer, &schedule));
  EXPECT_EXPLAINED(a->timer, "it was never activated.");
  EXPECT_OK(chime_timer_activate(a->timer, NULL));
  EXPECT_EXPLAINED(a->timer, "it is due in 1.5 s, on a virtual clock, which somebody has to advance.");
  EXPECT_OK(chime_timer_suspend(a->timer));
  EXPECT_OK(chime_queue_advance(queue, 3 * CHIME_HOUR));
  EXPECT_EXPLAINED(a->timer, "it was suspended 3 h ago.");
  EXPECT_OK(chime_timer_postpone(a->timer, 0));
  EXPECT_EXPLAINED(a->timer, "it was suspended 3 h ago.");
  EXPECT_OK(chime_timer_reschedule(a->timer, &schedule));
  EXPECT_EXPLAINED(a->timer, "it was suspended 3 h ago.");
  EXPECT_OK(chime_timer_resume(a->timer));
  EXPECT_OK(chime_timer_cancel(a->timer));
  EXPECT_EXPLAINED(a->timer, "it was cancelled.");
  EXPECT_OK(chime_timer_activate(a->timer, NULL));
  EXPECT_OK(chime_queue_advance(queue, 2 * CHIME_SECOND));
  EXPECT_EXPLAINED(a->timer, "it has finished: it was a one-shot.");
  schedule = schedule_of(CHIME_FOREVER, 0);
  EXPECT_OK(chime_timer_restart(a->timer, &schedule));
  EXPECT_EXPLAINED(a->timer, "its deadline is never.");
  schedule = schedule_of(10, 10);
  schedule.tick_limit = 3;
  EXPECT_OK(chime_timer_restart(a->timer, &schedule));
  EXPECT_OK(chime_queue_advance(queue, 30));
  EXPECT_EXPLAINED(a->timer, "it has finished, after 3 due times.");
}

TEST(suspended_time_is_right_under_both_policies_and_far_from_zero) {
  int policy;
  for (policy = 0; policy < 2; policy++) {
    QUEUE_OR_RETURN(queue, VIRTUAL);
    chime_schedule schedule = schedule_of(CHIME_SECOND, CHIME_SECOND);
    probe *a;
    schedule.resume_policy = policy;
    EXPECT_OK(chime_queue_jump(queue, 100 * CHIME_HOUR));
    a = probe_start(t, queue, "a", &schedule);
    EXPECT_OK(chime_timer_postpone(a->timer, 4 * CHIME_SECOND));
    EXPECT_OK(chime_timer_suspend(a->timer));
    EXPECT_OK(chime_queue_jump(queue, 90 * CHIME_SECOND));
    EXPECT_EXPLAINED(a->timer, "it was suspended 90 s ago.");
    EXPECT_OK(chime_timer_resume(a->timer));
    /* The postponement lives on in the deadline, or in what remains of it. */
    if (policy == CHIME_RESUME_REMAINING) EXPECT_EQ(deadline_of(t, a->timer) - now_of(t, queue), 4 * CHIME_SECOND);
    if (policy == CHIME_RESUME_COALESCE) EXPECT_EQ(now_of(t, queue) - deadline_of(t, a->timer), 86 * CHIME_SECOND);
  }
}

TEST(what_is_due_names_what_it_waits_for) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *a = probe_after(t, queue, "a", 10);
  EXPECT_OK(chime_queue_jump(queue, 40));
  EXPECT_EXPLAINED(a->timer, "it was due 30 ns ago; it comes with the next advance of its virtual queue.");
  EXPECT_OK(chime_timer_suspend(a->timer));
  EXPECT_OK(chime_timer_fire(a->timer));
  EXPECT_EXPLAINED(a->timer, "it was suspended 0 ns ago; an extra tick was asked for; it comes with the next advance "
                             "of its virtual queue.");
}

TEST(a_host_driven_queue_says_when_it_was_processed) {
  QUEUE_OR_RETURN(queue, HOST);
  chime_queue_t own = 0;
  chime_timer_t timer = 0;
  probe *p = probe_new(t, queue, "p");
  chime_timer_options options = probe_options(p);
  chime_schedule schedule = schedule_of(0, 0);
  /* One that no helper of the suite drives. */
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_HOST, NULL, &own));
  csuite_ends(t, own, PATIENCE);
  REQUIRE_OK(chime_timer_start(own, &options, &schedule, &timer));
  EXPECT_EXPLAINED_WITH(timer, "it was due ");
  EXPECT_EXPLAINED_WITH(timer, " ago; its host-driven queue was never processed.");
  EXPECT_OK(chime_queue_process(own, 0, NULL));
  EXPECT_EXPLAINED(timer, "it has finished: it was a one-shot.");
  EXPECT_OK(chime_timer_activate(timer, NULL));
  EXPECT_EXPLAINED_WITH(timer, "; its host-driven queue was last processed ");
}

static void explain_yourself(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  (void)tick;
  EXPECT_EXPLAINED_WITH(p->timer, "; its handler has not returned yet, and its next call waits for that.");
}

TEST(inside_its_handler_a_timer_says_so) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *a = probe_every(t, queue, "a", 10);
  a->on_tick = explain_yourself;
  EXPECT_OK(chime_queue_advance(queue, 20));
  EXPECT_EQ(a->ticks, 2);
}

TEST(the_handler_that_holds_up_a_serial_queue_is_named) {
  QUEUE_OR_RETURN(queue, SERIAL);
  chime_schedule schedule = schedule_of(0, 0);
  probe *slow = probe_new(t, queue, "slow"), *late;
  chime_timer_options options = probe_options(slow);
  char expected[100];
  options.label = "slow one";
  slow->on_tick = stay_until_gate_opens;
  REQUIRE_OK(chime_timer_start(queue, &options, &schedule, &slow->timer));
  if (!EXPECT(await(&slow->flag, 1))) return;
  late = probe_after(t, queue, "late", 0);
  snprintf(expected, sizeof expected, "; the handler of timer %" PRIu64 " \"slow one\" runs on its queue.",
           slow->timer);
  EXPECT_EXPLAINED_WITH(late->timer, expected);
  open_gate(slow);
  EXPECT(await(&late->ticks, 1));
}

TEST(a_main_queue_that_nobody_drains_is_told_of) {
  chime_queue_t queue = 0;
  chime_timer_t timer = 0;
  chime_status status;
  probe *p;
  if (csuite_skips_without_dispatch(t)) return;
  status = chime_queue_main(NULL, &queue);
  if (status == CHIME_ERROR_UNSUPPORTED) {
    csuite_skip(t, "libdispatch was loaded by another thread than the main one");
    return;
  }
  REQUIRE_OK(status);
  csuite_ends(t, queue, CHIME_SECOND);
  p = probe_new(t, queue, "p");
  REQUIRE_OK(chime_timer_after(queue, 0, probe_handler, p, NULL, &timer));
  sleep_ns(CHIME_MILLISECOND);
  if (load(&p->ticks) == 0) /* Foundation's main run loop drains it in a Swift test */
    EXPECT_EXPLAINED_WITH(timer, " ago; its main queue is not drained: chime_main_run does not run.");
}

TEST(a_target_that_has_gone_is_the_reason) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_new(t, queue, "p");
  chime_timer_options options = probe_options(p);
  chime_schedule schedule = schedule_of(10, 10);
  REQUIRE_OK(chime_target_create(p, NULL, &options.target));
  REQUIRE_OK(chime_timer_start(queue, &options, &schedule, &p->timer));
  EXPECT_OK(chime_target_release(options.target));
  EXPECT_EXPLAINED(p->timer, "its target has gone, which has cancelled it.");
}

TEST(explanations_are_cut_and_measured) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *a = probe_after(t, queue, "a", 10);
  char text[8] = "xxxxxxx";
  uint64_t length = 0;
  EXPECT_OK(chime_timer_cancel(a->timer));
  EXPECT_OK(chime_timer_explain(a->timer, NULL, 0, &length));
  EXPECT_EQ(length, strlen("it was cancelled."));
  EXPECT_OK(chime_timer_explain(a->timer, text, 7, NULL));
  EXPECT_TEXT(text, "it was");
  EXPECT_STATUS(chime_timer_explain(a->timer, NULL, 1, &length), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_OK(chime_timer_release(a->timer));
  EXPECT_STATUS(chime_timer_explain(a->timer, text, 7, &length), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_TEXT(text, "it was");
}

static void fall_behind(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  char text[400];
  if (tick->sequence > 1) return;
  EXPECT_OK(chime_queue_jump(p->queue, 35));
  EXPECT_EXPLAINED(p->timer,
                   "it was due 25 ns ago; its handler has not returned yet, and its next call waits for that; "
                   "2 missed while its handler runs.");
  EXPECT_OK(chime_queue_dump(p->queue, text, sizeof text, NULL));
  EXPECT(strstr(text, ": running, due 25 ns ago, every 10 ns, 1 ticks, 0 missed, 2 missed while its handler runs\n") !=
         NULL);
}

TEST(what_is_missed_while_the_handler_runs_is_told) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *a = probe_every(t, queue, "a", 10);
  a->on_tick = fall_behind;
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_EQ(a->missed, 2); /* and so it comes */
}

TEST(a_dump_is_in_units_of_people) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *a = probe_every(t, queue, "a", 250 * CHIME_MILLISECOND), *b = probe_idle(t, queue, "b");
  char text[600];
  EXPECT_OK(chime_queue_jump(queue, 1110 * CHIME_MILLISECOND));
  EXPECT_OK(chime_queue_dump(queue, text, sizeof text, NULL));
  EXPECT(strstr(text, ": 2 timers, 1 running, ") != NULL);
  EXPECT(strstr(text, ": running, due 860 ms ago, every 250 ms, 0 ticks, 0 missed\n") != NULL);
  EXPECT(strstr(text, ": idle, 0 ticks, 0 missed\n") != NULL);
  EXPECT_OK(chime_timer_release(b->timer));
  EXPECT_OK(chime_queue_advance(queue, 0));
  EXPECT_EQ(a->missed, 3);
  EXPECT_LOG("b. a1+3>1110000000");
  EXPECT_OK(chime_queue_dump(queue, text, sizeof text, NULL));
  EXPECT(strstr(text, ": running, due in 140 ms, every 250 ms, 1 ticks, 3 missed\n") != NULL);
}
