/* book.c - one entry: the calls on its timer, what is expected of it after each, and the callbacks that check it. */
#include "load.h"

#define TAKES_EFFECT (MAY(OK) | MAY(RUNNING))

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
  entry known;
  chime_status status;
  if (!read_plan(e, &known)) return;
  if (tick->timer != known.timer) wrong("a tick of another timer than the one of its context");
  if (tick->generation != known.generation)
    wrong("a tick of generation %llu, which is %llu", (unsigned long long)tick->generation,
          (unsigned long long)known.generation);
  status = chime_timer_check_generation(tick->timer, tick->generation);
  if (status != CHIME_OK && load(&e->version) == known.version) {
    wrong("a handler is told %s of its own generation", chime_status_name(status));
  }
  if (tick->kind != CHIME_TICK_DUE) return;
  switch ((plan)known.plan) {
    case ONE_SHOT:
      /* A postponement by 2.1 s or more is rounded up, by less than 1,024 ns. */
      if (tick->scheduled_ns < known.deadline_ns || tick->scheduled_ns >= known.deadline_ns + 1024) {
        wrong("a one-shot came for %lld, %lld ns from its deadline", (long long)tick->scheduled_ns,
              (long long)(tick->scheduled_ns - known.deadline_ns));
      }
      PUT(e->place->reached_ns, known.awaited_ns);
      break;
    case REPEATING:
      if (tick->scheduled_ns < known.deadline_ns || (tick->scheduled_ns - known.deadline_ns) % known.interval_ns != 0) {
        wrong("a tick %lld ns off its grid", (long long)((tick->scheduled_ns - known.deadline_ns) % known.interval_ns));
      }
      break;
    case RESTING: wrong("a tick of a timer that is suspended or cancelled"); break;
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
  int is_same = tick->generation == e->tick_generation;
  if (add(&e->busy, 1) != 1) wrong("two callbacks of one timer at a time");
  if (entry_is_finalized(e) && load(&e->version) % 2 == 0) wrong("a tick after the finalizer");
  if (tick->actual_ns < tick->scheduled_ns || monotonic_ns() < tick->scheduled_ns) {
    wrong("%lld ns early", (long long)(tick->scheduled_ns - tick->actual_ns));
  }
  if (tick->sequence != (uint64_t)e->sequence + 1 && (is_same || tick->sequence != 1)) {
    wrong("tick %llu after tick %d", (unsigned long long)tick->sequence, e->sequence);
  }
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
  if (add(&e->finalized, 1) > load(&e->accepted)) wrong("a context finalized twice");
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

void entry_make(entry *e, worker *w) {
  const chime_timer_options options = {
      .size = sizeof options, .handler = on_tick, .context = e, .finalizer = on_finalize};
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
    ONLY(chime_timer_start(e->place->queue, &options, &schedule, &e->timer), MAY(OK));
  } else {
    ONLY(chime_timer_create(e->place->queue, &options, &e->timer), MAY(OK));
    ONLY(chime_timer_activate(e->timer, &schedule), MAY(OK));
  }
  w->calls += 2;
  expect(e, CHIME_OK, interval_ns > 0 ? REPEATING : ONE_SHOT);
}

void entry_release(entry *e) {
  if (e->timer == 0) return;
  begin(e);
  ONLY(chime_timer_release(e->timer), TAKES_EFFECT);
  e->timer = 0;
  e->plan = VACANT;
}

static void restart(entry *e, worker *w, int reschedule) {
  chime_schedule schedule = some_schedule_at(monotonic_ns() + some_delay(&w->dice), 0, &w->dice);
  chime_status status;
  begin(e);
  e->due_before = load(&e->due);
  set_deadline(e, schedule.first_ns);
  PUT(e->interval_ns, 0);
  status = reschedule ? ONLY(chime_timer_reschedule(e->timer, &schedule), TAKES_EFFECT)
                      : ONLY(chime_timer_restart(e->timer, &schedule), TAKES_EFFECT);
  expect(e, status, ONE_SHOT);
}

/* OK: nothing starts before the later of the two. IGNORED: its tick has started, and the plan is as it was. */
static void postpone(entry *e, worker *w) {
  int64_t later = e->deadline_ns + some_delay(&w->dice) / 4;
  int is_known = e->version % 2 == 0;
  chime_status status;
  begin(e);
  status = ONLY(chime_timer_postpone_until(e->timer, later), MAY(OK) | MAY(IGNORED));
  if (status == CHIME_OK) set_deadline(e, later);
  if (is_known) add(&e->version, 1);
}

static int has_ticked(const entry *e) { return load(&e->due) != e->due_before; }

static void stop(entry *e, int by_cancel) {
  chime_status status;
  begin(e);
  status = ONLY(by_cancel ? chime_timer_cancel(e->timer) : chime_timer_suspend(e->timer), TAKES_EFFECT | MAY(IGNORED));
  if (status != CHIME_IGNORED) expect(e, status, RESTING); /* else it has ticked */
}

static void replace(entry *e, worker *w) {
  entry_release(e);
  entry_make(e, w);
}

static chime_state state_now(const entry *e) {
  chime_state state = CHIME_STATE_IDLE;
  ONLY(chime_timer_state(e->timer, &state), MAY(OK));
  return state;
}

static void change_one_shot(entry *e, worker *w) {
  int64_t choice = roll_below(&w->dice, 16);
  if (choice < 5) {
    postpone(e, w);
  } else if (choice < 7) {
    restart(e, w, 0);
  } else if (choice == 7) {
    restart(e, w, state_now(e) == CHIME_STATE_RUNNING);
    if (has_ticked(e)) restart(e, w, 0); /* it had ended by then: the schedule was put down, nothing was started */
  } else if (choice < 10) {
    stop(e, choice == 9);
  } else {
    replace(e, w);
  }
}

static void change_resting(entry *e, worker *w) {
  if (state_now(e) != CHIME_STATE_SUSPENDED || roll_below(&w->dice, 2)) {
    restart(e, w, 0);
    return;
  }
  begin(e); /* its deadline stands, and may have passed */
  e->due_before = load(&e->due);
  PUT(e->awaited_ns, e->deadline_ns > monotonic_ns() ? e->deadline_ns : monotonic_ns());
  ONLY(chime_timer_resume(e->timer), MAY(OK));
  expect(e, CHIME_OK, ONE_SHOT);
}

/* A tick for each due time, or a count of those that were missed. */
void entry_check_lost(entry *e) {
  int64_t now = monotonic_ns(), covered, least;
  entry known;
  if (!read_plan(e, &known)) return;
  if (known.plan == ONE_SHOT && !has_ticked(e) && now > known.awaited_ns + PATIENCE) {
    /* Passed over, when its queue has come to later ones; a queue that is behind lacks a processor. */
    int64_t ahead = GET(e->place->reached_ns) - known.awaited_ns;
    wrong("lost: a one-shot on the %s queue, %lld ms late; the queue has come to %lld ms %s it", e->place->name,
          (long long)((now - known.awaited_ns) / CHIME_MILLISECOND), (long long)(llabs(ahead) / CHIME_MILLISECOND),
          ahead < 0 ? "before" : "after");
    begin(e); /* told once */
  }
  if (known.plan == REPEATING && now - PATIENCE >= known.deadline_ns) {
    covered = __atomic_load_n(&e->tick_generation, __ATOMIC_ACQUIRE) == known.generation ? GET(e->covered) : 0;
    least = (now - PATIENCE - known.deadline_ns) / known.interval_ns + 1;
    if (covered < least || covered > (monotonic_ns() - known.deadline_ns) / known.interval_ns + 1) {
      wrong("a repeating timer has had %lld due times, expected %lld", (long long)covered, (long long)least);
      begin(e);
    }
  }
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
      if (!has_ticked(e)) change_one_shot(e, w);
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
  chime_schedule schedule =
      schedule_at(monotonic_ns() + (int64_t)((uintptr_t)e / sizeof *e % 2000) * CHIME_MILLISECOND, 0);
  if (e->timer == 0) {
    e->due_before = load(&e->due) - 1; /* nothing to wait for */
    return;
  }
  begin(e);
  set_deadline(e, schedule.first_ns);
  /* With no handler under way from here on, each tick that comes is the new one. */
  if (chime_timer_cancel_and_wait(e->timer, PATIENCE) < 0) wrong("a timer cannot be cancelled at the end");
  e->due_before = load(&e->due);
  e->interval_ns = 0;
  expect(e, ONLY(chime_timer_restart(e->timer, &schedule), MAY(OK)), ONE_SHOT);
}

int entry_is_closed(const entry *e) { return has_ticked(e); }

int entry_is_finalized(const entry *e) { return load(&e->finalized) == load(&e->accepted); }
