/*
 * slots.c - a timer's slot is given to the next one while others still call with the id of the first: none of these
 * calls ends, stops or moves a timer that they do not name. Promise 10.
 */
#include "storms.h"

#include "hold.h"

/* ---- Many threads ------------------------------------------------------------------------------------------------ */

enum { KEEPERS = 2, STRANGERS = 2, KEPT = 4, REMEMBERED = 16 };

typedef struct storm {
  csuite *t;
  chime_queue_t queue;
  uint64_t remembered[REMEMBERED]; /* by __atomic builtins */
  int over;
  int lives;
  int caught; /* calls that came before the release */
} storm;

typedef struct worker {
  storm *s;
  int number;
} worker;

static void never(const chime_tick *tick, void *context) { (void)tick, (void)context; }

static chime_timer_t make(storm *s) {
  csuite *t = s->t;
  chime_timer_t timer = 0;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = schedule_of(1000 * CHIME_HOUR, 0);
  options.handler = never;
  EXPECT_OK(chime_timer_start(s->queue, &options, &schedule, &timer));
  return timer;
}

/* The id is given to the strangers just before its release: their calls begin with an id that names the timer, and may
   end when it names nothing, or its slot has the next one. */
static void *keep(void *argument) {
  worker *w = argument;
  storm *s = w->s;
  csuite *t = s->t;
  dice d = storm_dice(300 + w->number);
  chime_timer_t kept[KEPT];
  uint64_t generations[KEPT];
  int i;
  for (i = 0; i < KEPT; i++) {
    kept[i] = make(s);
    generations[i] = generation_of(t, kept[i]);
  }
  while (load(&s->over) == 0) {
    i = (int)roll_below(&d, KEPT);
    EXPECT_EQ(state_of(t, kept[i]), CHIME_STATE_RUNNING);
    EXPECT_OK(chime_timer_check_generation(kept[i], generations[i]));
    __atomic_store_n(&s->remembered[roll_below(&d, REMEMBERED)], kept[i], __ATOMIC_RELEASE);
    if (roll_below(&d, 4) == 0) sleep_ns(1);
    chime_timer_release(kept[i]); /* a stranger may have done it */
    kept[i] = make(s);
    generations[i] = generation_of(t, kept[i]);
    add(&s->lives, 1);
  }
  for (i = 0; i < KEPT; i++) {
    EXPECT_OK(chime_timer_check_generation(kept[i], generations[i]));
    EXPECT_OK(chime_timer_release(kept[i]));
  }
  return NULL;
}

static chime_status call_with(chime_timer_t id, dice *d) {
  chime_schedule at_once = schedule_of(0, 1);
  switch (roll_below(d, 8)) {
    case 0: return chime_timer_suspend(id);
    case 1: return chime_timer_reschedule(id, &at_once);
    case 2: return chime_timer_postpone(id, 2000 * CHIME_HOUR);
    case 3: return chime_timer_restart(id, &at_once);
    case 4: return chime_timer_release(id);
    default: return chime_timer_cancel(id);
  }
}

static void *call_with_what_is_remembered(void *argument) {
  worker *w = argument;
  storm *s = w->s;
  csuite *t = s->t;
  dice d = storm_dice(310 + w->number);
  while (load(&s->over) == 0) {
    chime_timer_t id = __atomic_load_n(&s->remembered[roll_below(&d, REMEMBERED)], __ATOMIC_ACQUIRE);
    chime_status status = id == 0 ? CHIME_ERROR_INVALID_HANDLE : call_with(id, &d);
    if (status == CHIME_ERROR_INVALID_HANDLE) continue;
    EXPECT(!CHIME_FAILED(status));
    add(&s->caught, 1);
  }
  return NULL;
}

/* [10] */
TESTS_ON_ALL_QUEUES(a_late_call_never_reaches_the_next_timer) {
  storm *s = csuite_memory(t, sizeof *s);
  pthread_t threads[KEEPERS + STRANGERS];
  worker workers[KEEPERS + STRANGERS];
  int i, started = 0;
  QUEUE_OR_RETURN(queue, place);
  s->t = t;
  s->queue = queue;
  for (i = 0; i < KEEPERS + STRANGERS; i++) {
    workers[i].s = s;
    workers[i].number = i;
    if (!spawn(t, &threads[i], i < KEEPERS ? keep : call_with_what_is_remembered, &workers[i])) break;
    started++;
  }
  while (storm_goes_on(t)) {
    storm_waits_for(0, "a pass");
    if (place == VIRTUAL) EXPECT_OK(chime_queue_advance(queue, 0));
    sleep_ns(CHIME_MILLISECOND);
  }
  store(&s->over, 1);
  storm_waits_for(0, "the end of the threads");
  while (started > 0) pthread_join(threads[--started], NULL);
  storm_rests(0);
  storm_saw("%d timers, %d calls came in time", load(&s->lives), load(&s->caught));
}

/* ---- One call that is held up ------------------------------------------------------------------------------------ */

/*
 * How often timers may come and go while the call is held up: as often as the bits of the generation that the core
 * compares can count, and a little more. A process does that in about a second.
 */
enum { LIVES = (1 << 24) + (1 << 16) };

typedef struct held_call {
  chime_timer_t timer;
  chime_status (*stop)(chime_timer_t timer);
  chime_status status;
} held_call;

static void *stop_step_by_step(void *argument) {
  held_call *c = argument;
  step_begin(1);
  c->status = c->stop(c->timer);
  step_end();
  return NULL;
}

static chime_status suspend(chime_timer_t timer) { return chime_timer_suspend(timer); }
static chime_status cancel(chime_timer_t timer) { return chime_timer_cancel(timer); }
static chime_status release(chime_timer_t timer) { return chime_timer_release(timer); }
static chime_status postpone(chime_timer_t timer) { return chime_timer_postpone(timer, CHIME_HOUR + CHIME_SECOND); }
static chime_status (*const stops[])(chime_timer_t) = {cancel, suspend, release, postpone};
enum { STOPS = sizeof stops / sizeof stops[0] };

static int slot_of(chime_timer_t id) { return (int)(id & ((1 << 26) - 1)); }
static uint32_t low_bits(uint64_t generation) { return (uint32_t)(generation & 0xFFFFFF); }

static chime_timer_t make_idle(chime_queue_t queue) {
  chime_timer_t timer = 0;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  options.handler = never;
  chime_timer_create(queue, &options, &timer);
  return timer;
}

/*
 * Makes and releases timers until one that is started in the slot of `stale` looks to the core as that one did:
 * the same slot, the same low bits of the generation. 0 when that has not come within LIVES timers. Up to `others_most`
 * other slots are kept from being used again.
 */
static chime_timer_t repeat(csuite *t, chime_queue_t queue, chime_timer_t stale, uint64_t generation, int others_most) {
  enum { OTHERS = 200 };
  chime_schedule schedule = schedule_of(CHIME_HOUR, 0);
  chime_timer_t others[OTHERS], timer = make_idle(queue);
  uint32_t left = 0; /* transitions until the generation is that one */
  int life, count = 0;
  while (slot_of(timer) != slot_of(stale) && count < others_most) {
    others[count++] = timer;
    timer = make_idle(queue);
  }
  for (life = 0; life < LIVES && timer != 0; life++) {
    uint64_t now = 0;
    if (slot_of(timer) == slot_of(stale) && chime_timer_generation(timer, &now) == CHIME_OK) {
      left = low_bits(generation - now);
      if (left >= 1 && left <= 4) break;
    }
    chime_timer_release(timer);
    timer = make_idle(queue);
  }
  if (left >= 1 && left <= 4) {
    for (; left > 1; left--) EXPECT_OK(chime_timer_reschedule(timer, &schedule));
    EXPECT_OK(chime_timer_activate(timer, &schedule));
    EXPECT_OK(chime_queue_advance(queue, 0));
  } else {
    EXPECT_OK(chime_timer_release(timer));
    timer = 0;
  }
  while (count > 0) EXPECT_OK(chime_timer_release(others[--count]));
  return timer;
}

/*
 * [10] A thread is held up just before the first compare-and-exchange of its call. Meanwhile the timer is released, and
 * others come and go in its slot. Whatever the call has read before, it must not reach another. A second exchange would
 * come when the thread owns the timer's record, and a release has to wait for that.
 */
static void a_call_that_is_held_up_never_reaches_another_timer(csuite *t, int others_most) {
  held_call *c = csuite_memory(t, sizeof *c);
  int rounds = 0, repeated = 0, red = 0;
  chime_schedule schedule = schedule_of(CHIME_HOUR, 0);
  QUEUE_OR_RETURN(queue, VIRTUAL);
  hold_prepare();
  if (!hold_can_step()) {
    csuite_skip(t, "this processor cannot be stepped through a call");
    return;
  }
  for (; storm_goes_on(t) && red == 0; rounds++) {
    pthread_t thread;
    chime_timer_t other = 0;
    int64_t deadline;
    c->timer = make_idle(queue);
    c->stop = stops[rounds % STOPS];
    EXPECT_OK(chime_timer_activate(c->timer, &schedule));
    EXPECT_OK(chime_queue_advance(queue, 0));
    deadline = deadline_of(t, c->timer);
    if (!spawn(t, &thread, stop_step_by_step, c)) return;
    storm_waits_for(0, "timers in the same slot");
    if (EXPECT(step_await())) {
      uint64_t generation = generation_of(t, c->timer);
      EXPECT_OK(chime_timer_release(c->timer));
      EXPECT_OK(chime_queue_advance(queue, 0));
      other = repeat(t, queue, c->timer, generation, others_most);
      step_on(1);
      EXPECT(!step_await());
    }
    pthread_join(thread, NULL);
    EXPECT_STATUS(c->status, CHIME_ERROR_INVALID_HANDLE);
    if (other == 0) continue;
    repeated++;
    red += is_stale(other) || state_of(t, other) != CHIME_STATE_RUNNING || deadline_of(t, other) != deadline;
    chime_timer_release(other);
    EXPECT_OK(chime_queue_advance(queue, 0));
  }
  storm_rests(0);
  storm_saw("%d rounds, in %d the slot came to the same generation, %d other timers were reached", rounds, repeated,
            red);
  EXPECT_EQ(red, 0);
}

TEST(a_call_that_is_held_up_never_reaches_the_next_timer) { a_call_that_is_held_up_never_reaches_another_timer(t, 0); }
/* The same where all other slots that the thread has at hand are in use. */
TEST(a_call_that_is_held_up_never_reaches_the_next_timer_among_many) {
  a_call_that_is_held_up_never_reaches_another_timer(t, 200);
}
