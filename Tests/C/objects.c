/* objects.c - see objects.h. */
#include "objects.h"

void object_destroy(void *context) {
  object *o = context;
  csuite *t = o->t;
  csuite_log(t, "~%s", o->name);
  o->thread = pthread_self();
  if (o->on_destroy != NULL) o->on_destroy(o);
  EXPECT_EQ(add(&o->destroyed, 1), 1);
}

object *object_new(csuite *t, const char *name) {
  object *o = csuite_memory(t, sizeof *o);
  o->t = t;
  o->name = name;
  EXPECT_OK(chime_target_create(o, object_destroy, &o->target));
  EXPECT(o->target != 0 && o->target < UINT64_C(1) << 53);
  return o;
}

void expect_alive(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  object *o = p->user;
  EXPECT(tick->target == o);
  EXPECT_EQ(load(&o->destroyed), 0);
}

void expect_alive_or_gone(probe *p, const chime_tick *tick) {
  if (tick->target != NULL) expect_alive(p, tick);
}

void expect_gone(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  EXPECT(tick->target == NULL);
}

static chime_timer_options options_of(probe *p, object *o) {
  chime_timer_options options = probe_full_options(p);
  p->user = o;
  options.target = o->target;
  return options;
}

probe *user_of(object *o, chime_queue_t queue, const char *name) {
  csuite *t = o->t;
  probe *p = probe_new(t, queue, name);
  chime_timer_options options = options_of(p, o);
  p->on_tick = p->on_armed = expect_alive;
  p->on_cancelled = expect_gone;
  if (o->user == NULL) o->user = p;
  EXPECT_OK(chime_timer_create(queue, &options, &p->timer));
  return p;
}

probe *ticking_user_of(object *o, chime_queue_t queue, probe_action on_tick) {
  csuite *t = o->t;
  chime_schedule schedule = schedule_of(0, 100 * CHIME_MICROSECOND);
  probe *p = user_of(o, queue, "a");
  p->quiet = 1;
  p->on_tick = on_tick;
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  return p;
}

probe *distant_user_of(object *o, chime_queue_t queue, probe_action on_cancelled) {
  csuite *t = o->t;
  chime_schedule schedule = schedule_of(CHIME_HOUR, CHIME_HOUR);
  probe *p = user_of(o, queue, "a");
  p->quiet = 1;
  p->on_armed = expect_alive_or_gone;
  p->on_cancelled = on_cancelled;
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  return p;
}

void expect_over(csuite *t, chime_timer_t timer) {
  chime_schedule schedule = schedule_of(1, 1);
  EXPECT_STATUS(chime_timer_activate(timer, &schedule), CHIME_ERROR_TARGET_GONE);
  EXPECT_STATUS(chime_timer_restart(timer, &schedule), CHIME_ERROR_TARGET_GONE);
  EXPECT_STATUS(chime_timer_fire(timer), CHIME_IGNORED);
  EXPECT_STATUS(chime_timer_cancel(timer), CHIME_IGNORED);
  EXPECT_EQ(state_of(t, timer), CHIME_STATE_CANCELLED);
  EXPECT_EQ(deadline_of(t, timer), CHIME_FOREVER);
}

void expect_after_handler(object *o) {
  csuite *t = o->t;
  EXPECT_EQ(load(&o->user->busy), 0);
  EXPECT_EQ(load(&o->user->returned), 1);
  EXPECT_EQ(load(&o->user->cancelled), 0); /* the cancel handler and the finalizer come later */
  EXPECT_EQ(load(&o->user->finalized), 0);
}

void release_the_target(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  object *o = p->user;
  expect_alive(p, tick);
  EXPECT_OK(chime_target_release(o->target));
  EXPECT_EQ(load(&o->destroyed), 0); /* this call holds it */
  EXPECT_STATUS(chime_target_retain(o->target, NULL), CHIME_ERROR_INVALID_HANDLE);
  expect_over(t, tick->timer);
  EXPECT_EQ(load(&o->destroyed), 0);
}
