/* Calls on the queue and on targets, on both sides, and what handlers are told to do. */
#include "lockstep.h"

/* ---- Calls on the queue and on targets --------------------------------------------------------------------------- */

/** A stretch of time in which the repeating timers do not tick more often than it takes to see something. */
static int64_t bearable(int64_t duration_ns) {
  for (const timer *t = M->timers; t < M->timers + M->timer_count; t += 1) {
    if (t->released || !t->has_schedule || t->schedule.interval_ns == 0) continue;
    if (duration_ns / t->schedule.interval_ns > 256) duration_ns = t->schedule.interval_ns * 256;
  }
  return duration_ns;
}

void call_advance(const operation *o, timer *t) {
  int64_t amount = o->is_relative ? saturating_sum(M->now, o->amount_ns) : o->amount_ns;
  int64_t goal;
  statuses refusals = 0;
  if (the.depth > 0) refusals |= STATUS(CHIME_ERROR_WOULD_DEADLOCK);
  if (o->kind == ADVANCE_TO) amount = amount > M->now ? amount - M->now : 0;
  if (amount < 0 || amount == CHIME_FOREVER) refusals |= STATUS(CHIME_ERROR_INVALID_ARGUMENT);
  if (refusals != 0) {
    expect_status("advance", chime_queue_advance(the.queue, amount), refusals);
    return;
  }
  amount = bearable(amount);
  goal = saturating_sum(M->now, amount);
  trace("    from %" PRId64 " to %" PRId64, M->now, goal);
  model_advance_begins(M, goal);
  model_advance_ended(M, chime_queue_advance(the.queue, amount));
}

void call_jump(const operation *o, timer *t) {
  statuses permitted = o->amount_ns < 0 ? STATUS(CHIME_ERROR_INVALID_ARGUMENT) : STATUS(CHIME_OK);
  int64_t before = M->now;
  if (o->amount_ns >= 0) M->now = saturating_sum(M->now, o->amount_ns);
  if (M->doubted == before) M->doubted = M->now; /* where a tick was in doubt, it stays so */
  expect_status("jump", chime_queue_jump(the.queue, o->amount_ns), permitted);
}

void call_target(const operation *o, timer *t) {
  target *g;
  void *object = &object;
  statuses permitted;
  if (o->kind == TARGET_CREATE) {
    if (M->target_count == MOST_TARGETS) return;
    g = &M->targets[M->target_count++];
    *g = (target){.references = 1};
    expect_status("target_create", chime_target_create(g, destroy_target, &g->id), STATUS(CHIME_OK));
    return;
  }
  if (M->target_count == 0) return;
  g = &M->targets[o->subject % M->target_count];
  permitted = g->references > 0 ? STATUS(CHIME_OK) : STATUS(CHIME_ERROR_INVALID_HANDLE);
  if (o->kind == TARGET_RETAIN) {
    g->references += g->references > 0;
    expect_status("target_retain", chime_target_retain(g->id, &object), permitted);
    if (object != (g->references > 0 ? (void *)g : (void *)&object)) fail("target_retain: object");
    return;
  }
  if (g->references == 1 && g->holds > 0) permitted = STATUS(CHIME_RUNNING);
  if (g->references > 0) model_target_release(M, g);
  /* Outside a pass the timers that it releases call back one by one, while others are not released yet. */
  the.quiet = the.depth == 0;
  expect_status("target_release", chime_target_release(g->id), permitted);
  the.quiet = 0;
}

void call_async(const operation *o, timer *t) {
  function *f = &M->functions[M->function_count];
  if (M->function_count == MOST_FUNCTIONS) return;
  expect_status("async", chime_queue_async(the.queue, on_function, f, finalize_function), STATUS(CHIME_OK));
  M->function_count += 1;
}

/* A suspended queue is resumed soon, so that something happens: it is resumed twice as often. */
void suspend_or_resume(const operation *o, timer *t) {
  if (o->kind == SUSPEND_QUEUE) {
    statuses permitted = model_suspend_queue(M, the.depth > 0);
    expect_status("queue_suspend", chime_queue_suspend(the.queue), permitted);
    return;
  }
  statuses permitted = model_resume_queue(M);
  expect_status("queue_resume", chime_queue_resume(the.queue), permitted);
}

void end_queue(const operation *o, timer *t) {
  statuses released = STATUS(CHIME_RUNNING) | (model_busy_timer(M) != NULL ? 0 : STATUS(CHIME_OK));
  /* From outside it is the end of the input. */
  if (the.depth == 0) return;
  model_end_queue(M);
  if ((o->subject & 1) != 0) {
    expect_status("shutdown", chime_queue_shutdown(the.queue, CHIME_FOREVER), STATUS(CHIME_ERROR_WOULD_DEADLOCK));
  } else {
    expect_status("queue_release", chime_queue_release(the.queue), released);
  }
  expect_status("advance of a released queue", chime_queue_advance(the.queue, 1), STATUS(CHIME_ERROR_INVALID_HANDLE));
}

void add_script(const operation *o, timer *t) {
  int is_function = (o->subject & 128) != 0;
  script *s;
  if (the.script_count == MOST_SCRIPTS || (t == NULL && !is_function)) return;
  s = &the.scripts[the.script_count++];
  s->call = *o;
  s->call.kind = o->inner;
  s->call.subject = o->inner_subject;
  s->timer = is_function ? -1 : t->number;
  if (is_function) {
    s->when = M->function_count + (o->when % 4);
    return;
  }
  s->when = o->when >= FROM_FINALIZER ? o->when : FROM_FINALIZER + 2 + the.callbacks_of[t->number] + o->when % 4;
}
