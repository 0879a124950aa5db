/* probes.c - see harness.h: what timers answer, and probes. */
#include "harness.h"

/* ---- What timers answer ------------------------------------------------------------------------------------------ */

ANSWER(state_of, chime_state, chime_timer_state, -1)
ANSWER(generation_of, uint64_t, chime_timer_generation, 0)
ANSWER(deadline_of, int64_t, chime_timer_next_deadline, -1)
ANSWER(info_of, chime_timer_info, chime_timer_get_info, CHIME_TIMER_INFO_INIT)
ANSWER(now_of, int64_t, chime_queue_now, -1)
ANSWER(next_deadline, int64_t, chime_queue_next_deadline, 7)
ANSWER(fd_of, chime_waitable, chime_queue_fd, -1)
ANSWER(poll_timeout, int32_t, chime_queue_poll_timeout, 7)
ANSWER(stats_of, chime_queue_stats, chime_queue_get_stats, CHIME_QUEUE_STATS_INIT)

int is_stale(chime_timer_t timer) {
  chime_state state = 99;
  return chime_timer_state(timer, &state) == CHIME_ERROR_INVALID_HANDLE && state == 99;
}

chime_status query(int kind, chime_queue_t queue, chime_timer_t timer) {
  chime_timer_info info = CHIME_TIMER_INFO_INIT;
  chime_queue_stats stats = CHIME_QUEUE_STATS_INIT;
  chime_state state = 0;
  uint64_t generation = 0;
  size_t length = 0;
  int64_t time = 0;
  char text[256];
  switch (kind) {
    case 0: return chime_timer_get_info(timer, &info);
    case 1: return chime_timer_next_deadline(timer, &time);
    case 2: return chime_timer_explain(timer, text, sizeof text, &length);
    case 3: return chime_queue_get_stats(queue, &stats);
    case 4: return chime_queue_dump(queue, text, sizeof text, &length);
    case 5: return chime_timer_generation(timer, &generation);
    case 6: return chime_timer_state(timer, &state);
    case 7: return chime_queue_now(queue, &time);
    default: return chime_timer_check_generation(timer, 0) == CHIME_IGNORED ? CHIME_OK : CHIME_ERROR_BUSY;
  }
}

/* ---- Probes ----------------------------------------------------------------------------------------------------- */

static void enter(probe *p) {
  csuite *t = p->t;
  p->thread = pthread_self();
  EXPECT_EQ(add(&p->busy, 1), 1);    /* [6] no overlap, no nesting */
  EXPECT_EQ(load(&p->finalized), 0); /* [8] */
}

static void leave(probe *p) {
  csuite *t = p->t;
  EXPECT_EQ(load(&p->finalized), 0);
  add(&p->busy, -1);
}

static void act(probe *p, const chime_tick *tick, int *count, probe_action action) {
  add(count, 1);
  if (action != NULL) action(p->t, p, tick);
}

/* [11] */
static void expect_alive(const probe *object) {
  csuite *t = object->t;
  EXPECT_EQ(load(&object->finalized), 0);
}

static void check_tick(probe *p, const chime_tick *tick, const void *context) {
  csuite *t = p->t;
  EXPECT(tick->context == context);
  EXPECT_EQ(tick->reserved, 0);
  EXPECT(tick->timer != 0);
  if (p->timer != 0) EXPECT_EQ(tick->timer, p->timer); /* the id was stored before the timer could tick */
  if (tick->kind == CHIME_TICK_DUE || tick->kind == CHIME_TICK_FIRED || tick->target != NULL) {
    EXPECT(tick->target == p->target);
  }
  if (tick->target != NULL) expect_alive(p->target);
}

static void log_tick(csuite *t, const probe *p, const chime_tick *tick) {
  char mark = tick->kind == CHIME_TICK_FIRED ? '!' : '@';
  if (p->quiet) return;
  if (tick->missed > 0) {
    csuite_log(t, "%s%" PRIu64 "+%" PRIu64 ">%" PRId64, p->name, tick->sequence, tick->missed, tick->actual_ns);
  } else if (tick->actual_ns != tick->scheduled_ns) {
    csuite_log(t, "%s%" PRIu64 "%c%" PRId64 ">%" PRId64, p->name, tick->sequence, mark, tick->scheduled_ns,
               tick->actual_ns);
  } else {
    csuite_log(t, "%s%" PRIu64 "%c%" PRId64, p->name, tick->sequence, mark, tick->actual_ns);
  }
}

void probe_handler(const chime_tick *tick, void *context) {
  probe *p = context;
  csuite *t = p->t;
  enter(p);
  check_tick(p, tick, context);
  EXPECT(tick->kind == CHIME_TICK_DUE || tick->kind == CHIME_TICK_FIRED);
  EXPECT(tick->sequence >= 1);
  EXPECT(tick->actual_ns >= tick->scheduled_ns); /* [3] */
  if (tick->kind == CHIME_TICK_FIRED) EXPECT_EQ(tick->missed, 0);
  log_tick(t, p, tick);
  if (load(&p->ticks) == 0) p->first = *tick;
  p->last = *tick;
  p->missed += (int64_t)tick->missed;
  act(p, tick, &p->ticks, p->on_tick);
  if (tick->target != NULL) expect_alive(p->target);
  leave(p);
  add(&p->returned, 1);
}

static void announce(probe *p, const chime_tick *tick, chime_tick_kind kind, int *count, probe_action action) {
  csuite *t = p->t;
  enter(p);
  check_tick(p, tick, p);
  EXPECT_EQ(tick->kind, kind);
  EXPECT_EQ(tick->sequence, 0);
  if (!p->quiet) csuite_log(t, "%s%c", p->name, kind == CHIME_TICK_ARMED ? '^' : '-');
  act(p, tick, count, action);
  leave(p);
}

static void probe_registration(const chime_tick *tick, void *context) {
  probe *p = context;
  announce(p, tick, CHIME_TICK_ARMED, &p->armed, p->on_armed);
}

static void probe_cancellation(const chime_tick *tick, void *context) {
  probe *p = context;
  announce(p, tick, CHIME_TICK_CANCELLED, &p->cancelled, p->on_cancelled);
}

/* It gets the timer's tick with its own context, after the timer's own handler. */
static void probe_named_handler(const chime_tick *tick, void *context) {
  probe *p = context;
  csuite *t = p->t;
  chime_tick expected = p->owner->last;
  enter(p);
  expected.context = p;
  EXPECT(memcmp(tick, &expected, sizeof expected) == 0);
  EXPECT_EQ(load(&p->owner->busy) + load(&p->owner->finalized), 0);
  if (!p->quiet) csuite_log(t, "%s%" PRIu64, p->name, tick->sequence);
  act(p, tick, &p->ticks, p->on_tick);
  if (tick->target != NULL) expect_alive(tick->target);
  leave(p);
}

/* It cannot be acquired any more, and is there as long as this runs. */
static void probe_expiry_handler(const chime_tick *tick, void *context) {
  probe *p = context;
  csuite *t = p->t;
  enter(p);
  EXPECT(tick->context == p && tick->target == p->owner && tick->timer == 0);
  EXPECT(tick->kind == CHIME_TICK_DUE && tick->sequence == 1 && tick->missed == 0 && tick->reserved == 0);
  EXPECT(tick->actual_ns >= tick->scheduled_ns); /* [3] */
  expect_alive(p->owner);
  expect_vanished(p->owner);
  if (!p->quiet && tick->actual_ns == tick->scheduled_ns) csuite_log(t, "%s@%" PRId64, p->name, tick->actual_ns);
  else if (!p->quiet) csuite_log(t, "%s@%" PRId64 ">%" PRId64, p->name, tick->scheduled_ns, tick->actual_ns);
  p->last = *tick;
  act(p, tick, &p->ticks, p->on_tick);
  expect_alive(p->owner);
  leave(p);
}

void probe_function(void *context) {
  probe *p = context;
  enter(p);
  act(p, NULL, &p->ticks, p->on_tick);
  leave(p);
}

void probe_finalizer(void *context) {
  probe *p = context;
  csuite *t = p->t;
  EXPECT_EQ(load(&p->busy), 0);
  p->thread = pthread_self();
  if (!p->quiet) csuite_log(t, "%s.", p->name);
  if (p->on_finalize != NULL) p->on_finalize(t, p);
  EXPECT_EQ(add(&p->finalized, 1), 1); /* [8] */
}

probe *probe_new(csuite *t, chime_queue_t queue, const char *name) {
  probe *p = csuite_memory(t, sizeof *p);
  p->t = t;
  p->name = name;
  p->quiet = name == NULL;
  p->queue = queue;
  p->status = INT32_MIN;
  return p;
}

chime_timer_options probe_options(probe *p) {
  chime_timer_options options = TIMER_OPTIONS(.handler = probe_handler, .context = p, .finalizer = probe_finalizer);
  if (p->target != NULL) options.target = p->target->id;
  return options;
}

chime_timer_options probe_full_options(probe *p) {
  chime_timer_options options = probe_options(p);
  options.registration_handler = probe_registration;
  options.cancel_handler = probe_cancellation;
  return options;
}

chime_status probe_add(probe *p, const char *key) {
  return chime_timer_add_handler(p->owner->timer, key, probe_named_handler, p, probe_finalizer);
}

chime_status probe_expects(probe *p) {
  return chime_expiring_on_expiry(p->owner->id, probe_expiry_handler, p, probe_finalizer);
}

probe *probe_of_owner(probe *owner, const char *name) {
  probe *p = probe_new(owner->t, owner->queue, name);
  p->owner = owner;
  p->quiet = owner->quiet;
  return p;
}

probe *probe_target(csuite *t, const char *name) {
  probe *p = probe_new(t, 0, name);
  EXPECT_OK(chime_target_create(p, probe_finalizer, &p->id));
  return p;
}

probe *probe_value(csuite *t, chime_queue_t queue, const char *name, int64_t lifetime_ns) {
  probe *p = probe_new(t, queue, name);
  EXPECT_OK(chime_expiring_create(queue, lifetime_ns, p, probe_finalizer, NULL, &p->id));
  return p;
}

void expect_vanished(const probe *value) {
  csuite *t = value->t;
  void *found = t;
  EXPECT_STATUS(chime_expiring_acquire(value->id, &found), CHIME_IGNORED);
  EXPECT(found == NULL);
}

/* The probe's timer: idle where there is no schedule. */
static probe *made(probe *p, chime_timer_options options, const chime_schedule *schedule) {
  csuite *t = p->t;
  EXPECT_OK(schedule == NULL ? chime_timer_create(p->queue, &options, &p->timer)
                             : chime_timer_start(p->queue, &options, schedule, &p->timer));
  EXPECT((uint32_t)p->timer != 0); /* [10]: what a careless binding keeps of it does not mean none */
  return p;
}

probe *probe_idle(csuite *t, chime_queue_t queue, const char *name) { return probe_start(t, queue, name, NULL); }

probe *probe_start(csuite *t, chime_queue_t queue, const char *name, const chime_schedule *schedule) {
  probe *p = probe_new(t, queue, name);
  return made(p, probe_options(p), schedule);
}

probe *probe_start_full(csuite *t, chime_queue_t queue, const char *name, const chime_schedule *schedule) {
  probe *p = probe_new(t, queue, name);
  return made(p, probe_full_options(p), schedule);
}

probe *probe_after(csuite *t, chime_queue_t queue, const char *name, int64_t delay_ns) {
  return probe_start(t, queue, name, AFTER(delay_ns));
}

probe *probe_every(csuite *t, chime_queue_t queue, const char *name, int64_t interval_ns) {
  return probe_start(t, queue, name, EVERY(interval_ns, interval_ns));
}

probe *probe_quiet(csuite *t, chime_queue_t queue, int64_t first_ns, int64_t interval_ns, probe_action on_tick) {
  probe *p = probe_new(t, queue, NULL);
  p->on_tick = on_tick;
  return made(p, probe_options(p), EVERY(first_ns, interval_ns));
}

probe *probe_every_quietly(csuite *t, chime_queue_t queue, int64_t interval_ns) {
  return probe_quiet(t, queue, interval_ns, interval_ns, NULL);
}

void stay_until_gate_opens(csuite *t, probe *p, const chime_tick *tick) {
  (void)tick;
  store(&p->flag, 1);
  EXPECT(await(&p->gate, 1));
}

void open_gate(probe *p) { store(&p->gate, 1); }

probe *probe_held(csuite *t, chime_queue_t queue, int64_t interval_ns) {
  probe *p = probe_quiet(t, queue, 0, interval_ns, stay_until_gate_opens);
  EXPECT(await(&p->flag, 1));
  return p;
}

void check_grid(csuite *t, probe *p, const chime_tick *tick) {
  grid *g = p->user;
  int64_t now = 0;
  g->due_times += 1 + (int64_t)tick->missed;
  EXPECT_OK(chime_now(CHIME_CLOCK_MONOTONIC, &now));
  EXPECT_EQ((tick->scheduled_ns - g->first_ns) % g->interval_ns, 0);
  EXPECT(tick->actual_ns <= now);
  /* The last due time that this tick stands for is over: counting too many would show here, or at the end. */
  EXPECT_BETWEEN(tick->actual_ns, g->first_ns + (g->due_times - 1) * g->interval_ns, INT64_MAX);
  EXPECT_BETWEEN(tick->scheduled_ns, g->first_ns, g->first_ns + (g->due_times - 1) * g->interval_ns);
}

int await_finished(csuite *t, chime_timer_t timer) {
  AWAIT(state_of(t, timer) == CHIME_STATE_FINISHED);
  come_to_rest(t, timer);
  return state_of(t, timer) == CHIME_STATE_FINISHED;
}

void come_to_rest(csuite *t, chime_timer_t timer) {
  chime_timer_info info = CHIME_TIMER_INFO_INIT;
  AWAIT(chime_timer_get_info(timer, &info) != CHIME_OK || !info.busy);
}
