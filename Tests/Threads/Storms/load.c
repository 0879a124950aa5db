/*
 * load.c - holds a steady number of pending timers under mixed work for a while, and keeps a book of them: none early,
 * none lost, none stale, each context finalized once, memory flat.
 *
 * It goes on for STORM_SECONDS, ten at least, with STORM_TIMERS, to which each worker makes STORM_CALLS visits a second.
 *
 * An entry is one place in the book: one timer after the other. One worker owns it and makes all calls on its timer;
 * the timer's callbacks only read what the owner has put down and add what has come. `version` is a sequence lock: odd
 * while the owner changes what is to be expected, and for as long as that is not known (a handler was under way).
 */
#include <malloc.h>
#include <unistd.h>

#include "storms.h"

typedef struct place {
  csuite *t;
  chime_queue_t queue;
  int64_t ticks;      /* DUE */
  int64_t reached_ns; /* the deadline of its latest one-shot: by __atomic builtins */
} place;

typedef enum plan {
  VACANT,    /* no timer, or one of which nothing is expected */
  ONE_SHOT,  /* one tick at deadline_ns */
  REPEATING, /* ticks at deadline_ns + k * interval_ns */
  RESTING    /* suspended or cancelled: no tick */
} plan;

typedef struct entry {
  chime_timer_t timer;
  int64_t deadline_ns;
  int64_t interval_ns;
  int64_t awaited_ns;  /* when it is to be expected: a timer that is resumed may have a deadline long past */
  uint64_t generation; /* of which the plan is true */
  place *place;
  int version;
  int plan;
  int accepted;   /* contexts, by the owner */
  int finalized;  /* of these */
  int due;        /* DUE ticks */
  int due_before; /* of these, when the plan was made */
  int busy;
  /* of the last tick, by the handler: */
  int sequence;
  uint64_t tick_generation;
  int64_t covered; /* due times of that generation, ticked or missed */
} entry;

typedef struct worker {
  dice dice;
  entry *entries;
  int64_t count;
  int64_t calls;
} worker;

static int64_t longest_ns; /* delays are up to this */

/* What callbacks read while the entry's owner writes it, or the other way round. */
#define GET(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define PUT(field, value) __atomic_store_n(&(field), value, __ATOMIC_RELAXED)

/* Whether its timer has ticked since the plan was made. */
static int entry_has_ticked(const entry *e) { return load(&e->due) != e->due_before; }

static int entry_is_finalized(const entry *e) { return load(&e->finalized) == load(&e->accepted); }

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

static void entry_make(entry *e, worker *w) {
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

static void entry_release(entry *e) {
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

/* OK, RUNNING: nothing starts before the later of the two. IGNORED: its tick has started, and the plan is as it was. */
static void postpone(entry *e, worker *w) {
  csuite *t = e->place->t;
  int64_t later = e->deadline_ns + some_delay(&w->dice) / 4;
  int is_known = e->version % 2 == 0;
  begin(e);
  chime_status status = chime_timer_postpone_until(e->timer, later);
  if (!(status & CHIME_IGNORED) && EXPECT_TOOK_EFFECT(status)) set_deadline(e, later);
  if (is_known) add(&e->version, 1);
}

static void stop(entry *e, int by_cancel) {
  csuite *t = e->place->t;
  begin(e);
  chime_status status = by_cancel ? chime_timer_cancel(e->timer) : chime_timer_suspend(e->timer);
  if (status & CHIME_IGNORED) return; /* it has ticked */
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
static void entry_check_lost(entry *e) {
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

static void entry_work(entry *e, worker *w) {
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

/* Has the timer tick once more, soon, if it can. */
static void entry_close(entry *e) {
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

/* ---- Workers ------------------------------------------------------------------------------------------------------ */

enum { BATCH = 500, MOST_SAMPLES = 100000, WORKERS = 2, PLACES = 3 };

static int is_over;
static place places[PLACES];
static worker workers[WORKERS];
static entry *entries; /* of all workers */
static int64_t entry_count;
static int64_t calls_each_second;
static double samples[MOST_SAMPLES]; /* resident memory in MB, one a second */

/* Visits its entries one after the other, at its pace; those that wait for their finalizers once more a bit later. */
static void *work(void *argument) {
  worker *w = argument;
  int64_t at = 0, behind = 0, i, next = monotonic_ns();
  while (!load(&is_over)) {
    for (i = 0; i < BATCH; i++) entry_work(&w->entries[(at + i) % w->count], w);
    for (i = 0; i < BATCH; i++) {
      entry *e = &w->entries[(behind + i) % w->count];
      if (e->timer == 0) entry_make(e, w);
    }
    behind = at;
    at = (at + BATCH) % w->count;
    next += CHIME_SECOND * BATCH / calls_each_second;
    if (next < monotonic_ns()) next = monotonic_ns(); /* a slow machine does not catch up */
    sleep_ns(next - monotonic_ns());
  }
  return NULL;
}

/* ---- Figures ----------------------------------------------------------------------------------------------------- */

static double mean(const double *values, int count) {
  double sum = 0;
  for (int i = 0; i < count; i++) sum += values[i];
  return sum / count;
}

/* Flat: after the first minute, or half of a short run, the last quarter is at most 5 % or 4 MB above the first. */
static void expect_flat_memory(csuite *t, int seconds) {
  int from = seconds > 120 ? 60 : seconds / 2, quarter = (seconds - from + 3) / 4;
  double first = mean(samples + from, quarter), last = mean(samples + seconds - quarter, quarter);
  double allowed = first * 0.05 > 4 ? first * 0.05 : 4;
  printf("memory: %.1f MB after %d s, %.1f MB after %d s; %.2f MB more allowed\n", first, from, last, seconds, allowed);
  EXPECT(last - first <= allowed);
}

/* Takes a sample each second; returns how many timers ran at least. */
static uint64_t watch(csuite *t, int seconds) {
  int64_t begun = monotonic_ns();
  uint64_t least = UINT64_MAX;
  for (int second = 0; second < seconds; second++) {
    uint64_t running = 0;
    sleep_ns(begun + (second + 1) * CHIME_SECOND - monotonic_ns());
    samples[second] = (double)resident_kib() * 1024 / 1e6;
    if (second % 10 != 9) continue;
    for (int i = 0; i < PLACES; i++) running += stats_of(t, places[i].queue).running;
    if (running < least) least = running;
  }
  return least;
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

static void for_each(void (*function)(entry *e)) {
  for (int64_t i = 0; i < entry_count; i++) function(&entries[i]);
}

/* Waits until no entry is left of which that is not true, and counts those that are. */
static int64_t await_all(int (*is_true)(const entry *e)) {
  int64_t end = monotonic_ns() + PATIENCE, left = 0;
  for (int64_t i = 0; i < entry_count; i++) {
    while (!is_true(&entries[i]) && monotonic_ns() < end) sleep_ns(CHIME_MILLISECOND);
    left += !is_true(&entries[i]);
  }
  return left;
}

static void close_the_book(csuite *t) {
  for_each(entry_check_lost);
  for_each(entry_close);
  EXPECT_EQ(await_all(entry_has_ticked), 0);
  for_each(entry_release);
  EXPECT_EQ(await_all(entry_is_finalized), 0);
}

/* ---- The test ---------------------------------------------------------------------------------------------------- */

static void make_entries(csuite *t, int64_t timers) {
  int64_t each = timers * 3 / 2 / WORKERS; /* some rest, or have ticked and wait for their owner */
  entry_count = each * WORKERS;
  entries = csuite_memory(t, (size_t)entry_count * sizeof *entries);
  for (int n = 0; n < WORKERS; n++)
    workers[n] = (worker){{UINT64_C(0x10AD) + (uint64_t)n}, entries + n * each, each, 0};
  for (int64_t i = 0; i < entry_count; i++) {
    entries[i].place = &places[i % PLACES];
    entry_make(&entries[i], &workers[i / each]);
  }
}

TEST(timers_under_mixed_work_are_never_early_never_lost_and_leave_nothing_behind) {
  static const where kinds[PLACES] = {SERIAL, HOST, PRECISE};
  static const char *const names[PLACES] = {"serial", "host", "precise"};
  const int64_t wanted = storm_number("STORM_SECONDS", 60);
  const int seconds = (int)(wanted < 10 ? 10 : wanted);
  const int64_t timers = storm_number("STORM_TIMERS", 1000000);
  int started = 0;
  int64_t calls = 0;
  pthread_t threads[WORKERS];
  mallopt(M_ARENA_MAX, 1); /* what glibc keeps back for each thread is not the subject, and grows for ten minutes */
  calls_each_second = storm_number("STORM_CALLS", 50000);
  REQUIRE(seconds <= MOST_SAMPLES && timers >= 1000 && calls_each_second >= BATCH);
  for (int i = 0; i < PLACES; i++) {
    places[i] = (place){.t = t, .queue = csuite_queue(t, kinds[i])};
    if (places[i].queue == 0) return;
  }
  /* Each entry is visited some times while its timer is pending, and most timers tick before the end. */
  longest_ns = seconds / 3 * CHIME_SECOND;
  if (longest_ns > 30 * CHIME_SECOND) longest_ns = 30 * CHIME_SECOND; /* all is as it stays after a minute */
  if (longest_ns < 2 * CHIME_SECOND) longest_ns = 2 * CHIME_SECOND;
  make_entries(t, timers);
  while (started < WORKERS && spawn(t, &threads[started], work, &workers[started])) started++;
  uint64_t least_running = watch(t, seconds);
  store(&is_over, 1);
  while (started > 0) {
    pthread_join(threads[--started], NULL);
    calls += workers[started].calls;
  }
  close_the_book(t);
  for (int i = 0; i < PLACES; i++) {
    printf("%s: %" PRId64 " ticks\n", names[i], places[i].ticks);
    EXPECT(places[i].ticks > 0);
  }
  printf("%" PRId64 " calls in %d s; at least %" PRIu64 " timers ran\n", calls, seconds, least_running);
  expect_flat_memory(t, seconds);
}
