/*
 * The model's passes: which callback comes next.
 *
 * A pass takes what is due when it begins, gives it an order, and visits each turn once; a turn delivers what its timer
 * has to deliver at that moment, or nothing. Callbacks of the library are held against that, one by one: turns that
 * would deliver nothing are passed over, and a turn that would deliver something else is a difference.
 */
#include "model.h"

/* ---- What a timer has to deliver --------------------------------------------------------------------------------- */

static int is_due(const timer *t, int64_t now) {
  return t->state == CHIME_STATE_RUNNING && t->deadline <= now && t->deadline != INT64_MAX;
}

static int next_callback(const timer *t) { return t->cancels > 0 ? CHIME_TICK_CANCELLED : CHIME_TICK_ARMED; }

static int target_lives(const model *m, const timer *t) {
  return t->target >= 0 && m->targets[t->target].references > 0;
}

/** The kind of tick that a turn delivers now; -1: none. */
static int delivery(model *m, const turn *turn) {
  timer *t = turn->timer;
  /* A timer that was armed anew since the pass began has its turn in the next one. */
  if (t->place != turn->place && turn->kind == TURN_DUE) return -1;
  if (t->released || m->has_ended) return -1;
  /* OPEN: an optional turn may be left to the next pass, and nobody sees which: then see_ends asks the library. */
  if (!turn->is_optional) model_ends_itself(m, t);
  if (t->released) return -1;
  if (timer_is_owed_callbacks(t)) return next_callback(t);
  if (t->fire_pending) {
    if (turn->kind == TURN_CALLBACK) return -1;
    if (turn->kind == TURN_FIRED || !is_due(t, m->now) || t->fire_time < t->deadline) return CHIME_TICK_FIRED;
  }
  return turn->kind == TURN_DUE && is_due(t, m->now) ? CHIME_TICK_DUE : -1;
}

/* ---- Passes ------------------------------------------------------------------------------------------------------ */

static int precedes(const turn *a, const turn *b) {
  if (a->key != b->key) return a->key < b->key;
  if (a->timer == b->timer) return a->kind < b->kind;
  return a->place < b->place;
}

static void add_turn(model *m, timer *t, turn_kind kind, int64_t key, int is_optional) {
  turn new_turn = {t, kind, key, t->place, is_optional};
  int at = m->turn_count;
  while (at > 0 && precedes(&new_turn, &m->turns[at - 1])) {
    m->turns[at] = m->turns[at - 1];
    at -= 1;
  }
  m->turns[at] = new_turn;
  m->turn_count += 1;
}

/** The turns of a pass that begins now. */
static void collect(model *m) {
  m->turn_count = 0;
  m->turn_next = 0;
  for (timer *t = m->timers; t < m->timers + m->timer_count; t += 1) {
    if (t->released) continue;
    if (timer_is_owed_callbacks(t) || (t->ends_itself && !t->fire_pending)) add_turn(m, t, TURN_CALLBACK, INT64_MIN, 0);
    else if (t->fire_pending) add_turn(m, t, TURN_FIRED, t->fire_time, 0);
    /* OPEN: what is dropped may keep its turn, and a callback that is owed by then comes in it. */
    else if (t->has_stale_turn) add_turn(m, t, TURN_CALLBACK, INT64_MIN, 1);
    /* Within its leeway it may come, when something brings a pass; it has to when its place in it is reached. */
    if (is_due(t, m->reading)) {
      int64_t key = t->deadline > INT64_MIN ? t->deadline : INT64_MIN + 1; /* after all callbacks */
      add_turn(m, t, TURN_DUE, key, model_placement(m, t) > m->reading);
    }
  }
  trace("  turns at %" PRId64, m->reading);
  for (const turn *one = m->turns; one < m->turns + m->turn_count; one += 1) {
    trace("    turn: timer %d kind %d key %" PRId64 "%s", one->timer->number, (int)one->kind, one->key,
          one->is_optional ? ", or later" : "");
  }
}

/** After the functions of a pass: what they made due may come in this pass or in the next. */
static void collect_after_functions(model *m) {
  turn before[MOST_TIMERS * 2];
  int count = m->turn_count;
  memcpy(before, m->turns, sizeof before);
  collect(m);
  m->collected = 1;
  for (timer *t = m->timers; t < m->timers + m->timer_count; t += 1) {
    int has_turn = !timer_is_owed_callbacks(t) || is_due(t, m->reading);
    if (!t->released && t->fire_pending && !has_turn) add_turn(m, t, TURN_FIRED, t->fire_time, 1);
  }
  for (turn *one = m->turns; one < m->turns + m->turn_count; one += 1) {
    int had = 0;
    for (int j = 0; j < count; j += 1) {
      int had_perhaps = before[j].kind == TURN_CALLBACK && before[j].is_optional;
      had |= before[j].timer == one->timer && before[j].place == one->place && !had_perhaps &&
             (before[j].kind == TURN_DUE) == (one->kind == TURN_DUE);
    }
    /* OPEN: what they have dropped keeps its turn. */
    one->is_optional = !had || (one->is_optional && one->kind != TURN_CALLBACK);
  }
}

static int has_must(const model *m) {
  for (int i = 0; i < m->turn_count; i += 1) {
    if (!m->turns[i].is_optional) return 1;
  }
  return 0;
}

/** When the first running timer has to tick; INT64_MAX: never. */
static int64_t earliest_placement(const model *m) {
  int64_t earliest = INT64_MAX;
  for (const timer *t = m->timers; t < m->timers + m->timer_count; t += 1) {
    if (t->released || t->state != CHIME_STATE_RUNNING || t->deadline == INT64_MAX) continue;
    if (model_placement(m, t) < earliest) earliest = model_placement(m, t);
  }
  return earliest;
}

static void begin_instant(model *m) {
  m->instant = m->now;
  m->passes_here = 0;
  m->perhaps_here = 0;
}

/** Begins the next pass: at this instant, or at the next deadline up to the goal. 0: there is none. */
static int begin_pass(model *m, int optional_too) {
  while (1) {
    int64_t next;
    if (m->instant != m->now) begin_instant(m);
    m->reading = m->now;
    m->pass_functions_end = m->function_count;
    m->collected = m->function_next == m->function_count;
    collect(m);
    m->in_pass = has_must(m) || m->function_next < m->function_count || (optional_too && m->turn_count > 0);
    m->passes_here += m->in_pass;
    m->passes_beyond += m->in_pass && m->now > m->goal;
    if (m->in_pass) return 1;
    next = earliest_placement(m);
    if (next == INT64_MAX || (next > m->goal && next > m->now)) return 0;
    if (next <= m->now) fail("the model is wrong: %" PRId64 " is due and has no turn", next);
    for (const timer *t = m->timers; t < m->timers + m->timer_count; t += 1) {
      if (model_has_to_end(t)) fail("time moves on, and released timer %d has not ended", t->number);
    }
    m->now = next;
  }
}

static void functions_come_first(model *m, const char *what) {
  /* What a tick in doubt has put on the queue comes after this pass, if that tick was in this pass. */
  int first_in_doubt = m->is_in_doubt && m->doubted == m->now ? m->doubted_functions : INT32_MAX;
  if (m->function_next < m->pass_functions_end && m->function_next < first_in_doubt) {
    fail("%s before function %d", what, m->function_next);
  }
  if (!m->collected) collect_after_functions(m);
}

/* Whether the later of two turns may be first: equal in time, and one has no place among activations; or by a stale turn. */
static int order_is_open(const turn *a, const turn *b, int kind) {
  if (b->timer->has_stale_turn && (kind == CHIME_TICK_ARMED || kind == CHIME_TICK_CANCELLED)) return 1;
  return a->key == b->key && (a->place == 0 || b->place == 0);
}

/* OPEN: the timer's slot may have the turn of one that has gone: then its own callback comes in the next pass, but in no later
 * one, unless it is due in this one. */
static int may_be_in_next_pass(const turn *t) { return t->timer->slot_may_have_turn && t->kind != TURN_DUE; }

/* A tick within its leeway in a pass that time has jumped in, or a callback in its place: it may as well have come in
 * the next pass. */
static void doubt(model *m, const timer *t, int kind) {
  m->perhaps_here += 1;
  m->passes_beyond += m->now > m->goal;
  if (!m->is_in_doubt || m->doubted != m->now) m->doubted_functions = m->function_count;
  m->is_in_doubt = kind != CHIME_TICK_DUE || model_placement(m, t) <= m->now;
  m->doubted = m->now;
}

/** A due tick keeps its turn while other callbacks of its timer come first. */
static void use_turn(model *m, int kind) {
  const turn *t = &m->turns[m->turn_next];
  if (t->kind != TURN_DUE || kind == CHIME_TICK_DUE || !is_due(t->timer, m->now)) m->turn_next += 1;
}

/** Finds the turn of a callback that has begun, and passes over those before it that deliver nothing. */
static void take_turn(model *m, timer *t, int kind, int64_t actual_ns) {
  int tried_optional = 0;
  while (1) {
    if (m->in_pass) {
      functions_come_first(m, "a tick");
      for (; m->turn_next < m->turn_count; m->turn_next += 1) {
        turn *next = &m->turns[m->turn_next];
        int delivered = delivery(m, next);
        if (delivered < 0 || (next->is_optional && actual_ns > m->now)) continue;
        if (next->timer == t && delivered == kind) {
          if (next->is_optional) doubt(m, t, kind);
          use_turn(m, kind);
          return;
        }
        for (int i = m->turn_next + 1; i < m->turn_count; i += 1) {
          turn later = m->turns[i];
          if (later.timer != t || delivery(m, &later) != kind || !order_is_open(next, &later, kind)) continue;
          memmove(&m->turns[m->turn_next + 1], next, (size_t)(i - m->turn_next) * sizeof later);
          m->turns[m->turn_next] = later;
          use_turn(m, kind);
          return;
        }
        if (next->is_optional || may_be_in_next_pass(next)) {
          if (!next->is_optional) next->timer->slot_may_have_turn = 0;
          continue;
        }
        if (m->is_in_doubt && m->doubted == m->now) {
          turn alone = {t, kind == CHIME_TICK_DUE ? TURN_DUE : TURN_FIRED, 0, t->place, 0};
          m->in_pass = 0;
          if (delivery(m, &alone) == kind) return;
        }
        fail("timer %d %s comes at %" PRId64 ", and timer %d %s, due at %" PRId64 ", is first", t->number,
             chime_tick_kind_name(kind), m->now, next->timer->number, chime_tick_kind_name(delivered), next->key);
      }
    }
    /* A tick that is said to start now starts in a pass at this instant. */
    if (!begin_pass(m, actual_ns == m->now && !tried_optional)) {
      fail("timer %d %s is not due at %" PRId64, t->number, chime_tick_kind_name(kind), m->now);
    }
    tried_optional = actual_ns == m->now;
    if (m->passes_here > 1000) fail("more than 1,000 passes at one instant");
  }
}

void model_advance_begins(model *m, int64_t goal) {
  m->advancing = 1;
  /* The turns of a pass that a suspension has cut short come first, behind the functions. */
  m->in_pass = m->has_rest;
  m->goal = goal;
  m->passes_beyond = 0;
  begin_instant(m);
  m->passes_here = m->in_pass;
  m->pass_functions_end = m->function_count;
}

/** In this pass no turn is left that has to deliver something. */
static void end_pass(model *m, const char *what) {
  if (!m->in_pass) return;
  functions_come_first(m, what);
  while (m->turn_next < m->turn_count) {
    turn *next = &m->turns[m->turn_next++];
    int delivered = delivery(m, next);
    if (delivered < 0 || next->is_optional) continue;
    fail("%s before timer %d %s, due at %" PRId64, what, next->timer->number, chime_tick_kind_name(delivered),
         next->key);
  }
}

void model_advance_ended(model *m, chime_status status) {
  statuses permitted = m->has_ended ? STATUS(CHIME_ERROR_SHUT_DOWN) : STATUS(CHIME_OK);
  if (!m->has_ended && (m->passes_here + m->perhaps_here >= 1000 || m->passes_beyond >= 1000))
    permitted |= STATUS(CHIME_ERROR_LIMIT);
  expect_status("chime_queue_advance", status, permitted);
  if (status == CHIME_OK && m->suspensions > 0) {
    m->has_rest = m->in_pass && m->collected && m->turn_next < m->turn_count;
    if (m->in_pass && m->is_in_doubt && m->doubted == m->now) {
      /* The tick that suspended the queue may have been the first of another pass, of which the others are left. */
      m->reading = m->now;
      collect(m);
      for (turn *one = m->turns; one < m->turns + m->turn_count; one += 1) one->is_optional = 1;
      m->collected = 1;
      m->has_rest = m->turn_count > 0;
    }
    m->now = m->goal > m->now ? m->goal : m->now;
    m->in_pass = 0;
    m->advancing = 0;
    m->fire_dropped = 1; /* OPEN: a turn that is left may be of a timer that has gone */
    return;
  }
  if (status == CHIME_OK) {
    do end_pass(m, "the end of the advance");
    while (begin_pass(m, 0));
    if (m->goal > m->now) m->now = m->goal;
  }
  m->advancing = 0;
  m->in_pass = 0;
  m->is_held_up = 0;
  m->has_rest = 0;
  m->fire_dropped = 0;
  for (timer *t = m->timers; t < m->timers + m->timer_count; t += 1) t->has_stale_turn = t->slot_may_have_turn = 0;
}

/* ---- Ticks ------------------------------------------------------------------------------------------------------- */

/**
 * Counts a tick that stands for so many missed times of the grid, and for those before a suspend, which come first; how
 * many it missed, and how many of the grid are left.
 */
static uint64_t count_due_times(timer *t, uint64_t *on_grid) {
  uint64_t carried = t->carried, missed = *on_grid + carried;
  t->carried = 0;
  if (t->schedule.tick_limit > 0) {
    uint64_t left = t->schedule.tick_limit - t->due_count;
    if (missed >= left - 1) {
      missed = left - 1;
      t->state = CHIME_STATE_FINISHED;
      t->rearms = 0;
    }
    t->due_count += missed + 1;
  }
  *on_grid = missed - (carried < missed ? carried : missed);
  return missed;
}

static int64_t on_time_line(__int128 time) { return time > INT64_MAX ? INT64_MAX : (int64_t)time; }

/**
 * The times of the grid stand as they do without jitter. The last one that has passed is due once its random part has
 * passed, too; all before it are, since a random part is at most the interval.
 */
static void start_due_with_jitter(model *m, timer *t, uint64_t *missed, int64_t *scheduled) {
  const chime_schedule *s = &t->schedule;
  __int128 grid = (__int128)t->deadline - t->random_part;
  int is_delay = s->missed_policy == CHIME_MISSED_DELAY;
  uint64_t passed = is_delay ? 0 : (uint64_t)((m->now - grid) / s->interval_ns), on_grid = passed, stands_for;
  int64_t part = 0;
  if (passed > 0) {
    part = model_draw(m, s->jitter_ns);
    /* OPEN: due just now: a tick of its own. */
    if (on_time_line(on_time_line(grid + (__int128)passed * s->interval_ns) + (__int128)part) >= m->now) on_grid -= 1;
  }
  stands_for = on_grid;
  *missed = count_due_times(t, &stands_for);
  if (stands_for > 0) {
    int64_t its_part = stands_for == passed ? part : model_draw(m, s->jitter_ns);
    *scheduled = on_time_line(grid + (__int128)stands_for * s->interval_ns + its_part);
  }
  if (t->state == CHIME_STATE_FINISHED) return;
  t->random_part = on_grid < passed ? part : model_draw(m, s->jitter_ns);
  if (is_delay) {
    t->deadline = saturating_sum(saturating_sum(m->now, s->interval_ns), t->random_part);
    t->provisional = t->deadline;
    t->rearms = 1;
  } else {
    t->deadline =
        on_time_line(on_time_line(grid + ((__int128)on_grid + 1) * s->interval_ns) + (__int128)t->random_part);
  }
}

/** Moves the schedule past the tick that starts now, and says what the tick has to say. */
static void start_due(model *m, timer *t, uint64_t *missed, int64_t *scheduled) {
  const chime_schedule *s = &t->schedule;
  uint64_t on_grid = 0;
  *missed = 0;
  *scheduled = t->deadline;
  if (s->interval_ns == 0) {
    t->state = CHIME_STATE_FINISHED;
    return;
  }
  if (s->jitter_ns > 0) {
    start_due_with_jitter(m, t, missed, scheduled);
    return;
  }
  if (s->missed_policy == CHIME_MISSED_DELAY) {
    t->deadline = saturating_sum(m->now, s->interval_ns); /* OPEN: what is said inside the handler */
    t->provisional = t->deadline;
    t->rearms = 1;
  } else {
    __int128 next = (__int128)t->deadline;
    on_grid = (uint64_t)(((__int128)m->now - t->deadline) / s->interval_ns);
    next += ((__int128)on_grid + 1) * s->interval_ns;
    t->deadline = next > INT64_MAX ? INT64_MAX : (int64_t)next;
  }
  *missed = count_due_times(t, &on_grid);
  /* OPEN: scheduled is the last of the due times that the tick stands for. */
  *scheduled = (int64_t)(*scheduled + (__int128)on_grid * s->interval_ns);
}

static void must_not_overlap(const model *m, const char *what) {
  if (m->suspensions > 0) fail("%s on a suspended queue", what);
  const timer *busy = model_busy_timer(m);
  if (busy != NULL) fail("%s inside a callback of timer %d", what, busy->number);
}

static void last_callback(model *m, timer *t, int kind) {
  if (m->in_pass && !m->has_ended) {
    functions_come_first(m, "a last callback");
    /* OPEN: at the end of the pass, not in its midst. */
    for (int i = m->turn_next; i < m->turn_count; i += 1) {
      if (may_be_in_next_pass(&m->turns[i])) continue;
      if (!m->turns[i].is_optional && delivery(m, &m->turns[i]) >= 0) {
        fail("timer %d ends while timer %d has its turn", t->number, m->turns[i].timer->number);
      }
    }
  }
  if (!timer_is_owed_callbacks(t) || next_callback(t) != kind)
    fail("released timer %d: %s", t->number, chime_tick_kind_name(kind));
}

void model_tick_begins(model *m, timer *t, const chime_tick *tick) {
  uint64_t sequence = 0, missed = 0;
  int64_t scheduled = m->now;
  if (t->finalized) fail("timer %d: a callback after the finalizer", t->number);
  must_not_overlap(m, "a callback");
  if (t->released) {
    last_callback(m, t, tick->kind);
  } else {
    if (!m->advancing) fail("timer %d: a callback outside advance", t->number);
    take_turn(m, t, tick->kind, tick->actual_ns);
    scheduled = m->now;
  }
  if (tick->kind == CHIME_TICK_ARMED || tick->kind == CHIME_TICK_CANCELLED) {
    if (tick->kind == CHIME_TICK_ARMED) t->armed_is_owed = 0;
    else t->cancels -= 1;
  } else {
    sequence = ++t->sequence;
    m->ticks += 1;
    if (tick->kind == CHIME_TICK_FIRED) {
      scheduled = t->fire_time;
      t->fire_pending = 0;
    } else {
      start_due(m, t, &missed, &scheduled);
      m->missed += missed;
      t->missed += missed;
    }
    t->handler_count = 0;
    t->handler_next = 0;
    for (int i = 0; i < KEYS && t->named[i] >= 0; i += 1) t->handlers[t->handler_count++] = t->named[i];
  }
  expect_of_timer(t, "sequence", (int64_t)tick->sequence, (int64_t)sequence);
  expect_of_timer(t, "missed", (int64_t)tick->missed, (int64_t)missed);
  expect_of_timer(t, "scheduled", tick->scheduled_ns, scheduled);
  expect_of_timer(t, "actual", tick->actual_ns, m->now);
  expect_of_timer(t, "reserved", (int64_t)tick->reserved, 0);
  if (!t->released) model_sees_generation(t, tick->generation);
  if (tick->target != (target_lives(m, t) ? (void *)&m->targets[t->target] : NULL)) fail("timer %d: target", t->number);
  if (tick->target != NULL) m->targets[t->target].holds += 1;
  t->busy = tick->target != NULL ? 2 : 1;
}

/** The tick is over when no handler is left to be called. */
void model_tick_returns(model *m, timer *t) {
  while (t->handler_next < t->handler_count && !m->named[t->handlers[t->handler_next]].is_added) t->handler_next += 1;
  if (t->handler_next < t->handler_count) return;
  if (t->busy == 2) m->targets[t->target].holds -= 1;
  t->busy = 0;
  t->handler_count = 0;
  t->handler_next = 0;
  if (t->rearms && t->state == CHIME_STATE_RUNNING && !t->released) {
    int64_t from_end = saturating_sum(saturating_sum(m->now, t->schedule.interval_ns), t->random_part);
    /* A postponement made meanwhile counts if it is later. */
    t->deadline = t->deadline > t->provisional && t->deadline > from_end ? t->deadline : from_end;
  }
  t->rearms = 0;
  int has_ended = t->state == CHIME_STATE_FINISHED || t->state == CHIME_STATE_CANCELLED;
  if (t->self_releasing && !t->released && has_ended && !timer_has_extra(t)) model_release(m, t);
}

void model_named_begins(model *m, named_handler *h) {
  timer *t = &m->timers[h->timer];
  if (!t->busy || t->handler_next >= t->handler_count || &m->named[t->handlers[t->handler_next]] != h) {
    fail("timer %d: the handler of key %d is not the one to be called", t->number, h->key);
  }
  t->handler_next += 1;
  h->is_called = 1;
}

void model_named_returns(model *m, named_handler *h) {
  h->is_called = 0;
  model_tick_returns(m, &m->timers[h->timer]);
}

/* ---- Functions and ends ------------------------------------------------------------------------------------------ */

void model_function_begins(model *m, int number) {
  must_not_overlap(m, "a function");
  if (!m->advancing) fail("function %d outside advance", number);
  while (!m->in_pass || m->function_next >= m->pass_functions_end) {
    end_pass(m, "a function");
    if (!begin_pass(m, 0)) fail("function %d was not to run", number);
  }
  if (m->function_next != number) fail("function %d before %d", number, m->function_next);
  m->function_next += 1;
  m->functions[number].ran = 1;
}

void model_ends_itself(model *m, timer *t) {
  if (t->ends_itself && m->advancing && !t->released && !timer_has_extra(t)) model_release(m, t);
}

void model_finalizer_runs(model *m, timer *t) {
  must_not_overlap(m, "a finalizer");
  model_ends_itself(m, t);
  if (!t->released) fail("timer %d: a finalizer, and it was not released", t->number);
  if (timer_is_owed_callbacks(t))
    fail("timer %d: the finalizer before %s", t->number, chime_tick_kind_name(next_callback(t)));
  if (t->finalized || !t->has_finalizer) fail("timer %d: the finalizer again", t->number);
  if (m->advancing && m->instant != m->now) begin_instant(m);
  m->perhaps_here += m->advancing;
  m->passes_beyond += m->advancing && m->now > m->goal;
  t->finalized = 1;
}

void model_destructor_runs(model *m, target *g) {
  int number = (int)(g - m->targets);
  if (g->destroyed) fail("target %d: the destructor again", number);
  if (g->references > 0 || g->holds > 0) fail("target %d: the destructor, and it is in use", number);
  g->destroyed = 1;
}

void model_nothing_is_owed(const model *m) {
  for (const timer *t = m->timers; t < m->timers + m->timer_count; t += 1) {
    if (t->busy) fail("timer %d is busy", t->number);
    if (m->is_held_up && !m->has_ended) continue;
    if (model_has_to_end(t)) {
      fail("timer %d was released; finalized %d, cancels owed %u", t->number, t->finalized, t->cancels);
    }
  }
  for (const named_handler *h = m->named; h < m->named + m->named_count; h += 1) {
    int is_due = h->finalizer_is_due || m->timers[h->timer].released;
    if (!h->has_finalizer || h->finalized == is_due || (m->is_held_up && !m->has_ended)) continue;
    fail("timer %d, key %d: finalizer %s", h->timer, h->key, is_due ? "owed" : "too early");
  }
  for (int i = 0; i < m->target_count; i += 1) {
    if (m->targets[i].references == 0 && !m->targets[i].destroyed) fail("target %d was not destroyed", i);
  }
  for (int i = 0; i < m->function_count; i += 1) {
    const function *f = &m->functions[i];
    if (f->finalized != (f->ran || f->is_dropped)) fail("function %d: ran %d, finalized %d", i, f->ran, f->finalized);
  }
}

int64_t model_next_deadline(const model *m) {
  if (m->suspensions > 0) return INT64_MAX;
  for (const timer *t = m->timers; m->is_held_up && !m->advancing && t < m->timers + m->timer_count; t += 1) {
    if (model_has_to_end(t)) return INT64_MIN;
  }
  if (m->function_next < m->function_count) return INT64_MIN;
  for (const timer *t = m->timers; t < m->timers + m->timer_count; t += 1) {
    if (!t->released && (timer_has_extra(t) || (t->ends_itself && !m->advancing))) return INT64_MIN;
  }
  return earliest_placement(m);
}
