/*
 * unchanging.c - queries change nothing: they bring no pass, make no descriptor readable, and a run of operations with
 * queries between them ends in the same timeline and the same statistics as without. Promises 13 and 18.
 */
#include "harness.h"

#include <poll.h>

enum { QUERIES = 9 };

static chime_status query(int kind, chime_queue_t queue, chime_timer_t timer) {
  chime_timer_info info = CHIME_TIMER_INFO_INIT;
  chime_queue_stats stats = CHIME_QUEUE_STATS_INIT;
  chime_state state = 0;
  uint64_t generation = 0, length = 0;
  int64_t time = 0;
  char text[256];
  switch (kind) {
    case 0: return chime_timer_get_info(timer, &info);
    case 1: return chime_timer_next_deadline(timer, &time);
    case 2: return chime_timer_explain(timer, text, sizeof text, &length);
    case 3: return chime_queue_get_stats(queue, &stats);
    case 4: return chime_queue_dump(queue, text, sizeof text, &length);
    case 5: return chime_timer_generation(timer, &generation);
    case 6: return chime_timer_state(timer, &state);
    case 7: return chime_queue_now(queue, &time);
    default: return chime_timer_check_generation(timer, 0) == CHIME_IGNORED ? CHIME_OK : CHIME_ERROR_BUSY;
  }
}

/* Those look at every timer of the queue, and at the places of earlier ones. */
static int is_of_the_queue(int kind) { return kind >= 2 && kind <= 4; }

/* ---- No pass ----------------------------------------------------------------------------------------------------- */

/* Passes, when the queue has come to rest. */
static uint64_t passes_at_rest(csuite *t, chime_queue_t queue) {
  int64_t end = monotonic_ns() + PATIENCE;
  uint64_t before, after = stats_of(t, queue).passes;
  do {
    if (!EXPECT(monotonic_ns() < end)) break;
    before = after;
    sleep_ns(100 * CHIME_MILLISECOND);
    after = stats_of(t, queue).passes;
  } while (after != before);
  return after;
}

/* [13] [18]: the deadlines are in no round unit of the wheel. */
TESTS_ON_DISPATCH_QUEUES(a_hundred_thousand_queries_bring_no_pass) {
  int kind, i, count = csuite_scaled(100000);
  QUEUE_OR_RETURN(queue, place);
  probe *running = probe_after(t, queue, "a", CHIME_HOUR + 333);
  probe *suspended = probe_after(t, queue, "b", CHIME_HOUR + 777);
  EXPECT_OK(chime_timer_suspend(suspended->timer));
  for (kind = 0; kind < QUERIES; kind++) {
    uint64_t before = passes_at_rest(t, queue);
    int rounds = kind == 0 || kind == 1 ? count : count / 10; /* a text takes longer than a number */
    for (i = 0; i < rounds; i++) {
      if (!EXPECT_OK(query(kind, queue, i % 8 == 0 ? suspended->timer : running->timer))) return;
    }
    if (!EXPECT_EQ(passes_at_rest(t, queue) - before, 0)) return;
  }
}

static int is_readable(csuite *t, chime_queue_t queue) {
  struct pollfd entry = {-1, POLLIN, 0};
  int32_t file = -1;
  EXPECT_OK(chime_queue_fd(queue, &file));
  entry.fd = file;
  return poll(&entry, 1, 0);
}

/* [18]: nobody drives it but the test. */
static void queries_leave_the_descriptor_alone(csuite *t, uint32_t flags) {
  int kind, i;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = schedule_of(CHIME_HOUR + 333, 0);
  chime_queue_t queue = host_queue(t, flags);
  chime_timer_t timer = 0;
  chime_tick tick;
  uint32_t count = 0;
  int is_records = flags == CHIME_QUEUE_RECORDS;
  REQUIRE(queue != 0);
  if (!is_records) options.handler = probe_handler;
  options.context = probe_new(t, queue, "a");
  REQUIRE_OK(chime_timer_start(queue, &options, &schedule, &timer));
  for (kind = 0; kind < QUERIES; kind++) {
    EXPECT_OK(is_records ? chime_queue_take_ticks(queue, &tick, sizeof tick, 1, &count)
                         : chime_queue_process(queue, 0, &count));
    EXPECT_EQ(count, 0);
    EXPECT_EQ(is_readable(t, queue), 0);
    for (i = 0; i < csuite_scaled(1000); i++) {
      if (!EXPECT_OK(query(kind, queue, timer))) return;
      if (!EXPECT_EQ(is_readable(t, queue), 0)) return;
    }
  }
  for (i = 0; i < csuite_scaled(1000); i++) {
    int64_t deadline = 0;
    int32_t milliseconds = 0;
    if (!EXPECT_OK(i % 2 ? chime_queue_next_deadline(queue, &deadline)
                         : chime_queue_poll_timeout(queue, &milliseconds))) {
      return;
    }
    if (!EXPECT_EQ(is_readable(t, queue), 0)) return;
  }
}
TEST(queries_leave_the_descriptor_of_a_host_driven_queue_alone) { queries_leave_the_descriptor_alone(t, 0); }
TEST(queries_leave_the_descriptor_of_a_bound_queue_alone) { queries_leave_the_descriptor_alone(t, CHIME_QUEUE_BOUND); }
TEST(queries_leave_the_descriptor_of_a_queue_of_records_alone) {
  queries_leave_the_descriptor_alone(t, CHIME_QUEUE_RECORDS);
}

/* ---- The same with queries as without ---------------------------------------------------------------------------- */

/* The fewest are enough for ticks, however few rounds are wanted. */
enum { TIMERS = 5, OPERATIONS = 1000, FEWEST_OPERATIONS = 200 };

/* A tick, as it is held against that of the other run. */
typedef struct seen_tick {
  int number; /* of the timer */
  chime_tick_kind kind;
  int64_t scheduled_ns, actual_ns;
  uint64_t sequence, missed;
} seen_tick;

typedef struct course {
  csuite *t;
  chime_queue_t queue;
  int asks;
  struct course_timer {
    struct course *course;
    chime_timer_t timer;
    int number;
  } timers[TIMERS];
  seen_tick *seen;
  int count;
  int most;
} course;

static void ask(course *c) {
  csuite *t = c->t;
  int kind, i;
  if (!c->asks) return;
  for (i = 0; i < TIMERS; i++) {
    if (c->timers[i].timer == 0 || is_stale(c->timers[i].timer)) continue;
    for (kind = 0; kind < QUERIES; kind++) {
      if (i > 0 && is_of_the_queue(kind)) continue;
      EXPECT_OK(query(kind, c->queue, c->timers[i].timer));
    }
  }
}

static void see(const chime_tick *tick, void *context) {
  struct course_timer *one = context;
  course *c = one->course;
  if (c->count < c->most) {
    seen_tick *s = &c->seen[c->count++];
    s->number = one->number;
    s->kind = tick->kind;
    s->scheduled_ns = tick->scheduled_ns;
    s->actual_ns = tick->actual_ns;
    s->sequence = tick->sequence;
    s->missed = tick->missed;
  }
  ask(c);
}

static void see_the_end(void *context) {
  chime_tick last = {0, 0, 0, 0, 0, 0, NULL, NULL, CHIME_TICK_FINALIZE, 0};
  see(&last, context);
}

static void make(course *c, int i) {
  csuite *t = c->t;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  options.handler = see;
  if (i % 2 == 0) options.registration_handler = options.cancel_handler = see;
  options.context = &c->timers[i];
  options.finalizer = see_the_end;
  EXPECT_OK(chime_timer_create(c->queue, &options, &c->timers[i].timer));
}

static void operate(course *c, dice *d) {
  int i = (int)roll_below(d, TIMERS);
  chime_timer_t timer = c->timers[i].timer;
  chime_schedule schedule = schedule_of(roll_below(d, 5000), roll_below(d, 2) * (1 + roll_below(d, 3000)));
  switch (roll_below(d, 12)) {
    case 0: chime_timer_activate(timer, &schedule); break;
    case 1: chime_timer_restart(timer, &schedule); break;
    case 2: chime_timer_suspend(timer); break;
    case 3: chime_timer_resume(timer); break;
    case 4: chime_timer_reschedule(timer, &schedule); break;
    case 5: chime_timer_postpone(timer, roll_below(d, 4000)); break;
    case 6: chime_timer_fire(timer); break;
    case 7: chime_timer_cancel(timer); break;
    case 8:
      chime_timer_release(timer);
      make(c, i);
      break;
    case 9: chime_queue_jump(c->queue, roll_below(d, 3000)); break;
    default: chime_queue_advance(c->queue, roll_below(d, 3000)); break;
  }
}

static course *run_course(csuite *t, int asks) {
  course *c = csuite_memory(t, sizeof *c);
  dice d = {UINT64_C(18)};
  int i;
  c->t = t;
  c->asks = asks;
  c->most = 40 * OPERATIONS;
  c->seen = csuite_memory(t, (size_t)c->most * sizeof *c->seen);
  c->queue = csuite_queue(t, VIRTUAL);
  if (c->queue == 0) return c;
  for (i = 0; i < TIMERS; i++) {
    c->timers[i].course = c;
    c->timers[i].number = i;
    make(c, i);
  }
  for (i = 0; i < csuite_scaled(OPERATIONS) || i < FEWEST_OPERATIONS; i++) {
    ask(c);
    operate(c, &d);
  }
  ask(c);
  c->asks = 0; /* when the queue ends there is nothing to ask */
  return c;
}

/* [18]: queries between all operations and inside all callbacks. */
TEST(queries_between_operations_change_no_tick_and_no_statistics) {
  course *without = run_course(t, 0), *with = run_course(t, 1);
  chime_queue_stats a = stats_of(t, without->queue), b = stats_of(t, with->queue);
  int i;
  EXPECT(without->count > 0 && without->count < without->most);
  EXPECT_EQ(with->count, without->count);
  for (i = 0; i < without->count && i < with->count; i++) {
    const seen_tick *x = &with->seen[i], *y = &without->seen[i];
    EXPECT_EQ(x->number, y->number);
    EXPECT_EQ(x->kind, y->kind);
    EXPECT_EQ(x->scheduled_ns, y->scheduled_ns);
    EXPECT_EQ(x->actual_ns, y->actual_ns);
    EXPECT_EQ(x->sequence, y->sequence);
    EXPECT_EQ(x->missed, y->missed);
    if (csuite_failed(t)) break;
  }
  EXPECT_EQ(b.passes, a.passes);
  EXPECT_EQ(b.empty_passes, a.empty_passes);
  EXPECT_EQ(b.entries, a.entries);
  EXPECT_EQ(b.stale, a.stale);
  EXPECT_EQ(b.merged, a.merged);
  EXPECT_EQ(b.ticks, a.ticks);
  EXPECT_EQ(b.missed, a.missed);
  EXPECT(memcmp(a.lateness, b.lateness, sizeof a.lateness) == 0);
}
