/* weak.c - see weak.h. */
#include "weak.h"

#include <ctype.h>

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
      interval_ns, repeats, target, weak_action, w, weak_finalizer, NULL, holding == UNHELD ? NULL : &w->timer));
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

int64_t wall_ns(void) {
  int64_t now = 0;
  chime_now(CHIME_CLOCK_WALL, &now);
  return now;
}

void run_until_due(weak *w, int least) { run_until(w->t, NULL, &w->due, least); }

/* ---- Scripts: words and numbers; whatever takes something of *s moves it on ------------------------------------------ */

enum { LONGEST = 400 /* statement */ };

typedef struct weak_script {
  csuite *t;
  const char *file;
  int line;
  weak *timers[26];
  const char *reactions[26]; /* what the action of each does */
} weak_script;

static void run_script(weak_script *s, const char *statements, const char *separators);

static void skip(const char **s) { *s += strspn(*s, " "); }

/* Whether that word comes next; then it is taken, with the spaces behind it. */
static int take(const char **s, const char *word) {
  size_t length = strlen(word);
  skip(s);
  if (strncmp(*s, word, length) != 0 || isalpha((unsigned char)(*s)[length])) return 0;
  *s += length;
  skip(s);
  return 1;
}

static int64_t take_number(const char **s) {
  char *end;
  int64_t number = strtoll(*s, &end, 10);
  *s = end;
  skip(s);
  return number;
}

static int64_t take_time(const char **s) {
  if (take(s, "max") || take(s, "never")) return INT64_MAX;
  return take(s, "min") ? INT64_MIN : take_number(s) * CHIME_MILLISECOND;
}

static const char *take_mode(const char **s) {
  take(s, "in");
  return take(s, "tracking") ? TRACKING : take(s, "common") ? CHIME_RUN_LOOP_COMMON_MODES : NULL;
}

/* Cuts the expected status off: `!`, `?`, `!?` or `-> NAME`. */
static chime_status cut_status(char *statement) {
  char *arrow = strstr(statement, " -> "), *last = statement + strlen(statement) - 1;
  chime_status status = *last == '!' ? CHIME_RUNNING : *last == '?' ? CHIME_IGNORED : CHIME_OK;
  if (arrow != NULL) {
    *arrow = 0;
    for (status = -16; strcmp(chime_status_name(status), "CHIME_UNKNOWN") != 0; status -= 16) {
      if (strcmp(chime_status_name(status) + strlen("CHIME_ERROR_"), arrow + 4) == 0) break;
    }
  } else if (status != CHIME_OK) {
    if (status == CHIME_IGNORED && last[-1] == '!') {
      status |= CHIME_RUNNING;
      last--;
    }
    *last = 0;
  }
  return status;
}

/* ---- Statements -------------------------------------------------------------------------------------------------- */

static void expect_so(weak_script *s, const char *statement, int64_t actual, int64_t expected) {
  csuite_expect_equal(s->t, actual, expected, s->file, s->line, statement);
}

static void react(weak *w, const chime_tick *tick) {
  weak_script *s = w->user;
  const char *reaction = s->reactions[w->name[0] - 'a'];
  if (reaction != NULL) run_script(s, reaction, ",;");
}

static chime_status call(weak *w, const char *s) {
  chime_weak_timer_t timer = w->timer != 0 ? w->timer : w->last.timer;
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

static weak *make(weak_script *s, const char *name, const char *text, int repeats) {
  int64_t interval = take_time(&text);
  weak *w = take(&text, "target") ? weak_with_target(s->t) : weak_new(s->t);
  w->user = s;
  w->name[0] = *name;
  w->on_tick = react;
  weak_make(w, take(&text, "loose") ? LOOSE : take(&text, "unheld") ? UNHELD : SCHEDULED, interval, repeats);
  return w;
}

static void look(weak_script *s, weak *w, const char *text, const char *statement) {
  csuite *t = s->t;
  int64_t tolerance = -1;
  int is_over = take(&text, "is over"), is_to_be_valid = take(&text, "is valid");
  if (is_to_be_valid || take(&text, "is invalid")) {
    expect_so(s, statement, is_valid(t, w->timer), is_to_be_valid);
  } else if (is_over || take(&text, "is busy")) {
    expect_so(s, statement, load(&w->finalized), is_over);
    if (w->target != NULL) expect_so(s, statement, load(&w->target->finalized), is_over);
  } else if (take(&text, "is kept")) { /* whatever is of its target */
    expect_so(s, statement, load(&w->finalized), 0);
  } else if (take(&text, "ticked")) {
    expect_so(s, statement, load(&w->due), take_number(&text));
  } else if (take(&text, "fired")) {
    expect_so(s, statement, load(&w->fired), take_number(&text));
  } else if (take(&text, "tolerates")) {
    EXPECT_OK(chime_weak_timer_tolerance(w->timer, &tolerance));
    expect_so(s, statement, tolerance, take_time(&text));
  } else if (take(&text, "due never")) {
    expect_so(s, statement, fire_date(t, w->timer), CHIME_FOREVER);
  } else if (take(&text, "due")) {
    expect_so(s, statement, (fire_date(t, w->timer) - wall_ns() - take_time(&text)) / CHIME_MINUTE, 0);
  } else {
    csuite_expect(t, 0, s->file, s->line, statement);
  }
}

static void run(weak_script *s, const char *text) {
  if (isdigit((unsigned char)*text)) {
    run_for(s->t, NULL, take_time(&text));
    return;
  }
  weak *w = s->timers[*text++ - 'a'];
  skip(&text);
  int least = load(&w->due) + (int)take_number(&text);
  run_until(s->t, take_mode(&text), &w->due, least);
}

static void rest(weak_script *s, const char *text, const char *statement) {
  weak *w = s->timers[*text++ - 'a'];
  int before = load(&w->due) + load(&w->fired);
  run_for(s->t, take_mode(&text), 5 * INTERVAL);
  expect_so(s, statement, load(&w->due) + load(&w->fired), before);
}

static void perform(weak_script *s, const char *statement) {
  const char *text = statement + 1;
  char copy[LONGEST];
  int letter = *statement - 'a';
  if (*text == '.') {
    snprintf(copy, sizeof copy, "%s", text + 1);
    chime_status expected = cut_status(copy);
    csuite_outdate_detail();
    csuite_expect_status(s->t, call(s->timers[letter], copy), expected, s->file, s->line, statement);
  } else if (take(&statement, "run")) {
    run(s, statement);
  } else if (take(&statement, "rest")) {
    rest(s, statement, statement);
  } else if (take(&text, "every")) {
    s->timers[letter] = make(s, statement, text, 1);
  } else if (take(&text, "once")) {
    s->timers[letter] = make(s, statement, text, 0);
  } else {
    look(s, s->timers[letter], text, statement);
  }
}

/* Up to the first failure. What stands behind `a:` is done in the action. */
static void run_script(weak_script *s, const char *statements, const char *separators) {
  while (*statements != 0 && !csuite_failed(s->t)) {
    size_t length = strcspn(statements, separators);
    char text[LONGEST];
    snprintf(text, sizeof text, "%.*s", (int)length, statements);
    if (text[0] != 0 && text[1] == ':') s->reactions[text[0] - 'a'] = statements + 3;
    else perform(s, text);
    statements += length;
    if (*statements == ';' && strchr(separators, ',') != NULL) return; /* the end of a reaction */
    statements += strspn(statements, separators);
    skip(&statements);
  }
}

void csuite_weak_timeline(csuite *t, const char *text, const char *file, int line) {
  weak_script *s = csuite_memory(t, sizeof *s);
  *s = (weak_script){.t = t, .file = file, .line = line};
  run_script(s, text, ";");
}
