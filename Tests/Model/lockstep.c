/* Calls to the library and to the model, and the comparison of what both have to say. */
#include "lockstep.h"

lockstep the;

/* ---- Which timer ------------------------------------------------------------------------------------------------- */

/** The timer an operation means, a released one now and then; NULL: there is none. */
static timer *subject_of(uint8_t subject) {
  timer *live[MOST_TIMERS];
  int count = 0;
  if ((subject & 32) != 0 && M->timer_count > 0) {
    timer *t = &M->timers[(subject & 31) % M->timer_count];
    return t->id != 0 ? t : NULL;
  }
  for (int i = 0; i < M->timer_count; i += 1) {
    if (!M->timers[i].released && M->timers[i].id != 0) live[count++] = &M->timers[i];
  }
  return count > 0 ? live[(subject & 31) % count] : NULL;
}

/* ---- Comparison -------------------------------------------------------------------------------------------------- */

static void compare_generation(timer *t) {
  uint64_t generation = NO_GENERATION;
  expect_of_timer(t, "status of generation", chime_timer_generation(t->id, &generation), CHIME_OK);
  model_sees_generation(t, generation);
  expect_of_timer(t, "check of the generation", chime_timer_check_generation(t->id, generation), CHIME_OK);
  expect_of_timer(t, "check of another", chime_timer_check_generation(t->id, generation + 1), CHIME_IGNORED);
}

#define INFO(member, expected) expect_of_timer(t, "info." #member, (int64_t)info.member, (int64_t)(expected))

static void compare_info(const timer *t) {
  chime_timer_info info = CHIME_TIMER_INFO_INIT;
  int keeps = t->state == CHIME_STATE_SUSPENDED && t->schedule.resume_policy == CHIME_RESUME_REMAINING;
  int64_t remaining = keeps ? t->deadline : CHIME_FOREVER, again = -7;
  int repeats = t->has_schedule && t->schedule.interval_ns > 0;
  int64_t leeway = t->has_schedule ? t->schedule.leeway_ns : 0;
  expect_of_timer(t, "status of get_info", chime_timer_get_info(t->id, &info), CHIME_OK);
  if (t->state == CHIME_STATE_RUNNING && t->deadline != CHIME_FOREVER) {
    remaining = saturating_difference(t->deadline, M->now);
    if (remaining < 0) remaining = 0;
  }
  expect_of_timer(t, "status of remaining", chime_timer_remaining(t->id, &again), CHIME_OK);
  expect_of_timer(t, "remaining", again, remaining);
  INFO(state, t->state);
  INFO(queue, the.queue);
  INFO(generation, t->generation);
  INFO(sequence, t->sequence);
  INFO(next_deadline_ns, t->state == CHIME_STATE_RUNNING ? t->deadline : CHIME_FOREVER);
  INFO(remaining_ns, remaining);
  INFO(interval_ns, repeats ? t->schedule.interval_ns : 0);
  if (info.leeway_ns > leeway || info.leeway_ns < leeway - leeway / 33000000 - (leeway >= 1 << 26)) {
    fail("timer %d: info.leeway is %" PRId64 ", not %" PRId64, t->number, info.leeway_ns, leeway);
  }
  /* OPEN: a one-shot ends after one tick whatever its limit, and does not remember it. */
  INFO(tick_limit, repeats ? t->schedule.tick_limit : 0);
  INFO(due_count, repeats && t->schedule.tick_limit > 0 ? t->due_count : 0);
  INFO(missed, t->missed);
  INFO(jitter_ns, repeats ? t->schedule.jitter_ns : 0);
  INFO(busy, t->busy != 0);
  INFO(has_schedule, t->has_schedule);
}

/* As it was given; leeway, jitter and limit are those of the info. */
static void compare_schedule(const timer *t) {
  chime_schedule kept = CHIME_SCHEDULE_INIT;
  expect_of_timer(t, "status of get_schedule", chime_timer_get_schedule(t->id, &kept),
                  t->has_schedule ? CHIME_OK : CHIME_IGNORED);
  if (!t->has_schedule) return;
  expect_of_timer(t, "schedule.flags", kept.flags, t->schedule.flags);
  expect_of_timer(t, "schedule.first_ns", kept.first_ns, t->schedule.first_ns);
  expect_of_timer(t, "schedule.interval_ns", kept.interval_ns, t->schedule.interval_ns);
  expect_of_timer(t, "schedule.missed_policy", kept.missed_policy, t->schedule.missed_policy);
  expect_of_timer(t, "schedule.resume_policy", kept.resume_policy, t->schedule.resume_policy);
}

void compare_timer(timer *t) {
  chime_state state = 77;
  int64_t deadline = -7;
  if (t->id == 0) return;
  if (t->released) {
    expect_of_timer(t, "state after release", chime_timer_state(t->id, &state), CHIME_ERROR_INVALID_HANDLE);
    expect_of_timer(t, "state untouched", state, 77);
    return;
  }
  expect_of_timer(t, "status of state", chime_timer_state(t->id, &state), CHIME_OK);
  expect_of_timer(t, "state", state, t->state);
  expect_of_timer(t, "status of next_deadline", chime_timer_next_deadline(t->id, &deadline), CHIME_OK);
  expect_of_timer(t, "next_deadline", deadline, t->state == CHIME_STATE_RUNNING ? t->deadline : CHIME_FOREVER);
  if (!the.asks_info) return;
  compare_generation(t);
  compare_info(t);
  compare_schedule(t);
}

static void compare_stats(void) {
  chime_queue_stats stats = CHIME_QUEUE_STATS_INIT;
  int64_t timers = 0, unseen = 0, running = 0, late = 0;
  for (const timer *t = M->timers; t < M->timers + M->timer_count; t += 1) {
    timers += !t->released;
    unseen += !t->released && t->ends_itself && t->id == 0 && M->advancing;
    running += !t->released && t->state == CHIME_STATE_RUNNING;
  }
  expect_number("status of get_stats", chime_queue_get_stats(the.queue, &stats), CHIME_OK);
  if ((int64_t)stats.timers < timers - unseen || (int64_t)stats.timers > timers) {
    fail("stats.timers is %" PRIu64 ", not %" PRId64 ", of which %" PRId64 " may have ended", stats.timers, timers,
         unseen);
  }
  expect_number("stats.running", (int64_t)stats.running, running);
  expect_number("stats.ticks", (int64_t)stats.ticks, (int64_t)M->ticks);
  expect_number("stats.missed", (int64_t)stats.missed, (int64_t)M->missed);
  for (int i = 0; i < 32; i += 1) late += (int64_t)stats.lateness[i];
  expect_number("sum of stats.lateness", late, (int64_t)M->ticks);
}

void compare_queue_deadline(void) {
  int64_t expected = model_next_deadline(M);
  int64_t next = -7;
  expect_number("status of queue_next_deadline", chime_queue_next_deadline(the.queue, &next), CHIME_OK);
  if ((M->fire_dropped || (M->is_held_up && M->suspensions == 0)) && next <= M->now) return;
  /* OPEN: between the last callbacks that a suspension has kept back. */
  if (the.depth > 0 && M->is_held_up && M->suspensions == 0) return;
  /* Inside a callback it may be early, never late. */
  if (the.depth > 0 && next < expected) return;
  if (expected <= M->now ? next > M->now : next != expected) {
    fail("the queue's next deadline is %" PRId64 ", not %" PRId64, next, expected);
  }
}

/* A timer that releases itself in a pass does so unseen, before or after what the pass calls beside it. */
static void see_ends(void) {
  chime_state state;
  for (timer *t = M->timers; t < M->timers + M->timer_count; t += 1) {
    if (!t->ends_itself || t->released || t->id == 0 || M->has_ended) continue;
    if (chime_timer_state(t->id, &state) == CHIME_ERROR_INVALID_HANDLE) model_ends_itself(M, t);
  }
}

void compare_all(void) {
  int64_t now = -1;
  see_ends();
  expect_number("status of now", chime_queue_now(the.queue, &now), CHIME_OK);
  expect_number("now", now, M->now);
  if (the.asks_timers) {
    for (int i = 0; i < M->timer_count; i += 1) compare_timer(&M->timers[i]);
    if (the.asks_info) compare_stats();
  }
  if (the.asks_queue) compare_queue_deadline();
}

/* ---- Calls --------------------------------------------------------------------------------------------------- */

void perform(const operation *o) {
  timer *t = subject_of(o->subject);
  if (++the.calls > MOST_CALLS) return;
  trace("%*scall %d on timer %d (subject %d) at %" PRId64 " amount %" PRId64, the.depth * 4, "", (int)o->kind,
        t != NULL ? t->number : -1, o->subject, M->now, o->amount_ns);
  if (t == NULL && is_on_a_timer(o->kind)) return;
  see_ends();
  make_call(o, t);
  if (t != NULL && the.asks_timers && !M->has_ended) compare_timer(t);
}
