/* book.c - one entry: the calls on its timer, what is expected of it after each, and the callbacks that check it. */
#include "load.h"

#include <stdlib.h>

#define MAY(name) BIT(CHIME_##name)
#define TAKES_EFFECT (MAY(OK) | MAY(RUNNING))

static uint32_t load32(const uint32_t *value) { return __atomic_load_n(value, __ATOMIC_ACQUIRE); }
static void add32(uint32_t *value) { __atomic_add_fetch(value, 1, __ATOMIC_ACQ_REL); }

/* ---- Callbacks ---------------------------------------------------------------------------------------------------- */

static void count_lateness(place *p, int64_t late_ns) {
  int bucket = 0;
  int64_t us;
  for (us = late_ns / 1000; us > 0 && bucket < BUCKETS - 1; us /= 2) bucket++;
  __atomic_add_fetch(&p->lateness[bucket], 1, __ATOMIC_RELAXED);
  __atomic_add_fetch(&p->measured, 1, __ATOMIC_RELAXED);
}

/* What is known of the timer now; 0 when its owner is changing it, or cannot know it. */
static int read_plan(const entry *e, entry *known) {
  uint32_t version = load32(&e->version);
  if (version % 2 != 0) return 0;
  known->timer = __atomic_load_n(&e->timer, __ATOMIC_RELAXED);
  known->deadline_ns = __atomic_load_n(&e->deadline_ns, __ATOMIC_RELAXED);
  known->interval_ns = __atomic_load_n(&e->interval_ns, __ATOMIC_RELAXED);
  known->awaited_ns = __atomic_load_n(&e->awaited_ns, __ATOMIC_RELAXED);
  known->generation = __atomic_load_n(&e->generation, __ATOMIC_RELAXED);
  known->plan = __atomic_load_n(&e->plan, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  known->version = version;
  return load32(&e->version) == version;
}

/* How late a tick is; a resumed timer's deadline may have passed long before. */
static int64_t lateness(const entry *known, const chime_tick *tick) {
  int64_t awaited_ns = known->plan == ONE_SHOT ? known->awaited_ns : tick->scheduled_ns;
  return tick->actual_ns > awaited_ns ? tick->actual_ns - awaited_ns : 0;
}

static void check_plan(const entry *e, const chime_tick *tick) {
  entry known;
  chime_status status;
  if (!read_plan(e, &known)) return;
  if (tick->kind == CHIME_TICK_DUE) count_lateness(e->place, lateness(&known, tick));
  if (tick->timer != known.timer) wrong("a tick of another timer than the one of its context");
  if (tick->generation != known.generation)
    wrong("a tick of generation %llu, which is %llu", (unsigned long long)tick->generation,
          (unsigned long long)known.generation);
  status = chime_timer_check_generation(tick->timer, tick->generation);
  if (status != CHIME_OK && load32(&e->version) == known.version) {
    wrong("a handler is told %s of its own generation", chime_status_name(status));
  }
  if (tick->kind != CHIME_TICK_DUE) return;
  switch ((plan)known.plan) {
    case ONE_SHOT:
    case DRIVEN:
      /* A postponement by 2.1 s or more is rounded up, by less than 1,024 ns. */
      if (tick->scheduled_ns < known.deadline_ns || tick->scheduled_ns >= known.deadline_ns + 1024) {
        wrong("a one-shot came for %lld, %lld ns from its deadline", (long long)tick->scheduled_ns,
              (long long)(tick->scheduled_ns - known.deadline_ns));
      }
      __atomic_store_n(&e->place->reached_ns, known.awaited_ns, __ATOMIC_RELAXED);
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

static int64_t some_delay(uint64_t *dice) { return (int64_t)(roll(dice) % (uint64_t)longest_ns); }

/* A new absolute deadline: what is due is known before the call, so that no reading of ours can be the later one. */
static chime_schedule schedule_at(int64_t deadline_ns, int64_t interval_ns, uint64_t *dice) {
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  schedule.flags = CHIME_SCHEDULE_DEADLINE;
  schedule.first_ns = deadline_ns;
  schedule.interval_ns = interval_ns;
  if (roll(dice) % 2 == 0) schedule.leeway_ns = CHIME_MILLISECOND;
  return schedule;
}

static void begin(entry *e) {
  if (e->version % 2 == 0) add32(&e->version);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void set_deadline(entry *e, int64_t deadline_ns) {
  __atomic_store_n(&e->deadline_ns, deadline_ns, __ATOMIC_RELAXED);
  __atomic_store_n(&e->awaited_ns, deadline_ns, __ATOMIC_RELAXED);
}

/* Puts down what is expected from now on; after CHIME_RUNNING a handler of before may still look, and nothing is. */
static void expect(entry *e, chime_status status, plan plan) {
  uint64_t generation = 0;
  __atomic_store_n(&e->plan, plan, __ATOMIC_RELAXED);
  if (status != CHIME_OK) return;
  chime_timer_generation(e->timer, &generation);
  __atomic_store_n(&e->generation, generation, __ATOMIC_RELAXED);
  add32(&e->version);
}

/* The handler of a timer that drives itself is its only owner. */
static void start_again(entry *e, const chime_tick *tick) {
  uint64_t dice = (uint64_t)tick->actual_ns | 1;
  chime_schedule schedule = schedule_at(tick->actual_ns + some_delay(&dice) / 8, 0, &dice);
  if (__atomic_load_n(&over, __ATOMIC_ACQUIRE)) return;
  begin(e);
  set_deadline(e, schedule.first_ns);
  ONLY(chime_timer_activate(tick->timer, &schedule), MAY(OK));
  expect(e, CHIME_OK, DRIVEN);
}

static void on_tick(const chime_tick *tick, void *context) {
  entry *e = context;
  int is_same = tick->generation == e->tick_generation;
  if (__atomic_add_fetch(&e->busy, 1, __ATOMIC_ACQ_REL) != 1) wrong("two callbacks of one timer at a time");
  if (load32(&e->finalized) == load32(&e->accepted) && load32(&e->version) % 2 == 0)
    wrong("a tick after the finalizer");
  if (tick->actual_ns < tick->scheduled_ns || now_ns() < tick->scheduled_ns) {
    wrong("%lld ns early", (long long)(tick->scheduled_ns - tick->actual_ns));
  }
  if (tick->sequence != (uint64_t)e->sequence + 1 && (is_same || tick->sequence != 1)) {
    wrong("tick %llu after tick %u", (unsigned long long)tick->sequence, e->sequence);
  }
  check_plan(e, tick);
  e->sequence = (uint32_t)tick->sequence;
  if (!is_same) __atomic_store_n(&e->covered, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&e->tick_generation, tick->generation, __ATOMIC_RELEASE);
  if (tick->kind == CHIME_TICK_DUE) {
    __atomic_add_fetch(&e->place->ticks, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&e->covered, 1 + (int64_t)tick->missed, __ATOMIC_RELAXED);
    add32(&e->due);
    if (__atomic_load_n(&e->plan, __ATOMIC_RELAXED) == DRIVEN) start_again(e, tick);
  }
  __atomic_sub_fetch(&e->busy, 1, __ATOMIC_ACQ_REL);
}

static void on_finalize(void *context) {
  entry *e = context;
  if (__atomic_add_fetch(&e->finalized, 1, __ATOMIC_ACQ_REL) > load32(&e->accepted)) wrong("a context finalized twice");
}

/* ---- Calls --------------------------------------------------------------------------------------------------------- */

void entry_make(entry *e, worker *w) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  uint64_t kind = roll(&w->dice) % 100;
  int64_t interval_ns = kind < 2 ? CHIME_SECOND + some_delay(&w->dice) : 0;
  chime_schedule schedule = schedule_at(now_ns() + some_delay(&w->dice), interval_ns, &w->dice);
  /* The context of the timer before comes back first: a callback of it must not find this one's plan. */
  if (load32(&e->finalized) != load32(&e->accepted)) return;
  begin(e);
  options.handler = on_tick;
  options.context = e;
  options.finalizer = on_finalize;
  e->sequence = 0;
  e->due_before = load32(&e->due);
  set_deadline(e, schedule.first_ns);
  __atomic_store_n(&e->tick_generation, UINT64_MAX, __ATOMIC_RELAXED); /* of no timer */
  e->interval_ns = interval_ns;
  __atomic_store_n(&e->plan, kind < 4 ? DRIVEN : VACANT, __ATOMIC_RELAXED); /* before it can tick */
  add32(&e->accepted);
  if (kind < 4) e->interval_ns = schedule.interval_ns = 0;
  if (kind < 50) {
    ONLY(chime_timer_start(e->place->queue, &options, &schedule, &e->timer), MAY(OK));
  } else {
    ONLY(chime_timer_create(e->place->queue, &options, &e->timer), MAY(OK));
    ONLY(chime_timer_activate(e->timer, &schedule), MAY(OK));
  }
  w->calls += 2;
  if (kind < 4) return; /* odd until its handler has started it again */
  expect(e, CHIME_OK, interval_ns > 0 ? REPEATING : ONE_SHOT);
}

void entry_release(entry *e) {
  begin(e);
  ONLY(chime_timer_release(e->timer), TAKES_EFFECT);
  e->timer = 0;
  e->plan = VACANT;
}

static void restart(entry *e, worker *w, int reschedule) {
  chime_schedule schedule = schedule_at(now_ns() + some_delay(&w->dice), 0, &w->dice);
  chime_status status;
  begin(e);
  e->due_before = load32(&e->due);
  set_deadline(e, schedule.first_ns);
  __atomic_store_n(&e->interval_ns, 0, __ATOMIC_RELAXED);
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
  if (is_known) add32(&e->version);
}

static int has_ticked(const entry *e) { return load32(&e->due) != e->due_before; }

static void change_one_shot(entry *e, worker *w) {
  chime_status status;
  switch (roll(&w->dice) % 16) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4: postpone(e, w); break;
    case 5:
    case 6: restart(e, w, 0); break;
    case 7: {
      chime_state state = CHIME_STATE_IDLE;
      chime_timer_state(e->timer, &state);
      restart(e, w, state == CHIME_STATE_RUNNING);
      if (has_ticked(e)) restart(e, w, 0); /* it had ended by then: the schedule was put down, nothing was started */
      break;
    }
    case 8:
      begin(e);
      status = ONLY(chime_timer_suspend(e->timer), TAKES_EFFECT | MAY(IGNORED));
      /* IGNORED: it has ticked. */
      if (status != CHIME_IGNORED) expect(e, status, RESTING);
      break;
    case 9:
      begin(e);
      status = ONLY(chime_timer_cancel(e->timer), TAKES_EFFECT | MAY(IGNORED));
      if (status != CHIME_IGNORED) expect(e, status, RESTING);
      break;
    case 10:
    case 11:
      /* A timer keeps the memory for this until it is released: few get it, and those soon. */
      if ((uintptr_t)e / sizeof *e % 16 == 0) ONLY(chime_timer_fire(e->timer), MAY(OK));
      break;
    default:
      entry_release(e);
      entry_make(e, w);
      break;
  }
}

static void change_resting(entry *e, worker *w) {
  chime_state state = CHIME_STATE_IDLE;
  ONLY(chime_timer_state(e->timer, &state), MAY(OK));
  if (state != CHIME_STATE_SUSPENDED || roll(&w->dice) % 2) {
    restart(e, w, 0);
    return;
  }
  begin(e); /* its deadline stands, and may have passed */
  e->due_before = load32(&e->due);
  if (e->interval_ns == 0) {
    __atomic_store_n(&e->awaited_ns, e->deadline_ns > now_ns() ? e->deadline_ns : now_ns(), __ATOMIC_RELAXED);
    ONLY(chime_timer_resume(e->timer), MAY(OK));
    expect(e, CHIME_OK, ONE_SHOT);
  } else {
    restart(e, w, 0);
  }
}

/* A tick for each due time, or a count of those that were missed. */
void entry_check_lost(entry *e) {
  int64_t now = now_ns(), covered, least;
  entry known;
  if (!read_plan(e, &known)) return;
  if ((known.plan == DRIVEN || (known.plan == ONE_SHOT && !has_ticked(e))) && now > known.awaited_ns + PATIENCE) {
    /* Passed over, when its queue has come to later ones; a queue that is behind lacks a processor. */
    int64_t ahead = __atomic_load_n(&e->place->reached_ns, __ATOMIC_RELAXED) - known.awaited_ns;
    wrong("lost: a one-shot on the %s queue, %lld ms late; the queue has come to %lld ms %s it", e->place->name,
          (long long)((now - known.awaited_ns) / CHIME_MILLISECOND), (long long)(llabs(ahead) / CHIME_MILLISECOND),
          ahead < 0 ? "before" : "after");
    begin(e); /* told once */
  }
  if (known.plan == REPEATING && now - PATIENCE >= known.deadline_ns) {
    covered = __atomic_load_n(&e->tick_generation, __ATOMIC_ACQUIRE) == known.generation
                  ? __atomic_load_n(&e->covered, __ATOMIC_RELAXED)
                  : 0;
    least = (now - PATIENCE - known.deadline_ns) / known.interval_ns + 1;
    if (covered < least || covered > (now_ns() - known.deadline_ns) / known.interval_ns + 1) {
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
      if (!has_ticked(e)) {
        change_one_shot(e, w);
      } else if (roll(&w->dice) % 2) {
        restart(e, w, 0);
      } else {
        entry_release(e);
        entry_make(e, w);
      }
      break;
    case RESTING: change_resting(e, w); break;
    case REPEATING:
      if (roll(&w->dice) % 8 == 0) restart(e, w, (int)(roll(&w->dice) % 2));
      break;
    case DRIVEN: break;
    case VACANT: entry_make(e, w); break;
  }
}

/* ---- The end ------------------------------------------------------------------------------------------------------- */

void entry_close(entry *e) {
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  if (e->timer == 0 || e->plan == DRIVEN) {
    e->due_before = load32(&e->due) - 1; /* nothing to wait for */
    return;
  }
  begin(e);
  schedule.flags = CHIME_SCHEDULE_DEADLINE;
  schedule.first_ns = now_ns() + (int64_t)((uintptr_t)e / sizeof *e % 2000) * CHIME_MILLISECOND;
  set_deadline(e, schedule.first_ns);
  /* With no handler under way from here on, each tick that comes is the new one. */
  if (chime_timer_cancel_and_wait(e->timer, PATIENCE) < 0) wrong("a timer cannot be cancelled at the end");
  e->due_before = load32(&e->due);
  e->interval_ns = 0;
  expect(e, ONLY(chime_timer_restart(e->timer, &schedule), MAY(OK)), ONE_SHOT);
}

int entry_is_closed(const entry *e) { return has_ticked(e); }
