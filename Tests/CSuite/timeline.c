/* The scripts of timeline.h. */
#include "timeline.h"

#include <ctype.h>

enum { LETTERS = 26, LONGEST = 240 };

typedef struct reaction {
  char statement[LONGEST];
  int most; /* 0: each time */
  int done;
} reaction;

typedef struct timeline {
  csuite *t;
  chime_queue_t queue;
  probe *probes[LETTERS];
  reaction on_tick[LETTERS], on_armed[LETTERS];
  const char *file;
  int line;
} timeline;

static void perform(timeline *l, const char *statement);

static void complain(timeline *l, const char *statement, const char *what, int64_t actual) {
  char text[LONGEST + 120];
  snprintf(text, sizeof text, "`%s`: %s (%" PRId64 ")", statement, what, actual);
  csuite_expect(l->t, 0, l->file, l->line, text);
}

/* ---- Reading ---------------------------------------------------------------------------------------------------- */

static void skip(const char **s) {
  while (**s == ' ') ++*s;
}

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
  int64_t number;
  if (take(s, "max") || take(s, "never")) return INT64_MAX;
  if (take(s, "min")) return INT64_MIN;
  number = strtoll(*s, &end, 10);
  *s = end;
  skip(s);
  return number;
}

static chime_schedule take_schedule(const char **s, int *is_full) {
  chime_schedule schedule = schedule_of(take_number(s), 0);
  int is_known = 1;
  if (**s == '/') {
    ++*s;
    schedule.interval_ns = take_number(s);
  }
  while (is_known) {
    if (take(s, "at")) schedule.flags |= CHIME_SCHEDULE_DEADLINE;
    else if (take(s, "limit")) schedule.tick_limit = (uint64_t)take_number(s);
    else if (take(s, "leeway")) schedule.leeway_ns = take_number(s);
    else if (take(s, "delay")) schedule.missed_policy = CHIME_MISSED_DELAY;
    else if (take(s, "remaining")) schedule.resume_policy = CHIME_RESUME_REMAINING;
    else if (take(s, "full")) *is_full = 1;
    else is_known = 0;
  }
  return schedule;
}

/* ---- Timers ------------------------------------------------------------------------------------------------------ */

static void react(probe *p, reaction *r) {
  if (r->statement[0] == 0 || (r->most > 0 && r->done >= r->most)) return;
  r->done++;
  perform(p->user, r->statement);
}

static void on_tick(probe *p, const chime_tick *tick) {
  (void)tick;
  react(p, &((timeline *)p->user)->on_tick[p->name[0] - 'a']);
}

static void on_armed(probe *p, const chime_tick *tick) {
  (void)tick;
  react(p, &((timeline *)p->user)->on_armed[p->name[0] - 'a']);
}

static void make(timeline *l, int letter, const chime_schedule *schedule, int is_full) {
  static const char names[LETTERS][2] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m",
                                         "n", "o", "p", "q", "r", "s", "t", "u", "v", "w", "x", "y", "z"};
  csuite *t = l->t;
  probe *p = l->probes[letter] = probe_new(t, l->queue, names[letter]);
  chime_timer_options options = is_full ? probe_full_options(p) : probe_options(p);
  p->user = l;
  p->on_tick = on_tick;
  p->on_armed = on_armed;
  EXPECT_OK(schedule == NULL ? chime_timer_create(l->queue, &options, &p->timer)
                             : chime_timer_start(l->queue, &options, schedule, &p->timer));
}

static void call(timeline *l, probe *p, const char *s, const char *statement) {
  chime_status expected = CHIME_OK, status;
  char last = s[strlen(s) - 1];
  int is_full;
  if (last == '!') expected = CHIME_RUNNING;
  if (last == '?') expected = CHIME_IGNORED;
  if (take(&s, "activate") || take(&s, "restart") || take(&s, "reschedule")) {
    chime_schedule schedule;
    int has_schedule = isdigit((unsigned char)*s) || *s == '-' || *s == 'm';
    if (has_schedule) schedule = take_schedule(&s, &is_full);
    status = strstr(statement, ".activate") != NULL ? chime_timer_activate(p->timer, has_schedule ? &schedule : NULL)
             : strstr(statement, ".restart") != NULL
                 ? chime_timer_restart(p->timer, has_schedule ? &schedule : NULL)
                 : chime_timer_reschedule(p->timer, has_schedule ? &schedule : NULL);
  } else if (take(&s, "suspend")) {
    status = chime_timer_suspend(p->timer);
  } else if (take(&s, "resume")) {
    status = chime_timer_resume(p->timer);
  } else if (take(&s, "cancel")) {
    status = chime_timer_cancel(p->timer);
  } else if (take(&s, "fire")) {
    status = chime_timer_fire(p->timer);
  } else if (take(&s, "release")) {
    status = chime_timer_release(p->timer);
  } else if (take(&s, "postpone")) {
    status = chime_timer_postpone(p->timer, take_number(&s));
  } else if (take(&s, "until")) {
    status = chime_timer_postpone_until(p->timer, take_number(&s));
  } else {
    complain(l, statement, "no such call", 0);
    return;
  }
  if (status != expected) complain(l, statement, chime_status_name(status), status);
}

static void look(timeline *l, probe *p, const char *s, const char *statement) {
  static const char *const states[] = {"idle", "running", "suspended", "finished", "cancelled"};
  csuite *t = l->t;
  int64_t actual, expected;
  if (take(&s, "is")) {
    chime_state state = state_of(t, p->timer);
    if (state < 0 || state > 4 || strcmp(s, states[state]) != 0) complain(l, statement, "it is", state);
    return;
  }
  if (take(&s, "due")) actual = deadline_of(t, p->timer);
  else if (take(&s, "left")) actual = info_of(t, p->timer).remaining_ns;
  else if (take(&s, "counted")) actual = (int64_t)info_of(t, p->timer).due_count;
  else {
    complain(l, statement, "no such statement", 0);
    return;
  }
  expected = take_number(&s);
  if (actual != expected) complain(l, statement, "it is", actual);
}

/* ---- Statements --------------------------------------------------------------------------------------------------- */

static void note_reaction(reaction *r, const char *s) {
  r->most = r->done = 0;
  skip(&s);
  if (*s == 'x' && isdigit((unsigned char)s[1])) {
    s++;
    r->most = (int)take_number(&s);
  }
  skip(&s);
  snprintf(r->statement, sizeof r->statement, "%s", s);
}

static void perform_on_a_timer(timeline *l, const char *statement) {
  int letter = statement[0] - 'a', is_full = 0;
  const char *s = statement + 1;
  chime_schedule schedule;
  if (*s == ':') {
    note_reaction(&l->on_tick[letter], s + 1);
  } else if (s[0] == '^' && s[1] == ':') {
    note_reaction(&l->on_armed[letter], s + 2);
  } else if (*s == '.' && l->probes[letter] != NULL) {
    call(l, l->probes[letter], s + 1, statement);
  } else if (take(&s, "new")) {
    is_full = take(&s, "full");
    make(l, letter, NULL, is_full);
  } else if (isdigit((unsigned char)*s) || *s == '-' || strncmp(s, "max", 3) == 0 || strncmp(s, "min", 3) == 0) {
    schedule = take_schedule(&s, &is_full);
    make(l, letter, &schedule, is_full);
    if (*s != 0) complain(l, statement, "not understood, at", s - statement);
  } else if (l->probes[letter] != NULL) {
    look(l, l->probes[letter], s, statement);
  } else {
    complain(l, statement, "no such timer", 0);
  }
}

static void perform(timeline *l, const char *statement) {
  csuite *t = l->t;
  const char *s = statement + 1;
  chime_status status = CHIME_OK;
  if (take(&statement, "now")) {
    int64_t now = now_of(t, l->queue), expected = take_number(&statement);
    if (now != expected) complain(l, "now", "it is", now);
    return;
  }
  switch (statement[0]) {
    case 0: return;
    case '+': status = chime_queue_advance(l->queue, take_number(&s)); break;
    case '=': status = chime_queue_advance_to(l->queue, take_number(&s)); break;
    case '>': status = chime_queue_jump(l->queue, take_number(&s)); break;
    default:
      if (islower((unsigned char)statement[0])) perform_on_a_timer(l, statement);
      else complain(l, statement, "no such statement", 0);
      return;
  }
  if (status != CHIME_OK) complain(l, statement, chime_status_name(status), status);
}

/* Without the spaces around it. */
static void copy(char *text, const char *from, const char *to) {
  while (from < to && (*from == ' ' || *from == '\n')) from++;
  while (to > from && (to[-1] == ' ' || to[-1] == '\n')) to--;
  if (to - from >= LONGEST) to = from + LONGEST - 1;
  memcpy(text, from, (size_t)(to - from));
  text[to - from] = 0;
}

void csuite_timeline(csuite *t, const char *script, const char *file, int line) {
  timeline *l = csuite_memory(t, sizeof *l);
  l->t = t;
  l->file = file;
  l->line = line;
  l->queue = csuite_queue(t, VIRTUAL);
  while (l->queue != 0 && *script != 0 && !csuite_failed(t)) {
    char statement[LONGEST], log[LONGEST];
    const char *end = strchr(script, ';'), *bar;
    if (end == NULL) end = script + strlen(script);
    bar = memchr(script, '|', (size_t)(end - script));
    copy(statement, script, bar == NULL ? end : bar);
    perform(l, statement);
    if (bar != NULL) {
      copy(log, bar + 1, end);
      csuite_expect_log(t, log, file, line);
    }
    script = *end == 0 ? end : end + 1;
  }
}
