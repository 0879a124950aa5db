/* storm_calls.c - a storm's calls, with what each may answer. */
#include "storm.h"

/* In which timers' delays are counted here. */
static int64_t unit(const storm *s) { return s->place == VIRTUAL ? 1 : CHIME_MICROSECOND; }

static chime_schedule some_schedule(const storm *s, dice *d) {
  int64_t most = 3000;
  chime_schedule schedule = schedule_of(roll_below(d, most) * unit(s), 0);
  if (roll_below(d, 2) == 0) schedule.interval_ns = (1 + roll_below(d, most)) * unit(s);
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
  chime_schedule schedule = some_schedule(s, d);
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

/* ---- Calls on timers --------------------------------------------------------------------------------------------- */

static chime_status add_handler(storm *s, chime_timer_t timer, const char *key) {
  entry *e = storm_entry(s, NULL);
  if (e == NULL) return CHIME_OK; /* the book is full */
  chime_status status = chime_timer_add_handler(timer, key, storm_on_named, e, storm_finalize);
  storm_accepts(e, status);
  return status;
}

static chime_status check_generation(chime_timer_t timer) {
  uint64_t generation = 0;
  chime_status status = chime_timer_generation(timer, &generation);
  return status == CHIME_OK ? chime_timer_check_generation(timer, generation) : status;
}

/* What it tells was true at one instant. */
static chime_status get_info(storm *s, chime_timer_t timer) {
  csuite *t = s->t;
  chime_timer_info info = CHIME_TIMER_INFO_INIT;
  chime_status status = chime_timer_get_info(timer, &info);
  if (status != CHIME_OK) return status;
  EXPECT_EQ(info.queue, s->queue);
  if (info.state != CHIME_STATE_RUNNING) EXPECT_EQ(info.next_deadline_ns, CHIME_FOREVER);
  EXPECT_BETWEEN(info.remaining_ns, 0, CHIME_FOREVER);
  if (info.state == CHIME_STATE_RUNNING) EXPECT_EQ(info.has_schedule, 1);
  return status;
}

/* Of one piece, whatever others set at the same time. */
static chime_status get_schedule(storm *s, chime_timer_t timer) {
  csuite *t = s->t;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_status status = chime_timer_get_schedule(timer, &schedule);
  if (status != CHIME_OK) return status;
  if (schedule.interval_ns > 0) EXPECT_BETWEEN(schedule.leeway_ns, 0, schedule.interval_ns - 1);
  EXPECT_BETWEEN(schedule.jitter_ns, 0, schedule.interval_ns);
  return status;
}

#define TAKES_EFFECT (MAY(OK) | MAY(RUNNING))
#define OR_NOT (MAY(OK) | MAY(IGNORED))
#define NO_SCHEDULE MAY(ERROR_INVALID_ARGUMENT)
#define GONE MAY(ERROR_TARGET_GONE)

/* How often each is chosen, what it may answer, what timers that are gone answer and, inside a callback, WOULD_DEADLOCK apart;
   and the call. */
#define OPERATIONS(O) \
  O(ACTIVATE, 6, TAKES_EFFECT | MAY(IGNORED) | GONE, chime_timer_activate(timer, &schedule)) \
  O(ACTIVATE_AGAIN, 2, TAKES_EFFECT | MAY(IGNORED) | NO_SCHEDULE | GONE, chime_timer_activate(timer, NULL)) \
  O(RESTART, 4, TAKES_EFFECT | GONE, chime_timer_restart(timer, &schedule)) \
  O(RESTART_AGAIN, 1, TAKES_EFFECT | NO_SCHEDULE | GONE, chime_timer_restart(timer, NULL)) \
  O(RESTART_AFTER, 3, TAKES_EFFECT | GONE, chime_timer_restart_after(timer, short_time)) \
  O(RESTART_UNTIL, 2, TAKES_EFFECT | NO_SCHEDULE | GONE, chime_timer_restart_until(timer, now + short_time)) \
  O(SUSPEND, 5, TAKES_EFFECT | MAY(IGNORED), chime_timer_suspend(timer)) \
  O(RESUME, 5, OR_NOT, chime_timer_resume(timer)) \
  O(RESCHEDULE, 3, TAKES_EFFECT, chime_timer_reschedule(timer, &schedule)) \
  O(RESCHEDULE_AGAIN, 1, TAKES_EFFECT | NO_SCHEDULE, chime_timer_reschedule(timer, NULL)) \
  O(POSTPONE, 5, TAKES_EFFECT | MAY(IGNORED), chime_timer_postpone(timer, roll_below(d, 100000))) \
  O(POSTPONE_UNTIL, 2, TAKES_EFFECT | MAY(IGNORED), chime_timer_postpone_until(timer, now + roll_below(d, 100000))) \
  O(FIRE, 6, OR_NOT | GONE, chime_timer_fire(timer)) \
  O(CANCEL, 3, TAKES_EFFECT | MAY(IGNORED), chime_timer_cancel(timer)) \
  O(CANCEL_AND_WAIT, 2, OR_NOT | MAY(ERROR_TIMED_OUT), chime_timer_cancel_and_wait(timer, short_time)) \
  O(ADD_HANDLER, 2, TAKES_EFFECT, add_handler(s, timer, roll_below(d, 2) ? "one" : "two")) \
  O(REMOVE_HANDLER, 1, TAKES_EFFECT | MAY(IGNORED), \
    chime_timer_remove_handler(timer, roll_below(d, 2) ? "one" : "two")) \
  O(STATE, 1, MAY(OK), chime_timer_state(timer, &state)) \
  O(NEXT_DEADLINE, 1, MAY(OK), chime_timer_next_deadline(timer, &now)) \
  O(REMAINING, 1, MAY(OK), chime_timer_remaining(timer, &now)) \
  O(SET_INTERVAL, 2, TAKES_EFFECT | MAY(IGNORED), chime_timer_set_interval(timer, 1 + short_time)) \
  O(SET_BACKGROUND, 1, MAY(OK), chime_timer_set_background(timer, (int32_t)roll_below(d, 2))) \
  O(GET_SCHEDULE, 1, OR_NOT, get_schedule(s, timer)) \
  O(CHECK_GENERATION, 1, OR_NOT, check_generation(timer)) \
  O(GET_INFO, 2, MAY(OK), get_info(s, timer)) \
  O(EXPLAIN, 1, MAY(OK), chime_timer_explain(timer, text, sizeof text, NULL)) \
  O(RELEASE, 2, TAKES_EFFECT, chime_timer_release(timer)) \
  O(RELEASE_AND_WAIT, 1, MAY(OK) | MAY(ERROR_TIMED_OUT), chime_timer_release_and_wait(timer, short_time))

#define NAME(name, weight, answers, call) name,
typedef enum operation { OPERATIONS(NAME) KINDS_OF_CALL } operation;

#define ROW(name, weight, answers, call) {#name, weight, answers},
static const struct {
  const char *name;
  int weight;
  uint32_t answers;
} rows[] = {OPERATIONS(ROW)};

static operation some_operation(dice *d) {
  int all = 0, i;
  for (i = 0; i < KINDS_OF_CALL; i++) all += rows[i].weight;
  int64_t left = roll_below(d, all);
  for (i = 0; left >= rows[i].weight; i++) left -= rows[i].weight;
  return (operation)i;
}

/* `more`: what it may answer beside that. */
static void call(storm *s, operation operation, chime_timer_t timer, dice *d, uint32_t more) {
  chime_schedule schedule = some_schedule(s, d);
  chime_status status = CHIME_OK;
  int64_t short_time = roll_below(d, 20) * CHIME_MICROSECOND, now = 0;
  chime_state state;
  char text[64];
  chime_queue_now(s->queue, &now);
#define CASE(name, weight, answers, call) \
  case name: status = call; break;
  switch (operation) {
    OPERATIONS(CASE)
    case KINDS_OF_CALL: break;
  }
  storm_lists(s, status, rows[operation].answers | STALE | more, rows[operation].name);
}

static int waits(operation operation) { return operation == CANCEL_AND_WAIT || operation == RELEASE_AND_WAIT; }
static int releases(operation operation) { return operation == RELEASE || operation == RELEASE_AND_WAIT; }

static void remember(storm *s, chime_timer_t released, dice *d) {
  __atomic_store_n(&s->remembered[roll_below(d, REMEMBERED)], released, __ATOMIC_RELEASE);
}

static void call_timer(storm *s, dice *d, int inside) {
  int64_t place = roll_below(d, PLACES);
  operation operation = some_operation(d);
  entry *e = roll_below(d, 16) == 0 ? NULL : LOAD(s->shared[TIMERS][place]);
  if (e != NULL && releases(operation)) e = SWAP(s->shared[TIMERS][place], NULL);
  if (e == NULL) {
    make_timer(s, d, place);
    return;
  }
  call(s, operation, e->id, d, inside && waits(operation) ? MAY(ERROR_WOULD_DEADLOCK) : 0);
  if (releases(operation)) remember(s, e->id, d);
}

/* [10]: with the id of a timer that was released, or has ended with its queue and may still be inside its handler. */
static void call_nothing(storm *s, dice *d) {
  static const uint32_t nothing = STALE | MAY(IGNORED) | MAY(ERROR_TIMED_OUT);
  chime_timer_t timer = LOAD(s->remembered[roll_below(d, REMEMBERED)]);
  if (timer == 0) return;
  LISTED(chime_timer_restart_after(timer, 0), STALE);
  LISTED(chime_timer_cancel(timer), STALE);
  LISTED(check_generation(timer), STALE);
  LISTED(chime_timer_release_and_wait(timer, 0), nothing);
  LISTED(chime_timer_cancel(s->queue), STALE); /* an id of another kind */
}

void storm_call_own_timer(storm *s, chime_timer_t timer, dice *d) {
  switch (roll_below(d, 4)) {
    case 0: LISTED(chime_timer_cancel(timer), MAY(RUNNING) | MAY(IGNORED) | STALE); break;
    case 1: LISTED(chime_timer_restart(timer, NULL), MAY(RUNNING) | NO_SCHEDULE | GONE | STALE); break;
    case 2: LISTED(chime_timer_release(timer), MAY(RUNNING) | STALE); break;
    default: LISTED(chime_timer_cancel_and_wait(timer, CHIME_FOREVER), MAY(ERROR_WOULD_DEADLOCK) | STALE); break;
  }
}

/* ---- Targets ----------------------------------------------------------------------------------------------------- */

static void make_target(storm *s, entry **place) {
  entry *e = storm_entry(s, NULL), *nothing = NULL;
  if (e == NULL || !LISTED(chime_target_create(e, storm_finalize, &e->id), MAY(OK))) return;
  storm_accepts(e, CHIME_OK);
  if (__atomic_compare_exchange_n(place, &nothing, e, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return;
  LISTED(chime_target_release(e->id), MAY(OK) | MAY(RUNNING)); /* another thread was first */
}

static void call_target(storm *s, dice *d) {
  csuite *t = s->t;
  entry **place = &s->shared[TARGETS][roll_below(d, PLACES)], *e = LOAD(*place);
  void *object = NULL;
  if (e == NULL) {
    make_target(s, place);
  } else if (roll_below(d, 4) == 0) {
    e = SWAP(*place, NULL);
    if (e == NULL) return;
    LISTED(chime_target_release(e->id), MAY(OK) | MAY(RUNNING));
    __atomic_store_n(&s->gone, e, __ATOMIC_RELEASE);
  } else if (LISTED(chime_target_retain(e->id, &object), MAY(OK) | STALE) && object != NULL) {
    EXPECT(object == e);
    storm_hold(e);
    storm_let_go(e);
    LISTED(chime_target_release(e->id), MAY(OK) | MAY(RUNNING)); /* perhaps the last */
  }
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

static int64_t some_lifetime(storm *s, dice *d) {
  return roll_below(d, 4) == 0 ? CHIME_HOUR : roll_below(d, 100) * unit(s);
}

/* Gives the value an expiry handler, in place of the one that it has. */
static void put_handler(storm *s, entry *value) {
  entry *e = storm_entry(s, value);
  if (e == NULL) return;
  chime_status status = chime_expiring_on_expiry(value->id, storm_on_expiry, e, storm_finalize);
  LISTED(status, OR_NOT | STALE);
  storm_accepts(e, status);
}

/* No expiry starts any more; with RUNNING one may be under way. */
static void release_value(storm *s, entry *e) {
  chime_status status = chime_expiring_release(e->id);
  LISTED(status, TAKES_EFFECT);
  if (!CHIME_FAILED(status)) store(&e->left, status & CHIME_RUNNING ? 2 : 1);
  LISTED(chime_expiring_release(e->id), STALE);
}

static void make_value(storm *s, entry **place, dice *d) {
  entry *e = storm_entry(s, NULL), *old;
  if (e == NULL) return;
  store(&e->left, 2); /* it expires once */
  chime_status status = chime_expiring_create(s->queue, some_lifetime(s, d), e, storm_finalize, NULL, &e->id);
  LISTED(status, MAY(OK));
  if (!storm_accepts(e, status)) return;
  put_handler(s, e);
  old = SWAP(*place, e);
  if (old != NULL) release_value(s, old);
}

static void call_value(storm *s, dice *d) {
  csuite *t = s->t;
  entry **place = &s->shared[VALUES][roll_below(d, PLACES)], *e = LOAD(*place);
  void *found = e;
  if (e == NULL || roll_below(d, 16) == 0) {
    make_value(s, place, d);
    return;
  }
  if (roll_below(d, 16) == 0) put_handler(s, e);
  if (roll_below(d, 4) == 0) LISTED(chime_expiring_reset(e->id, some_lifetime(s, d)), OR_NOT | STALE);
  chime_status status = chime_expiring_acquire(e->id, &found);
  LISTED(status, OR_NOT | STALE);
  EXPECT(found == (status == CHIME_IGNORED ? NULL : e));
  if (status != CHIME_OK) return;
  add(&s->acquired, 1);
  storm_hold(e);
  storm_let_go(e);
  LISTED(chime_expiring_yield(e->id), MAY(OK));
}

/* ---- Queues ------------------------------------------------------------------------------------------------------ */

static void sync_queue(storm *s, dice *d, int inside) {
  csuite *t = s->t;
  int ran = 0;
  uint32_t listed = MAY(ERROR_UNSUPPORTED);
  chime_status status = chime_queue_sync(s->queue, count_call, &ran, roll_below(d, 200) * CHIME_MICROSECOND);
  if (s->place == SERIAL || s->place == DISPATCH || s->place == PRECISE) listed = MAY(OK) | MAY(ERROR_TIMED_OUT);
  if (inside) listed |= MAY(OK); /* inside a callback of the queue */
  LISTED(status, listed);
  EXPECT_EQ(load(&ran), status == CHIME_OK);
}

static void give_function(storm *s) {
  entry *e = storm_entry(s, NULL);
  if (e == NULL) return;
  store(&e->left, 2);
  chime_status status = chime_queue_async(s->queue, storm_on_function, e, storm_finalize);
  LISTED(status, MAY(OK));
  storm_accepts(e, status);
}

/* One that ends with a timer on it, perhaps beside its tick; other threads then call with the timer's id. */
static void make_and_release_a_queue(storm *s, dice *d) {
  chime_queue_t queue = 0;
  chime_timer_t timer = 0;
  entry *e = storm_entry(s, NULL);
  if (e == NULL) return;
  LISTED(chime_queue_create(roll_below(d, 2) ? CHIME_QUEUE_SERIAL : CHIME_QUEUE_VIRTUAL, NULL, &queue), MAY(OK));
  chime_status status =
      chime_timer_after(queue, roll_below(d, 50) * CHIME_MICROSECOND, ignore_tick, e, storm_finalize, &timer);
  LISTED(status, MAY(OK));
  storm_accepts(e, status);
  LISTED(chime_queue_release(queue), TAKES_EFFECT);
  LISTED(chime_queue_release(queue), STALE | MAY(IGNORED));
  remember(s, timer, d);
}

static void move_time(storm *s, dice *d, int inside) {
  uint32_t moves = s->place == VIRTUAL ? MAY(OK) : MAY(ERROR_UNSUPPORTED), listed = moves;
  if (s->place == VIRTUAL) listed = inside ? MAY(ERROR_WOULD_DEADLOCK) : MAY(OK) | MAY(ERROR_BUSY) | MAY(ERROR_LIMIT);
  if (roll_below(d, 8) == 0) LISTED(chime_queue_jump(s->queue, roll_below(d, 1000)), moves);
  else LISTED(chime_queue_advance(s->queue, roll_below(d, 100)), listed);
}

/* Whoever resumes may take back the suspension of another thread's, which then finds none. */
static void hold_queue(storm *s) {
  LISTED(chime_queue_suspend(s->queue), TAKES_EFFECT);
  LISTED(chime_queue_resume(s->queue), OR_NOT);
}

/* Each is there once, and each id is a timer's. */
static void list_timers(storm *s) {
  csuite *t = s->t;
  chime_timer_t timers[64];
  size_t count = 0;
  if (!LISTED(chime_queue_list_timers(s->queue, timers, 64, &count), MAY(OK))) return;
  for (size_t i = 0; i < count && i < 64; i++) {
    chime_state state;
    LISTED(chime_timer_state(timers[i], &state), MAY(OK) | STALE);
    for (size_t j = 0; j < i; j++) EXPECT(timers[i] != timers[j]);
  }
}

static void call_queue(storm *s, dice *d, int inside) {
  int64_t number = roll_below(d, 100);
  if (number < 8) hold_queue(s);
  else if (number < 12) list_timers(s);
  else if (number < 16) make_and_release_a_queue(s, d);
  else if (number < 45) move_time(s, d, inside);
  else if (number < 70) sync_queue(s, d, inside);
  else give_function(s);
}

/* ---- Any of these, and the end ----------------------------------------------------------------------------------- */

void storm_call(storm *s, dice *d, int inside) {
  int64_t number = roll_below(d, 16);
  if (number < 9) call_timer(s, d, inside);
  else if (number < 10) call_nothing(s, d);
  else if (number < 12) call_target(s, d);
  else if (number < 15) call_value(s, d);
  else call_queue(s, d, inside);
}

void storm_release_all(storm *s) {
  for (int i = 0; i < PLACES; i++) {
    entry *timer = SWAP(s->shared[TIMERS][i], NULL), *target = SWAP(s->shared[TARGETS][i], NULL);
    entry *value = SWAP(s->shared[VALUES][i], NULL);
    if (timer != NULL) LISTED(chime_timer_release(timer->id), MAY(OK) | MAY(RUNNING) | STALE);
    if (target != NULL) LISTED(chime_target_release(target->id), MAY(OK) | MAY(RUNNING));
    if (value != NULL) release_value(s, value);
  }
}
