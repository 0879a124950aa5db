/* storm_timers.c - a storm's calls on timers, with what each may answer. */
#include "storm.h"

int64_t storm_unit(const storm *s) { return s->place == VIRTUAL ? 1 : CHIME_MICROSECOND; }

chime_schedule storm_schedule(const storm *s, dice *d) {
  int64_t unit = storm_unit(s), most = 3000;
  chime_schedule schedule = schedule_of(roll_below(d, most) * unit, 0);
  if (roll_below(d, 2) == 0) schedule.interval_ns = (1 + roll_below(d, most)) * unit;
  if (roll_below(d, 4) == 0 && schedule.interval_ns > 1) schedule.leeway_ns = roll_below(d, schedule.interval_ns);
  if (roll_below(d, 4) == 0) schedule.jitter_ns = roll_below(d, schedule.interval_ns + 1);
  if (roll_below(d, 4) == 0) schedule.tick_limit = (uint64_t)roll_below(d, 5);
  if (roll_below(d, 4) == 0) schedule.missed_policy = CHIME_MISSED_DELAY;
  if (roll_below(d, 4) == 0) schedule.resume_policy = CHIME_RESUME_REMAINING;
  if (roll_below(d, 16) == 0) schedule.first_ns = CHIME_FOREVER;
  return schedule;
}

/* ---- A timer is made --------------------------------------------------------------------------------------------- */

/* A target that is there, or one that is going or has gone; NULL: none. */
static entry *some_target(storm *s, dice *d) {
  if (roll_below(d, 4) != 0) return NULL;
  return roll_below(d, 8) == 0 ? LOAD(s->gone) : LOAD(s->shared[TARGETS][roll_below(d, PLACES)]);
}

/* Makes a timer in that place, and releases the one that was there. */
static void make_timer(storm *s, dice *d, int64_t place) {
  chime_schedule schedule = storm_schedule(s, d);
  int is_plain = roll_below(d, 5) < 2, is_held = 1;
  entry *e = storm_entry(s, is_plain ? NULL : some_target(s, d)), *old;
  chime_timer_options options = TIMER_OPTIONS(.handler = storm_on_tick, .context = e, .finalizer = storm_finalize);
  chime_status status;
  if (e == NULL) return;
  if (e->object != NULL) options.target = e->object->id;
  if (roll_below(d, 2) == 0) options.registration_handler = storm_on_turn;
  if (roll_below(d, 2) == 0) options.cancel_handler = storm_on_turn;
  if (roll_below(d, 8) == 0) options.flags = CHIME_TIMER_SELF_RELEASE;
  switch (roll_below(d, 4)) {
    case 0:
      status = is_plain ? chime_timer_after(s->queue, schedule.first_ns, storm_on_tick, e, storm_finalize, &e->id)
                        : chime_timer_create(s->queue, &options, &e->id);
      break;
    case 1: /* nobody holds it: it ends with its target, or with its only tick */
      is_held = 0;
      if (e->object == NULL) schedule = schedule_of(roll_below(d, 1000), 0);
      status = chime_timer_start(s->queue, &options, &schedule, NULL);
      break;
    default:
      status = is_plain
                   ? chime_timer_every(s->queue, 1 + schedule.interval_ns, storm_on_tick, e, storm_finalize, &e->id)
                   : chime_timer_start(s->queue, &options, &schedule, &e->id);
      break;
  }
  LISTED(status, MAY(OK) | (e->object != NULL ? MAY(ERROR_TARGET_GONE) | STALE : 0));
  if (!storm_accepts(e, status) || !is_held) return;
  old = SWAP(s->shared[TIMERS][place], e);
  if (old != NULL) LISTED(chime_timer_release(old->id), MAY(OK) | MAY(RUNNING) | STALE);
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

typedef enum operation {
  /* clang-format off */
  ACTIVATE, ACTIVATE_AGAIN, RESTART, RESTART_AGAIN, RESTART_AFTER, RESTART_UNTIL, SUSPEND, RESUME, RESCHEDULE, RESCHEDULE_AGAIN, POSTPONE,
  POSTPONE_UNTIL, FIRE, CANCEL, CANCEL_AND_WAIT, ADD_HANDLER, REMOVE_HANDLER, STATE, NEXT_DEADLINE, CHECK_GENERATION,
  GET_INFO, EXPLAIN, RELEASE, RELEASE_AND_WAIT, OPERATIONS
  /* clang-format on */
} operation;

#define TAKES_EFFECT (MAY(OK) | MAY(RUNNING))
#define NO_SCHEDULE MAY(ERROR_INVALID_ARGUMENT)
#define GONE MAY(ERROR_TARGET_GONE)

/* What each may answer, what timers that are gone answer and, inside a callback, WOULD_DEADLOCK apart; and how often it
   is chosen. */
static const struct row {
  const char *name;
  int weight;
  uint32_t answers;
} rows[OPERATIONS] = {
    [ACTIVATE] = {"activate", 6, MAY(OK) | MAY(IGNORED) | GONE},
    [ACTIVATE_AGAIN] = {"activate", 2, MAY(OK) | MAY(IGNORED) | NO_SCHEDULE | GONE},
    [RESTART] = {"restart", 4, TAKES_EFFECT | GONE},
    [RESTART_AGAIN] = {"restart", 1, TAKES_EFFECT | NO_SCHEDULE | GONE},
    [RESTART_AFTER] = {"restart_after", 3, TAKES_EFFECT | GONE},
    [RESTART_UNTIL] = {"restart_until", 2, TAKES_EFFECT | MAY(ERROR_INVALID_ARGUMENT) | GONE},
    [SUSPEND] = {"suspend", 5, TAKES_EFFECT | MAY(IGNORED)},
    [RESUME] = {"resume", 5, MAY(OK) | MAY(IGNORED)},
    [RESCHEDULE] = {"reschedule", 3, TAKES_EFFECT},
    [RESCHEDULE_AGAIN] = {"reschedule", 1, TAKES_EFFECT | NO_SCHEDULE},
    [POSTPONE] = {"postpone", 5, MAY(OK) | MAY(IGNORED)},
    [POSTPONE_UNTIL] = {"postpone_until", 2, MAY(OK) | MAY(IGNORED)},
    [FIRE] = {"fire", 6, MAY(OK) | MAY(IGNORED) | GONE},
    [CANCEL] = {"cancel", 3, TAKES_EFFECT | MAY(IGNORED)},
    [CANCEL_AND_WAIT] = {"cancel_and_wait", 2, MAY(OK) | MAY(IGNORED) | MAY(TIMED_OUT)},
    [ADD_HANDLER] = {"add_handler", 2, TAKES_EFFECT},
    [REMOVE_HANDLER] = {"remove_handler", 1, TAKES_EFFECT | MAY(IGNORED)},
    [STATE] = {"state", 1, MAY(OK)},
    [NEXT_DEADLINE] = {"next_deadline", 1, MAY(OK)},
    [CHECK_GENERATION] = {"check_generation", 1, MAY(OK) | MAY(IGNORED)},
    [GET_INFO] = {"get_info", 2, MAY(OK)},
    [EXPLAIN] = {"explain", 1, MAY(OK)},
    [RELEASE] = {"release", 2, TAKES_EFFECT},
    [RELEASE_AND_WAIT] = {"release_and_wait", 1, MAY(OK) | MAY(TIMED_OUT)},
};

static operation some_operation(dice *d) {
  int all = 0, i;
  for (i = 0; i < OPERATIONS; i++) all += rows[i].weight;
  int64_t left = roll_below(d, all);
  for (i = 0; left >= rows[i].weight; i++) left -= rows[i].weight;
  return (operation)i;
}

static chime_status add_handler(storm *s, chime_timer_t timer, dice *d) {
  entry *e = storm_entry(s, NULL);
  if (e == NULL) return CHIME_OK; /* the book is full */
  chime_status status =
      chime_timer_add_handler(timer, roll_below(d, 2) ? "one" : "two", storm_on_named, e, storm_finalize);
  storm_accepts(e, status);
  return status;
}

/* What it tells was true at one instant. */
static chime_status get_info(storm *s, chime_timer_t timer) {
  csuite *t = s->t;
  chime_timer_info info = CHIME_TIMER_INFO_INIT;
  chime_status status = chime_timer_get_info(timer, &info);
  if (status != CHIME_OK) return status;
  EXPECT_EQ(info.queue, s->queue);
  if (info.state != CHIME_STATE_RUNNING) EXPECT_EQ(info.next_deadline_ns, CHIME_FOREVER);
  if (info.state != CHIME_STATE_SUSPENDED) EXPECT_EQ(info.remaining_ns, -1);
  if (info.state == CHIME_STATE_RUNNING) EXPECT_EQ(info.has_schedule, 1);
  return status;
}

static chime_status call(storm *s, operation operation, chime_timer_t timer, dice *d) {
  chime_schedule schedule = storm_schedule(s, d);
  int64_t short_time = roll_below(d, 20) * CHIME_MICROSECOND, time = 0;
  uint64_t generation = 0;
  chime_state state;
  char text[64];
  switch (operation) {
    case ACTIVATE: return chime_timer_activate(timer, &schedule);
    case ACTIVATE_AGAIN: return chime_timer_activate(timer, NULL);
    case RESTART: return chime_timer_restart(timer, &schedule);
    case RESTART_AGAIN: return chime_timer_restart(timer, NULL);
    case RESTART_AFTER: return chime_timer_restart_after(timer, short_time);
    case RESTART_UNTIL: chime_queue_now(s->queue, &time); return chime_timer_restart_until(timer, time + short_time);
    case SUSPEND: return chime_timer_suspend(timer);
    case RESUME: return chime_timer_resume(timer);
    case RESCHEDULE: return chime_timer_reschedule(timer, &schedule);
    case RESCHEDULE_AGAIN: return chime_timer_reschedule(timer, NULL);
    case POSTPONE: return chime_timer_postpone(timer, roll_below(d, 100000));
    case POSTPONE_UNTIL:
      chime_queue_now(s->queue, &time);
      return chime_timer_postpone_until(timer, time + roll_below(d, 100000));
    case FIRE: return chime_timer_fire(timer);
    case CANCEL: return chime_timer_cancel(timer);
    case CANCEL_AND_WAIT: return chime_timer_cancel_and_wait(timer, short_time);
    case ADD_HANDLER: return add_handler(s, timer, d);
    case REMOVE_HANDLER: return chime_timer_remove_handler(timer, roll_below(d, 2) ? "one" : "two");
    case STATE: return chime_timer_state(timer, &state);
    case NEXT_DEADLINE:
      if (roll_below(d, 2) == 0) return chime_timer_remaining(timer, &time);
      return chime_timer_next_deadline(timer, &time);
    case CHECK_GENERATION:
      if (chime_timer_generation(timer, &generation) != CHIME_OK) return CHIME_ERROR_INVALID_HANDLE;
      return chime_timer_check_generation(timer, generation);
    case GET_INFO: return get_info(s, timer);
    case EXPLAIN: return chime_timer_explain(timer, text, sizeof text, NULL);
    case RELEASE: return chime_timer_release(timer);
    case RELEASE_AND_WAIT: return chime_timer_release_and_wait(timer, short_time);
    case OPERATIONS: break;
  }
  return CHIME_ERROR_INVALID_ARGUMENT;
}

static int waits(operation operation) { return operation == CANCEL_AND_WAIT || operation == RELEASE_AND_WAIT; }
static int releases(operation operation) { return operation == RELEASE || operation == RELEASE_AND_WAIT; }

void storm_call_timer(storm *s, dice *d, int inside) {
  int64_t place = roll_below(d, PLACES);
  operation operation = some_operation(d);
  int makes = roll_below(d, 16) == 0;
  entry *e = makes ? NULL : LOAD(s->shared[TIMERS][place]);
  uint32_t listed = rows[operation].answers | STALE;
  if (e != NULL && releases(operation)) e = SWAP(s->shared[TIMERS][place], NULL);
  if (e == NULL) {
    make_timer(s, d, place);
    return;
  }
  if (waits(operation) && inside) listed |= MAY(ERROR_WOULD_DEADLOCK);
  storm_lists(s, call(s, operation, e->id, d), listed, rows[operation].name);
  if (releases(operation)) storm_remember(s, e->id, d);
}

void storm_call_own_timer(storm *s, chime_timer_t timer, dice *d) {
  switch (roll_below(d, 4)) {
    case 0: LISTED(chime_timer_cancel(timer), MAY(RUNNING) | MAY(IGNORED) | STALE); break;
    case 1: LISTED(chime_timer_restart(timer, NULL), MAY(RUNNING) | NO_SCHEDULE | GONE | STALE); break;
    case 2: LISTED(chime_timer_release(timer), MAY(RUNNING) | STALE); break;
    default: LISTED(chime_timer_cancel_and_wait(timer, CHIME_FOREVER), MAY(ERROR_WOULD_DEADLOCK) | STALE); break;
  }
}

/* ---- Ids that name nothing any more ------------------------------------------------------------------------------ */

void storm_remember(storm *s, chime_timer_t released, dice *d) {
  __atomic_store_n(&s->remembered[roll_below(d, REMEMBERED)], released, __ATOMIC_RELEASE);
}

void storm_call_nothing(storm *s, dice *d) {
  chime_timer_t timer = LOAD(s->remembered[roll_below(d, REMEMBERED)]);
  operation operation = some_operation(d);
  uint32_t listed = STALE | (releases(operation) ? MAY(IGNORED) : 0);
  if (timer == 0) return;
  /* One that has ended with its queue may still be inside its handler. */
  if (operation == RELEASE_AND_WAIT) listed |= MAY(TIMED_OUT);
  /* [10] */
  storm_lists(s, call(s, operation, timer, d), listed, rows[operation].name);
  LISTED(chime_timer_cancel(s->queue), STALE); /* an id of another kind */
}
