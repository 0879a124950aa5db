/*
 * objects.h - what the tests of targets share: objects that targets are made of, and timers that name them. In a timeline
 * `~o` is the destructor of the object `o`.
 */
#ifndef CSUITE_OBJECTS_H
#define CSUITE_OBJECTS_H

#include "timeline.h"

/* An object that a target is made of. It stays in memory after its destructor, so that a use after it is seen. */
typedef struct object object;
struct object {
  csuite *t;
  const char *name;
  chime_target_t target;
  void (*on_destroy)(object *o);
  probe *user; /* a timer that names the target */
  probe *other;
  chime_queue_t queue;
  chime_status status;
  chime_status status2;
  pthread_t thread;  /* that called the destructor */
  pthread_t handler; /* that ran a handler */
  int destroyed;
  int flag;
  int gate;
};

void object_destroy(void *context);
object *object_new(csuite *t, const char *name);
/* Every callback of a probe that has a target; the test's own action is called after the check. */
void expect_alive(probe *p, const chime_tick *tick);
void expect_alive_or_gone(probe *p, const chime_tick *tick);
void expect_gone(probe *p, const chime_tick *tick);
/* An idle timer of a target, with all handlers. Once the target is gone its cancel handler gets none. */
probe *user_of(object *o, chime_queue_t queue, const char *name);
/* The same, quiet, at work from now on. */
probe *ticking_user_of(object *o, chime_queue_t queue, probe_action on_tick);
/* One that is due in an hour, and whose registration may come late. Where other threads run its callbacks. */
probe *distant_user_of(object *o, chime_queue_t queue, probe_action on_cancelled);
/* A cancelled timer whose target is gone never runs again, and nothing changes it. */
void expect_over(csuite *t, chime_timer_t timer);
void expect_after_handler(object *o);
void release_the_target(probe *p, const chime_tick *tick);

#endif /* CSUITE_OBJECTS_H */
