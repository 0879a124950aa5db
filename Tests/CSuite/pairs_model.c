/*
 * pairs_model.c - the table of chime.h as a program: what each call answers and changes, and a search for an order of two
 * of them that gives what was seen. Promise 2.
 */
#include "pairs.h"

const char *const operation_names[OPERATIONS] = {
    "activate",         "restart",        "suspend",       "resume",          "reschedule",  "postpone",
    "postpone_until",   "fire",           "cancel",        "cancel_and_wait", "release",     "generation",
    "check_generation", "state",          "next_deadline", "get_info",        "add_handler", "remove_handler",
    "explain",          "target_release",
};

const char *const start_names[STARTS] = {
    "idle", "running", "suspended", "finished", "cancelled", "running, due soon", "suspended, due soon", "ticking",
};

model model_of(start start, int whole, int named) {
  model m;
  memset(&m, 0, sizeof m);
  m.whole = whole;
  m.named = named;
  m.prospect = start == START_IDLE ? NONE : FAR;
  if (start == START_IDLE) return m;
  m.armed = whole; /* each but the idle one was activated once */
  m.called = whole;
  switch (start) {
    case START_IDLE:
    case STARTS:
    case START_RUNNING: m.state = CHIME_STATE_RUNNING; break;
    case START_SUSPENDED: m.state = CHIME_STATE_SUSPENDED; break;
    case START_FINISHED:
      m.state = CHIME_STATE_FINISHED;
      m.prospect = SOON;
      m.due = 1;
      m.called = 1;
      break;
    case START_CANCELLED:
      m.state = CHIME_STATE_CANCELLED;
      m.cancelled = whole;
      break;
    case START_RUNNING_SOON:
      m.state = CHIME_STATE_RUNNING;
      m.prospect = SOON;
      break;
    case START_SUSPENDED_SOON:
      m.state = CHIME_STATE_SUSPENDED;
      m.prospect = SOON;
      break;
    case START_TICKING:
      m.state = CHIME_STATE_RUNNING;
      m.prospect = TICKING;
      m.called = 1;
      m.ticked = 1;
      break;
  }
  return m;
}

static int is_at_rest(const model *m) { return m->state != CHIME_STATE_RUNNING && m->state != CHIME_STATE_SUSPENDED; }

/* A new generation: an extra tick that was wanted is dropped. */
static void change(model *m, chime_state state) {
  m->state = state;
  m->changed = 1;
  m->fire_wanted = 0;
}

static void run(model *m, prospect prospect) {
  if (is_at_rest(m) && m->whole) {
    m->armed++;
    m->called = 1;
  }
  m->prospect = prospect;
  m->postponed = 0;
  change(m, CHIME_STATE_RUNNING);
}

static void stop(model *m) {
  change(m, CHIME_STATE_CANCELLED);
  if (!m->whole) return;
  m->cancelled++;
  m->called = 1;
}

/* OK; or RUNNING, where a callback can be under way. */
static int took_effect(const model *m, chime_status status) {
  return status == CHIME_OK || (status == CHIME_RUNNING && m->called);
}

/* Makes the call; 0 when it cannot have answered that now. */
static int apply(model *m, const call *c) {
  chime_status status = c->status;
  if (c->operation == TARGET_RELEASE) {
    if (m->target_gone) return status == CHIME_ERROR_INVALID_HANDLE;
    m->target_gone = 1;
    m->fire_wanted = 0; /* no tick without its target */
    if (!m->released && !is_at_rest(m)) stop(m);
    return status == CHIME_OK;
  }
  if (m->released) return status == CHIME_ERROR_INVALID_HANDLE;
  switch (c->operation) {
    case ACTIVATE:
      if (!is_at_rest(m)) return status == CHIME_IGNORED;
      if (m->target_gone) return status == CHIME_ERROR_TARGET_GONE;
      run(m, c->prospect);
      return status == CHIME_OK;
    case RESTART:
      if (m->target_gone) return status == CHIME_ERROR_TARGET_GONE;
      if (!took_effect(m, status)) return 0;
      run(m, c->prospect);
      return 1;
    case SUSPEND:
      if (m->state != CHIME_STATE_RUNNING) return status == CHIME_IGNORED;
      change(m, CHIME_STATE_SUSPENDED);
      return took_effect(m, status);
    case RESUME:
      if (m->state != CHIME_STATE_SUSPENDED) return status == CHIME_IGNORED;
      m->state = CHIME_STATE_RUNNING;
      return status == CHIME_OK;
    case RESCHEDULE:
      m->prospect = c->prospect;
      m->postponed = 0;
      change(m, m->state);
      return took_effect(m, status);
    case POSTPONE:
    case POSTPONE_UNTIL: /* both far away */
      if (is_at_rest(m)) return status == CHIME_IGNORED;
      if (status == CHIME_IGNORED) return m->called && m->prospect == TICKING; /* its tick has started */
      m->postponed = 1;
      return status == CHIME_OK;
    case FIRE:
      if (m->state == CHIME_STATE_CANCELLED) return status == CHIME_IGNORED;
      if (m->target_gone) return status == CHIME_ERROR_TARGET_GONE;
      m->fire_wanted = 1;
      return status == CHIME_OK;
    case CANCEL:
      if (is_at_rest(m)) return status == CHIME_IGNORED;
      if (!took_effect(m, status)) return 0;
      stop(m);
      return 1;
    case CANCEL_AND_WAIT:
      /* What is waited for may have started after what is cancelled here. */
      if (status == CHIME_TIMED_OUT) m->awaited = 1;
      if (is_at_rest(m)) return status == CHIME_TIMED_OUT || status == CHIME_IGNORED;
      stop(m);
      return status == CHIME_TIMED_OUT || status == CHIME_OK;
    case RELEASE:
      if (!took_effect(m, status)) return 0;
      if (!is_at_rest(m)) stop(m);
      m->released = 1;
      m->fire_wanted = 0;
      return 1;
    case GENERATION: return status == CHIME_OK && c->value == m->changed;
    case CHECK_GENERATION: return status == (m->changed ? CHIME_IGNORED : CHIME_OK);
    case STATE:
    case GET_INFO: return status == CHIME_OK && c->value == (int)m->state;
    case NEXT_DEADLINE: return status == CHIME_OK && c->value == (m->state == CHIME_STATE_RUNNING);
    case ADD_HANDLER: {
      int named = m->named;
      m->named = 1;
      return named ? took_effect(m, status) : status == CHIME_OK;
    }
    case REMOVE_HANDLER:
      if (!m->named) return status == CHIME_IGNORED;
      m->named = 0;
      return took_effect(m, status);
    case EXPLAIN: return status == CHIME_OK;
    case TARGET_RELEASE:
    case OPERATIONS: break;
  }
  return 0;
}

static int is_due(const model *m, prospect prospect) {
  return !m->released && m->state == CHIME_STATE_RUNNING && m->prospect == prospect && !m->postponed;
}

/* What a timer does of itself; 0: nothing of that. */
static int tick(model *m) {
  if (!is_due(m, SOON)) return 0;
  m->state = CHIME_STATE_FINISHED;
  m->due++;
  m->called = 1;
  return 1;
}

static int tick_again(model *m) {
  if (m->ticked || !is_due(m, TICKING)) return 0;
  m->ticked = 1;
  m->called = 1;
  return 1;
}

static int tick_once_more(model *m) {
  if (!m->fire_wanted) return 0;
  m->fire_wanted = 0;
  m->fired++;
  m->called = 1;
  return 1;
}

static int is_what_was_seen(const model *m, const model *seen) {
  if (m->fire_wanted || (m->awaited && !m->called)) return 0;
  if (m->fired != seen->fired || (!m->ticked && m->due != seen->due)) return 0;
  if (m->armed != seen->armed || m->cancelled != seen->cancelled) return 0;
  if (m->released != seen->released || m->target_gone != seen->target_gone) return 0;
  if (m->released) return 1;
  if (is_due(m, SOON)) return 0; /* still to come */
  if (m->prospect != seen->prospect) return 0;
  if (seen->far_away != (m->state == CHIME_STATE_RUNNING && (m->prospect == FAR || m->postponed))) return 0;
  return m->state == seen->state && m->named == seen->named && m->changed == seen->changed;
}

static int explain(const model *m, const call calls[2], int made, const model *seen) {
  static int (*const steps[])(model *) = {tick, tick_again, tick_once_more};
  size_t step;
  int i;
  if (made == 3 && is_what_was_seen(m, seen)) return 1;
  for (i = 0; i < 2; i++) {
    model next = *m;
    if ((made & (1 << i)) != 0) continue;
    if (apply(&next, &calls[i]) && explain(&next, calls, made | (1 << i), seen)) return 1;
  }
  for (step = 0; step < sizeof steps / sizeof steps[0]; step++) {
    model next = *m;
    if (steps[step](&next) && explain(&next, calls, made, seen)) return 1;
  }
  return 0;
}

int model_explains(const model *before, const call calls[2], const model *seen) {
  return explain(before, calls, 0, seen);
}
