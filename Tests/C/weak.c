/* weak.c - see weak.h. */
#include "weak.h"

#include "script.h"

static void weak_action(const chime_tick *tick, void *user_info) {
  weak *w = user_info;
  csuite *t = w->t;
  EXPECT_EQ(add(&w->busy, 1), 1);
  EXPECT_EQ(load(&w->finalized), 0);
  EXPECT(tick->context == user_info);
  EXPECT(tick->timer != 0);
  if (w->timer != 0) EXPECT_EQ(tick->timer, w->timer);
  EXPECT(tick->actual_ns >= tick->scheduled_ns);
  EXPECT(tick->actual_ns <= monotonic_ns());
  EXPECT_EQ(tick->reserved, 0);
  EXPECT(tick->target == w->target);
  if (w->target != NULL) EXPECT_EQ(load(&w->target->finalized), 0);
  w->last = *tick;
  if (tick->kind == CHIME_TICK_FIRED) {
    EXPECT_EQ(tick->sequence, 0);
    EXPECT_EQ(tick->missed, 0);
    add(&w->fired, 1);
  } else {
    EXPECT_EQ(tick->kind, CHIME_TICK_DUE);
    EXPECT_EQ(tick->sequence, add(&w->sequence, 1));
    if (load(&w->due) == 0 || w->on_new_grid) {
      w->due_times = 0;
      w->first_due = tick->scheduled_ns - (int64_t)tick->missed * w->interval;
      w->on_new_grid = 0;
    }
    w->due_times += (int64_t)tick->missed + 1;
    if (w->interval > 0) EXPECT_EQ(tick->scheduled_ns, w->first_due + (w->due_times - 1) * w->interval);
    add(&w->due, 1);
  }
  if (w->on_tick != NULL) w->on_tick(w, tick);
  if (w->target != NULL) EXPECT_EQ(load(&w->target->finalized), 0);
  add(&w->busy, -1);
}

static void weak_finalizer(void *user_info) {
  weak *w = user_info;
  csuite *t = w->t;
  EXPECT_EQ(load(&w->busy), 0);
  EXPECT_EQ(add(&w->finalized, 1), 1);
}

static void weak_ends(void *argument) {
  weak *w = argument;
  csuite *t = w->t;
  chime_weak_timer_release(w->timer); /* if the test has not */
  EXPECT_EQ(load(&w->finalized), w->is_accepted);
  if (w->target == NULL) return;
  chime_target_release(w->target->id);
  EXPECT_EQ(load(&w->target->finalized), 1);
}

weak *weak_new(csuite *t) {
  weak *w = csuite_memory(t, sizeof *w);
  w->t = t;
  w->status = INT32_MIN;
  w->loop = current_loop(t);
  csuite_finally(t, weak_ends, w);
  return w;
}

weak *weak_with_target(csuite *t) {
  weak *w = weak_new(t);
  w->target = probe_target(t, "o");
  return w;
}

void weak_make(weak *w, holding holding, int64_t interval_ns, int repeats) {
  csuite *t = w->t;
  chime_target_t target = w->target == NULL ? 0 : w->target->id;
  w->is_accepted = EXPECT_OK((holding == LOOSE ? chime_weak_timer_create : chime_weak_timer_schedule)(
      interval_ns, repeats, target, weak_action, w, weak_finalizer, holding == UNHELD ? NULL : &w->timer));
  w->interval = repeats ? interval_ns : 0;
}

weak *weak_start(csuite *t, int64_t interval_ns, int repeats, weak_handler on_tick) {
  weak *w = weak_new(t);
  w->on_tick = on_tick;
  weak_make(w, SCHEDULED, interval_ns, repeats);
  return w;
}

ANSWER(is_valid, int32_t, chime_weak_timer_is_valid, -1)
ANSWER(fire_date, int64_t, chime_weak_timer_fire_date, -1)
ANSWER(interval_of, int64_t, chime_weak_timer_interval, -1)

int64_t wall_ns(void) {
  int64_t now = 0;
  chime_now(CHIME_CLOCK_WALL, &now);
  return now;
}

void run_until_due(weak *w, int least) { run_until(w->t, NULL, &w->due, least); }

/* ---- Scripts ----------------------------------------------------------------------------------------------------- */

typedef struct weak_script {
  script script;
  weak *timers[26];
} weak_script;

static int64_t take_time(const char **s) {
  int64_t number = take_number(s);
  return number == INT64_MAX || number == INT64_MIN ? number : number * CHIME_MILLISECOND;
}

static const char *take_mode(const char **s) {
  take(s, "in");
  return take(s, "tracking") ? TRACKING : take(s, "common") ? CHIME_RUN_LOOP_COMMON_MODES : NULL;
}

static void react(weak *w, const chime_tick *tick) { script_react(w->user, w->name, ""); }

static chime_status call(script *script, const char *s) {
  weak *w = ((weak_script *)script)->timers[*s - 'a'];
  chime_weak_timer_t timer = w->timer != 0 ? w->timer : w->last.timer;
  s += 2;
  if (take(&s, "add")) return chime_weak_timer_add(timer, w->loop, take_mode(&s));
  if (take(&s, "fire")) return chime_weak_timer_fire(timer);
  if (take(&s, "invalidate")) return chime_weak_timer_invalidate(timer);
  if (take(&s, "release")) return chime_weak_timer_release(timer);
  if (take(&s, "lose")) return chime_target_release(w->target->id);
  if (take(&s, "tolerance")) return chime_weak_timer_set_tolerance(timer, take_time(&s));
  if (take(&s, "date")) {
    int is_absolute = take(&s, "at");
    int64_t date = take_time(&s);
    w->on_new_grid = 1;
    if (!is_absolute && date != INT64_MAX && date != INT64_MIN) date += wall_ns();
    return chime_weak_timer_set_fire_date(timer, date);
  }
  return INT32_MIN;
}

static weak *make(weak_script *s, const char **text, int repeats) {
  int64_t interval = take_time(text);
  weak *w = take(text, "target") ? weak_with_target(s->script.t) : weak_new(s->script.t);
  w->user = s;
  w->on_tick = react;
  weak_make(w, take(text, "loose") ? LOOSE : take(text, "unheld") ? UNHELD : SCHEDULED, interval, repeats);
  return w;
}

static void look(weak_script *s, weak *w, const char *text, const char *statement) {
  csuite *t = s->script.t;
  int64_t tolerance = -1;
  int is_over = take(&text, "is over"), is_to_be_valid = take(&text, "is valid");
  if (is_to_be_valid || take(&text, "is invalid")) {
    script_expect(&s->script, statement, is_valid(t, w->timer), is_to_be_valid);
  } else if (is_over || take(&text, "is busy")) {
    script_expect(&s->script, statement, load(&w->finalized), is_over);
    if (w->target != NULL) script_expect(&s->script, statement, load(&w->target->finalized), is_over);
  } else if (take(&text, "ticked")) {
    script_expect(&s->script, statement, load(&w->due), take_number(&text));
  } else if (take(&text, "fired")) {
    script_expect(&s->script, statement, load(&w->fired), take_number(&text));
  } else if (take(&text, "tolerates")) {
    EXPECT_OK(chime_weak_timer_tolerance(w->timer, &tolerance));
    script_expect(&s->script, statement, tolerance, take_time(&text));
  } else if (take(&text, "due never")) {
    script_expect(&s->script, statement, fire_date(t, w->timer), CHIME_FOREVER);
  } else if (take(&text, "due")) {
    script_expect(&s->script, statement, (fire_date(t, w->timer) - wall_ns() - take_time(&text)) / CHIME_MINUTE, 0);
  } else {
    script_fail(&s->script, statement, "no such statement");
  }
}

static void run(weak_script *s, const char *text) {
  if (is_number(text)) {
    run_for(s->script.t, NULL, take_time(&text));
    return;
  }
  weak *w = s->timers[*text++ - 'a'];
  skip(&text);
  {
    int least = load(&w->due) + (int)take_number(&text);
    run_until(s->script.t, take_mode(&text), &w->due, least);
  }
}

static void rest(weak_script *s, const char *text, const char *statement) {
  weak *w = s->timers[*text++ - 'a'];
  int before = load(&w->due) + load(&w->fired);
  run_for(s->script.t, take_mode(&text), 5 * INTERVAL);
  script_expect(&s->script, statement, load(&w->due) + load(&w->fired), before);
}

static void perform(script *script, const char *statement) {
  weak_script *s = (weak_script *)script;
  const char *text = statement;
  weak **w = &s->timers[statement[0] - 'a'];
  if (take(&text, "run")) {
    run(s, text);
  } else if (take(&text, "rest")) {
    rest(s, text, statement);
  } else {
    text++;
    if (take(&text, "every")) *w = make(s, &text, 1);
    else if (take(&text, "once")) *w = make(s, &text, 0);
    else look(s, *w, text, statement);
    (*w)->name[0] = statement[0];
  }
}

void csuite_weak_timeline(csuite *t, const char *text, const char *file, int line) {
  weak_script *s = csuite_memory(t, sizeof *s);
  s->script = (script){.t = t, .file = file, .line = line, .call = call, .perform = perform};
  script_run(&s->script, text, ";");
}
