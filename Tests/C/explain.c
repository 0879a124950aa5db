/* explain.c - chime_timer_explain and chime_queue_dump: what they say of a timer in each state, and in what room. */
#include "run_loop.h"

typedef chime_status (*writer)(uint64_t id, char *text, size_t capacity, size_t *length);

static const char *text_of(csuite *t, writer write, uint64_t id) {
  enum { CAPACITY = 16384 };
  char *text = csuite_memory(t, CAPACITY);
  size_t length = 0;
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

VIRTUAL_TEST(each_state_is_explained) {
  const chime_schedule soon = *AFTER(1500 * CHIME_MILLISECOND);
  probe *o = probe_target(t, "o"), *p = probe_idle(t, queue, NULL), *user = probe_new(t, queue, NULL);
  EXPECT_EXPLAINED(p->timer, "it was never activated, and has no schedule.");
  EXPECT_OK(chime_timer_reschedule(p->timer, &soon));
  EXPECT_EXPLAINED(p->timer, "it was never activated.");
  EXPECT_OK(chime_timer_activate(p->timer, NULL));
  EXPECT_EXPLAINED(p->timer, "it is due in 1.5 s, on a virtual clock, which somebody has to advance.");
  EXPECT_OK(chime_timer_suspend(p->timer));
  ADVANCE(3 * CHIME_HOUR);
  EXPECT_OK(chime_timer_reschedule(p->timer, &soon));
  EXPECT_EXPLAINED(p->timer, "it was suspended 3 h ago.");
  EXPECT_OK(chime_timer_cancel(p->timer));
  EXPECT_EXPLAINED(p->timer, "it was cancelled.");
  EXPECT_OK(chime_timer_activate(p->timer, NULL));
  ADVANCE(2 * CHIME_SECOND);
  EXPECT_EXPLAINED(p->timer, "it has finished: it was a one-shot.");
  EXPECT_OK(chime_timer_restart_after(p->timer, CHIME_FOREVER));
  EXPECT_EXPLAINED(p->timer, "its deadline is never.");
  EXPECT_OK(chime_timer_restart(p->timer, &SCHEDULE(.first_ns = 10, .interval_ns = 10, .tick_limit = 3)));
  ADVANCE(30);
  EXPECT_EXPLAINED(p->timer, "it has finished, after 3 due times.");
  user->target = o;
  chime_timer_options options = probe_options(user);
  options.finalizer = NULL; /* of two timers */
  EXPECT_OK(chime_timer_start(queue, &options, EVERY(10, 10), &user->timer));
  EXPECT_OK(chime_timer_create(queue, &options, &p->timer));
  EXPECT_TOOK_EFFECT(chime_target_release(o->id));
  EXPECT_EXPLAINED(user->timer, "its target has gone, which has cancelled it.");
  EXPECT_STATUS(chime_timer_activate(p->timer, &soon), CHIME_ERROR_TARGET_GONE);
  EXPECT_EXPLAINED(p->timer, "it was never activated, and cannot be: its target is gone.");
  /* An extra tick does not come without the target. */
  user = probe_new(t, queue, NULL);
  user->target = o = probe_target(t, "o");
  options = probe_options(user);
  options.finalizer = NULL;
  EXPECT_OK(chime_timer_start(queue, &options, AFTER(0), &user->timer));
  ADVANCE(0);
  EXPECT_OK(chime_timer_fire(user->timer));
  EXPECT_TOOK_EFFECT(chime_target_release(o->id));
  EXPECT_EXPLAINED(user->timer, "it has finished: it was a one-shot, and its target is gone.");
}

/* The postponement lives on in the deadline, or in what remains of it; a hundred hours from zero. */
VIRTUAL_TEST(suspended_time_is_right_under_both_policies_and_far_from_zero) {
  const int64_t begin = 100 * CHIME_HOUR;
  JUMP(begin);
  for (chime_resume_policy policy = CHIME_RESUME_COALESCE; policy <= CHIME_RESUME_REMAINING; policy++) {
    int64_t now = now_of(t, queue);
    probe *p = probe_start(t, queue, NULL,
                           &SCHEDULE(.first_ns = CHIME_SECOND, .interval_ns = CHIME_SECOND, .resume_policy = policy));
    EXPECT_OK(chime_timer_postpone(p->timer, 4 * CHIME_SECOND));
    EXPECT_OK(chime_timer_suspend(p->timer));
    JUMP(90 * CHIME_SECOND);
    EXPECT_EXPLAINED(p->timer, "it was suspended 90 s ago.");
    EXPECT_OK(chime_timer_resume(p->timer));
    EXPECT_EQ(deadline_of(t, p->timer) - now, (policy == CHIME_RESUME_REMAINING ? 94 : 4) * CHIME_SECOND);
  }
}

VIRTUAL_TEST(what_is_due_names_what_it_waits_for) {
#define NEXT_ADVANCE "it comes with the next advance of its virtual queue."
#define NOT_CALLED "an extra tick or another callback has not been called yet; " NEXT_ADVANCE
  probe *p = probe_after(t, queue, NULL, 10);
  JUMP(40);
  EXPECT_EXPLAINED(p->timer, "it was due 30 ns ago; " NEXT_ADVANCE);
  EXPECT_OK(chime_timer_suspend(p->timer));
  EXPECT_OK(chime_timer_fire(p->timer));
  EXPECT_EXPLAINED(p->timer, "it was suspended 0 ns ago; " NOT_CALLED);
  p = probe_start_full(t, queue, NULL, AFTER(5000));
  EXPECT_EXPLAINED(p->timer, "it is due in 5 us, on a virtual clock, which somebody has to advance; " NOT_CALLED);
  ADVANCE(0);
  /* It cannot be an extra tick: a cancelled timer has none. */
  EXPECT_OK(chime_timer_cancel(p->timer));
  EXPECT_EXPLAINED(p->timer, "it was cancelled; its cancel handler has not been called yet; " NEXT_ADVANCE);
}

static void explain_the_other_mode(csuite *t, probe *p, const chime_tick *tick) {
  EXPECT_EXPLAINED_WITH(p->other->timer, " ago; its run loop is in mode tracking, and not in kCFRunLoopDefaultMode.");
}

RUN_LOOP_TEST(a_run_loop_says_whether_it_runs_and_in_which_mode, NULL) {
  chime_queue_t tracking = queue_of_loop(t, current_loop(t), TRACKING);
  probe *p = probe_after(t, queue, NULL, 0), *other = probe_after(t, tracking, NULL, 0);
  EXPECT_EXPLAINED_WITH(p->timer, " ago; its run loop does not run.");
  other->other = p;
  other->on_tick = explain_the_other_mode;
  run_for(t, TRACKING, 0);
  EXPECT_EQ(load(&other->ticks), 1);
  run_for(t, NULL, 0);
}

static void explain_the_last_call(csuite *t, probe *p, const chime_tick *tick) {
#define BUSY "its handler has not returned yet"
  EXPECT_EXPLAINED(p->timer, "it has finished: it was a one-shot; " BUSY ".");
  EXPECT_OK(chime_timer_fire(p->timer));
  EXPECT_EXPLAINED(p->timer, "it has finished: it was a one-shot; " BUSY ", and its next call waits for that.");
  EXPECT_STATUS(chime_timer_suspend(p->timer), CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_restart(p->timer, AFTER(CHIME_FOREVER)), CHIME_RUNNING);
  EXPECT_EXPLAINED(p->timer, "its deadline is never; " BUSY ".");
}

VIRTUAL_TEST(a_handler_holds_up_only_calls_that_are_to_come) {
  probe_after(t, queue, "a", 1)->on_tick = explain_the_last_call;
  ADVANCE(1);
  EXPECT_LOG("a1@1");
}

/* Due times that pass in a handler. The first of them is for the next tick, which is not missed. */
static const struct {
  int64_t interval, jump;
  uint64_t tick_limit;
  chime_missed_policy policy;
  int missed;
} passing[] = {{10, 0, 0, CHIME_MISSED_COALESCE, 0},  {10, 9, 0, CHIME_MISSED_COALESCE, 0},
               {10, 19, 0, CHIME_MISSED_COALESCE, 0}, {10, 20, 0, CHIME_MISSED_COALESCE, 1},
               {10, 57, 0, CHIME_MISSED_COALESCE, 4}, {10, 57, 4, CHIME_MISSED_COALESCE, 2},
               {10, 57, 1, CHIME_MISSED_COALESCE, 0}, {10, 57, 0, CHIME_MISSED_DELAY, 0}};

static void let_due_times_pass(csuite *t, probe *p, const chime_tick *tick) {
  char missed[80] = "", in_dump[80] = ", its handler runs";
  if (tick->sequence > 1) return;
  EXPECT_OK(chime_queue_jump(p->queue, passing[p->number].jump));
  if (passing[p->number].missed > 0) {
    snprintf(missed, sizeof missed, "; %d missed while its handler runs.", passing[p->number].missed);
    snprintf(in_dump, sizeof in_dump, ", 1 ticks, 0 missed, %d missed while its handler runs\n",
             passing[p->number].missed);
  }
  const char *told = strstr(text_of(t, chime_timer_explain, p->timer), " missed");
  EXPECT_EQ(told != NULL, passing[p->number].missed > 0);
  EXPECT_EXPLAINED_WITH(p->timer, missed);
  EXPECT_DUMPED(p->queue, in_dump);
}

VIRTUAL_TEST(due_times_that_pass_in_a_handler_are_counted_but_for_the_next_ticks) {
  for (size_t i = 0; i < sizeof passing / sizeof passing[0]; i++) {
    probe *p = probe_idle(t, queue, NULL);
    p->on_tick = let_due_times_pass;
    p->number = (int64_t)i;
    EXPECT_OK(chime_timer_activate(p->timer,
                                   &SCHEDULE(.first_ns = 10, .interval_ns = passing[i].interval,
                                             .tick_limit = passing[i].tick_limit, .missed_policy = passing[i].policy)));
    ADVANCE(10);
    if (passing[i].jump >= 20 && passing[i].policy == CHIME_MISSED_COALESCE && passing[i].tick_limit != 1) {
      EXPECT_EQ(p->last.missed, passing[i].missed); /* as the next tick says */
    }
    EXPECT_OK(chime_timer_release(p->timer));
  }
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
  size_t length = strlen(text), again;
  EXPECT_OK(write(id, NULL, 0, &again)); /* only asks */
  EXPECT_EQ(again, length);
  for (size_t capacity = 1; capacity <= length + 1; capacity++) {
    memset(cut, '#', sizeof cut);
    again = 0;
    EXPECT_OK(write(id, cut, capacity, capacity % 2 == 0 ? &again : NULL));
    if (capacity % 2 == 0) EXPECT_EQ(again, length);
    REQUIRE(memchr(cut, 0, (size_t)capacity) != NULL);
    size_t end = capacity - 1;
    while ((text[end] & 0xc0) == 0x80) end--; /* it begins before, and does not fit */
    EXPECT_EQ(strlen(cut), end);
    EXPECT(strncmp(cut, text, strlen(cut)) == 0);
    EXPECT_EQ(cut[capacity], '#');
  }
  EXPECT_TEXT(cut, text); /* there was room for all of it */
}

/* Labels are copied, and what would end a line in them is a number. */
TEST(a_dump_has_a_line_for_the_queue_and_one_for_each_timer) {
  char label[] = "metronome\n\xe2\x8f\xb0";
  chime_queue_t queue = csuite_queue_with(t, CHIME_QUEUE_VIRTUAL, &QUEUE_OPTIONS(.label = label));
  strcpy(label, "lub\ndub");
  EXPECT_EQ(lines_dumped(t, queue), 1);
  EXPECT_DUMPED(queue, "metronome\\u000a\xe2\x8f\xb0");
  probe *p = probe_new(t, queue, "a");
  chime_timer_options options = probe_options(p);
  options.label = label;
  EXPECT_OK(chime_timer_create(queue, &options, &p->timer));
  strcpy(label, "beyond");
  probe_every(t, queue, "b", 1000);
  EXPECT_EQ(lines_dumped(t, queue), 3);
  EXPECT_DUMPED(queue, "lub\\u000adub");
  check_text(t, chime_queue_dump, queue);
  check_text(t, chime_timer_explain, p->timer);
}

/* ---- Labels that a terminal would obey ----------------------------------------------------------------------------- */

typedef struct characters {
  int first, last;
} characters;

/* All that are written as a number: control characters, DEL and C1 among them; of no width or image; of writing direction;
   separators of lines; tags; what is no character. */
static const characters hidden[] = {
    {1, 0x1f},          {0x7f, 0x9f},       {0xad, 0xad},       {0x34f, 0x34f},      {0x61c, 0x61c},   {0x115f, 0x1160},
    {0x17b4, 0x17b5},   {0x180e, 0x180e},   {0x200b, 0x200b},   {0x200e, 0x200f},    {0x2028, 0x202e}, {0x2060, 0x206f},
    {0x2800, 0x2800},   {0x3164, 0x3164},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},    {0xfff9, 0xfffb}, {0xfffd, 0xffff},
    {0x1d173, 0x1d17a}, {0x1fffe, 0x1ffff}, {0xe0000, 0xe007f}, {0x10fffe, 0x10ffff}};
/* Beside them, and the last of each length. */
static const characters plain[] = {{' ', ' '},       {'~', '~'},         {0xa0, 0xa0},      {0x61b, 0x61b},
                                   {0x61d, 0x61d},   {0x7ff, 0x7ff},     {0x200c, 0x200d},  {0x2010, 0x2027},
                                   {0x202f, 0x202f}, {0x2070, 0x2070},   {0xfffc, 0xfffc},  {0x10000, 0x10000},
                                   {0xfe0f, 0xfe0f}, {0xe0080, 0xe0080}, {0x1f570, 0x1f570}};

static char *add_character(char *text, int code) {
  if (code >= 0x10000) {
    *text++ = (char)(0xf0 | code >> 18);
    *text++ = (char)(0x80 | (code >> 12 & 0x3f));
  } else if (code >= 0x800) {
    *text++ = (char)(0xe0 | code >> 12);
  }
  if (code >= 0x800) *text++ = (char)(0x80 | (code >> 6 & 0x3f));
  else if (code >= 0x80) *text++ = (char)(0xc0 | code >> 6);
  *text++ = (char)(code >= 0x80 ? 0x80 | (code & 0x3f) : code);
  return text;
}

static char steering[2048], in_quotes[8192];

static void write_labels(void) {
  char *label = steering, *shown = in_quotes;
  label += sprintf(label, "a\"\\: running");
  shown += sprintf(shown, "\"a\\\"\\\\: running");
  for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
    for (int code = hidden[i].first; code <= hidden[i].last; code++) {
      label = add_character(label, code);
      if (code > 0xffff) shown += sprintf(shown, "\\u%04x", 0xd7c0u + ((unsigned)code >> 10));
      shown += sprintf(shown, "\\u%04x", code > 0xffff ? 0xdc00u | ((unsigned)code & 0x3ff) : (unsigned)code);
    }
  }
  for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
    for (int code = plain[i].first; code <= plain[i].last; code++) {
      label = add_character(label, code);
      shown = add_character(shown, code);
    }
  }
  *label = 0;
  sprintf(shown, "\"");
}

static void explain_the_other(csuite *t, probe *p, const chime_tick *tick) {
  char expected[sizeof in_quotes + 64];
  sprintf(expected, "; the handler of timer %" PRIu64 " %s runs on its queue", tick->timer, in_quotes);
  EXPECT_EXPLAINED_WITH(p->other->timer, expected);
}

TEST(no_label_steers_a_terminal) {
  write_labels();
  chime_queue_t queue = csuite_queue_with(t, CHIME_QUEUE_VIRTUAL, &QUEUE_OPTIONS(.label = steering));
  probe *p = probe_new(t, queue, "p"), *other = probe_after(t, queue, "other", 10);
  chime_timer_options options = probe_options(p);
  options.label = steering;
  EXPECT_OK(chime_timer_start(queue, &options, AFTER(5), &p->timer));
  p->on_tick = explain_the_other;
  p->other = other;
  EXPECT_EQ(lines_dumped(t, queue), 3);
  char expected[sizeof in_quotes + 64];
  sprintf(expected, "timer %" PRIu64 " %s: running, due in 5 ns, 0 ticks, 0 missed\n", p->timer, in_quotes);
  EXPECT_DUMPED(queue, expected);
  sprintf(expected, " %s: 2 timers, 2 running", in_quotes);
  EXPECT_DUMPED(queue, expected);
  JUMP(20);
  ADVANCE(0);
  EXPECT_LOG("p1@5>20 other1@10>20");
}
