/* What the library calls: each callback is held against the model, then makes the calls that the input has for it. */
#include "lockstep.h"

/* Makes the calls that are meant for this moment of the timer. */
static void play(int timer, int when) {
  for (int i = 0; i < the.script_count; i += 1) {
    script *s = &the.scripts[i];
    if (s->timer != timer || (s->when != when && s->when != AT_EVERY_CALLBACK)) continue;
    if (when == FROM_FINALIZER && s->when != when) continue;
    if (s->when != AT_EVERY_CALLBACK) s->timer = MOST_TIMERS;
    if (!M->has_ended && !the.quiet) perform(&s->call);
  }
}

static int callback_number(const timer *t) { return FROM_FINALIZER + 2 + the.callbacks_of[t->number]; }

/* Where an advance would take for ever, what is left of its time passes at once. */
static void hurry(void) {
  int64_t left = saturating_difference(M->goal, M->now);
  if (++the.callbacks % MOST_CALLBACKS != 0 || !M->advancing || M->has_ended || left <= 0) return;
  expect_status("chime_queue_jump", chime_queue_jump(the.queue, left), STATUS(CHIME_OK));
  M->now = M->goal;
}

static void begin(timer *t, const chime_tick *tick, const void *context) {
  trace("  timer %d kind %d #%" PRIu64 " missed %" PRIu64 " scheduled %" PRId64 " actual %" PRId64, t->number,
        (int)tick->kind, tick->sequence, tick->missed, tick->scheduled_ns, tick->actual_ns);
  if (t->id == 0) t->id = tick->timer;
  if (tick->timer != t->id) fail("timer %d: the tick names %" PRIx64, t->number, tick->timer);
  if (tick->context != context) fail("timer %d: context", t->number);
  the.depth += 1;
}

static void play_calls_of(timer *t) {
  play(t->number, callback_number(t));
  the.callbacks_of[t->number] += 1;
  the.depth -= 1;
}

static void own_callback(const chime_tick *tick, void *context, int fits) {
  timer *t = context;
  if (!fits) fail("the wrong function is called for kind %d", (int)tick->kind);
  begin(t, tick, context);
  model_tick_begins(M, t, tick);
  hurry();
  if (the.asks_timers && !M->has_ended && !the.quiet) compare_timer(t);
  if (the.asks_queue && !M->has_ended && !the.quiet) compare_queue_deadline();
  play_calls_of(t);
  trace("  timer %d returns", t->number);
  model_tick_returns(M, t);
}

void on_tick(const chime_tick *tick, void *context) {
  own_callback(tick, context, tick->kind == CHIME_TICK_DUE || tick->kind == CHIME_TICK_FIRED);
}
void on_armed(const chime_tick *tick, void *context) { own_callback(tick, context, tick->kind == CHIME_TICK_ARMED); }
void on_cancelled(const chime_tick *tick, void *context) {
  own_callback(tick, context, tick->kind == CHIME_TICK_CANCELLED);
}

void on_named(const chime_tick *tick, void *context) {
  named_handler *h = context;
  timer *t = &M->timers[h->timer];
  begin(t, tick, context);
  if (h->finalized) fail("timer %d: key %d is called after its finalizer", t->number, h->key);
  model_named_begins(M, h);
  hurry();
  play_calls_of(t);
  model_named_returns(M, h);
}

void on_function(void *context) {
  function *f = context;
  int number = (int)(f - M->functions);
  trace("  function %d", number);
  model_function_begins(M, number);
  the.depth += 1;
  hurry();
  play(-1, number);
  the.depth -= 1;
}

void finalize_timer(void *context) {
  timer *t = context;
  trace("  timer %d finalizer", t->number);
  model_finalizer_runs(M, t);
  the.depth += 1;
  play(t->number, FROM_FINALIZER);
  the.depth -= 1;
}

void finalize_named(void *context) {
  named_handler *h = context;
  trace("  finalizer of timer %d key %d", h->timer, h->key);
  if (h->finalized) fail("timer %d: the finalizer of key %d again", h->timer, h->key);
  if (!h->finalizer_is_due) model_ends_itself(M, &M->timers[h->timer]);
  if (!h->finalizer_is_due && !M->timers[h->timer].released) {
    fail("timer %d: the finalizer of key %d", h->timer, h->key);
  }
  if (h->is_called) fail("timer %d: the finalizer of key %d inside its call", h->timer, h->key);
  h->finalized = 1;
}

void finalize_function(void *context) {
  function *f = context;
  if (f->finalized) fail("a function's finalizer again");
  if (!f->ran && !f->is_dropped) fail("a function's finalizer before the function");
  f->finalized = 1;
}

void destroy_target(void *context) {
  trace("  destructor");
  model_destructor_runs(M, context);
}
