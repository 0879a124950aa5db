/* Calls that make timers, and calls on them, on both sides. */
#include "lockstep.h"

/* ---- Creation ---------------------------------------------------------------------------------------------------- */

/** What may be the answer when a timer, the model's last, is made. */
static statuses creation(int is_valid, int target_gone) {
  uint64_t at_least = 0, at_most = 0; /* timers that count: one that releases itself in this pass may or may not */
  statuses all = 0;
  if (!is_valid) all |= STATUS(CHIME_ERROR_INVALID_ARGUMENT);
  if (target_gone) all |= STATUS(CHIME_ERROR_TARGET_GONE);
  for (const timer *t = M->timers; t < M->timers + M->timer_count - 1; t += 1) {
    at_least += !t->released && !(t->ends_itself && M->advancing);
    at_most += !t->released;
  }
  if (M->timer_limit > 0 && at_least >= M->timer_limit) return all | STATUS(CHIME_ERROR_LIMIT);
  if (all == 0) all = STATUS(CHIME_OK);
  return M->timer_limit > 0 && at_most >= M->timer_limit ? all | STATUS(CHIME_ERROR_LIMIT) : all;
}

static chime_schedule schedule_now(const operation *o) {
  chime_schedule s = o->schedule;
  if (o->first_is_relative) s.first_ns = saturating_sum(M->now, s.first_ns);
  /* Where leeway is honoured the place of a tick is known to the nanosecond for such only. */
  if (M->honours_leeway && s.leeway_ns > 0) s.leeway_ns %= 1 << 26;
  return s;
}

static void trace_schedule(const chime_schedule *s) {
  trace("    first %" PRId64 " interval %" PRId64 " leeway %" PRId64 " jitter %" PRId64 " limit %" PRIu64
        " flags %u policies %d %d",
        s->first_ns, s->interval_ns, s->leeway_ns, s->jitter_ns, s->tick_limit, s->flags, (int)s->missed_policy,
        (int)s->resume_policy);
}

void create(const operation *o, timer *none) {
  int anonymous = o->kind != CREATE && (o->flags & 16) != 0;
  int target_gone = 0, is_valid = 1;
  chime_timer_t id = 77;
  chime_timer_t *out = anonymous ? NULL : &id;
  chime_schedule s = CHIME_SCHEDULE_INIT;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_status status;
  timer *t;
  statuses permitted;
  if (M->timer_count == MOST_TIMERS) return;
  t = model_add_timer(M);
  t->has_finalizer = (o->flags & 8) == 0;
  t->self_releasing = anonymous;
  options.handler = on_tick;
  options.context = t;
  if (t->has_finalizer) options.finalizer = finalize_timer;
  if (o->kind == CREATE || o->kind == START) {
    if ((o->flags & 1) != 0) options.flags = CHIME_TIMER_SELF_RELEASE;
    t->self_releasing |= (o->flags & 1) != 0;
    t->has_armed = (o->flags & 2) != 0;
    t->has_cancelled = (o->flags & 4) != 0;
    if (t->has_armed) options.registration_handler = on_armed;
    if (t->has_cancelled) options.cancel_handler = on_cancelled;
    if ((o->flags & 32) != 0) options.label = "model \xc3\xa9";
    if ((o->flags & 64) != 0 && M->target_count > 0) {
      t->target = o->other % M->target_count;
      options.target = M->targets[t->target].id;
      target_gone = M->targets[t->target].references == 0;
    }
  }
  if (o->kind == START) {
    s = schedule_now(o);
    is_valid = schedule_is_valid(&s);
  } else if (o->kind == AFTER || o->kind == EVERY) {
    s.first_ns = o->amount_ns;
    s.interval_ns = o->kind == EVERY ? o->amount_ns : 0;
    is_valid = o->amount_ns >= (o->kind == EVERY);
  }
  permitted = creation(is_valid, target_gone);
  switch (o->kind) {
    case CREATE: status = chime_timer_create(the.queue, &options, out); break;
    case START: status = chime_timer_start(the.queue, &options, &s, out); break;
    case AFTER: status = chime_timer_after(the.queue, o->amount_ns, on_tick, t, options.finalizer, out); break;
    default: status = chime_timer_every(the.queue, o->amount_ns, on_tick, t, options.finalizer, out); break;
  }
  trace("  timer %d%s flags %d target %d", t->number, anonymous ? " anonymous" : "", o->flags, t->target);
  trace_schedule(&s);
  expect_status("creation", status, permitted);
  if (status != CHIME_OK) {
    if (id != 77) fail("a refused creation writes an id");
    M->timer_count -= 1;
    return;
  }
  if (!anonymous) t->id = id;
  for (const timer *other = M->timers; other < t && !anonymous; other += 1) {
    if (other->id == id) fail("the id of timer %d again", other->number);
  }
  if (o->kind != CREATE) model_start(M, t, &s);
}

/* ---- Calls on a timer -------------------------------------------------------------------------------------------- */

/* Every id is a timer's here, if only one that was released: Tests/C/ids.c tries forged ones. */

static const struct {
  statuses (*model)(model *m, timer *t, const chime_schedule *schedule);
  chime_status (*library)(chime_timer_t timer, const chime_schedule *schedule);
} schedule_calls[KINDS] = {
    [ACTIVATE] = {model_activate, chime_timer_activate},
    [RESTART] = {model_restart, chime_timer_restart},
    [RESCHEDULE] = {model_reschedule, chime_timer_reschedule},
};

void call_with_schedule(const operation *o, timer *t) {
  chime_schedule s = schedule_now(o);
  const chime_schedule *given = o->has_schedule ? &s : NULL;
  statuses permitted = schedule_calls[o->kind].model(M, t, given);
  if (given != NULL) trace_schedule(given);
  expect_status("activate, restart or reschedule", schedule_calls[o->kind].library(t->id, given), permitted);
}

void restart_first(const operation *o, timer *t) {
  int is_deadline = o->kind == RESTART_UNTIL;
  int64_t first = is_deadline && o->is_relative ? saturating_sum(M->now, o->amount_ns) : o->amount_ns;
  statuses permitted = model_restart_first(M, t, first, is_deadline);
  trace("    first %" PRId64, first);
  expect_status("restart_after or restart_until",
                is_deadline ? chime_timer_restart_until(t->id, first) : chime_timer_restart_after(t->id, first),
                permitted);
}

void set_interval(const operation *o, timer *t) {
  statuses permitted = model_set_interval(M, t, o->amount_ns);
  trace("    interval %" PRId64, o->amount_ns);
  expect_status("set_interval", chime_timer_set_interval(t->id, o->amount_ns), permitted);
}

void postpone(const operation *o, timer *t) {
  int64_t amount = o->is_relative ? saturating_sum(M->now, o->amount_ns) : o->amount_ns;
  statuses permitted;
  trace("    by or until %" PRId64, amount);
  if (o->kind == POSTPONE_UNTIL) {
    permitted = model_postpone(M, t, amount, -1);
    expect_status("postpone_until", chime_timer_postpone_until(t->id, amount), permitted);
    return;
  }
  if (amount < 0) {
    permitted = STATUS(CHIME_ERROR_INVALID_ARGUMENT);
    if (t->released) permitted |= STATUS(CHIME_ERROR_INVALID_HANDLE);
    if (!timer_is_live(t)) permitted |= STATUS(t->busy ? CHIME_IGNORED | CHIME_RUNNING : CHIME_IGNORED);
  } else {
    permitted = model_postpone(M, t, saturating_sum(M->now, amount), amount);
  }
  expect_status("postpone", chime_timer_postpone(t->id, amount), permitted);
}

void cancel_and_wait(const operation *o, timer *t) {
  statuses permitted = STATUS(CHIME_ERROR_INVALID_ARGUMENT);
  if (o->amount_ns < 0) {
    if (t->released) permitted |= STATUS(CHIME_ERROR_INVALID_HANDLE);
  } else {
    permitted = model_cancel(M, t);
    if (t->busy && !t->released) permitted = STATUS(CHIME_ERROR_WOULD_DEADLOCK);
  }
  expect_status("cancel_and_wait", chime_timer_cancel_and_wait(t->id, o->amount_ns), permitted);
}

static const char *const keys[KEYS] = {"a", "\xc3\xa9", ""};

void add_handler(const operation *o, timer *t) {
  int key = o->other % KEYS, old = -1, at = 0;
  named_handler *h = &M->named[M->named_count];
  statuses permitted = t->released ? STATUS(CHIME_ERROR_INVALID_HANDLE) : STATUS(CHIME_OK);
  if (M->named_count == MOST_NAMED) return;
  *h = (named_handler){.has_finalizer = (o->other & 64) == 0};
  trace("    key %d", key);
  if (!t->released) {
    h->timer = t->number;
    h->key = key;
    h->is_added = 1;
    old = model_named(M, t, key);
    while (t->named[at] != old) at += 1; /* its place, or the first that is free */
    t->named[at] = M->named_count++;
  }
  if (old >= 0) {
    M->named[old].is_added = 0;
    M->named[old].finalizer_is_due = 1;
    if (M->named[old].is_called) permitted = STATUS(CHIME_RUNNING);
  }
  expect_status("add_handler",
                chime_timer_add_handler(t->id, keys[key], on_named, h, h->has_finalizer ? finalize_named : NULL),
                permitted);
}

void remove_handler(const operation *o, timer *t) {
  int key = o->other % KEYS;
  statuses permitted = STATUS(CHIME_ERROR_INVALID_HANDLE);
  if (!t->released) {
    int old = model_named(M, t, key);
    permitted = old < 0 ? STATUS(CHIME_IGNORED) : M->named[old].is_called ? STATUS(CHIME_RUNNING) : STATUS(CHIME_OK);
    if (old >= 0) model_remove_named(M, t, key);
  }
  trace("    key %d", key);
  expect_status("remove_handler", chime_timer_remove_handler(t->id, keys[key]), permitted);
}

static const struct {
  statuses (*model)(model *m, timer *t);
  chime_status (*library)(chime_timer_t timer);
} plain_calls[KINDS] = {
    [SUSPEND] = {model_suspend, chime_timer_suspend}, [RESUME] = {model_resume, chime_timer_resume},
    [FIRE] = {model_fire, chime_timer_fire},          [CANCEL] = {model_cancel, chime_timer_cancel},
    [RELEASE] = {model_release, chime_timer_release},
};

void call_timer(const operation *o, timer *t) {
  statuses permitted = plain_calls[o->kind].model(M, t);
  expect_status("suspend, resume, fire, cancel or release", plain_calls[o->kind].library(t->id), permitted);
}
