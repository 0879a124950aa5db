/* book.c - one entry: the calls on its timer, what is expected of it after each, and the callbacks that check it. */
#include "load.h"

/* What callbacks read while the entry's owner writes it, or the other way round. */
#define GET(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define PUT(field, value) __atomic_store_n(&(field), value, __ATOMIC_RELAXED)

/* ---- Callbacks --------------------------------------------------------------------------------------------------- */

/* What is known of the timer now; 0 when its owner is changing it, or cannot know it. */
static int read_plan(const entry *e, entry *known) {
  int version = load(&e->version);
  if (version % 2 != 0) return 0;
  known->timer = GET(e->timer);
  known->deadline_ns = GET(e->deadline_ns);
  known->interval_ns = GET(e->interval_ns);
  known->awaited_ns = GET(e->awaited_ns);
  known->generation = GET(e->generation);
  known->plan = load(&e->plan);
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  known->version = version;
  return load(&e->version) == version;
}

static void check_plan(const entry *e, const chime_tick *tick) {
  csuite *t = e->place->t;
  entry known;
  if (!read_plan(e, &known)) return;
  EXPECT(tick->timer == known.timer);
  EXPECT_EQ(tick->generation, known.generation);
  chime_status status = chime_timer_check_generation(tick->timer, tick->generation);
  if (load(&e->version) == known.version) EXPECT_OK(status);
  if (tick->kind != CHIME_TICK_DUE) return;
  switch ((plan)known.plan) {
    case ONE_SHOT:
      /* A postponement by 2.1 s or more is rounded up, by less than 1,024 ns. */
      EXPECT_BETWEEN(tick->scheduled_ns, known.deadline_ns, known.deadline_ns + 1023);
      PUT(e->place->reached_ns, known.awaited_ns);
      break;
    case REPEATING:
      EXPECT(tick->scheduled_ns >= known.deadline_ns);
      EXPECT_EQ((tick->scheduled_ns - known.deadline_ns) % known.interval_ns, 0);
      break;
    case RESTING: EXPECT(!"a tick of a timer that is suspended or cancelled"); break;
    case VACANT: break;
  }
}

static int64_t some_delay(dice *d) { return roll_below(d, longest_ns); }

/* A new absolute deadline: what is due is known before the call, so that no reading of ours can be the later one. */
static chime_schedule some_schedule_at(int64_t deadline_ns, int64_t interval_ns, dice *d) {
  chime_schedule schedule = schedule_at(deadline_ns, interval_ns);
  if (roll_below(d, 2) == 0) schedule.leeway_ns = CHIME_MILLISECOND;
  return schedule;
}

static void begin(entry *e) {
  if (e->version % 2 == 0) add(&e->version, 1);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void set_deadline(entry *e, int64_t deadline_ns) {
  PUT(e->deadline_ns, deadline_ns);
  PUT(e->awaited_ns, deadline_ns);
}

/* Puts down what is expected from now on; after CHIME_RUNNING a handler of before may still look, and nothing is. */
static void expect(entry *e, chime_status status, plan plan) {
  uint64_t generation = 0;
  store(&e->plan, (int)plan);
  if (status != CHIME_OK) return;
  chime_timer_generation(e->timer, &generation);
  PUT(e->generation, generation);
  add(&e->version, 1);
}

static void on_tick(const chime_tick *tick, void *context) {
  entry *e = context;
  csuite *t = e->place->t;
  int is_same = tick->generation == e->tick_generation;
  EXPECT_EQ(add(&e->busy, 1), 1);
  EXPECT(!entry_is_finalized(e) || load(&e->version) % 2 != 0);
  EXPECT(tick->actual_ns >= tick->scheduled_ns);
  EXPECT(monotonic_ns() >= tick->scheduled_ns);
  if (is_same || tick->sequence != 1) EXPECT_EQ(tick->sequence, e->sequence + 1);
  check_plan(e, tick);
  e->sequence = (int)tick->sequence;
  if (!is_same) PUT(e->covered, 0);
  __atomic_store_n(&e->tick_generation, tick->generation, __ATOMIC_RELEASE);
  if (tick->kind == CHIME_TICK_DUE) {
    __atomic_add_fetch(&e->place->ticks, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&e->covered, 1 + (int64_t)tick->missed, __ATOMIC_RELAXED);
    add(&e->due, 1);
  }
  add(&e->busy, -1);
}

static void on_finalize(void *context) {
  entry *e = context;
  csuite *t = e->place->t;
  int finalized = add(&e->finalized, 1);
  EXPECT(finalized <= load(&e->accepted));
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

void entry_make(entry *e, worker *w) {
  csuite *t = e->place->t;
  const chime_timer_options options = TIMER_OPTIONS(.handler = on_tick, .context = e, .finalizer = on_finalize);
  int64_t kind = roll_below(&w->dice, 100);
  int64_t interval_ns = kind < 4 ? CHIME_SECOND + some_delay(&w->dice) : 0;
  chime_schedule schedule = some_schedule_at(monotonic_ns() + some_delay(&w->dice), interval_ns, &w->dice);
  /* The context of the timer before comes back first: a callback of it must not find this one's plan. */
  if (!entry_is_finalized(e)) return;
  begin(e);
  e->sequence = 0;
  e->due_before = load(&e->due);
  set_deadline(e, schedule.first_ns);
  PUT(e->tick_generation, UINT64_MAX); /* of no timer */
  e->interval_ns = interval_ns;
  store(&e->plan, VACANT); /* before it can tick */
  add(&e->accepted, 1);
  if (kind < 50) {
    EXPECT_OK(chime_timer_start(e->place->queue, &options, &schedule, &e->timer));
  } else {
    EXPECT_OK(chime_timer_create(e->place->queue, &options, &e->timer));
    EXPECT_OK(chime_timer_activate(e->timer, &schedule));
  }
  w->calls += 2;
  expect(e, CHIME_OK, interval_ns > 0 ? REPEATING : ONE_SHOT);
}

void entry_release(entry *e) {
  csuite *t = e->place->t;
  if (e->timer == 0) return;
  begin(e);
  EXPECT_TOOK_EFFECT(chime_timer_release(e->timer));
  e->timer = 0;
  e->plan = VACANT;
}

static void restart(entry *e, worker *w, int reschedule) {
  csuite *t = e->place->t;
  chime_schedule schedule = some_schedule_at(monotonic_ns() + some_delay(&w->dice), 0, &w->dice);
  begin(e);
  e->due_before = load(&e->due);
  set_deadline(e, schedule.first_ns);
  PUT(e->interval_ns, 0);
  chime_status status =
      reschedule ? chime_timer_reschedule(e->timer, &schedule) : chime_timer_restart(e->timer, &schedule);
  EXPECT_TOOK_EFFECT(status);
  expect(e, status, ONE_SHOT);
}

/* OK: nothing starts before the later of the two. IGNORED: its tick has started, and the plan is as it was. */
static void postpone(entry *e, worker *w) {
  csuite *t = e->place->t;
  int64_t later = e->deadline_ns + some_delay(&w->dice) / 4;
  int is_known = e->version % 2 == 0;
  begin(e);
  chime_status status = chime_timer_postpone_until(e->timer, later);
  if (status == CHIME_OK) set_deadline(e, later);
  else EXPECT_STATUS(status, CHIME_IGNORED);
  if (is_known) add(&e->version, 1);
}

int entry_has_ticked(const entry *e) { return load(&e->due) != e->due_before; }

static void stop(entry *e, int by_cancel) {
  csuite *t = e->place->t;
  begin(e);
  chime_status status = by_cancel ? chime_timer_cancel(e->timer) : chime_timer_suspend(e->timer);
  if (status == CHIME_IGNORED) return; /* it has ticked */
  EXPECT_TOOK_EFFECT(status);
  expect(e, status, RESTING);
}

static void replace(entry *e, worker *w) {
  entry_release(e);
  entry_make(e, w);
}

static void change_one_shot(entry *e, worker *w) {
  int64_t choice = roll_below(&w->dice, 16);
  if (choice < 5) {
    postpone(e, w);
  } else if (choice < 7) {
    restart(e, w, 0);
  } else if (choice == 7) {
    restart(e, w, state_of(e->place->t, e->timer) == CHIME_STATE_RUNNING);
    if (entry_has_ticked(e))
      restart(e, w, 0); /* it had ended by then: the schedule was put down, nothing was started */
  } else if (choice < 10) {
    stop(e, choice == 9);
  } else {
    replace(e, w);
  }
}

static void change_resting(entry *e, worker *w) {
  csuite *t = e->place->t;
  if (state_of(t, e->timer) != CHIME_STATE_SUSPENDED || roll_below(&w->dice, 2)) {
    restart(e, w, 0);
    return;
  }
  begin(e); /* its deadline stands, and may have passed */
  e->due_before = load(&e->due);
  PUT(e->awaited_ns, e->deadline_ns > monotonic_ns() ? e->deadline_ns : monotonic_ns());
  EXPECT_OK(chime_timer_resume(e->timer));
  expect(e, CHIME_OK, ONE_SHOT);
}

/* A tick for each due time, or a count of those that were missed. */
void entry_check_lost(entry *e) {
  csuite *t = e->place->t;
  int64_t now = monotonic_ns();
  int holds = 1;
  entry known;
  if (!read_plan(e, &known)) return;
  if (known.plan == ONE_SHOT && !entry_has_ticked(e)) {
    holds = EXPECT_BETWEEN(now - known.awaited_ns, INT64_MIN, PATIENCE);
    /* Passed over, when its queue has come to later ones; a queue that is behind lacks a processor. */
    if (!holds) EXPECT(known.awaited_ns >= GET(e->place->reached_ns));
  }
  if (known.plan == REPEATING && now - PATIENCE >= known.deadline_ns) {
    int is_counted = __atomic_load_n(&e->tick_generation, __ATOMIC_ACQUIRE) == known.generation;
    int64_t covered = is_counted ? GET(e->covered) : 0;
    holds = EXPECT_BETWEEN(covered, (now - PATIENCE - known.deadline_ns) / known.interval_ns + 1,
                           (monotonic_ns() - known.deadline_ns) / known.interval_ns + 1);
  }
  if (!holds) begin(e); /* told once */
}

void entry_work(entry *e, worker *w) {
  w->calls++;
  if (e->timer == 0) {
    entry_make(e, w);
    return;
  }
  entry_check_lost(e);
  switch ((plan)e->plan) {
    case ONE_SHOT:
      if (!entry_has_ticked(e)) change_one_shot(e, w);
      else if (roll_below(&w->dice, 2)) restart(e, w, 0);
      else replace(e, w);
      break;
    case RESTING: change_resting(e, w); break;
    case REPEATING:
      if (roll_below(&w->dice, 8) == 0) restart(e, w, (int)roll_below(&w->dice, 2));
      break;
    case VACANT: entry_make(e, w); break;
  }
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

void entry_close(entry *e) {
  csuite *t = e->place->t;
  int64_t deadline_ns = monotonic_ns() + (int64_t)((uintptr_t)e / sizeof *e % 2000) * CHIME_MILLISECOND;
  if (e->timer == 0) {
    e->due_before = load(&e->due) - 1; /* nothing to wait for */
    return;
  }
  begin(e);
  set_deadline(e, deadline_ns);
  /* With no handler under way from here on, each tick that comes is the new one. */
  EXPECT(chime_timer_cancel_and_wait(e->timer, PATIENCE) >= 0);
  e->due_before = load(&e->due);
  e->interval_ns = 0;
  chime_status status = chime_timer_restart(e->timer, AT(deadline_ns));
  EXPECT_OK(status);
  expect(e, status, ONE_SHOT);
}

int entry_is_finalized(const entry *e) { return load(&e->finalized) == load(&e->accepted); }
