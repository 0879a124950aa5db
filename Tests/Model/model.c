/* The model's timers: the table of chime.h, carried out. Promises 1 to 5, 7, 11, 12, 17 and 18. */
#include "model.h"

int timer_is_live(const timer *t) { return t->state == CHIME_STATE_RUNNING || t->state == CHIME_STATE_SUSPENDED; }

int timer_is_owed_callbacks(const timer *t) { return t->cancels > 0 || t->armed_is_owed; }

int timer_has_extra(const timer *t) { return timer_is_owed_callbacks(t) || t->fire_pending; }

int model_has_to_end(const timer *t) {
  return t->released && (timer_is_owed_callbacks(t) || (t->has_finalizer && !t->finalized));
}

void expect_of_timer(const timer *t, const char *what, int64_t actual, int64_t expected) {
  if (actual != expected) fail("timer %d: %s is %" PRId64 ", not %" PRId64, t->number, what, actual, expected);
}

void model_sees_generation(timer *t, uint64_t generation) {
  if (t->generation != NO_GENERATION && (generation == t->generation) == t->generation_changed) {
    fail("timer %d: generation %" PRIu64 ", it was %" PRIu64 " %s", t->number, generation, t->generation,
         t->generation_changed ? "before the last change" : "and has not changed");
  }
  t->generation = generation;
  t->generation_changed = 0;
}

static int keeps_remaining(const timer *t) { return t->schedule.resume_policy == CHIME_RESUME_REMAINING; }

static int target_is_gone(const model *m, const timer *t) {
  return t->target >= 0 && m->targets[t->target].references == 0;
}

static statuses took_effect(const timer *t) { return t->busy ? STATUS(CHIME_RUNNING) : STATUS(CHIME_OK); }
static statuses nothing_to_do(const timer *t) {
  return STATUS(t->busy ? CHIME_IGNORED | CHIME_RUNNING : CHIME_IGNORED);
}
static void new_generation(model *m, timer *t);

/* A timer at rest that releases itself. While it is busy its handler's end does that. */
static void end_itself(timer *t) {
  t->ends_itself = t->self_releasing && t->state != CHIME_STATE_IDLE && !t->busy && !timer_has_extra(t);
}

/* A cancel or suspend that means nothing in the timer's state takes back an extra tick that has not started. */
static statuses drop_extra_tick(model *m, timer *t) {
  if (!t->fire_pending) return nothing_to_do(t);
  new_generation(m, t);
  if (!timer_is_live(t)) end_itself(t);
  return took_effect(t);
}

/* A registration that has not begun is not called any more. Its turn is left as that of an extra tick is. */
static void owe_cancel(model *m, timer *t) {
  m->fire_dropped |= t->armed_is_owed;
  t->has_stale_turn |= t->armed_is_owed;
  t->armed_is_owed = 0;
  t->cancels += (unsigned)t->has_cancelled;
}

static void new_generation(model *m, timer *t) {
  t->generation_changed = 1;
  m->fire_dropped |= t->fire_pending;
  t->has_stale_turn |= t->fire_pending;
  t->fire_pending = 0;
  t->rearms = 0;
}

int64_t model_draw(model *m, int64_t most) {
  uint64_t z = m->random_state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  z ^= z >> 31;
  return (int64_t)((unsigned __int128)z * ((uint64_t)most + 1) >> 64);
}

static int64_t with_random_part(model *m, timer *t, int64_t time) {
  if (t->schedule.interval_ns > 0 && t->schedule.jitter_ns > 0) t->random_part = model_draw(m, t->schedule.jitter_ns);
  return saturating_sum(time, t->random_part);
}

static int64_t first_deadline(const model *m, const timer *t) {
  int is_deadline = (t->schedule.flags & CHIME_SCHEDULE_DEADLINE) != 0;
  return is_deadline ? t->schedule.first_ns : saturating_sum(m->now, t->schedule.first_ns);
}

static void take_schedule(timer *t, const chime_schedule *schedule) {
  if (schedule != NULL) {
    t->schedule = *schedule;
    t->has_schedule = 1;
    t->random_part = 0;
  }
  t->due_count = 0;
  t->carried = 0;
}

/* OPEN: a restart is an activation where order is concerned, and so is a reschedule. */
static void run_from_now(model *m, timer *t, const chime_schedule *schedule) {
  new_generation(m, t);
  take_schedule(t, schedule);
  t->state = CHIME_STATE_RUNNING;
  m->fire_dropped |= t->ends_itself; /* so it is with what was to end itself */
  t->has_stale_turn |= t->ends_itself;
  t->ends_itself = 0;
  t->deadline = with_random_part(m, t, first_deadline(m, t));
  t->place = ++m->places;
}

void model_start(model *m, timer *t, const chime_schedule *schedule) {
  run_from_now(m, t, schedule);
  t->sequence = 0;
  t->missed = 0;
  t->armed_is_owed = t->has_armed;
}

timer *model_add_timer(model *m) {
  timer *t = &m->timers[m->timer_count];
  *t = (timer){
      .number = m->timer_count++, .target = -1, .generation = NO_GENERATION, .slot_may_have_turn = m->fire_dropped};
  for (int i = 0; i < KEYS; i += 1) t->named[i] = -1;
  return t;
}

/* Why a call that takes a schedule is refused: any of the reasons, where there are several. */
static statuses refusals(const timer *t, const chime_schedule *schedule) {
  statuses all = 0;
  if (t->released) all |= STATUS(CHIME_ERROR_INVALID_HANDLE);
  if (schedule != NULL ? !schedule_is_valid(schedule) : !t->has_schedule && !t->released) {
    all |= STATUS(CHIME_ERROR_INVALID_ARGUMENT);
  }
  return all;
}

statuses model_activate(model *m, timer *t, const chime_schedule *schedule) {
  statuses all = refusals(t, schedule);
  if (!t->released && timer_is_live(t)) all |= nothing_to_do(t);
  if (!t->released && !timer_is_live(t) && target_is_gone(m, t)) all |= STATUS(CHIME_ERROR_TARGET_GONE);
  if (all != 0) return all;
  model_start(m, t, schedule);
  return took_effect(t);
}

statuses model_restart(model *m, timer *t, const chime_schedule *schedule) {
  statuses all = refusals(t, schedule);
  if (!t->released && target_is_gone(m, t)) all |= STATUS(CHIME_ERROR_TARGET_GONE);
  if (all != 0) return all;
  if (timer_is_live(t)) run_from_now(m, t, schedule);
  else model_start(m, t, schedule);
  return took_effect(t);
}

statuses model_restart_first(model *m, timer *t, int64_t first_ns, int is_deadline) {
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  if (t->has_schedule) schedule = t->schedule;
  schedule.first_ns = first_ns;
  schedule.flags = is_deadline ? CHIME_SCHEDULE_DEADLINE : 0;
  return model_restart(m, t, &schedule);
}

statuses model_reschedule(model *m, timer *t, const chime_schedule *schedule) {
  statuses all = refusals(t, schedule);
  if (all != 0) return all;
  new_generation(m, t);
  take_schedule(t, schedule);
  if (timer_is_live(t)) {
    int waits = t->state == CHIME_STATE_SUSPENDED && keeps_remaining(t);
    t->deadline = with_random_part(m, t, waits ? t->schedule.first_ns : first_deadline(m, t));
    t->place = ++m->places;
  } else {
    end_itself(t);
  }
  return took_effect(t);
}

statuses model_set_interval(model *m, timer *t, int64_t interval_ns) {
  chime_schedule *s = &t->schedule;
  statuses refusals = interval_ns <= 0 ? STATUS(CHIME_ERROR_INVALID_ARGUMENT) : 0;
  if (t->released) refusals |= STATUS(CHIME_ERROR_INVALID_HANDLE);
  if (refusals != 0) return refusals;
  if (!t->has_schedule || s->interval_ns == 0) return nothing_to_do(t);
  s->interval_ns = interval_ns;
  if (s->leeway_ns >= interval_ns) s->leeway_ns = interval_ns - 1;
  if (s->jitter_ns > interval_ns) s->jitter_ns = interval_ns;
  if (t->random_part > interval_ns) t->random_part = interval_ns;
  return took_effect(t);
}

statuses model_suspend_queue(model *m, int is_inside) {
  m->suspensions += 1;
  m->is_held_up = 1;
  return is_inside ? STATUS(CHIME_RUNNING) : STATUS(CHIME_OK);
}

statuses model_resume_queue(model *m) {
  if (m->suspensions == 0) return STATUS(CHIME_IGNORED);
  m->suspensions -= 1;
  return STATUS(CHIME_OK);
}

statuses model_suspend(model *m, timer *t) {
  if (t->released) return STATUS(CHIME_ERROR_INVALID_HANDLE);
  if (t->state != CHIME_STATE_RUNNING) return drop_extra_tick(m, t);
  new_generation(m, t);
  t->state = CHIME_STATE_SUSPENDED;
  if (keeps_remaining(t)) {
    const chime_schedule *s = &t->schedule;
    int has_grid = s->interval_ns > 0 && s->missed_policy == CHIME_MISSED_COALESCE;
    if (has_grid && m->now > t->deadline) {
      t->carried += (uint64_t)(saturating_difference(m->now, t->deadline) / s->interval_ns);
    }
    if (t->deadline != INT64_MAX) {
      int64_t left = saturating_difference(t->deadline, m->now);
      t->deadline = left > 0 ? left : 0;
    }
  }
  return took_effect(t);
}

statuses model_resume(model *m, timer *t) {
  if (t->released) return STATUS(CHIME_ERROR_INVALID_HANDLE);
  if (t->state != CHIME_STATE_SUSPENDED) return STATUS(CHIME_IGNORED);
  t->state = CHIME_STATE_RUNNING;
  if (keeps_remaining(t)) t->deadline = saturating_sum(m->now, t->deadline);
  return STATUS(CHIME_OK);
}

/* delay_ns: -1 for a deadline. */
statuses model_postpone(model *m, timer *t, int64_t point_ns, int64_t delay_ns) {
  if (t->released) return STATUS(CHIME_ERROR_INVALID_HANDLE);
  if (!timer_is_live(t)) return nothing_to_do(t);
  if (t->state == CHIME_STATE_SUSPENDED && keeps_remaining(t)) {
    point_ns = delay_ns >= 0           ? delay_ns
               : point_ns == INT64_MAX ? INT64_MAX /* never is as far away as before */
                                       : saturating_difference(point_ns, m->now);
  }
  if (point_ns >= t->deadline) {
    /* The grid moves, and what was missed on the old one is not counted. */
    t->carried = 0;
    t->deadline = point_ns;
  }
  return took_effect(t);
}

statuses model_fire(model *m, timer *t) {
  if (t->released) return STATUS(CHIME_ERROR_INVALID_HANDLE);
  if (t->state == CHIME_STATE_CANCELLED) return STATUS(CHIME_IGNORED);
  if (target_is_gone(m, t)) return STATUS(CHIME_ERROR_TARGET_GONE);
  if (!t->fire_pending) t->fire_time = m->now;
  t->fire_pending = 1;
  return STATUS(CHIME_OK);
}

statuses model_cancel(model *m, timer *t) {
  if (t->released) return STATUS(CHIME_ERROR_INVALID_HANDLE);
  if (!timer_is_live(t)) return drop_extra_tick(m, t);
  new_generation(m, t);
  t->state = CHIME_STATE_CANCELLED;
  owe_cancel(m, t);
  end_itself(t);
  return took_effect(t);
}

statuses model_release(model *m, timer *t) {
  if (t->released) return t->ended_with_queue ? nothing_to_do(t) : STATUS(CHIME_ERROR_INVALID_HANDLE);
  m->fire_dropped |= timer_has_extra(t) || t->ends_itself;
  if (timer_is_live(t)) owe_cancel(m, t);
  t->released = 1;
  t->fire_pending = 0;
  t->rearms = 0;
  return took_effect(t);
}

void model_target_release(model *m, target *g) {
  g->references -= 1;
  if (g->references > 0) return;
  for (timer *t = m->timers; t < m->timers + m->timer_count; t += 1) {
    if (t->released || t->target < 0 || &m->targets[t->target] != g) continue;
    if (t->self_releasing) model_release(m, t);
    else model_cancel(m, t);
  }
}

void model_end_queue(model *m) {
  for (timer *t = m->timers; t < m->timers + m->timer_count; t += 1) {
    t->ended_with_queue |= !t->released;
    model_release(m, t);
  }
  for (int i = m->function_next; i < m->function_count; i += 1) m->functions[i].is_dropped = 1;
  m->function_next = m->function_count;
  m->has_ended = 1;
  m->suspensions = 0;
}

int model_named(model *m, timer *t, int key) {
  for (int i = 0; i < KEYS; i += 1) {
    if (t->named[i] >= 0 && m->named[t->named[i]].key == key) return t->named[i];
  }
  return -1;
}

void model_remove_named(model *m, timer *t, int key) {
  int found = model_named(m, t, key);
  int kept = 0;
  for (int i = 0; i < KEYS; i += 1) {
    if (t->named[i] != found) t->named[kept++] = t->named[i];
  }
  while (kept < KEYS) t->named[kept++] = -1;
  m->named[found].is_added = 0;
  m->named[found].finalizer_is_due = 1;
}

const timer *model_busy_timer(const model *m) {
  for (const timer *t = m->timers; t < m->timers + m->timer_count; t += 1) {
    if (t->busy) return t;
  }
  return NULL;
}

/** Where in its leeway the timer is due: the first multiple, from its deadline on, of the largest of 1, 2, 5, 10, … that is
 *  not above the leeway. */
int64_t model_placement(const model *m, const timer *t) {
  int64_t unit = 1, next = 2, multiple;
  if (!m->honours_leeway || t->schedule.leeway_ns == 0 || t->deadline <= 0 || t->deadline == INT64_MAX) {
    return t->deadline;
  }
  for (int step = 0; next <= t->schedule.leeway_ns; step += 1) {
    unit = next;
    if (unit > INT64_MAX / 3) break;
    next = step % 3 == 0 ? unit / 2 * 5 : unit * 2;
  }
  multiple = (t->deadline - 1) / unit * unit;
  return multiple > INT64_MAX - unit ? t->deadline : multiple + unit;
}
