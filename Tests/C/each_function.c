/*
 * each_function.c - what each function of the headers answers to an argument of a kind that many take: no place for the
 * answer, a negative duration, a text that is not UTF-8. CHIME_ERROR_INVALID_ARGUMENT, and chime_last_error_detail names the
 * argument as the header does; nothing has changed. Which functions take what, functions.h says, which is made from the
 * headers. Promise 1. (Other arguments: arguments.c, arguments_calls.c; ids: ids.c.)
 */
#include "arguments.h"
#include "functions.h"

/* All that the functions are given: things that live, on a queue where each call but for the bad argument may be made. */
typedef struct setting {
  csuite *t;
  chime_timer_options options;
  chime_schedule schedule;
  chime_tick tick;
  char text[8];
  union {
    uint64_t number;
    char all[512];
  } answer;
  arguments given;
} setting;

static setting *set_up(csuite *t) {
  setting *s = csuite_memory(t, sizeof *s);
  s->t = t;
  s->options = refused_options(t);
  s->schedule = *AFTER(CHIME_HOUR);
  s->given = (arguments){.queue = csuite_queue(t, VIRTUAL),
                         .run_loop = current_loop(t),
                         .out = &s->answer,
                         .timer_options = &s->options,
                         .schedule = &s->schedule,
                         .handler = never,
                         .function = never_function,
                         .context = t,
                         .object = t,
                         .finalizer = never_function,
                         .key = "x",
                         .mode = TRACKING,
                         .text = s->text,
                         .ticks = &s->tick,
                         .tick_size = sizeof s->tick,
                         .capacity = 1,
                         .repeats = 1};
  s->given.interval_ns = 1;
  EXPECT_OK(chime_timer_after(s->given.queue, CHIME_HOUR, never, t, NULL, &s->given.timer));
  EXPECT_OK(chime_target_create(t, NULL, &s->given.target));
  EXPECT_OK(chime_expiring_create(s->given.queue, t, NULL, CHIME_HOUR, &s->given.expiring));
  EXPECT_OK(chime_weak_timer_create(CHIME_HOUR, 1, 0, never, t, NULL, &s->given.weak_timer));
  return s;
}

static void tear_down(setting *s) {
  csuite *t = s->t;
  chime_queue_t queue = s->given.queue;
  EXPECT_EQ(stats_of(t, queue).timers, 2);
  EXPECT_EQ(now_of(t, queue), 0);
  EXPECT_EQ(state_of(t, s->given.timer), CHIME_STATE_RUNNING);
  EXPECT_EQ(deadline_of(t, s->given.timer), CHIME_HOUR);
  EXPECT_OK(chime_timer_release(s->given.timer));
  EXPECT_OK(chime_expiring_release(s->given.expiring));
  EXPECT_OK(chime_target_release(s->given.target));
  EXPECT_OK(chime_weak_timer_release(s->given.weak_timer));
}

/* The text of a pair, which is in one of the lists. */
static int is_one_of(const char *const *list, const char *function, const char *parameter) {
  char pair[100];
  snprintf(pair, sizeof pair, "%s(%s)", function, parameter);
  for (; *list != NULL; list++) {
    if (strcmp(*list, pair) == 0) return 1;
  }
  return 0;
}

/* The sentence begins with the parameter's name. */
static void expect_refused(csuite *t, const function_of_chime *f, const parameter *p, const arguments *given,
                           const char *end) {
  char text[200];
  csuite_outdate_detail();
  snprintf(text, sizeof text, "chime_%s with a bad %s", f->name, p->name);
  if (!csuite_expect_status(t, f->call(given), CHIME_ERROR_INVALID_ARGUMENT, __FILE__, __LINE__, text)) return;
  snprintf(text, sizeof text, "%s%s", p->name, end);
  if (strncmp(chime_last_error_detail(), text, strlen(text)) != 0) EXPECT_TEXT(chime_last_error_detail(), text);
}

/* Has `try` called for each parameter of that kind, but for those in the list; the least number of them is a guard. */
static void each(csuite *t, int kind, const char *const *except, int least,
                 void (*try)(setting *s, const function_of_chime *f, const parameter *p)) {
  setting *s = set_up(t);
  int tried = 0;
  for (const function_of_chime *f = functions; f < functions + FUNCTIONS; f++) {
    for (const parameter *p = f->parameters; p < f->parameters + f->count; p++) {
      if (p->kind != kind || is_one_of(except, f->name, p->name)) continue;
      try(s, f, p);
      tried++;
    }
  }
  EXPECT_BETWEEN(tried, least, FUNCTIONS);
  tear_down(s);
}

static void *place_of(arguments *a, const parameter *p) { return (char *)a + p->member; }

/* A host-driven queue for what only that has. */
static chime_queue_t queue_for(setting *s, const function_of_chime *f) {
  static const char *const driven[] = {"queue_fd", "queue_poll_timeout", NULL};
  csuite *t = s->t;
  if (strcmp(f->name, "queue_take_ticks") == 0) return host_queue(t, CHIME_QUEUE_RECORDS);
  for (const char *const *name = driven; *name != NULL; name++) {
    if (strcmp(*name, f->name) == 0) return host_queue(t, 0);
  }
  return s->given.queue;
}

static void without_a_place(setting *s, const function_of_chime *f, const parameter *p) {
  arguments given = s->given;
  given.out = NULL;
  given.queue = queue_for(s, f);
  if (strcmp(f->name, "queue_wrap_dispatch") == 0) given.dispatch_queue = csuite_wrapped(WRAPPED_SERIAL);
  if (strcmp(f->name, "queue_wrap_dispatch") == 0 && given.dispatch_queue == NULL) return;
  expect_refused(s->t, f, p, &given, " is NULL");
}

OWN_THREAD_TEST(each_function_wants_a_place_for_its_answer_but_where_it_may_do_without) {
  static const char *const optional[] = {"timer_start(timer)",    "timer_after(timer)",         "timer_every(timer)",
                                         "queue_process(count)",  "queue_dump(length)",         "timer_explain(length)",
                                         "target_retain(object)", "weak_timer_schedule(timer)", NULL};
  each(t, AN_ANSWER, optional, 25, without_a_place);
}

static void negative(setting *s, const function_of_chime *f, const parameter *p) {
  static const int64_t durations[] = {-1, INT64_MIN};
  for (int i = 0; i < 2; i++) {
    arguments given = s->given;
    given.queue = queue_for(s, f);
    *(int64_t *)place_of(&given, p) = durations[i];
    s->answer.number = UNTOUCHED;
    expect_refused(s->t, f, p, &given, i == 0 ? " (-1 ns) is " : " (-9223372036.854775808 s) is ");
    csuite_expect_equal(s->t, (int64_t)s->answer.number, (int64_t)UNTOUCHED, __FILE__, __LINE__, f->name);
  }
}

/* An interval of weak timers is at least a tenth of a millisecond, whatever it is given as, and a tolerance at least 0. */
OWN_THREAD_TEST(each_function_refuses_a_negative_duration) {
  static const char *const anything[] = {"weak_timer_create(interval_ns)", "weak_timer_schedule(interval_ns)",
                                         "weak_timer_set_tolerance(tolerance_ns)", NULL};
  each(t, A_DURATION, anything, 13, negative);
}

static void not_a_text(setting *s, const function_of_chime *f, const parameter *p) {
  for (int i = 0; i < NOT_UTF8; i++) {
    arguments given = s->given;
    *(const char **)place_of(&given, p) = not_utf8[i];
    s->answer.number = UNTOUCHED;
    expect_refused(s->t, f, p, &given, " is not UTF-8");
    csuite_expect_equal(s->t, (int64_t)s->answer.number, (int64_t)UNTOUCHED, __FILE__, __LINE__, f->name);
  }
}

/* The name of a file is whatever bytes the system takes. */
OWN_THREAD_TEST(each_function_refuses_a_text_that_is_not_utf8) {
  static const char *const anything[] = {"trace_to_file(path)", NULL};
  each(t, A_TEXT, anything, 6, not_a_text);
}
