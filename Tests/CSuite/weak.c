/* weak.c - see weak.h. */
#include "weak.h"

void weak_action(const chime_tick *tick, void *user_info) {
  weak *w = user_info;
  csuite *t = w->t;
  EXPECT_EQ(add(&w->busy, 1), 1);
  EXPECT_EQ(load(&w->finalized), 0);
  EXPECT(tick->context == user_info);
  EXPECT(tick->timer != 0);
  if (w->timer != 0) EXPECT_EQ(tick->timer, w->timer);
  EXPECT(tick->actual_ns >= tick->scheduled_ns);
  EXPECT(tick->actual_ns <= monotonic_ns());
  EXPECT_EQ(tick->reserved, 0);
  if (w->has_target) {
    EXPECT(tick->target == &w->object);
    EXPECT_EQ(load(&w->objects_destroyed), 0);
  } else {
    EXPECT(tick->target == NULL);
  }
  w->last = *tick;
  if (tick->kind == CHIME_TICK_FIRED) {
    EXPECT_EQ(tick->sequence, 0);
    EXPECT_EQ(tick->missed, 0);
    add(&w->fired, 1);
  } else {
    EXPECT_EQ(tick->kind, CHIME_TICK_DUE);
    EXPECT_EQ(tick->sequence, add(&w->sequence, 1));
    if (load(&w->due) == 0 || w->on_new_grid) {
      w->due_times = 0;
      w->first_due = tick->scheduled_ns - (int64_t)tick->missed * w->interval;
      w->on_new_grid = 0;
    }
    w->due_times += (int64_t)tick->missed + 1;
    if (w->interval > 0) EXPECT_EQ(tick->scheduled_ns, w->first_due + (w->due_times - 1) * w->interval);
    add(&w->due, 1);
  }
  if (w->on_tick != NULL) w->on_tick(w, tick);
  if (w->has_target) EXPECT_EQ(load(&w->objects_destroyed), 0);
  add(&w->busy, -1);
}

void weak_finalizer(void *user_info) {
  weak *w = user_info;
  csuite *t = w->t;
  EXPECT_EQ(load(&w->busy), 0);
  EXPECT_EQ(add(&w->finalized, 1), 1);
}

static void destroy_object(void *object) {
  weak *w = (weak *)(void *)((char *)object - offsetof(weak, object));
  csuite *t = w->t;
  EXPECT_EQ(add(&w->objects_destroyed, 1), 1);
}

static void weak_ends(void *argument) {
  weak *w = argument;
  csuite *t = w->t;
  chime_weak_timer_release(w->timer); /* if the test has not */
  chime_target_release(w->target);
  EXPECT_EQ(load(&w->finalized), w->is_accepted);
  EXPECT_EQ(load(&w->objects_destroyed), w->has_target);
}

weak *weak_new(csuite *t) {
  weak *w = csuite_memory(t, sizeof *w);
  w->t = t;
  w->status = w->status2 = INT32_MIN;
  w->loop = current_loop(t);
  csuite_finally(t, weak_ends, w);
  return w;
}

weak *weak_with_target(csuite *t) {
  weak *w = weak_new(t);
  w->has_target = 1;
  EXPECT_OK(chime_target_create(&w->object, destroy_object, &w->target));
  return w;
}

static void is_made(weak *w, chime_status status, int64_t interval_ns, int repeats) {
  csuite *t = w->t;
  w->is_accepted = EXPECT_OK(status);
  w->interval = repeats ? interval_ns : 0;
}

void weak_create(weak *w, int64_t interval_ns, int repeats) {
  is_made(w, chime_weak_timer_create(interval_ns, repeats, w->target, weak_action, w, weak_finalizer, &w->timer),
          interval_ns, repeats);
}

void weak_schedule(weak *w, int64_t interval_ns, int repeats) {
  is_made(w, chime_weak_timer_schedule(interval_ns, repeats, w->target, weak_action, w, weak_finalizer, &w->timer),
          interval_ns, repeats);
}

void weak_schedule_unheld(weak *w, int64_t interval_ns, int repeats) {
  is_made(w, chime_weak_timer_schedule(interval_ns, repeats, w->target, weak_action, w, weak_finalizer, NULL),
          interval_ns, repeats);
}

weak *repeating(csuite *t) {
  weak *w = weak_new(t);
  weak_schedule(w, INTERVAL, 1);
  return w;
}

int is_valid(weak *w) {
  csuite *t = w->t;
  int32_t valid = -1;
  EXPECT_OK(chime_weak_timer_is_valid(w->timer, &valid));
  return valid;
}

int64_t fire_date(weak *w) {
  csuite *t = w->t;
  int64_t date = -1;
  EXPECT_OK(chime_weak_timer_fire_date(w->timer, &date));
  return date;
}

int64_t wall_ns(void) {
  int64_t now = 0;
  chime_now(CHIME_CLOCK_WALL, &now);
  return now;
}

void run_until_due(weak *w, int least) { run_until(w->t, NULL, &w->due, least); }

void expect_no_tick(weak *w) {
  csuite *t = w->t;
  int before = load(&w->due) + load(&w->fired);
  run_for(t, NULL, 5 * INTERVAL);
  EXPECT_EQ(load(&w->due) + load(&w->fired), before);
}

void stay(weak *w, const chime_tick *tick) {
  csuite *t = w->t;
  (void)tick;
  if (add(&w->flag, 1) == 1) EXPECT(await(&w->gate, 1));
}

void *fire_from_here(void *argument) {
  weak *w = argument;
  w->status = chime_weak_timer_fire(w->timer);
  return NULL;
}
