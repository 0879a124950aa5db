/* timeline.c - the scripts of timeline.h. (Their words: script.h.) */
#include "timeline.h"

#include "script.h"

typedef struct timeline {
  script script;
  chime_queue_t queue;
  probe *of[128]; /* timers, and the objects of targets and values, by their letters */
} timeline;

/* ---- Schedules --------------------------------------------------------------------------------------------------- */

static chime_schedule take_schedule(const char **s) {
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
    else is_known = 0;
  }
  return schedule;
}

/* ---- Callbacks --------------------------------------------------------------------------------------------------- */

/* It has the target until the end of that begins. */
static void on_callback(csuite *t, probe *p, const chime_tick *tick) {
  if (p->owner == NULL) EXPECT_EQ(tick->target == NULL, p->target == NULL || p->target->flag);
  script_react(p->user, p->name, tick->kind == CHIME_TICK_ARMED ? "^" : tick->kind == CHIME_TICK_CANCELLED ? "-" : "");
}

static void on_finalize(csuite *t, probe *p) {
  p->flag = 1;
  script_react(p->user, p->name, ".");
}

static void expect_ended(void *context) {
  probe *p = context;
  csuite *t = p->t;
  EXPECT_EQ(p->finalized, !p->number);
}

/* Its `number` is 1 when its context was refused. */
static probe *of_timeline(timeline *l, probe *p) {
  p->user = l;
  p->on_tick = p->on_armed = p->on_cancelled = on_callback;
  p->on_finalize = on_finalize;
  csuite_finally(l->script.t, expect_ended, p);
  return p;
}

static chime_status accepts(probe *p, chime_status status) {
  p->number = status != CHIME_OK && status != CHIME_RUNNING;
  return status;
}

static const char *name_of(timeline *l, char letter) {
  char *name = csuite_memory(l->script.t, 2);
  name[0] = letter;
  return name;
}

/* ---- Timers ------------------------------------------------------------------------------------------------------ */

/* A timer, started unless there is no schedule, with what else is wanted of it. */
static void make(timeline *l, const char *statement, const chime_schedule *schedule, const char *s) {
  csuite *t = l->script.t;
  probe *p = l->of[(int)*statement] = of_timeline(l, probe_new(t, l->queue, name_of(l, *statement)));
  int is_full = take(&s, "full"), is_self_releasing = take(&s, "self");
  if (take(&s, "of") && isupper((unsigned char)*s)) p->target = l->of[(int)*s++];
  if (*s != 0) script_fail(&l->script, statement, "not understood to its end");
  chime_timer_options options = is_full ? probe_full_options(p) : probe_options(p);
  if (is_self_releasing) options.flags = CHIME_TIMER_SELF_RELEASE;
  EXPECT_OK(schedule == NULL ? chime_timer_create(l->queue, &options, &p->timer)
                             : chime_timer_start(l->queue, &options, schedule, &p->timer));
}

static chime_status add_handler(timeline *l, probe *p, const char *s) {
  probe *x = of_timeline(l, probe_of_owner(p, name_of(l, *s++)));
  char key[] = {take(&s, "as") ? *s : x->name[0], 0};
  return accepts(x, probe_add(x, key));
}

static chime_status call_with_schedule(const char *s, chime_timer_t timer,
                                       chime_status (*call)(chime_timer_t timer, const chime_schedule *schedule)) {
  if (!is_number(s)) return call(timer, NULL);
  chime_schedule schedule = take_schedule(&s);
  return call(timer, &schedule);
}

static chime_status call_timer(timeline *l, probe *p, const char *s, const char *statement) {
  if (take(&s, "activate")) return call_with_schedule(s, p->timer, chime_timer_activate);
  if (take(&s, "restart")) return call_with_schedule(s, p->timer, chime_timer_restart);
  if (take(&s, "restart_after")) return chime_timer_restart_after(p->timer, take_number(&s));
  if (take(&s, "restart_until")) return chime_timer_restart_until(p->timer, take_number(&s));
  if (take(&s, "reschedule")) return call_with_schedule(s, p->timer, chime_timer_reschedule);
  if (take(&s, "suspend")) return chime_timer_suspend(p->timer);
  if (take(&s, "resume")) return chime_timer_resume(p->timer);
  if (take(&s, "cancel")) return chime_timer_cancel(p->timer);
  if (take(&s, "cancel_and_wait")) return chime_timer_cancel_and_wait(p->timer, CHIME_FOREVER);
  if (take(&s, "fire")) return chime_timer_fire(p->timer);
  if (take(&s, "release")) return chime_timer_release(p->timer);
  if (take(&s, "postpone")) return chime_timer_postpone(p->timer, take_number(&s));
  if (take(&s, "until")) return chime_timer_postpone_until(p->timer, take_number(&s));
  if (take(&s, "add")) return add_handler(l, p, s);
  if (take(&s, "remove")) return chime_timer_remove_handler(p->timer, s);
  script_fail(&l->script, statement, "no such call");
  return CHIME_OK;
}

/* The calls are performed on the timer or value of that name, and all give that answer. */
static void expect_answers(timeline *l, const char *name, const char *calls, const char *answer) {
  while (*calls != 0) {
    const char *end = calls + strcspn(calls, ",");
    char text[LONGEST];
    snprintf(text, sizeof text, "%s.%.*s%s", name, (int)(end - calls), calls, answer);
    script_run(&l->script, text, ";");
    calls = *end == 0 ? end : end + 1;
  }
}

/* A timer whose target is gone never runs again, and nothing changes it. */
static void expect_over(timeline *l, probe *p) {
  csuite *t = l->script.t;
  chime_state state = state_of(t, p->timer);
  expect_answers(l, p->name, "activate 1/1,restart 1/1,restart_after 1,restart_until 1", "-> TARGET_GONE");
  expect_answers(l, p->name, "suspend,resume,postpone 1,cancel", "?");
  EXPECT_EQ(state_of(t, p->timer), state);
  EXPECT_EQ(deadline_of(t, p->timer), CHIME_FOREVER);
}

static void look_at_timer(timeline *l, probe *p, const char *s, const char *statement) {
  static const char *const states[] = {"idle", "running", "suspended", "finished", "cancelled"};
  csuite *t = l->script.t;
  int64_t actual;
  if (take(&s, "is")) {
    chime_state state = state_of(t, p->timer);
    if (strcmp(s, "busy") == 0) EXPECT(info_of(t, p->timer).busy);
    else if (strcmp(s, "over") == 0) expect_over(l, p);
    else if (state < 0 || state > 4 || strcmp(s, states[state]) != 0) script_expect(&l->script, statement, state, -1);
    return;
  }
  if (take(&s, "says")) {
    char text[LONGEST];
    EXPECT_OK(chime_timer_explain(p->timer, text, sizeof text, NULL));
    for (char *c = text; *c != 0; c++) *c = *c == ';' ? '/' : *c;
    csuite_expect_text(t, text, s, l->script.file, l->script.line, statement);
    return;
  }
  if (take(&s, "due")) actual = deadline_of(t, p->timer);
  else if (take(&s, "left")) EXPECT_OK(chime_timer_remaining(p->timer, &actual));
  else if (take(&s, "counted")) actual = (int64_t)info_of(t, p->timer).due_count;
  else {
    script_fail(&l->script, statement, "no such statement");
    return;
  }
  int64_t expected = take_number(&s);
  script_expect(&l->script, statement, actual, expected);
}

/* ---- Targets and values ------------------------------------------------------------------------------------------ */

static void make_object(timeline *l, const char *statement) {
  const char *s = statement + 1, *name = name_of(l, *statement);
  probe *p = NULL;
  if (take(&s, "value")) p = probe_value(l->script.t, l->queue, name, take_number(&s));
  else if (take(&s, "target")) p = probe_target(l->script.t, name);
  else script_fail(&l->script, statement, "no such statement");
  if (p != NULL) l->of[(int)*statement] = of_timeline(l, p);
}

static chime_status acquire(probe *o, int is_kept) {
  csuite *t = o->t;
  void *found = NULL;
  chime_status status = chime_expiring_acquire(o->id, &found);
  if (status != CHIME_OK) return status;
  EXPECT(found == o);
  EXPECT_EQ(o->finalized, 0);
  return is_kept ? status : chime_expiring_yield(o->id);
}

static chime_status set_expiry_handler(timeline *l, probe *o, const char *s) {
  if (take(&s, "nothing")) return chime_expiring_on_expiry(o->id, NULL, NULL, NULL);
  probe *x = of_timeline(l, probe_of_owner(o, name_of(l, *s)));
  return accepts(x, probe_expects(x));
}

static chime_status call_object(timeline *l, probe *o, const char *s, const char *statement) {
  int is_value = o->queue != 0;
  void *found = l;
  if (take(&s, "acquire")) return acquire(o, 1);
  if (take(&s, "yield")) return chime_expiring_yield(o->id);
  if (take(&s, "reset")) return chime_expiring_reset(o->id, take_number(&s));
  if (take(&s, "on")) return set_expiry_handler(l, o, s);
  if (take(&s, "release")) return is_value ? chime_expiring_release(o->id) : chime_target_release(o->id);
  if (!take(&s, "retain")) script_fail(&l->script, statement, "no such call");
  chime_status status = chime_target_retain(o->id, &found);
  if (found != (status == CHIME_OK ? (void *)o : l)) script_fail(&l->script, statement, "another object");
  return status;
}

#define CALLS_OF_VALUES "acquire,yield,reset 1,on x,on nothing"

static void look_at_value(timeline *l, probe *o, const char *s, const char *statement) {
  csuite *t = l->script.t;
  if (strcmp(s, " is there") == 0) EXPECT_OK(acquire(o, 0));
  else if (strcmp(s, " is gone") == 0) expect_vanished(o);
  else if (strcmp(s, " is ended") == 0) expect_answers(l, o->name, CALLS_OF_VALUES, "?");
  else if (strcmp(s, " is released") == 0) expect_answers(l, o->name, CALLS_OF_VALUES ",release", "-> INVALID_HANDLE");
  else script_fail(&l->script, statement, "no such statement");
}

/* ---- Statements -------------------------------------------------------------------------------------------------- */

static void perform_on_a_timer(timeline *l, const char *statement) {
  const char *s = statement + 1;
  probe *p = l->of[(int)*statement];
  if (take(&s, "new")) {
    make(l, statement, NULL, s);
  } else if (is_number(s)) {
    chime_schedule schedule = take_schedule(&s);
    make(l, statement, &schedule, s);
  } else if (p != NULL) {
    look_at_timer(l, p, s, statement);
  } else {
    script_fail(&l->script, statement, "no such timer");
  }
}

static chime_status call(script *script, const char *statement) {
  timeline *l = (timeline *)script;
  const char *s = statement + 1;
  probe *p = l->of[(int)*statement];
  if (strcmp(statement, "queue.release") == 0) return chime_queue_release(l->queue);
  if (strcmp(statement, "queue.shutdown") == 0) return chime_queue_shutdown(l->queue, PATIENCE);
  switch (statement[0]) {
    case '+': return chime_queue_advance(l->queue, take_number(&s));
    case '=': return chime_queue_advance(l->queue, take_number(&s) - now_of(l->script.t, l->queue));
    case '>': return chime_queue_jump(l->queue, take_number(&s));
    default:
      if (p == NULL) script_fail(&l->script, statement, "no such timer, target or value");
      else if (p->id != 0) return call_object(l, p, s + 1, statement);
      else return call_timer(l, p, s + 1, statement);
      return CHIME_OK;
  }
}

static void perform(script *script, const char *statement) {
  timeline *l = (timeline *)script;
  const char *s = statement;
  if (take(&s, "queue with leeway")) { /* in place of the one that nothing was done with yet */
    l->queue = csuite_queue_with(l->script.t, CHIME_QUEUE_VIRTUAL, &QUEUE_OPTIONS(.flags = CHIME_QUEUE_HONOUR_LEEWAY));
  } else if (take(&s, "now")) {
    script_expect(script, statement, now_of(l->script.t, l->queue), take_number(&s));
  } else if (take(&s, "next")) {
    script_expect(script, statement, next_deadline(l->script.t, l->queue), take_number(&s));
  } else if (take(&s, "timers")) {
    script_expect(script, statement, (int64_t)stats_of(l->script.t, l->queue).timers, take_number(&s));
  } else if (isupper((unsigned char)*s) && l->of[(int)*s] == NULL) {
    make_object(l, statement);
  } else if (isupper((unsigned char)*s)) {
    look_at_value(l, l->of[(int)*s], s + 1, statement);
  } else if (islower((unsigned char)*s)) {
    perform_on_a_timer(l, statement);
  } else {
    script_fail(script, statement, "no such statement");
  }
}

/* Each context looks afterwards that it was finalized. */
static void release_all(timeline *l) {
  memset(l->script.reactions, 0, sizeof l->script.reactions);
  for (int i = 'A'; i <= 'Z'; i++) {
    uint64_t id = l->of[i] == NULL ? 0 : l->of[i]->id;
    if (id == 0) continue;
    while (chime_target_release(id) == CHIME_OK) continue;
    chime_expiring_release(id);
    while (chime_expiring_yield(id) == CHIME_OK) continue;
  }
  chime_queue_shutdown(l->queue, PATIENCE);
}

void csuite_timeline(csuite *t, const char *text, const char *file, int line) {
  timeline *l = csuite_memory(t, sizeof *l);
  l->script = (script){.t = t, .file = file, .line = line, .call = call, .perform = perform};
  l->queue = csuite_queue(t, VIRTUAL);
  if (l->queue == 0) return;
  script_run(&l->script, text, ";");
  release_all(l);
}
