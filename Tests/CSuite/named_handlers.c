/*
 * named_handlers.c - the handlers of a timer beside its own: called after that, in the order in which their keys came,
 * each with its own context; one that was removed does not start any more, in a tick that has started neither; each
 * finalizer is called once, after the last call. Promises 6, 8, 9 and 10. (Many threads at once: named_handlers_storm.c.)
 *
 * In a timeline `x2` is the call of the handler `x` for the tick with the sequence 2, `x.` its finalizer.
 */
#include "harness.h"

/* The context of a named handler. Its key is its name, unless the test says otherwise. */
typedef struct extra extra;
struct extra {
  csuite *t;
  const char *name;
  const char *key;
  probe *owner;
  void (*on_tick)(extra *e, const chime_tick *tick);
  extra *other;
  chime_status status; /* for the action's use */
  chime_tick last;     /* on virtual queues */
  int quiet;           /* 1: nothing in the timeline */
  /* read and written by load, store and add */
  int ticks;
  int returned;
  int busy;
  int finalized;
  int flag;
  int gate;
};

static void extra_handler(const chime_tick *tick, void *context) {
  extra *e = context;
  csuite *t = e->t;
  EXPECT_EQ(add(&e->busy, 1), 1);
  EXPECT_EQ(load(&e->finalized), 0);   /* [8] */
  EXPECT_EQ(load(&e->owner->busy), 0); /* the timer's own handler has returned */
  EXPECT_EQ(load(&e->owner->finalized), 0);
  EXPECT(tick->context == e);
  EXPECT_EQ(tick->timer, e->owner->timer);
  EXPECT(tick->kind == CHIME_TICK_DUE || tick->kind == CHIME_TICK_FIRED);
  EXPECT(tick->sequence >= 1);
  EXPECT_EQ(tick->reserved, 0);
  if (!e->quiet) csuite_log(t, "%s%" PRIu64, e->name, tick->sequence);
  e->last = *tick;
  add(&e->ticks, 1);
  if (e->on_tick != NULL) e->on_tick(e, tick);
  EXPECT_EQ(load(&e->finalized), 0);
  add(&e->busy, -1);
  add(&e->returned, 1);
}

static void extra_finalizer(void *context) {
  extra *e = context;
  csuite *t = e->t;
  EXPECT_EQ(load(&e->busy), 0);
  if (!e->quiet) csuite_log(t, "%s.", e->name);
  EXPECT_EQ(add(&e->finalized, 1), 1); /* [8] */
}

static extra *extra_new(probe *p, const char *name) {
  extra *e = csuite_memory(p->t, sizeof *e);
  e->t = p->t;
  e->name = e->key = name;
  e->owner = p;
  e->quiet = p->quiet;
  e->status = INT32_MIN;
  return e;
}

static chime_status extra_put(extra *e) {
  return chime_timer_add_handler(e->owner->timer, e->key, extra_handler, e, extra_finalizer);
}

static chime_status extra_remove(extra *e) { return chime_timer_remove_handler(e->owner->timer, e->key); }

static extra *extra_add(probe *p, const char *name) {
  csuite *t = p->t;
  extra *e = extra_new(p, name);
  EXPECT_OK(extra_put(e));
  return e;
}

/* A timer that was made and is quiet; the test activates it when its handlers are there. */
static probe *quiet_idle(csuite *t, chime_queue_t queue) {
  probe *p = probe_idle(t, queue, "a");
  p->quiet = 1;
  return p;
}

static void activate_fast(probe *p) {
  csuite *t = p->t;
  chime_schedule schedule = schedule_of(0, 100 * CHIME_MICROSECOND);
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
}

static void run_due(csuite *t, chime_queue_t queue, where place) {
  if (place == VIRTUAL) EXPECT_OK(chime_queue_advance(queue, 0));
}

static void end_queue(csuite *t, chime_queue_t queue) { EXPECT_OK(chime_queue_shutdown(queue, PATIENCE)); }

/* Defines one test for each kind of queue. */
#define ON_ALL_QUEUES(name) \
  ON_DISPATCH_QUEUES(name) \
  static void name##_on_a_virtual_queue(csuite *t) { name(t, VIRTUAL); }
#define TESTS_ON_ALL_QUEUES(name) TESTS_ON_DISPATCH_QUEUES(name), TEST(name##_on_a_virtual_queue)

/* ---- Order, ticks and contexts ---------------------------------------------------------------------------------- */

static void handlers_are_called_after_the_timers_own_in_the_order_in_which_they_came(csuite *t) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_every(t, queue, "a", 10);
  extra_add(p, "y");
  extra_add(p, "x");
  EXPECT_OK(chime_queue_advance(queue, 10));
  extra_add(p, "b");
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_LOG("a1@10 y1 x1 a2@20 y2 x2 b2");
  EXPECT_OK(chime_timer_release(p->timer));
  EXPECT_LOG("y. x. b. a.");
}

static void each_handler_gets_the_same_tick_with_its_own_context(csuite *t) {
  chime_tick expected;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_every(t, queue, "a", 10);
  extra *x = extra_add(p, "x"), *y = extra_add(p, "y");
  EXPECT_OK(chime_queue_jump(queue, 35));
  EXPECT_OK(chime_queue_advance(queue, 0));
  EXPECT_LOG("a1+2>35 x1 y1");
  expected = p->last;
  expected.context = x;
  EXPECT(memcmp(&x->last, &expected, sizeof expected) == 0);
  expected.context = y;
  EXPECT(memcmp(&y->last, &expected, sizeof expected) == 0);
}

static void extra_ticks_are_for_all_handlers_registration_and_cancel_callbacks_are_not(csuite *t) {
  chime_schedule schedule = schedule_of(10, 10);
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_new(t, queue, "a");
  chime_timer_options options = probe_full_options(p);
  EXPECT_OK(chime_timer_create(queue, &options, &p->timer));
  extra_add(p, "x");
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  EXPECT_OK(chime_queue_advance(queue, 0));
  EXPECT_LOG("a^");
  EXPECT_OK(chime_timer_fire(p->timer));
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_LOG("a1!0 x1 a2@10 x2");
  EXPECT_OK(chime_timer_cancel(p->timer));
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_LOG("a-");
}

/* They belong to the timer, not to one of its lives. */
static void handlers_may_be_added_in_any_state_and_stay(csuite *t) {
  chime_schedule schedule = schedule_of(10, 0);
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_idle(t, queue, "a");
  extra_add(p, "i");
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  extra_add(p, "r");
  EXPECT_OK(chime_timer_suspend(p->timer));
  extra_add(p, "s");
  EXPECT_OK(chime_timer_resume(p->timer));
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_FINISHED);
  extra_add(p, "f");
  EXPECT_OK(chime_timer_activate(p->timer, NULL));
  EXPECT_OK(chime_timer_cancel(p->timer));
  extra_add(p, "c");
  EXPECT_OK(chime_timer_restart(p->timer, NULL));
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_LOG("a1@10 i1 r1 s1 a1@20 i1 r1 s1 f1 c1");
}

/* ---- Keys ------------------------------------------------------------------------------------------------------- */

static void a_handler_takes_the_place_of_the_one_that_had_its_key(csuite *t) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_every(t, queue, "a", 10);
  extra *z = extra_new(p, "z");
  extra_add(p, "x");
  extra_add(p, "y");
  EXPECT_OK(chime_queue_advance(queue, 10));
  z->key = "x";
  EXPECT_OK(extra_put(z));
  EXPECT_LOG("a1@10 x1 y1 x."); /* in this call: no tick runs */
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_LOG("a2@20 z2 y2");
  EXPECT_OK(chime_timer_remove_handler(p->timer, "x"));
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_LOG("z. a3@30 y3");
}

static void keys_are_copied_and_compared_byte_by_byte(csuite *t) {
  static const char *const keys[] = {
      "", "k", "K", "k ", "ke", "\xc3\xa9", "e\xcc\x81" /* the same letter in two code points */, "\xe2\x8f\xb0"};
  enum { KEYS = sizeof keys / sizeof keys[0] };
  extra *extras[KEYS];
  char key[8];
  int i, j;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = quiet_idle(t, queue);
  for (i = 0; i < KEYS; i++) {
    strcpy(key, keys[i]);
    extras[i] = extra_new(p, "x");
    extras[i]->key = key;
    EXPECT_OK(extra_put(extras[i]));
    memset(key, '?', sizeof key);
  }
  for (i = 0; i < KEYS; i++) {
    for (j = 0; j < KEYS; j++) EXPECT_EQ(extras[j]->finalized, j < i);
    EXPECT_OK(chime_timer_remove_handler(p->timer, keys[i]));
    EXPECT_STATUS(chime_timer_remove_handler(p->timer, keys[i]), CHIME_IGNORED);
  }
}

static void a_key_belongs_to_one_timer(csuite *t) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *a = probe_every(t, queue, "a", 10), *b = probe_every(t, queue, "b", 15);
  extra *x = extra_add(a, "x"), *y = extra_new(b, "y");
  y->key = "x";
  EXPECT_OK(extra_put(y));
  EXPECT_OK(chime_queue_advance(queue, 15));
  EXPECT_LOG("a1@10 x1 b1@15 y1");
  EXPECT_OK(extra_remove(x));
  EXPECT_OK(chime_queue_advance(queue, 15));
  EXPECT_EQ(x->ticks, 1);
  EXPECT_EQ(y->ticks, 2);
}

/* A timer may have many. */
static void a_hundred_handlers_come_in_order(csuite *t) {
  enum { COUNT = 100 };
  extra *extras[COUNT];
  char keys[COUNT][16];
  int i;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = quiet_idle(t, queue);
  chime_schedule schedule = schedule_of(10, 10);
  for (i = 0; i < COUNT; i++) {
    extras[i] = extra_new(p, "x");
    snprintf(keys[i], sizeof keys[i], "%d", i);
    extras[i]->key = keys[i];
    EXPECT_OK(extra_put(extras[i]));
  }
  for (i = 0; i < COUNT; i += 2) EXPECT_OK(extra_remove(extras[i]));
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  EXPECT_OK(chime_queue_advance(queue, 10));
  for (i = 0; i < COUNT; i++) {
    EXPECT_EQ(extras[i]->ticks, i % 2);
    EXPECT_EQ(extras[i]->finalized, 1 - i % 2);
  }
  EXPECT_OK(chime_timer_release(p->timer));
  for (i = 0; i < COUNT; i++) EXPECT_EQ(extras[i]->finalized, 1);
}

/* ---- Removing ---------------------------------------------------------------------------------------------------- */

static void a_handler_that_was_removed_between_two_ticks_is_not_called(csuite *t) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_every(t, queue, "a", 10);
  extra *x = extra_add(p, "x");
  extra_add(p, "y");
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_OK(extra_remove(x));
  EXPECT_LOG("a1@10 x1 y1 x.");
  EXPECT_STATUS(extra_remove(x), CHIME_IGNORED);
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_LOG("a2@20 y2");
  EXPECT_OK(extra_put(extra_new(p, "x"))); /* as one that never was there: after the others */
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_LOG("a3@30 y3 x3");
}

static void remove_in_the_timers_own(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  if (tick->sequence == 2) EXPECT_OK(chime_timer_remove_handler(tick->timer, "y"));
}

static void remove_the_other(extra *e, const chime_tick *tick) {
  if (tick->sequence == 2) e->status = extra_remove(e->other);
}

static void a_removed_handler_does_not_start_in_a_tick_that_has_started(csuite *t) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *a = probe_every(t, queue, "a", 10), *b = probe_every(t, queue, "b", 15);
  extra *x;
  extra_add(a, "x");
  extra_add(a, "y");
  extra_add(a, "z");
  a->on_tick = remove_in_the_timers_own;
  EXPECT_OK(chime_queue_advance_to(queue, 10));
  EXPECT_OK(chime_timer_suspend(b->timer));
  EXPECT_LOG("a1@10 x1 y1 z1");
  EXPECT_OK(chime_queue_advance_to(queue, 20));
  EXPECT_LOG("a2@20 x2 z2 y."); /* finalized when the tick has ended */
  EXPECT_OK(chime_timer_release(a->timer));
  EXPECT_LOG("x. z. a.");
  x = extra_add(b, "x");
  x->other = extra_add(b, "y");
  extra_add(b, "z");
  x->on_tick = remove_the_other;
  EXPECT_OK(chime_timer_resume(b->timer));
  EXPECT_OK(chime_queue_advance_to(queue, 30));
  EXPECT_LOG("b1@15>20 x1 y1 z1 b2@30 x2 z2 y.");
  EXPECT_OK(x->status);
}

/* Its call in this tick has returned. */
static void a_handler_may_remove_one_that_was_called_before_it(csuite *t) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_every(t, queue, "a", 10);
  extra *x = extra_add(p, "x"), *y = extra_add(p, "y");
  y->other = x;
  y->on_tick = remove_the_other;
  EXPECT_OK(chime_queue_advance(queue, 30));
  EXPECT_LOG("a1@10 x1 y1 a2@20 x2 y2 x. a3@30 y3");
  EXPECT_OK(y->status);
}

static void remove_oneself(extra *e, const chime_tick *tick) {
  csuite *t = e->t;
  (void)tick;
  EXPECT_STATUS(extra_remove(e), CHIME_RUNNING);
  EXPECT_STATUS(extra_remove(e), CHIME_IGNORED);
  EXPECT_EQ(load(&e->finalized), 0);
}

/* [8] [9] */
static void a_handler_may_remove_itself(csuite *t, where place) {
  QUEUE_OR_RETURN(queue, place);
  probe *p = quiet_idle(t, queue);
  extra *x = extra_add(p, "x"), *y = extra_add(p, "y");
  x->on_tick = remove_oneself;
  activate_fast(p);
  run_due(t, queue, place);
  if (place == VIRTUAL) EXPECT_OK(chime_queue_advance(queue, CHIME_MILLISECOND));
  EXPECT(await(&x->finalized, 1));
  EXPECT(await(&y->ticks, 5));
  EXPECT_EQ(load(&x->ticks), 1);
  EXPECT_TOOK_EFFECT(chime_timer_release(p->timer));
  EXPECT(await(&y->finalized, 1));
  end_queue(t, queue);
  EXPECT_EQ(load(&x->finalized), 1);
}
ON_ALL_QUEUES(a_handler_may_remove_itself)

static void a_removed_handler_is_never_called_again(csuite *t, where place) {
  int ticks;
  QUEUE_OR_RETURN(queue, place);
  probe *p = quiet_idle(t, queue);
  extra *x = extra_add(p, "x"), *y = extra_add(p, "y");
  activate_fast(p);
  EXPECT(await(&x->ticks, 5));
  EXPECT_TOOK_EFFECT(extra_remove(x));
  EXPECT(await(&x->finalized, 1)); /* without waiting for another tick, or the end of the queue */
  ticks = load(&x->ticks);
  EXPECT(await(&y->ticks, load(&y->ticks) + 5));
  EXPECT_EQ(load(&x->ticks), ticks);
}
ON_DISPATCH_QUEUES(a_removed_handler_is_never_called_again)

static void stay_here(extra *e, const chime_tick *tick) {
  csuite *t = e->t;
  (void)tick;
  store(&e->flag, 1);
  EXPECT(await(&e->gate, 1));
}

static void expect_a_later_tick(extra *e, const chime_tick *tick) {
  csuite *t = e->t;
  EXPECT(tick->sequence > 1);
}

/* [6] [8] [9]: x stays in its first call; y and z would come after it in the same tick. */
static void another_thread_may_change_the_handlers_of_a_tick_that_runs(csuite *t, where place) {
  QUEUE_OR_RETURN(queue, place);
  probe *p = quiet_idle(t, queue);
  extra *x = extra_add(p, "x"), *y = extra_add(p, "y"), *z = extra_add(p, "z");
  extra *new_x = extra_new(p, "x"), *new_z = extra_new(p, "z"), *late = extra_new(p, "late");
  new_x->on_tick = new_z->on_tick = late->on_tick = expect_a_later_tick;
  x->on_tick = stay_here;
  activate_fast(p);
  EXPECT(await(&x->flag, 1));
  EXPECT_STATUS(extra_remove(x), CHIME_RUNNING);
  EXPECT_STATUS(extra_remove(x), CHIME_IGNORED);
  EXPECT_OK(extra_remove(y)); /* no call of it is under way */
  EXPECT_OK(extra_put(new_z));
  EXPECT_OK(extra_put(late));
  EXPECT_OK(extra_put(new_x));
  EXPECT_EQ(load(&x->finalized) + load(&y->finalized) + load(&z->finalized), 0); /* when the tick has ended */
  store(&x->gate, 1);
  EXPECT(await(&x->finalized, 1));
  EXPECT(await(&y->finalized, 1));
  EXPECT(await(&z->finalized, 1));
  EXPECT(await(&new_x->ticks, 2));
  EXPECT(await(&new_z->ticks, 2));
  EXPECT(await(&late->ticks, 2));
  EXPECT_EQ(load(&x->ticks), 1);
  EXPECT_EQ(load(&y->ticks), 0);
  EXPECT_EQ(load(&z->ticks), 0);
  end_queue(t, queue);
  EXPECT_EQ(load(&new_x->finalized) + load(&new_z->finalized) + load(&late->finalized), 3);
}
ON_DISPATCH_QUEUES(another_thread_may_change_the_handlers_of_a_tick_that_runs)

static void replacing_a_handler_that_runs_says_so(csuite *t, where place) {
  QUEUE_OR_RETURN(queue, place);
  probe *p = quiet_idle(t, queue);
  extra *x = extra_add(p, "x"), *second = extra_new(p, "x"), *third = extra_new(p, "x");
  x->on_tick = stay_here;
  third->on_tick = expect_a_later_tick;
  activate_fast(p);
  EXPECT(await(&x->flag, 1));
  EXPECT_STATUS(extra_put(second), CHIME_RUNNING);
  EXPECT_EQ(load(&x->finalized), 0);
  EXPECT_OK(extra_put(third));            /* the second has not been called, and never will be */
  EXPECT_EQ(load(&second->finalized), 1); /* nothing holds it: the tick began before it came */
  store(&x->gate, 1);
  EXPECT(await(&x->finalized, 1));
  EXPECT(await(&third->ticks, 2));
  EXPECT_EQ(load(&x->ticks), 1);
  EXPECT_EQ(load(&second->ticks), 0);
}
ON_DISPATCH_QUEUES(replacing_a_handler_that_runs_says_so)

/* ---- Adding inside a handler ------------------------------------------------------------------------------------- */

static void add_in_the_timers_own(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  if (tick->sequence == 1) EXPECT_OK(extra_put(p->user));
}

static void a_handler_that_the_timers_own_adds_waits_for_the_next_tick(csuite *t) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *a = probe_every(t, queue, "a", 10), *b = probe_every(t, queue, "b", 15);
  a->on_tick = b->on_tick = add_in_the_timers_own;
  a->user = extra_new(a, "x"); /* the first one of its timer */
  EXPECT_OK(chime_queue_advance_to(queue, 10));
  EXPECT_OK(chime_timer_release(a->timer));
  EXPECT_LOG("a1@10 x. a.");
  extra_add(b, "y"); /* or not */
  b->user = extra_new(b, "z");
  EXPECT_OK(chime_queue_advance_to(queue, 30));
  EXPECT_LOG("b1@15 y1 b2@30 y2 z2");
}

static void replace_in_the_timers_own(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  if (tick->sequence == 2) EXPECT_OK(extra_put(p->user));
}

/* The old one is removed, the new one came after the tick had started: neither is called for it. */
static void replacing_a_handler_in_the_timers_own_leaves_it_out_of_that_tick(csuite *t) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_every(t, queue, "a", 10);
  extra *new_x = extra_new(p, "n");
  extra_add(p, "x");
  extra_add(p, "y");
  new_x->key = "x";
  p->user = new_x;
  p->on_tick = replace_in_the_timers_own;
  EXPECT_OK(chime_queue_advance(queue, 30));
  EXPECT_LOG("a1@10 x1 y1 a2@20 y2 x. a3@30 n3 y3");
}

static void add_the_other(extra *e, const chime_tick *tick) {
  if (tick->sequence == 1) e->status = extra_put(e->other);
}

static void a_handler_that_another_one_adds_waits_for_the_next_tick(csuite *t) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_every(t, queue, "a", 10);
  extra *x = extra_add(p, "x");
  extra_add(p, "y");
  x->other = extra_new(p, "z");
  x->on_tick = add_the_other;
  EXPECT_OK(chime_queue_advance(queue, 20));
  EXPECT_LOG("a1@10 x1 y1 a2@20 x2 y2 z2");
  EXPECT_OK(x->status);
}

static void a_handler_may_replace_itself(csuite *t) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_every(t, queue, "a", 10);
  extra *x = extra_add(p, "x"), *n = extra_new(p, "n");
  extra_add(p, "y");
  n->key = "x";
  x->other = n;
  x->on_tick = add_the_other;
  EXPECT_OK(chime_queue_advance(queue, 20));
  EXPECT_LOG("a1@10 x1 y1 x. a2@20 n2 y2");
  EXPECT_STATUS(x->status, CHIME_RUNNING);
}

static void add_when_armed(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  (void)tick;
  EXPECT_OK(extra_put(p->user));
}

static void the_registration_handler_may_add_one_for_the_first_tick(csuite *t) {
  chime_schedule schedule = schedule_of(0, 0);
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_new(t, queue, "a");
  chime_timer_options options = probe_full_options(p);
  EXPECT_OK(chime_timer_create(queue, &options, &p->timer));
  p->user = extra_new(p, "x");
  p->on_armed = add_when_armed;
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  EXPECT_OK(chime_queue_advance(queue, 0));
  EXPECT_LOG("a^ a1@0 x1");
}

/* ---- What handlers do to the timer ------------------------------------------------------------------------------- */

static void cancel_the_timer(extra *e, const chime_tick *tick) {
  csuite *t = e->t;
  EXPECT_STATUS(chime_timer_cancel(tick->timer), CHIME_RUNNING);
}

static void release_the_timer(extra *e, const chime_tick *tick) {
  csuite *t = e->t;
  EXPECT_STATUS(chime_timer_release(tick->timer), CHIME_RUNNING);
  EXPECT(is_stale(tick->timer));
  EXPECT_STATUS(extra_remove(e), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_EQ(load(&e->finalized), 0);
}

static void release_the_queue(extra *e, const chime_tick *tick) {
  csuite *t = e->t;
  (void)tick;
  EXPECT_STATUS(chime_queue_release(e->owner->queue), CHIME_RUNNING);
  EXPECT_EQ(load(&e->finalized), 0);
}

static void all_handlers_of_a_tick_run_when_one_cancels(csuite *t) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_every(t, queue, "a", 10);
  extra_add(p, "x")->on_tick = cancel_the_timer;
  extra_add(p, "y");
  EXPECT_OK(chime_queue_advance(queue, 30));
  EXPECT_LOG("a1@10 x1 y1");
}

static void all_handlers_of_a_tick_run_when_one_releases_the_queue(csuite *t) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_every(t, queue, "a", 10);
  extra_add(p, "x")->on_tick = release_the_queue;
  extra_add(p, "y");
  EXPECT_STATUS(chime_queue_advance(queue, 30), CHIME_ERROR_SHUT_DOWN);
  EXPECT_LOG("a1@10 x1 y1 x. y. a.");
}

/* [8] [9]: and the finalizers come after the last of them. */
static void all_handlers_of_a_tick_run_when_one_releases_the_timer(csuite *t, where place) {
  QUEUE_OR_RETURN(queue, place);
  probe *p = quiet_idle(t, queue);
  extra *x = extra_add(p, "x"), *y = extra_add(p, "y");
  x->on_tick = release_the_timer;
  activate_fast(p);
  run_due(t, queue, place);
  EXPECT(await(&x->finalized, 1));
  EXPECT(await(&y->finalized, 1));
  EXPECT(await(&p->finalized, 1));
  EXPECT_EQ(load(&p->ticks), 1);
  EXPECT_EQ(load(&x->ticks), 1);
  EXPECT_EQ(load(&y->ticks), 1);
}
ON_ALL_QUEUES(all_handlers_of_a_tick_run_when_one_releases_the_timer)

static void expect_no_waiting_here(extra *e, const chime_tick *tick) {
  csuite *t = e->t;
  EXPECT_EQ(info_of(t, tick->timer).busy, 1);
  EXPECT_STATUS(chime_timer_cancel_and_wait(tick->timer, CHIME_FOREVER), CHIME_ERROR_WOULD_DEADLOCK);
  EXPECT_EQ(state_of(t, tick->timer), CHIME_STATE_CANCELLED);
}

static void a_named_handler_cannot_wait_for_its_own_timer(csuite *t) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_every(t, queue, "a", 10);
  extra_add(p, "x")->on_tick = expect_no_waiting_here;
  EXPECT_OK(chime_queue_advance(queue, 20));
  EXPECT_LOG("a1@10 x1");
}

/* The tick ends with the last of its handlers: for cancel_and_wait, and for the statuses. */
static void cancel_and_wait_waits_for_the_named_handlers(csuite *t, where place) {
  QUEUE_OR_RETURN(queue, place);
  probe *p = quiet_idle(t, queue);
  extra *x = extra_add(p, "x");
  x->on_tick = stay_here;
  activate_fast(p);
  EXPECT(await(&x->flag, 1));
  EXPECT_EQ(info_of(t, p->timer).busy, 1);
  EXPECT_STATUS(chime_timer_cancel(p->timer), CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_cancel_and_wait(p->timer, CHIME_MILLISECOND), CHIME_TIMED_OUT);
  EXPECT_STATUS(extra_remove(x), CHIME_RUNNING);
  store(&x->gate, 1);
  EXPECT_STATUS(chime_timer_cancel_and_wait(p->timer, PATIENCE), CHIME_IGNORED);
  EXPECT_EQ(load(&x->returned), 1);
  EXPECT_EQ(load(&x->finalized), 1); /* with the end of the tick */
}
ON_DISPATCH_QUEUES(cancel_and_wait_waits_for_the_named_handlers)

static void take_a_while(extra *e, const chime_tick *tick) {
  csuite *t = e->t;
  (void)tick;
  EXPECT_OK(chime_queue_jump(e->owner->queue, 7));
}

static void the_delay_policy_counts_from_the_end_of_the_last_handler(csuite *t) {
  chime_schedule schedule = schedule_of(10, 10);
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_idle(t, queue, "a");
  schedule.missed_policy = CHIME_MISSED_DELAY;
  extra_add(p, "x")->on_tick = take_a_while;
  extra_add(p, "y")->on_tick = take_a_while;
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  EXPECT_OK(chime_queue_advance_to(queue, 34));
  EXPECT_LOG("a1@10 x1 y1 a2@34 x2 y2");
}

/* ---- Finalizers ------------------------------------------------------------------------------------------------- */

static void come_to_rest(csuite *t, chime_timer_t timer) {
  int64_t end = monotonic_ns() + PATIENCE;
  while (info_of(t, timer).busy) {
    if (!EXPECT(monotonic_ns() < end)) return;
    sleep_ns(100 * CHIME_MICROSECOND);
  }
}

/* [8] */
static void release_in_each_state_finalizes_the_handlers(csuite *t, where place) {
  chime_schedule in_an_hour = schedule_of(CHIME_HOUR, 0), at_once = schedule_of(0, 0);
  int i;
  QUEUE_OR_RETURN(queue, place);
  for (i = CHIME_STATE_IDLE; i <= CHIME_STATE_CANCELLED; i++) {
    probe *p = quiet_idle(t, queue);
    extra *x = extra_add(p, "x"), *y = extra_add(p, "y");
    if (i == CHIME_STATE_FINISHED) {
      EXPECT_OK(chime_timer_activate(p->timer, &at_once));
      run_due(t, queue, place);
      EXPECT(await(&y->ticks, 1));
      come_to_rest(t, p->timer);
    } else if (i != CHIME_STATE_IDLE) {
      EXPECT_OK(chime_timer_activate(p->timer, &in_an_hour));
    }
    if (i == CHIME_STATE_SUSPENDED) EXPECT_OK(chime_timer_suspend(p->timer));
    if (i == CHIME_STATE_CANCELLED) EXPECT_OK(chime_timer_cancel(p->timer));
    EXPECT_EQ(state_of(t, p->timer), i);
    EXPECT_EQ(load(&x->finalized) + load(&y->finalized), 0);
    EXPECT_OK(chime_timer_release(p->timer));
    EXPECT(await(&x->finalized, 1));
    EXPECT(await(&y->finalized, 1));
    EXPECT(await(&p->finalized, 1));
  }
}
ON_ALL_QUEUES(release_in_each_state_finalizes_the_handlers)

static void a_release_waits_with_the_finalizers_for_a_handler_that_runs(csuite *t, where place) {
  QUEUE_OR_RETURN(queue, place);
  probe *p = quiet_idle(t, queue);
  extra *x = extra_add(p, "x"), *y = extra_add(p, "y");
  x->on_tick = stay_here;
  activate_fast(p);
  EXPECT(await(&x->flag, 1));
  EXPECT_STATUS(chime_timer_release(p->timer), CHIME_RUNNING);
  EXPECT_STATUS(extra_remove(x), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_EQ(load(&x->finalized) + load(&y->finalized) + load(&p->finalized), 0);
  store(&x->gate, 1);
  EXPECT(await(&p->finalized, 1));
  EXPECT(await(&x->finalized, 1));
  EXPECT(await(&y->finalized, 1));
  EXPECT_EQ(load(&x->ticks), 1);
  EXPECT_EQ(load(&y->ticks), 1);
}
ON_DISPATCH_QUEUES(a_release_waits_with_the_finalizers_for_a_handler_that_runs)

/* [8] [16] */
static void the_end_of_the_queue_finalizes_the_handlers(csuite *t, where place) {
  QUEUE_OR_RETURN(queue, place);
  probe *idle = quiet_idle(t, queue), *running = quiet_idle(t, queue);
  extra *w = extra_add(idle, "w"), *x = extra_add(running, "x"), *y = extra_add(running, "y");
  activate_fast(running);
  if (place == VIRTUAL) EXPECT_OK(chime_queue_advance(queue, CHIME_MILLISECOND));
  EXPECT(await(&y->ticks, 3));
  EXPECT_TOOK_EFFECT(extra_remove(x));
  end_queue(t, queue);
  EXPECT_EQ(load(&w->finalized), 1);
  EXPECT_EQ(load(&x->finalized), 1);
  EXPECT_EQ(load(&y->finalized), 1);
  EXPECT_EQ(load(&w->ticks), 0);
  EXPECT_STATUS(extra_put(extra_new(running, "z")), CHIME_ERROR_INVALID_HANDLE);
}
ON_ALL_QUEUES(the_end_of_the_queue_finalizes_the_handlers)

static void add_to_the_tick(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  p->timer = tick->timer;
  EXPECT_OK(extra_put(p->user));
}

/* A timer that releases itself ends its handlers, too, also those that never had a tick. */
static void a_timer_that_nobody_holds_takes_its_handlers_with_it(csuite *t) {
  chime_schedule schedule = schedule_of(10, 0);
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_new(t, queue, "a"), *q = probe_new(t, queue, "b");
  chime_timer_options options = probe_options(p);
  p->user = extra_new(p, "x");
  p->on_tick = add_to_the_tick;
  EXPECT_OK(chime_timer_start(queue, &options, &schedule, NULL));
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_LOG("a1@10 x. a.");
  options = probe_options(q);
  options.flags = CHIME_TIMER_SELF_RELEASE;
  EXPECT_OK(chime_timer_start(queue, &options, &schedule, &q->timer));
  extra_add(q, "y");
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_LOG("b1@20 y1 y. b.");
}

static void finalizers_of_named_handlers_may_be_missing(csuite *t) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_every(t, queue, "a", 10);
  extra *x = extra_new(p, "x");
  EXPECT_OK(chime_timer_add_handler(p->timer, "x", extra_handler, x, NULL));
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_OK(chime_timer_remove_handler(p->timer, "x"));
  EXPECT_OK(chime_timer_add_handler(p->timer, "x", extra_handler, x, NULL));
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_OK(chime_timer_release(p->timer));
  EXPECT_LOG("a1@10 x1 a2@20 x2 a.");
}

static void count_null(const chime_tick *tick, void *context) {
  add(tick->target, 1); /* the test's counter */
  if (context != NULL || tick->context != NULL) add(tick->target, 1000);
}

static void count_a_null(void *context) {
  if (context != NULL) abort();
}

static void the_context_of_a_named_handler_may_be_null(csuite *t) {
  chime_schedule schedule = schedule_of(10, 10);
  int calls = 0;
  chime_target_t target = 0;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_new(t, queue, "a");
  chime_timer_options options = probe_options(p);
  EXPECT_OK(chime_target_create(&calls, NULL, &target));
  options.target = target;
  EXPECT_OK(chime_timer_start(queue, &options, &schedule, &p->timer));
  EXPECT_OK(chime_timer_add_handler(p->timer, "x", count_null, NULL, count_a_null));
  EXPECT_OK(chime_queue_advance(queue, 30));
  EXPECT_EQ(calls, 3);
  EXPECT_OK(chime_timer_release(p->timer));
  EXPECT_OK(chime_target_release(target));
}

/* With no lock held: a finalizer may do to the timer what anybody may. */
static void put_another(void *context) {
  extra *e = context;
  csuite *t = e->t;
  extra_finalizer(e);
  e->status = extra_put(e->other);
  EXPECT_STATUS(chime_timer_remove_handler(e->owner->timer, "no such key"),
                e->status == CHIME_OK ? CHIME_IGNORED : e->status);
}

static void a_finalizer_may_add_a_named_handler(csuite *t) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_every(t, queue, "a", 10);
  extra *x = extra_new(p, "x"), *y = extra_new(p, "y");
  x->other = y;
  y->other = extra_new(p, "z");
  EXPECT_OK(chime_timer_add_handler(p->timer, "x", extra_handler, x, put_another));
  EXPECT_OK(extra_remove(x));
  EXPECT_OK(x->status);
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_LOG("x. a1@10 y1");
  EXPECT_OK(chime_timer_add_handler(p->timer, "y", extra_handler, extra_new(p, "w"), extra_finalizer));
  EXPECT_LOG("y.");
  EXPECT_OK(chime_timer_add_handler(p->timer, "w", extra_handler, y->other, extra_finalizer));
  EXPECT_OK(chime_timer_release(p->timer));
  EXPECT_LOG("w. z. a.");
}

static void no_finalizer_adds_to_a_timer_that_ends(csuite *t) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_every(t, queue, "a", 10);
  extra *x = extra_new(p, "x");
  x->other = extra_new(p, "y");
  EXPECT_OK(chime_timer_add_handler(p->timer, "x", extra_handler, x, put_another));
  EXPECT_OK(chime_timer_release(p->timer));
  EXPECT_STATUS(x->status, CHIME_ERROR_INVALID_HANDLE);
  EXPECT_LOG("x. a.");
}

/* ---- Timers with targets ----------------------------------------------------------------------------------------- */

typedef struct object {
  csuite *t;
  chime_target_t target;
  int destroyed;
} object;

static void destroy(void *context) {
  object *o = context;
  csuite *t = o->t;
  csuite_log(t, "~o");
  EXPECT_EQ(add(&o->destroyed, 1), 1);
}

static void expect_the_target(extra *e, const chime_tick *tick) {
  csuite *t = e->t;
  object *o = e->owner->user;
  EXPECT(tick->target == o);
  EXPECT_EQ(load(&o->destroyed), 0);
  if (tick->sequence == 2 && e->other != NULL) EXPECT_OK(chime_target_release(o->target));
  EXPECT_EQ(load(&o->destroyed), 0);
}

static void the_target_lives_until_the_last_handler_has_returned(csuite *t) {
  chime_schedule schedule = schedule_of(10, 10);
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_new(t, queue, "a");
  object *o = csuite_memory(t, sizeof *o);
  chime_timer_options options = probe_options(p);
  extra *x, *y;
  o->t = t;
  p->user = o;
  EXPECT_OK(chime_target_create(o, destroy, &o->target));
  options.target = o->target;
  EXPECT_OK(chime_timer_start(queue, &options, &schedule, &p->timer));
  x = extra_add(p, "x");
  y = extra_add(p, "y");
  x->on_tick = y->on_tick = expect_the_target;
  x->other = y; /* x releases the target in the second tick */
  EXPECT_OK(chime_queue_advance(queue, 30));
  EXPECT_LOG("a1@10 x1 y1 a2@20 x2 y2 ~o");
  EXPECT_OK(extra_put(extra_new(p, "z"))); /* of no use, but no error */
  EXPECT_OK(chime_timer_release(p->timer));
  EXPECT_LOG("x. y. z. a.");
}

/* A timer that nobody holds ends with its target, and its handlers with it. */
static void the_end_of_the_target_ends_the_handlers_of_a_timer_that_nobody_holds(csuite *t) {
  chime_schedule schedule = schedule_of(10, 10);
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_new(t, queue, "a");
  object *o = csuite_memory(t, sizeof *o);
  chime_timer_options options = probe_options(p);
  o->t = t;
  EXPECT_OK(chime_target_create(o, destroy, &o->target));
  options.target = o->target;
  options.flags = CHIME_TIMER_SELF_RELEASE;
  EXPECT_OK(chime_timer_start(queue, &options, &schedule, &p->timer));
  extra_add(p, "x");
  EXPECT_OK(chime_target_release(o->target));
  EXPECT_OK(chime_queue_advance(queue, 30));
  EXPECT_EQ(p->ticks, 0);
  EXPECT_EQ(p->finalized, 1);
  EXPECT_EQ(o->destroyed, 1);
  EXPECT_STATUS(extra_put(extra_new(p, "y")), CHIME_ERROR_INVALID_HANDLE);
}

/* ---- Arguments -------------------------------------------------------------------------------------------------- */

static void never(const chime_tick *tick, void *context) {
  csuite *t = context;
  (void)tick;
  EXPECT(!"a handler that must not run");
}

static void never_function(void *context) {
  csuite *t = context;
  EXPECT(!"the finalizer of a context that was not accepted");
}

static void bad_arguments_of_named_handlers_are_refused(csuite *t) {
  static const char *const not_utf8[] = {"\xff",         "a\x80",           "\xc3", "\xe2\x82 ", "\xc0\xaf",
                                         "\xed\xa0\x80", "\xf4\x90\x80\x80"};
  size_t i;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_every(t, queue, "a", 10);
  extra_add(p, "x");
  EXPECT_STATUS(chime_timer_add_handler(p->timer, NULL, never, t, never_function), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_timer_add_handler(p->timer, "x", NULL, t, never_function), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_timer_add_handler(p->timer, NULL, NULL, t, never_function), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_timer_remove_handler(p->timer, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  for (i = 0; i < sizeof not_utf8 / sizeof not_utf8[0]; i++) {
    EXPECT_STATUS(chime_timer_add_handler(p->timer, not_utf8[i], never, t, never_function),
                  CHIME_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(chime_timer_remove_handler(p->timer, not_utf8[i]), CHIME_ERROR_INVALID_ARGUMENT);
  }
  EXPECT_STATUS(chime_timer_remove_handler(p->timer, "y"), CHIME_IGNORED);
  EXPECT_STATUS(chime_timer_remove_handler(p->timer, ""), CHIME_IGNORED);
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_LOG("a1@10 x1");
}

static void expect_no_timer(csuite *t, chime_timer_t timer, int line) {
  chime_status status = chime_timer_add_handler(timer, "x", never, t, never_function);
  csuite_expect_status(t, status, CHIME_ERROR_INVALID_HANDLE, __FILE__, line, "adding a handler");
  status = chime_timer_remove_handler(timer, "x");
  csuite_expect_status(t, status, CHIME_ERROR_INVALID_HANDLE, __FILE__, line, "removing a handler");
}

/* [10] */
static void what_is_no_timer_has_no_handlers(csuite *t) {
  const uint64_t forged = UINT64_C(1) << 53;
  chime_target_t target = 0;
  chime_expiring_t expiring = 0;
  int number = 0;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_every(t, queue, "a", 10), *idle = probe_idle(t, queue, "b");
  EXPECT_OK(chime_target_create(&number, NULL, &target));
  EXPECT_OK(chime_expiring_create(queue, &number, NULL, 1, &expiring));
  extra_add(p, "x");
  expect_no_timer(t, 0, __LINE__);
  expect_no_timer(t, forged, __LINE__);
  expect_no_timer(t, UINT64_MAX, __LINE__);
  expect_no_timer(t, p->timer | forged, __LINE__);
  expect_no_timer(t, p->timer | UINT64_C(1) << 63, __LINE__);
  expect_no_timer(t, queue, __LINE__);
  expect_no_timer(t, target, __LINE__);
  expect_no_timer(t, expiring, __LINE__);
  EXPECT_OK(chime_timer_release(idle->timer));
  expect_no_timer(t, idle->timer, __LINE__);
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_OK(chime_timer_release(p->timer));
  expect_no_timer(t, p->timer, __LINE__);
  EXPECT_LOG("b. a1@10 x1 x. a.");
  EXPECT_OK(chime_expiring_release(expiring));
  EXPECT_OK(chime_target_release(target));
}

static void a_queue_that_gives_records_has_no_handlers(csuite *t) {
  chime_queue_options queue_options = CHIME_QUEUE_OPTIONS_INIT;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_queue_t queue = 0;
  chime_timer_t timer = 0;
  queue_options.flags = CHIME_QUEUE_RECORDS;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_HOST, &queue_options, &queue));
  csuite_ends(t, queue, PATIENCE);
  REQUIRE_OK(chime_timer_create(queue, &options, &timer));
  EXPECT_STATUS(chime_timer_add_handler(timer, "x", never, t, never_function), CHIME_ERROR_UNSUPPORTED);
  EXPECT_STATUS(chime_timer_remove_handler(timer, "x"), CHIME_IGNORED);
  EXPECT_STATUS(chime_timer_add_handler(timer, NULL, never, t, never_function), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_OK(chime_timer_release(timer));
  expect_no_timer(t, timer, __LINE__);
}

const csuite_test named_handlers_tests[] = {
    TEST(handlers_are_called_after_the_timers_own_in_the_order_in_which_they_came),
    TEST(each_handler_gets_the_same_tick_with_its_own_context),
    TEST(extra_ticks_are_for_all_handlers_registration_and_cancel_callbacks_are_not),
    TEST(handlers_may_be_added_in_any_state_and_stay),
    TEST(a_handler_takes_the_place_of_the_one_that_had_its_key),
    TEST(keys_are_copied_and_compared_byte_by_byte),
    TEST(a_key_belongs_to_one_timer),
    TEST(a_hundred_handlers_come_in_order),
    TEST(a_handler_that_was_removed_between_two_ticks_is_not_called),
    TEST(a_removed_handler_does_not_start_in_a_tick_that_has_started),
    TEST(a_handler_may_remove_one_that_was_called_before_it),
    TESTS_ON_ALL_QUEUES(a_handler_may_remove_itself),
    TESTS_ON_DISPATCH_QUEUES(a_removed_handler_is_never_called_again),
    TESTS_ON_DISPATCH_QUEUES(another_thread_may_change_the_handlers_of_a_tick_that_runs),
    TESTS_ON_DISPATCH_QUEUES(replacing_a_handler_that_runs_says_so),
    TEST(a_handler_that_the_timers_own_adds_waits_for_the_next_tick),
    TEST(replacing_a_handler_in_the_timers_own_leaves_it_out_of_that_tick),
    TEST(a_handler_that_another_one_adds_waits_for_the_next_tick),
    TEST(a_handler_may_replace_itself),
    TEST(the_registration_handler_may_add_one_for_the_first_tick),
    TEST(all_handlers_of_a_tick_run_when_one_cancels),
    TEST(all_handlers_of_a_tick_run_when_one_releases_the_queue),
    TESTS_ON_ALL_QUEUES(all_handlers_of_a_tick_run_when_one_releases_the_timer),
    TEST(a_named_handler_cannot_wait_for_its_own_timer),
    TESTS_ON_DISPATCH_QUEUES(cancel_and_wait_waits_for_the_named_handlers),
    TEST(the_delay_policy_counts_from_the_end_of_the_last_handler),
    TESTS_ON_ALL_QUEUES(release_in_each_state_finalizes_the_handlers),
    TESTS_ON_DISPATCH_QUEUES(a_release_waits_with_the_finalizers_for_a_handler_that_runs),
    TESTS_ON_ALL_QUEUES(the_end_of_the_queue_finalizes_the_handlers),
    TEST(a_timer_that_nobody_holds_takes_its_handlers_with_it),
    TEST(finalizers_of_named_handlers_may_be_missing),
    TEST(the_context_of_a_named_handler_may_be_null),
    TEST(a_finalizer_may_add_a_named_handler),
    TEST(no_finalizer_adds_to_a_timer_that_ends),
    TEST(the_target_lives_until_the_last_handler_has_returned),
    TEST(the_end_of_the_target_ends_the_handlers_of_a_timer_that_nobody_holds),
    TEST(bad_arguments_of_named_handlers_are_refused),
    TEST(what_is_no_timer_has_no_handlers),
    TEST(a_queue_that_gives_records_has_no_handlers),
    {NULL, NULL},
};
