/*
 * wall.c - the clock is set, at random: a host-driven queue on the wall clock beside a model of it.
 *
 * The model is what chime.h says under "When the clock is set", and no more. This program's clock_gettime stands before
 * libc's, for the library too: while an input is tried, both clocks show what it says. A step is noticed when the test next has
 * the queue processed; until then, and inside handlers, calls meet a clock that no pass has seen. (What wakes a queue
 * after a step: Tests/Faults wall_clock.c, and Tests/Threads/Interleavings.)
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "wall.h"

#if defined(__linux__)
#include <stdarg.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "chime.h"
#include "input.h"

enum { TIMERS = 6, CALLS = 80 };
/* Steps are whole units, and so is most else: they often meet. */
#define UNIT (10 * CHIME_SECOND)

typedef struct timer {
  int number;
  chime_timer_t id;
  chime_schedule s;
  chime_state state;
  int64_t
      grid; /* the next time without its random part: a time of day if it follows the clock, else of the steady one */
  int follows;
  int has_begun;  /* the grid has had a tick */
  int64_t offset; /* of the clock that it follows, as it was last looked at for it */
  int64_t part;   /* the random part; which one the library has to say */
  int64_t left;   /* suspended with CHIME_RESUME_REMAINING */
  uint64_t sequence, due_count, carried;
  int place;         /* in the order of activation */
  int64_t due, turn; /* collected by the pass: its time, and its place then */
  int rearms;        /* its handler runs, with CHIME_MISSED_DELAY, and no change of generation since */
  int64_t provisional;
} timer;

static struct wall {
  int is_on;
  int64_t now, offset; /* the steady clock; how far the other is ahead */
  int64_t noticed;     /* that, by the last pass */
  int is_told;         /* a call has stored a time of day by another: the next pass comes at once */
  chime_queue_t queue;
  timer timers[TIMERS];
  int places, asks, depth;
  int in_pass, ticks;
  uint64_t random;
  char difference[400];
} w;

static int64_t shown(void) { return w.now + w.offset; }

int clock_gettime(clockid_t clock, struct timespec *time) {
  int64_t now = clock == CLOCK_REALTIME ? shown() : w.now;
  if (!w.is_on) return (int)syscall(SYS_clock_gettime, clock, time);
  time->tv_sec = (time_t)(now / CHIME_SECOND);
  time->tv_nsec = (long)(now % CHIME_SECOND);
  return 0;
}

static void differ(const char *format, ...) {
  va_list arguments;
  if (w.difference[0] != 0) return; /* the first counts */
  va_start(arguments, format);
  vsnprintf(w.difference, sizeof w.difference, format, arguments);
  va_end(arguments);
  trace("%s", w.difference);
}

static void expect(const timer *t, const char *what, int64_t actual, int64_t expected) {
  if (actual != expected) {
    differ("timer %d: %s is %" PRId64 ", %" PRId64 " beyond what it should be", t->number, what, actual,
           actual - expected);
  }
}

static void expect_one_of(const char *call, chime_status status, chime_status expected) {
  /* Whether a handler runs is not the subject. */
  if (status < 0 ? status != expected : ((status ^ expected) & ~CHIME_RUNNING) != 0)
    differ("%s answers %d, not %d", call, status, expected);
}

static uint64_t draw(uint64_t below) {
  uint64_t z = w.random += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return (z ^ z >> 31) % below;
}

/* ---- The rules --------------------------------------------------------------------------------------------------- */

static int is_live(const timer *t) { return t->state == CHIME_STATE_RUNNING || t->state == CHIME_STATE_SUSPENDED; }
static int keeps_left(const timer *t) { return t->s.resume_policy == CHIME_RESUME_REMAINING; }
static int has_left(const timer *t) { return t->state == CHIME_STATE_SUSPENDED && keeps_left(t); }

/* On the steady clock. */
static int64_t due_of(const timer *t) { return t->grid + t->part - (t->follows ? t->offset : 0); }

/* The clock is looked at: a time of day comes when the clock shows it. Set back by the interval or more, a grid goes on with
 * its next time after the clock's. */
static timer followed(timer t) {
  int64_t back = t.offset - w.offset;
  if (!t.follows) return t;
  t.offset = w.offset;
  if (t.s.interval_ns > 0 && t.has_begun && back >= t.s.interval_ns) {
    while (t.grid + t.part - t.s.interval_ns > shown()) t.grid -= t.s.interval_ns;
  }
  return t;
}

static void set_due(timer *t, int64_t due, int follows) {
  t->grid = due - t->part;
  t->follows = follows;
  t->has_begun = 0;
  t->offset = w.offset;
  w.is_told |= follows && w.offset != w.noticed;
}

/* What the library has drawn. */
static void learn_part(timer *t) {
  int64_t next = 0;
  t->part = 0;
  if (t->s.interval_ns == 0 || t->s.jitter_ns == 0 || t->state != CHIME_STATE_RUNNING) return;
  chime_timer_next_deadline(t->id, &next);
  t->part = next - t->grid - (t->follows ? 0 : w.noticed);
  if (t->part < 0 || t->part > t->s.jitter_ns) differ("timer %d: a random part of %" PRId64, t->number, t->part);
}

static void begin(timer *t) {
  int is_deadline = (t->s.flags & CHIME_SCHEDULE_DEADLINE) != 0;
  t->part = 0;
  t->rearms = 0;
  t->due_count = t->carried = 0;
  t->state = CHIME_STATE_RUNNING;
  t->place = ++w.places;
  set_due(t, is_deadline ? t->s.first_ns : w.now + t->s.first_ns, is_deadline);
  learn_part(t);
}

static void model_postpone(timer *t, int64_t time, int is_delay) {
  const timer now = followed(*t);
  const int64_t due = has_left(t) ? t->left : due_of(&now);
  const int64_t target = (is_delay ? w.now + time : time - w.offset) - (has_left(t) ? w.now : 0);
  if (target >= due) t->carried = 0;
  if (target <= due) return;
  if (has_left(t)) t->left = target;
  else set_due(t, is_delay ? target : time, !is_delay);
}

static void model_suspend(timer *t) {
  t->state = CHIME_STATE_SUSPENDED;
  t->rearms = 0;
  if (!keeps_left(t)) return;
  *t = followed(*t);
  if (t->s.interval_ns > 0 && t->s.missed_policy == CHIME_MISSED_COALESCE && w.now > due_of(t)) {
    t->carried += (uint64_t)((w.now - due_of(t)) / t->s.interval_ns);
  }
  t->left = due_of(t) > w.now ? due_of(t) - w.now : 0;
  t->follows = 0;
}

static void model_resume(timer *t) {
  if (has_left(t)) set_due(t, w.now + t->left, 0);
  t->state = CHIME_STATE_RUNNING;
}

/* Of so many times of the grid that the tick stands for beside its own: how many are missed, those of before a suspend
 * first, and how many of the grid are left. */
static uint64_t count_due(timer *t, uint64_t *on_grid) {
  uint64_t missed = *on_grid + t->carried, left = t->s.tick_limit - t->due_count;
  if (t->s.tick_limit > 0) {
    if (missed >= left - 1) {
      missed = left - 1;
      t->state = CHIME_STATE_FINISHED;
    }
    t->due_count += missed + 1;
  }
  *on_grid = missed - (t->carried < missed ? t->carried : missed);
  t->carried = 0;
  return missed;
}

static void model_tick(timer *t, const chime_tick *tick) {
  const int64_t interval = t->s.interval_ns, ahead = t->follows ? t->offset : w.noticed, due = due_of(t);
  const int is_delay = t->s.missed_policy == CHIME_MISSED_DELAY, has_jitter = interval > 0 && t->s.jitter_ns > 0;
  const int64_t start = due - t->part;
  const uint64_t passed = interval == 0 || is_delay ? 0 : (uint64_t)((w.now - (has_jitter ? start : due)) / interval);
  uint64_t on_grid = passed, counted, missed;
  expect(t, "sequence", (int64_t)tick->sequence, (int64_t)++t->sequence);
  expect(t, "actual", tick->actual_ns, w.now + ahead);
  if (interval == 0) {
    expect(t, "scheduled", tick->scheduled_ns, due + ahead);
    expect(t, "missed", (int64_t)tick->missed, 0);
    t->state = CHIME_STATE_FINISHED;
    return;
  }
  /* The last time of the grid that has passed is due when its random part has passed, too. */
  if (has_jitter && passed > 0 && tick->missed + 1 == passed + t->carried) on_grid -= 1;
  counted = on_grid;
  missed = count_due(t, &counted);
  expect(t, "missed", (int64_t)tick->missed, (int64_t)missed);
  if (counted == 0 || !has_jitter) {
    expect(t, "scheduled", tick->scheduled_ns, due + (int64_t)counted * interval + ahead);
  } else {
    int64_t part = tick->scheduled_ns - ahead - start - (int64_t)counted * interval;
    if (part < 0 || part > t->s.jitter_ns) differ("timer %d: scheduled with %" PRId64, t->number, part);
  }
  if (tick->scheduled_ns > tick->actual_ns) differ("timer %d: early", t->number);
  if (t->state == CHIME_STATE_FINISHED) return;
  t->has_begun = 1;
  t->grid += ((int64_t)on_grid + 1) * interval;
  if (is_delay) {
    t->follows = 0;
    t->grid = w.now + interval;
    t->rearms = 1;
  }
  if (has_jitter) learn_part(t);
  if (has_jitter && on_grid < passed && due_of(t) < w.now) differ("timer %d: due already, and not counted", t->number);
  t->provisional = due_of(t);
}

/* With CHIME_MISSED_DELAY the interval counts from here, unless a postponement has come later. */
static void model_returns(timer *t) {
  int64_t from_end = w.now + t->s.interval_ns + t->part;
  timer now = followed(*t);
  if (t->rearms && due_of(&now) < from_end) set_due(t, from_end, 0);
  t->rearms = 0;
}

/* ---- Both -------------------------------------------------------------------------------------------------------- */

static void compare(void) {
  int64_t next = 0, earliest = INT64_MAX;
  int32_t timeout = -7;
  for (timer *t = w.timers; t < w.timers + TIMERS && w.asks; t += 1) {
    chime_timer_info info = CHIME_TIMER_INFO_INIT;
    if (t->id == 0) continue;
    chime_timer_get_info(t->id, &info);
    expect(t, "state", info.state, t->state);
    if (t->state == CHIME_STATE_SUSPENDED)
      expect(t, "time left", info.remaining_ns, has_left(t) ? t->left : CHIME_FOREVER);
    if (t->state != CHIME_STATE_RUNNING) continue;
    expect(t, "next deadline", info.next_deadline_ns, t->grid + t->part + (t->follows ? 0 : w.noticed));
    if (due_of(t) < earliest) earliest = due_of(t);
  }
  if (!w.asks || w.depth > 0) return;
  /* At most a unit of the wheel too late. */
  const int64_t least = earliest > w.now ? earliest + w.offset : INT64_MIN;
  const int64_t most = (earliest > w.now ? earliest : w.now) + w.offset + 1024;
  chime_queue_next_deadline(w.queue, &next);
  chime_queue_poll_timeout(w.queue, &timeout);
  if (w.offset != w.noticed || (w.is_told && next <= shown())) {
    if (next > shown() || timeout != 0) differ("the step is not to be noticed before %" PRId64, next - shown());
  } else if (earliest == INT64_MAX ? next != CHIME_FOREVER : next < least || next > most) {
    differ("the queue's deadline is %" PRId64 ", %" PRId64 " too late", next, next - most);
  }
}

static void make_call(void);

static void on_tick(const chime_tick *tick, void *context) {
  timer *t = context, *first = NULL;
  trace("  timer %d ticks, scheduled %" PRId64 " missed %" PRIu64, t->number, tick->scheduled_ns, tick->missed);
  for (timer *u = w.timers; u < w.timers + TIMERS; u += 1) {
    /* Those that the pass has found due have their turns in order, unless they were started anew or are not due now. */
    if (u->turn == 0 || u->turn != u->place || u->state != CHIME_STATE_RUNNING || due_of(u) > w.now) continue;
    if (first == NULL || u->due < first->due || (u->due == first->due && u->turn < first->turn)) first = u;
  }
  if (first != t) differ("timer %d ticks, and timer %d was to", t->number, first != NULL ? first->number : -1);
  const int64_t turn = t->turn;
  for (timer *u = w.timers; u < w.timers + TIMERS; u += 1) {
    if (u->due < t->due || (u->due == t->due && u->turn <= turn)) u->turn = 0;
  }
  w.ticks += 1;
  model_tick(t, tick);
  w.depth += 1;
  for (uint64_t left = draw(3); left > 0 && w.difference[0] == 0; left -= 1) make_call();
  w.depth -= 1;
  model_returns(t);
}

static void process(void) {
  uint32_t count = 99;
  w.noticed = w.offset;
  w.is_told = 0;
  w.ticks = 0;
  for (timer *t = w.timers; t < w.timers + TIMERS; t += 1) {
    if (is_live(t) && !has_left(t)) *t = followed(*t);
    t->due = due_of(t);
    t->turn = t->state == CHIME_STATE_RUNNING && t->due <= w.now ? t->place : 0;
  }
  expect_one_of("process", chime_queue_process(w.queue, 0, &count), CHIME_OK);
  if ((int)count != w.ticks) differ("process counts %d of %d", (int)count, w.ticks);
  for (timer *t = w.timers; t < w.timers + TIMERS; t += 1) {
    if (t->turn == 0 || t->turn != t->place || t->state != CHIME_STATE_RUNNING || due_of(t) > w.now) continue;
    differ("timer %d does not tick", t->number);
  }
}

/* Units, and now and then a little beside them. */
static int64_t some_time(int64_t most) {
  int64_t beside = draw(8) == 0 ? (int64_t)draw(3) - 1 : 0, time = (int64_t)draw((uint64_t)most + 1) * UNIT + beside;
  return time < 0 ? 0 : time;
}

static chime_schedule some_schedule(void) {
  chime_schedule s = CHIME_SCHEDULE_INIT;
  s.interval_ns = draw(4) == 0 ? 0 : (int64_t)(1 + draw(6)) * UNIT;
  s.first_ns = some_time(8);
  if (draw(4) != 0) {
    s.flags = CHIME_SCHEDULE_DEADLINE;
    s.first_ns += shown() - 2 * UNIT;
  }
  if (draw(5) == 0) s.missed_policy = CHIME_MISSED_DELAY;
  if (draw(2) == 0 && s.flags == 0) s.resume_policy = CHIME_RESUME_REMAINING;
  if (draw(4) == 0) s.tick_limit = 1 + draw(5);
  if (draw(3) == 0 && s.interval_ns > 0) s.jitter_ns = draw(2) == 0 ? s.interval_ns : s.interval_ns / 2;
  return s;
}

static void start(timer *t) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  options.handler = on_tick;
  options.context = t;
  t->s = some_schedule();
  expect_one_of("start", chime_timer_start(w.queue, &options, &t->s, &t->id), CHIME_OK);
  trace("  first %" PRId64 " interval %" PRId64 " jitter %" PRId64 " limit %" PRIu64 " flags %u policies %d %d",
        t->s.first_ns, t->s.interval_ns, t->s.jitter_ns, t->s.tick_limit, t->s.flags, t->s.missed_policy,
        t->s.resume_policy);
  t->sequence = 0;
  begin(t);
}

static void restart(timer *t, int64_t first, int is_deadline) {
  chime_status status = is_deadline ? chime_timer_restart_until(t->id, first) : chime_timer_restart_after(t->id, first);
  if (is_deadline && keeps_left(t)) {
    expect_one_of("restart_until", status, CHIME_ERROR_INVALID_ARGUMENT);
    return;
  }
  expect_one_of("restart", status, CHIME_OK);
  if (!is_live(t)) t->sequence = 0;
  t->s.first_ns = first;
  t->s.flags = is_deadline ? CHIME_SCHEDULE_DEADLINE : 0;
  begin(t);
}

static void make_call(void) {
  timer *t = &w.timers[draw(TIMERS)];
  const int what = (int)draw(20);
  const int64_t time = some_time(12), day = shown() + time - 2 * UNIT;
  trace("call %d on timer %d, time %" PRId64 ", steady %" PRId64 " wall %" PRId64, what, t->number, time, w.now,
        shown());
  if (what <= 3) {
    w.offset += (draw(2) == 0 ? 1 : -1) * (int64_t)(1 + draw(8)) * UNIT;
    trace("  the clock is set to %" PRId64, shown());
  } else if (what <= 5) {
    w.now += time / 3;
  } else if (what <= 9) {
    if (w.depth == 0) process();
  } else if (t->id == 0) {
    start(t);
  } else if (what <= 12) {
    expect_one_of("postpone", chime_timer_postpone(t->id, time), is_live(t) ? CHIME_OK : CHIME_IGNORED);
    if (is_live(t)) model_postpone(t, time, 1);
  } else if (what <= 14) {
    expect_one_of("postpone_until", chime_timer_postpone_until(t->id, day), is_live(t) ? CHIME_OK : CHIME_IGNORED);
    if (is_live(t)) model_postpone(t, day, 0);
  } else if (what <= 16) {
    int suspends = t->state != CHIME_STATE_SUSPENDED;
    chime_status expected = t->state == CHIME_STATE_RUNNING || !suspends ? CHIME_OK : CHIME_IGNORED;
    if (expected == CHIME_OK) suspends ? model_suspend(t) : model_resume(t);
    expect_one_of("suspend or resume", suspends ? chime_timer_suspend(t->id) : chime_timer_resume(t->id), expected);
  } else if (what == 17) {
    expect_one_of("cancel", chime_timer_cancel(t->id), is_live(t) ? CHIME_OK : CHIME_IGNORED);
    if (is_live(t)) t->state = CHIME_STATE_CANCELLED;
    t->rearms = 0;
  } else if (what == 18 || w.depth > 0) {
    restart(t, what == 18 ? time : day, what != 18);
  } else {
    chime_timer_release(t->id);
    t->turn = 0;
    start(t);
  }
  compare();
}

static void try_input(void) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  const uint64_t random = w.random;
  memset(&w, 0, sizeof w);
  w.random = random;
  w.now = 1000 * UNIT;
  w.offset = w.noticed = INT64_C(170000000) * UNIT;
  w.is_on = 1;
  w.asks = draw(2) == 0;
  for (int i = 0; i < TIMERS; i += 1) w.timers[i] = (timer){.number = i, .state = CHIME_STATE_IDLE};
  options.clock = CHIME_CLOCK_WALL;
  options.flags = CHIME_QUEUE_FLAG_BOUND;
  expect_one_of("create", chime_queue_create(CHIME_QUEUE_HOST, &options, &w.queue), CHIME_OK);
  for (int i = 0; i < CALLS && w.difference[0] == 0; i += 1) make_call();
  chime_queue_release(w.queue);
  w.is_on = 0;
}

int chime_wall_run(uint64_t seed, int64_t input, int64_t calls, char *message, size_t capacity) {
  for (int64_t made = 0; made < calls; made += CALLS, input += 1) {
    w.random = seed << 32 ^ (uint64_t)input;
    try_input();
    if (w.difference[0] == 0) continue;
    snprintf(message, capacity, "input %" PRId64 " of the wall clock: %s", input, w.difference);
    return 1;
  }
  return 0;
}

#else
int chime_wall_run(uint64_t seed, int64_t input, int64_t calls, char *message, size_t capacity) { return 0; }
#endif
