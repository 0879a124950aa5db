/*
 * pairs_storm.c - each pair of calls on one timer, by two threads at the same time, in each state from which no tick
 * comes of itself. What they answer and what is left fits one order of the two by the table of chime.h. Promises 2 and
 * 8. (With ticks beside them, in the core and at each of its steps: Tests/Interleavings.)
 *
 * CSUITE_MORE=n makes n times as many rounds: with 800 they are 100,000 for each pair and queue.
 */
#include "harness.h"

#include <sched.h>

enum { ROUNDS = 128 /* of each pair */, BATCH = 64, ENOUGH = 300 /* turns that a thread waits for the other one */ };

typedef enum operation {
  /* clang-format off */
  ACTIVATE, RESTART, SUSPEND, RESUME, RESCHEDULE, POSTPONE_UNTIL, FIRE, CANCEL, CANCEL_AND_WAIT, RELEASE,
  CHECK_GENERATION, STATE, NEXT_DEADLINE, GET_INFO, OPERATIONS
  /* clang-format on */
} operation;

static const char *const names[OPERATIONS] = {
    "activate", "restart",         "suspend", "resume",           "reschedule", "postpone_until", "fire",
    "cancel",   "cancel_and_wait", "release", "check_generation", "state",      "next_deadline",  "get_info"};

/* A timer as the contract has it, and as a query finds it. */
typedef struct model {
  chime_state state;
  int deadline; /* if it runs: 0 that of the beginning, 1 and 2 of the two calls, which are later; -1: unknown */
  int changes;  /* by so much its generation is another one than before the calls */
  int released;
} model;

typedef struct call {
  operation operation;
  int side;
  chime_status status;
  model seen; /* by a query */
} call;

typedef struct meeting {
  chime_timer_t timer;
  uint64_t generation;
  chime_state start;
  call calls[2];
  model left;
} meeting;

typedef struct pair {
  csuite *t;
  chime_queue_t queue;
  int64_t base_ns;
  operation operations[2];
  meeting meetings[BATCH];
  int count; /* of a batch: fewer where all goes slowly */
  int progress[2];
  int offered, done; /* batches; -1: there are no more */
  int finalized;
} pair;

/* ---- The table of chime.h ---------------------------------------------------------------------------------------- */

static int is_at_rest(const model *m) { return m->state != CHIME_STATE_RUNNING && m->state != CHIME_STATE_SUSPENDED; }

static void change(model *m, chime_state state, int deadline) {
  m->state = state;
  m->deadline = deadline;
  m->changes++;
}

static int agree(const model *m, const model *seen) {
  if (m->released != seen->released) return 0;
  if (m->released) return 1;
  if (m->state != seen->state || m->changes != seen->changes) return 0;
  return m->state != CHIME_STATE_RUNNING || m->deadline == seen->deadline;
}

/* Makes the call; 0 when it cannot have answered that now. With `ticks` a handler may be under way. */
static int apply(model *m, const call *c, int ticks) {
  int takes_effect = c->status == CHIME_OK || (ticks && c->status == CHIME_RUNNING);
  if (m->released) return c->status == CHIME_ERROR_INVALID_HANDLE;
  switch (c->operation) {
    case ACTIVATE:
      if (!is_at_rest(m)) return c->status == CHIME_IGNORED;
      change(m, CHIME_STATE_RUNNING, c->side);
      return c->status == CHIME_OK;
    case RESTART: change(m, CHIME_STATE_RUNNING, c->side); return takes_effect;
    case SUSPEND:
      if (m->state != CHIME_STATE_RUNNING) return c->status == CHIME_IGNORED;
      change(m, CHIME_STATE_SUSPENDED, m->deadline);
      return takes_effect;
    case RESUME:
      if (m->state != CHIME_STATE_SUSPENDED) return c->status == CHIME_IGNORED;
      m->state = CHIME_STATE_RUNNING;
      return c->status == CHIME_OK;
    case RESCHEDULE: change(m, m->state, c->side); return takes_effect;
    case POSTPONE_UNTIL:
      if (is_at_rest(m)) return c->status == CHIME_IGNORED;
      if (m->deadline < c->side) m->deadline = c->side;
      return c->status == CHIME_OK;
    case FIRE: return c->status == (m->state == CHIME_STATE_CANCELLED ? CHIME_IGNORED : CHIME_OK);
    case CANCEL:
    case CANCEL_AND_WAIT:
      if (is_at_rest(m)) return c->status == CHIME_IGNORED;
      change(m, CHIME_STATE_CANCELLED, m->deadline);
      return c->operation == CANCEL ? takes_effect : c->status == CHIME_OK;
    case RELEASE: m->released = 1; return takes_effect;
    case CHECK_GENERATION: return c->status == (m->changes > 0 ? CHIME_IGNORED : CHIME_OK);
    case STATE: return c->status == CHIME_OK && c->seen.state == m->state;
    case NEXT_DEADLINE:
      return c->status == CHIME_OK && c->seen.deadline == (m->state == CHIME_STATE_RUNNING ? m->deadline : -1);
    case GET_INFO: return c->status == CHIME_OK && agree(m, &c->seen);
    case OPERATIONS: break;
  }
  return 0;
}

static int fits(const meeting *m, int first) {
  model timer = {m->start, 0, 0, 0};
  int ticks = m->calls[0].operation == FIRE || m->calls[1].operation == FIRE;
  return apply(&timer, &m->calls[first], ticks) && apply(&timer, &m->calls[!first], ticks) && agree(&timer, &m->left);
}

static void ignore(const chime_tick *tick, void *context) {}

/* ---- The calls --------------------------------------------------------------------------------------------------- */

/* Out of reach for virtual time, too. */
static int64_t deadline_ns(const pair *p, int number) { return p->base_ns + (number + 1) * 1000 * CHIME_HOUR; }

static int deadline_number(const pair *p, int64_t time_ns) {
  int number = time_ns == CHIME_FOREVER ? -1 : (int)((time_ns - p->base_ns + CHIME_HOUR) / (1000 * CHIME_HOUR)) - 1;
  return number > 2 ? 99 : number;
}

static chime_status get_info(const pair *p, const meeting *m, model *seen) {
  chime_timer_info info = CHIME_TIMER_INFO_INIT;
  chime_status status = chime_timer_get_info(m->timer, &info);
  *seen = (model){info.state, deadline_number(p, info.next_deadline_ns), (int)(info.generation - m->generation),
                  status != CHIME_OK};
  return status;
}

static chime_status make(const pair *p, const meeting *m, call *c) {
  chime_schedule schedule = schedule_at(deadline_ns(p, c->side), 0);
  int64_t time = 0;
  chime_status status;
  switch (c->operation) {
    case ACTIVATE: return chime_timer_activate(m->timer, &schedule);
    case RESTART: return chime_timer_restart(m->timer, &schedule);
    case SUSPEND: return chime_timer_suspend(m->timer);
    case RESUME: return chime_timer_resume(m->timer);
    case RESCHEDULE: return chime_timer_reschedule(m->timer, &schedule);
    case POSTPONE_UNTIL: return chime_timer_postpone_until(m->timer, schedule.first_ns);
    case FIRE: return chime_timer_fire(m->timer);
    case CANCEL: return chime_timer_cancel(m->timer);
    case CANCEL_AND_WAIT: return chime_timer_cancel_and_wait(m->timer, PATIENCE);
    case RELEASE: return chime_timer_release(m->timer);
    case CHECK_GENERATION: return chime_timer_check_generation(m->timer, m->generation);
    case STATE: return chime_timer_state(m->timer, &c->seen.state);
    case NEXT_DEADLINE:
      status = chime_timer_next_deadline(m->timer, &time);
      c->seen.deadline = deadline_number(p, time);
      return status;
    case GET_INFO: return get_info(p, m, &c->seen);
    case OPERATIONS: break;
  }
  return CHIME_ERROR_INVALID_ARGUMENT;
}

/* Side by side with the other thread, a little ahead of it or behind, but not for ever: it may have no processor. */
static void make_calls(pair *p, int side, dice *d) {
  for (int i = 0; i < p->count; i++) {
    store(&p->progress[side], i + 1);
    for (int turns = 0; turns < ENOUGH && load(&p->progress[!side]) < i + 1; turns++) {}
    for (int turns = (int)(roll_below(d, 4) * roll_below(d, 30)); turns > 0; turns--) load(&p->done);
    p->meetings[i].calls[side].status = make(p, &p->meetings[i], &p->meetings[i].calls[side]);
  }
}

static void *be_the_other(void *argument) {
  pair *p = argument;
  dice d = {UINT64_C(0xA1B2C3)};
  int offered;
  for (int batch = 1;; batch++) {
    while ((offered = load(&p->offered)) != -1 && offered < batch) sched_yield();
    if (offered == -1) return NULL;
    make_calls(p, 1, &d);
    store(&p->done, batch);
  }
}

/* ---- The rounds -------------------------------------------------------------------------------------------------- */

static void on_finalize(void *context) { add(&((pair *)context)->finalized, 1); }

static void prepare(pair *p, meeting *m, dice *d) {
  static const chime_state states[] = {CHIME_STATE_IDLE, CHIME_STATE_RUNNING, CHIME_STATE_SUSPENDED,
                                       CHIME_STATE_CANCELLED};
  csuite *t = p->t;
  int swapped = (int)roll_below(d, 2);
  *m = (meeting){.start = states[roll_below(d, 4)]};
  EXPECT_OK(chime_timer_create(p->queue, &TIMER_OPTIONS(.handler = ignore, .context = p, .finalizer = on_finalize),
                               &m->timer));
  if (m->start != CHIME_STATE_IDLE) EXPECT_OK(chime_timer_activate(m->timer, AT(deadline_ns(p, 0))));
  if (m->start == CHIME_STATE_SUSPENDED) EXPECT_OK(chime_timer_suspend(m->timer));
  if (m->start == CHIME_STATE_CANCELLED) EXPECT_OK(chime_timer_cancel(m->timer));
  m->generation = generation_of(t, m->timer);
  for (int i = 0; i < 2; i++) m->calls[i] = (call){.operation = p->operations[i ^ swapped], .side = i + 1};
}

static void check(pair *p, meeting *m) {
  csuite *t = p->t;
  const call *a = &m->calls[0], *b = &m->calls[1];
  char text[256];
  get_info(p, m, &m->left);
  if (!m->left.released) EXPECT_TOOK_EFFECT(chime_timer_release(m->timer));
  if (fits(m, 0) || fits(m, 1)) return;
  snprintf(text, sizeof text, "an order for: state %d; %s says %s (%d, %d); %s says %s (%d, %d); then %d, %d%s%s",
           (int)m->start, names[a->operation], chime_status_name(a->status), (int)a->seen.state, a->seen.deadline,
           names[b->operation], chime_status_name(b->status), (int)b->seen.state, b->seen.deadline, (int)m->left.state,
           m->left.deadline, m->left.changes > 0 ? ", changed" : "", m->left.released ? ", released" : "");
  csuite_expect(t, 0, __FILE__, __LINE__, text);
}

static void make_batch(pair *p, dice *d) {
  csuite *t = p->t;
  int batch = load(&p->offered) + 1;
  for (int i = 0; i < p->count; i++) prepare(p, &p->meetings[i], d);
  store(&p->progress[0], 0);
  store(&p->progress[1], 0);
  store(&p->offered, batch);
  make_calls(p, 0, d);
  EXPECT(await(&p->done, batch));
  for (int i = 0; i < p->count; i++) check(p, &p->meetings[i]);
}

static int batches_of_a_pair(void) {
  const char *text = getenv("CSUITE_MORE");
  long more = text == NULL ? 1 : strtol(text, NULL, 10);
  return csuite_scaled(ROUNDS / BATCH * (more < 1 || more > 100000 ? 1 : (int)more));
}

TESTS_ON_STORMY_QUEUES(each_pair_of_calls_fits_an_order) {
  pair *p = csuite_memory(t, sizeof *p);
  dice d = {UINT64_C(0xD1CE) + (uint64_t)place};
  pthread_t other;
  p->t = t;
  p->queue = queue;
  p->base_ns = now_of(t, queue);
  p->count = csuite_scaled(ROUNDS) < BATCH ? csuite_scaled(ROUNDS) : BATCH;
  if (!spawn(t, &other, be_the_other, p)) return;
  for (int first = 0; first < OPERATIONS; first++) {
    for (int second = first; second < OPERATIONS; second++) {
      p->operations[0] = (operation)first;
      p->operations[1] = (operation)second;
      for (int i = 0; i < batches_of_a_pair() && !csuite_failed(t); i++) make_batch(p, &d);
    }
  }
  int batches = load(&p->offered);
  store(&p->offered, -1);
  pthread_join(other, NULL);
  csuite_shutdown(t, queue);
  EXPECT_EQ(load(&p->finalized), batches * p->count); /* [8] */
}
