/*
 * seeing.c - the trace of what timers do; and what a process says of its memory.
 * (Statistics: queries.c; texts: explain.c.)
 */
#include "weak.h"

/* What is in the file, headers/trace.py reads. */
TEST(a_trace_file_that_cannot_be_had_is_refused) {
  EXPECT_STATUS(chime_trace_to_file("/no/such/directory/trace.json"), CHIME_ERROR_RESOURCE);
  EXPECT(strstr(chime_last_error_detail(), "No such file or directory (errno 2)") != NULL);
  EXPECT_STATUS(chime_trace_to_file(NULL), CHIME_IGNORED);
}

/* Other tests may run at the same time, and their threads report, too, perhaps beyond the end of this one. */
static __thread int is_traced;

static void set_trace_here(csuite *t, chime_handler trace, void *p) {
  is_traced = trace != NULL;
  EXPECT_OK(chime_set_trace(trace, p, NULL));
}

/* The context is a probe: what concerns its timer goes into the timeline. */
static void trace(const chime_tick *tick, void *context) {
  if (!is_traced) return;
  probe *p = context;
  csuite *t = p->t;
  uint64_t generation;
  if (tick->timer != p->timer) return;
  csuite_log(t, "%s", chime_tick_kind_name(tick->kind) + strlen("CHIME_"));
  EXPECT_EQ(tick->reserved, 0);
  /* No lock is held, and what happens in here is not traced. */
  if (tick->kind != CHIME_TRACE_RELEASED && !is_stale(tick->timer))
    EXPECT_OK(chime_timer_generation(tick->timer, &generation));
  if (tick->kind == CHIME_TRACE_SUSPENDED) EXPECT_OK(chime_timer_fire(tick->timer));
  if (tick->kind < CHIME_TRACE_CREATED) EXPECT(tick->context == context);
  if (tick->kind >= CHIME_TRACE_CREATED) EXPECT(tick->context == NULL && tick->sequence == 0);
  if (tick->kind == CHIME_TRACE_ACTIVATED) EXPECT_EQ(tick->scheduled_ns, tick->actual_ns + 10);
}

VIRTUAL_TEST(the_trace_tells_of_each_transition_and_callback) {
  probe *p = probe_new(t, queue, NULL);
  chime_timer_options options = probe_full_options(p);
  chime_schedule schedule = schedule_of(10, 10);
  options.finalizer = NULL; /* there are two timers, one after the other */
  set_trace_here(t, trace, p);
  EXPECT_OK(chime_timer_start(queue, &options, &schedule, &p->timer));
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_LOG("TRACE_CREATED TRACE_ACTIVATED TICK_ARMED TRACE_RETURNED TICK_DUE TRACE_RETURNED");
  EXPECT_STATUS(chime_timer_activate(p->timer, NULL), CHIME_IGNORED);
  EXPECT_LOG("");
  EXPECT_OK(chime_timer_restart(p->timer, NULL));
  EXPECT_OK(chime_timer_restart_after(p->timer, 10));
  EXPECT_OK(chime_timer_restart_until(p->timer, 20));
  EXPECT_OK(chime_timer_postpone(p->timer, 30));
  EXPECT_OK(chime_timer_reschedule(p->timer, &schedule));
  EXPECT_OK(chime_timer_set_interval(p->timer, 10));
  EXPECT_OK(chime_timer_set_background(p->timer, 0));
  EXPECT_OK(chime_timer_suspend(p->timer)); /* the trace asks for an extra tick here */
  EXPECT_OK(chime_timer_resume(p->timer));
  EXPECT_OK(chime_timer_fire(p->timer));
  EXPECT_LOG("TRACE_RESTARTED TRACE_RESTARTED TRACE_RESTARTED TRACE_POSTPONED TRACE_RESCHEDULED "
             "TRACE_RESCHEDULED TRACE_RESCHEDULED TRACE_SUSPENDED TRACE_RESUMED TRACE_FIRED");
  EXPECT_OK(chime_queue_advance(queue, 0));
  EXPECT_LOG("TICK_FIRED TRACE_RETURNED");
  EXPECT_OK(chime_timer_cancel(p->timer));
  EXPECT_OK(chime_queue_advance(queue, 0));
  EXPECT_LOG("TRACE_CANCELLED TICK_CANCELLED TRACE_RETURNED");
  schedule.interval_ns = 0;
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_LOG("TRACE_ACTIVATED TICK_ARMED TRACE_RETURNED TRACE_FINISHED TICK_DUE TRACE_RETURNED");
  EXPECT_OK(chime_timer_release(p->timer));
  EXPECT_LOG("TRACE_RELEASED");
  options.flags = CHIME_TIMER_SELF_RELEASE;
  EXPECT_OK(chime_timer_start(queue, &options, &schedule, &p->timer));
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_LOG(
      "TRACE_CREATED TRACE_ACTIVATED TICK_ARMED TRACE_RETURNED TRACE_FINISHED TICK_DUE TRACE_RETURNED TRACE_RELEASED");
  set_trace_here(t, NULL, p);
  EXPECT_OK(chime_timer_after(queue, 10, probe_handler, p, NULL, &p->timer));
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_LOG("");
}

/* Not of a registration that has had no turn: the release drops it. */
VIRTUAL_TEST(the_trace_tells_of_the_last_callbacks_of_a_released_timer) {
  probe *p = probe_start_full(t, queue, NULL, AFTER(10));
  set_trace_here(t, trace, p);
  EXPECT_OK(chime_timer_release(p->timer));
  set_trace_here(t, NULL, NULL);
  EXPECT_LOG("TRACE_RELEASED TICK_CANCELLED TRACE_RETURNED");
}

static void look_at_the_value(const chime_tick *tick, void *context) {
  if (!is_traced) return;
  probe *v = context;
  csuite *t = v->t;
  void *value = NULL;
  if (tick->kind != CHIME_TRACE_RESTARTED) return; /* of the timer behind it */
  v->number++;
  EXPECT_OK(chime_expiring_acquire(v->id, &value));
  EXPECT(value == v);
  EXPECT_OK(chime_expiring_yield(v->id));
}

/* [9]: a reset calls back, and holds no lock of the value's then. */
VIRTUAL_TEST(the_trace_of_a_reset_may_use_the_value) {
  probe *v = probe_value(t, queue, "v", 10);
  set_trace_here(t, look_at_the_value, v);
  EXPECT_OK(chime_expiring_reset(v->id, 20));
  set_trace_here(t, NULL, NULL);
  EXPECT_EQ(v->number, 1);
  EXPECT_OK(chime_expiring_release(v->id));
}

static void look_at_the_weak_timer(const chime_tick *tick, void *context) {
  weak *w = context;
  csuite *t = w->t;
  if (!is_traced) return;
  if (tick->kind == CHIME_TRACE_RELEASED) return;
  csuite_log(t, "%s", chime_tick_kind_name(tick->kind) + strlen("CHIME_TRACE_"));
  EXPECT(is_valid(t, w->timer));
  EXPECT_OK(chime_weak_timer_set_tolerance(w->timer, 1));
}

/* Neither do calls on weak timers. */
OWN_THREAD_TEST(the_trace_of_a_weak_timer_may_use_it) {
  weak *w = weak_new(t);
  weak_make(w, LOOSE, CHIME_HOUR, 1);
  set_trace_here(t, look_at_the_weak_timer, w);
  EXPECT_OK(chime_weak_timer_add(w->timer, w->loop, NULL));
  EXPECT_OK(chime_weak_timer_set_fire_date(w->timer, CHIME_FOREVER));
  set_trace_here(t, NULL, NULL);
  EXPECT_LOG("CREATED ACTIVATED RESCHEDULED");
  EXPECT_OK(chime_weak_timer_release(w->timer));
}

/* What the trace asks for from within a report. */
static void wait_in_the_report(const chime_tick *tick, void *context) {
  probe *p = context;
  csuite *t = p->t;
  if (tick->timer != p->timer) return;
  if (tick->kind == CHIME_TRACE_FINISHED || tick->kind == CHIME_TICK_DUE || tick->kind == CHIME_TRACE_RETURNED)
    EXPECT_STATUS(chime_timer_cancel_and_wait(tick->timer, CHIME_FOREVER), CHIME_ERROR_WOULD_DEADLOCK);
  if (tick->kind == CHIME_TRACE_RELEASED) EXPECT_OK(chime_queue_shutdown(p->queue, CHIME_FOREVER));
}

/* [1]: before and after the handler, too, it is inside the callback. */
TESTS_ON_DISPATCH_QUEUES(a_trace_that_waits_for_the_end_of_the_callback_would_deadlock) {
  probe *p = probe_idle(t, queue, NULL);
  csuite_keep_memory(t); /* a trace that has begun on another thread may end later */
  EXPECT_OK(chime_set_trace(wait_in_the_report, p, NULL));
  EXPECT_OK(chime_timer_activate(p->timer, AFTER(0)));
  EXPECT(await(&p->ticks, 1));
  EXPECT(chime_timer_cancel_and_wait(p->timer, PATIENCE) >= 0);
  EXPECT_OK(chime_set_trace(NULL, NULL, NULL));
}

/* The timer, which has callbacks left, is not in the way. */
VIRTUAL_TEST(a_trace_may_shut_the_queue_down_when_a_timer_is_released) {
  probe *p = probe_start_full(t, queue, NULL, AFTER(CHIME_HOUR));
  csuite_keep_memory(t); /* a trace that has begun on another thread may end later */
  EXPECT_OK(chime_set_trace(wait_in_the_report, p, NULL));
  EXPECT_OK(chime_timer_release(p->timer));
  EXPECT_OK(chime_set_trace(NULL, NULL, NULL));
  EXPECT_EQ(load(&p->finalized), 1);
}

static void hold_the_report(const chime_tick *tick, void *context) {
  probe *p = context;
  if (tick->timer == p->other->timer && tick->kind == CHIME_TICK_DUE) stay_until_gate_opens(p->t, p, tick);
}

TESTS_ON_DISPATCH_QUEUES(the_context_of_a_trace_is_finalized_after_its_last_report) { /* [8] */
  probe *p = probe_new(t, queue, NULL), *second = probe_new(t, queue, NULL);
  p->other = second->other = probe_idle(t, queue, NULL);
  EXPECT_STATUS(chime_set_trace(NULL, p, probe_finalizer), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_OK(chime_set_trace(hold_the_report, p, probe_finalizer));
  EXPECT_OK(chime_timer_activate(p->other->timer, AFTER(0)));
  EXPECT(await(&p->flag, 1));
  EXPECT_OK(chime_set_trace(hold_the_report, second, probe_finalizer));
  EXPECT_EQ(load(&p->finalized), 0);
  open_gate(second);
  open_gate(p);
  EXPECT(await(&p->finalized, 1));
  EXPECT_EQ(load(&second->finalized), 0);
  EXPECT_OK(chime_set_trace(NULL, NULL, NULL));
  EXPECT(await(&second->finalized, 1)); /* at once, unless a thread reports something just now */
  EXPECT(await(&p->other->returned, 1));
  EXPECT_EQ(load(&p->finalized), 1);
}

static void count_traced(const chime_tick *tick, void *context) { add(context, 1); }

THREAD(set_and_unset, probe, p) {
  while (load(&p->gate) == 0) {
    EXPECT_OK(chime_set_trace(count_traced, &p->flag, NULL));
    chime_set_trace(NULL, NULL, NULL);
  }
}

SERIAL_TEST(the_trace_is_set_while_timers_run) {
  int64_t end = monotonic_ns() + PATIENCE;
  pthread_t thread;
  probe *p = probe_every_quietly(t, queue, CHIME_MICROSECOND);
  csuite_keep_memory(t); /* a trace that has begun may end later */
  if (!spawn(t, &thread, set_and_unset, p)) return;
  /* And on until the trace has seen something: the other thread may have had no turn. */
  for (int i = csuite_scaled(100000); (i > 0 || load(&p->flag) == 0) && monotonic_ns() < end; i--) {
    EXPECT_TOOK_EFFECT(chime_timer_restart(p->timer, NULL));
    EXPECT_TOOK_EFFECT(chime_timer_suspend(p->timer));
  }
  open_gate(p);
  pthread_join(thread, NULL);
  EXPECT(load(&p->flag) > 0);
}

/* ---- Memory and fork --------------------------------------------------------------------------------------------- */

/* Programs of Tests/Faults set one before their first call, as it must be. */
static void *no_memory(size_t alignment, size_t bytes, void *context) { return NULL; }

static void no_free(void *memory, void *context) {}

VIRTUAL_TEST(an_allocator_comes_before_everything_else) {
  chime_allocator allocator = CHIME_ALLOCATOR_INIT;
  allocator.allocate = no_memory;
  EXPECT_STATUS(chime_set_allocator(&allocator), CHIME_ERROR_INVALID_ARGUMENT); /* half of one */
  allocator.deallocate = no_free;
  allocator.reserved = 1;
  EXPECT_STATUS(chime_set_allocator(&allocator), CHIME_ERROR_INVALID_ARGUMENT);
  allocator.reserved = 0;
  chime_status status = chime_set_allocator(&allocator);
  EXPECT(status == CHIME_ERROR_BUSY || status == CHIME_ERROR_UNSUPPORTED);
}

/* What the sentence on a refusal names. */
static uint64_t needed_with_a_limit_of(csuite *t, uint64_t limit) {
  unsigned long long most = 0, needed = 0;
  EXPECT(sscanf(chime_last_error_detail(), "chime_set_memory_limit allows %llu bytes: this call needs about %llu,",
                &most, &needed) == 2);
  EXPECT(most == limit && needed > limit);
  return needed;
}

VIRTUAL_TEST(a_memory_limit_refuses_and_all_goes_on) {
  chime_queue_t other = 5;
  chime_timer_t timer = 5;
  int count = 0;
  probe *p = probe_after(t, queue, "p", 10);
  if (chime_set_memory_limit(1) == CHIME_ERROR_UNSUPPORTED) {
    EXPECT_EQ(chime_memory_used(), 0);
    return;
  }
  uint64_t used = chime_memory_used();
  EXPECT(used > 0);
  EXPECT_STATUS(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &other), CHIME_ERROR_LIMIT);
  EXPECT_EQ(other, 5);
  while (count < 1000000 && chime_timer_after(queue, 20, probe_handler, p, NULL, &timer) == CHIME_OK) count++;
  EXPECT(count < 1000000); /* slots that were there already */
  EXPECT_STATUS(chime_timer_after(queue, 20, probe_handler, p, NULL, &timer), CHIME_ERROR_LIMIT);
  EXPECT(needed_with_a_limit_of(t, 1) > used);
  EXPECT_STATUS(chime_trace_to_file("/dev/null"), CHIME_ERROR_LIMIT);
  EXPECT(chime_memory_used() <= used); /* a thread of a test before may have let go of some */
  ADVANCE(10);
  EXPECT_LOG("p1@10");
  /* Who follows the sentence comes to an end: a call may need memory twice, and other threads' is counted, too. */
  uint64_t limit = 1;
  chime_status status = chime_timer_after(queue, 20, probe_handler, p, NULL, &timer);
  for (int tries = 0; tries < 10 && status == CHIME_ERROR_LIMIT; tries++) {
    limit = needed_with_a_limit_of(t, limit);
    EXPECT_OK(chime_set_memory_limit(limit));
    status = chime_timer_after(queue, 20, probe_handler, p, NULL, &timer);
  }
  EXPECT_OK(status);
  EXPECT(limit > 1);
  EXPECT_OK(chime_set_memory_limit(0));
  EXPECT_OK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &other));
  EXPECT_OK(chime_queue_shutdown(other, 0));
}

/* Starts timers that are due in a moment, at most so many; says how many. */
static int start_many(csuite *t, chime_queue_t queue, int most) {
  chime_timer_options options = {.size = sizeof options, .handler = ignore_tick};
  int count = 0;
  while (count < most && chime_timer_start(queue, &options, AFTER(1), NULL) == CHIME_OK) count++;
  return count;
}

VIRTUAL_TEST(a_large_queue_grows_by_less_where_a_limit_is_near) {
  const int usual = 65536; /* timers by which a large queue grows */
  if (chime_set_memory_limit(0) == CHIME_ERROR_UNSUPPORTED) return;
  EXPECT_EQ(start_many(t, queue, 140000), 140000);
  EXPECT_OK(chime_set_memory_limit(1));
  EXPECT(start_many(t, queue, usual) < usual);
  uint64_t used = chime_memory_used();
  int count = 0;
  for (uint64_t room = 1; count == 0 && room < 64; room++) {
    EXPECT_OK(chime_set_memory_limit(used + (room << 20)));
    count = start_many(t, queue, usual);
  }
  EXPECT(count > 0 && count < usual);
  EXPECT_OK(chime_set_memory_limit(0));
}

/* What happens in a child is tested in Tests/Faults, by programs that can fork. */
VIRTUAL_TEST(only_a_forked_child_can_be_reinitialized) {
  probe *a = probe_after(t, queue, "a", 10);
  EXPECT_STATUS(chime_reinitialize(), CHIME_IGNORED);
  EXPECT_EQ(state_of(t, a->timer), CHIME_STATE_RUNNING);
}
