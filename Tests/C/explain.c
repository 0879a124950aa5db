/* explain.c - chime_timer_explain and chime_queue_dump: what they say of a timer in each state, and in what room. */
#include "timeline.h"

typedef chime_status (*writer)(uint64_t id, char *text, uint64_t capacity, uint64_t *length);

static const char *text_of(csuite *t, writer write, uint64_t id) {
  enum { CAPACITY = 4096 };
  char *text = csuite_memory(t, CAPACITY);
  uint64_t length = 0;
  EXPECT_OK(write(id, text, CAPACITY, &length));
  EXPECT_EQ(length, strlen(text));
  return text;
}

#define EXPECT_EXPLAINED(timer, text) EXPECT_TEXT(text_of(t, chime_timer_explain, timer), text)

/* For sentences with a duration of real time in them, and for lines. */
#define EXPECT_EXPLAINED_WITH(timer, part) EXPECT(strstr(text_of(t, chime_timer_explain, timer), part) != NULL)
#define EXPECT_DUMPED(queue, part) EXPECT(strstr(text_of(t, chime_queue_dump, queue), part) != NULL)

static int lines_dumped(csuite *t, chime_queue_t queue) {
  int lines = 0;
  for (const char *c = text_of(t, chime_queue_dump, queue); *c != 0; c++) lines += *c == '\n';
  return lines;
}

TIMELINE(each_state_is_explained,
         "a new; a says it was never activated, and has no schedule.; a.reschedule 1500000000; "
         "a says it was never activated.; a.activate; "
         "a says it is due in 1.5 s, on a virtual clock, which somebody has to advance.; a.suspend; +10800000000000; "
         "a says it was suspended 3 h ago.; a.postpone 0; a.reschedule 1500000000; a says it was suspended 3 h ago.; "
         "a.resume; a.cancel; a says it was cancelled.; a.activate; +2000000000 | a1@10801500000000; "
         "a says it has finished: it was a one-shot.; a.restart max; a says its deadline is never.; "
         "a.restart 10/10 limit 3; +30; a says it has finished, after 3 due times.; "
         "O target; b 10/10 of O; O.release; b says its target has gone, which has cancelled it.")

/* The postponement lives on in the deadline, or in what remains of it; a hundred hours from zero. */
TIMELINE(suspended_time_is_right_under_both_policies_and_far_from_zero,
         ">360000000000000; a 1000000000/1000000000; b 1000000000/1000000000 remaining; a.postpone 4000000000; "
         "b.postpone 4000000000; a.suspend; b.suspend; >90000000000; a says it was suspended 90 s ago.; "
         "b says it was suspended 90 s ago.; a.resume; b.resume; a due 360004000000000; b due 360094000000000")

TIMELINE(
    what_is_due_names_what_it_waits_for,
    "a 10; >40; a says it was due 30 ns ago/ it comes with the next advance of its virtual queue.; a.suspend; a.fire; "
    "a says it was suspended 0 ns ago/ an extra tick or another callback has not been called yet/ it comes with the "
    "next advance of its virtual queue.; b 5000 full; "
    "b says it is due in 5 us, on a virtual clock, which somebody has to advance/ an extra tick or another callback "
    "has not been called yet/ it comes with the next advance of its virtual queue.")

/* An idle timer cannot be activated any more; a finished one neither. */
TIMELINE(
    a_target_that_is_gone_is_told_of_timers_at_rest,
    "O target; a new of O; b 1 of O; c 0/1 limit 2 of O; +10; a says it was never activated, and has no schedule.; "
    "c.fire; O.release; a.activate 0 -> TARGET_GONE; "
    "a says it was never activated, and cannot be: its target is gone.; "
    "b says it has finished: it was a one-shot, and its target is gone.; "
    "c says it has finished, after 2 due times, and its target is gone.")

static void explain_the_last_call(csuite *t, probe *p, const chime_tick *tick) {
  const char *finished = "it has finished: it was a one-shot; its handler has not returned yet";
  char with_extra[200];
  (void)tick;
  snprintf(with_extra, sizeof with_extra, "%s, and its next call waits for that.", finished);
  EXPECT_EXPLAINED(p->timer, "it has finished: it was a one-shot; its handler has not returned yet.");
  EXPECT_OK(chime_timer_fire(p->timer));
  EXPECT_EXPLAINED(p->timer, with_extra);
  EXPECT_STATUS(chime_timer_restart(p->timer, AFTER(CHIME_FOREVER)), CHIME_RUNNING);
  EXPECT_EXPLAINED(p->timer, "its deadline is never; its handler has not returned yet.");
  EXPECT_STATUS(chime_timer_suspend(p->timer), CHIME_RUNNING);
  EXPECT_EXPLAINED(p->timer, "it was suspended 0 ns ago; its handler has not returned yet.");
}

VIRTUAL_TEST(a_handler_holds_up_only_calls_that_are_to_come) {
  probe *a = probe_after(t, queue, "a", 1);
  a->on_tick = explain_the_last_call;
  ADVANCE(1);
  EXPECT_EQ(a->ticks, 1);
}

/* "Never" does not come, not even when a virtual clock has reached it. */
VIRTUAL_TEST(nothing_is_due_that_is_due_never) {
  probe *never = probe_after(t, queue, "never", CHIME_FOREVER);
  probe_idle(t, queue, "idle");
  JUMP(CHIME_FOREVER);
  EXPECT_EXPLAINED(never->timer, "its deadline is never.");
  EXPECT_DUMPED(queue, ": running, 0 ticks, 0 missed\n");
  EXPECT_DUMPED(queue, ": idle, 0 ticks, 0 missed\n");
}

/* It cannot be an extra tick: a cancelled timer has none. */
TIMELINE(
    a_cancel_handler_that_is_to_come_is_told,
    "a 1 full; +0; a.cancel; a says it was cancelled/ its cancel handler has not been called yet/ it comes with the next "
    "advance of its virtual queue.; +0; a says it was cancelled.")

static void fire_and_explain(void *context) {
  probe *p = context;
  csuite *t = p->t;
  EXPECT_OK(chime_timer_fire(p->timer));
  EXPECT_EXPLAINED_WITH(
      p->timer, "; an extra tick or another callback has not been called yet; its queue is busy, or about to call it.");
}

/* Without a running handler: for all that is known, there is nothing else on the queue. */
SERIAL_TEST(a_serial_queue_may_be_about_to_call_what_is_explained) {
  probe *p = probe_after(t, queue, "p", CHIME_HOUR);
  EXPECT_OK(chime_timer_suspend(p->timer));
  EXPECT_OK(chime_queue_sync(queue, fire_and_explain, p, CHIME_FOREVER));
  EXPECT(await(&p->ticks, 1));
}

HOST_TEST(a_host_driven_queue_says_when_it_was_processed, 0) {
  probe *p = probe_after(t, queue, "p", 0);
  EXPECT_EXPLAINED_WITH(p->timer, "it was due ");
  EXPECT_EXPLAINED_WITH(p->timer, " ago; its host-driven queue was never processed.");
  process(t, queue, 0);
  EXPECT_EXPLAINED(p->timer, "it has finished: it was a one-shot.");
  EXPECT_OK(chime_timer_activate(p->timer, NULL));
  EXPECT_EXPLAINED_WITH(p->timer, "; its host-driven queue was last processed ");
}

/* What is named, and how: Misuse. Not on a virtual clock, where a nanosecond is as good as any unit. */
HOST_TEST(a_missing_unit_is_pointed_out_below_ten_microseconds, 0) {
  const struct {
    chime_schedule schedule;
    int is_told, is_dumped;
  } cases[] = {{SCHEDULE(.first_ns = 9999), 1, 0},
               {SCHEDULE(.first_ns = 10000), 0, 0},
               {SCHEDULE(.first_ns = 0), 0, 0},
               {SCHEDULE(.first_ns = 999, .flags = CHIME_SCHEDULE_DEADLINE), 0, 0},
               {SCHEDULE(.first_ns = CHIME_SECOND, .interval_ns = 9999), 1, 1},
               {SCHEDULE(.first_ns = 1, .interval_ns = 10000), 0, 0}};
  probe *p = probe_idle(t, queue, "p");
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    EXPECT_OK(chime_timer_restart(p->timer, &cases[i].schedule));
    const char *told = strstr(text_of(t, chime_timer_explain, p->timer), "perhaps a unit is missing");
    EXPECT_EQ(told != NULL, cases[i].is_told);
    EXPECT_EQ(strstr(text_of(t, chime_queue_dump, queue), "(is a unit missing?)") != NULL, cases[i].is_dumped);
  }
}

VIRTUAL_TEST(a_dump_is_in_units_of_people) {
  const chime_schedule random =
      SCHEDULE(.first_ns = CHIME_SECOND, .interval_ns = CHIME_SECOND, .jitter_ns = 250 * CHIME_MILLISECOND);
  probe *jitters = probe_start(t, queue, "j", &random);
  EXPECT_EXPLAINED_WITH(jitters->timer,
                        ", which is its time of the grid and a random part of up to 250 ms, on a virtual clock");
  EXPECT_DUMPED(queue, ", every 1 s, jitter 250 ms, 0 ticks");
  EXPECT_OK(chime_timer_release(jitters->timer));
  EXPECT_LOG("j.");
  probe_every(t, queue, "a", 250 * CHIME_MILLISECOND);
  probe_idle(t, queue, "b");
  JUMP(1110 * CHIME_MILLISECOND);
  EXPECT_DUMPED(queue, ": 2 timers, 1 running, ");
  EXPECT_DUMPED(queue, ": running, due 860 ms ago, every 250 ms, 0 ticks, 0 missed\n");
  EXPECT_DUMPED(queue, ": idle, 0 ticks, 0 missed\n");
  ADVANCE(0);
  EXPECT_LOG("a1+3>1110000000");
  EXPECT_DUMPED(queue, ": running, due in 140 ms, every 250 ms, 1 ticks, 3 missed\n");
}

/* ---- Texts and their room ---------------------------------------------------------------------------------------- */

/* What does not fit is cut before a character, and not a byte beyond is written; the length is the whole text's. */
static void check_text(csuite *t, writer write, uint64_t id) {
  char cut[2048];
  const char *text = text_of(t, write, id);
  uint64_t length = strlen(text), again;
  EXPECT_OK(write(id, NULL, 0, &again)); /* only asks */
  EXPECT_EQ(again, length);
  for (uint64_t capacity = 1; capacity <= length + 1; capacity++) {
    memset(cut, '#', sizeof cut);
    again = 0;
    EXPECT_OK(write(id, cut, capacity, capacity % 2 == 0 ? &again : NULL));
    if (capacity % 2 == 0) EXPECT_EQ(again, length);
    REQUIRE(memchr(cut, 0, (size_t)capacity) != NULL);
    EXPECT_BETWEEN(strlen(cut), (int64_t)capacity - 4, (int64_t)capacity - 1);
    EXPECT(strncmp(cut, text, strlen(cut)) == 0);
    EXPECT_EQ(cut[capacity], '#');
  }
  EXPECT_TEXT(cut, text); /* there was room for all of it */
}

/* Labels are copied. */
TEST(a_dump_has_a_line_for_the_queue_and_one_for_each_timer) {
  char label[] = "metronome-\xe2\x8f\xb0";
  chime_queue_t queue = csuite_queue_with(t, CHIME_QUEUE_VIRTUAL, &QUEUE_OPTIONS(.label = label));
  strcpy(label, "lubdub");
  EXPECT_EQ(lines_dumped(t, queue), 1);
  EXPECT_DUMPED(queue, "metronome-\xe2\x8f\xb0");
  probe *p = probe_new(t, queue, "a");
  chime_timer_options options = probe_options(p);
  options.label = label;
  EXPECT_OK(chime_timer_create(queue, &options, &p->timer));
  strcpy(label, "beyond");
  probe_every(t, queue, "b", 1000);
  EXPECT_EQ(lines_dumped(t, queue), 3);
  EXPECT_DUMPED(queue, "lubdub");
  check_text(t, chime_queue_dump, queue);
  check_text(t, chime_timer_explain, p->timer);
}
