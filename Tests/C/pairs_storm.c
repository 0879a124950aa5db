/*
 * pairs_storm.c - each pair of calls on one timer, by two threads at the same time, in each state from which no tick
 * comes of itself. What they answer and what is left is what one order of the two gives on a virtual queue, where
 * states.c and the model hold each call to the table of chime.h. Promises 2 and 8. (With ticks beside them, in the core
 * and at each of its steps: Tests/Interleavings.)
 *
 * CSUITE_MORE=n makes n times as many rounds: with 800 they are 100,000 for each pair and queue.
 */
#include "harness.h"

#include <sched.h>

enum { ROUNDS = 128 /* of each pair */, BATCH = 64, ENOUGH = 300 /* turns that a thread waits for the other one */ };

/* While a handler is under way those up to RELEASE say RUNNING in place of OK. */
typedef enum operation {
  /* clang-format off */
  RESTART, RESTART_UNTIL, SUSPEND, RESCHEDULE, CANCEL, RELEASE,
  ACTIVATE, RESUME, POSTPONE_UNTIL, FIRE, CANCEL_AND_WAIT, CHECK_GENERATION, STATE, NEXT_DEADLINE, GET_INFO, OPERATIONS
  /* clang-format on */
} operation;

static const char *const names[OPERATIONS] = {"restart",        "restart_until", "suspend",         "reschedule",
                                              "cancel",         "release",       "activate",        "resume",
                                              "postpone_until", "fire",          "cancel_and_wait", "check_generation",
                                              "state",          "next_deadline", "get_info"};

/* A timer as a query finds it. */
typedef struct view {
  chime_state state;
  int deadline; /* 0 that of the beginning, 1 and 2 of the two calls, which are later; -1: none */
  int changes;  /* by so much its generation is another one than before the calls */
  int released;
} view;

typedef struct call {
  operation operation;
  int side;
  chime_status status;
  view seen; /* by a query */
} call;

/* Where a meeting takes place: the storm's queue, or the virtual one. */
typedef struct stage {
  chime_queue_t queue;
  int64_t base_ns;
  int finalized;
} stage;

typedef struct meeting {
  stage *stage;
  chime_timer_t timer;
  uint64_t generation;
  chime_state start;
  call calls[2];
  view left;
} meeting;

typedef struct pair {
  csuite *t;
  stage storm, virtual;
  operation operations[2];
  meeting meetings[BATCH];
  int count; /* of a batch: fewer where all goes slowly */
  int progress[2];
  int offered, done; /* batches; -1: there are no more */
} pair;

/* ---- The calls --------------------------------------------------------------------------------------------------- */

/* Out of reach for virtual time, too. */
static int64_t deadline_ns(const stage *s, int number) { return s->base_ns + (number + 1) * 1000 * CHIME_HOUR; }

static int deadline_number(const stage *s, int64_t time_ns) {
  int number = time_ns == CHIME_FOREVER ? -1 : (int)((time_ns - s->base_ns + CHIME_HOUR) / (1000 * CHIME_HOUR)) - 1;
  return number > 2 ? 99 : number;
}

static chime_status get_info(const meeting *m, view *seen) {
  chime_timer_info info = CHIME_TIMER_INFO_INIT;
  chime_status status = chime_timer_get_info(m->timer, &info);
  int deadline = deadline_number(m->stage, info.next_deadline_ns);
  if (status == CHIME_OK) *seen = (view){info.state, deadline, (int)(info.generation - m->generation), 0};
  else *seen = (view){.released = 1};
  return status;
}

static chime_status make(const meeting *m, call *c) {
  chime_schedule schedule = schedule_at(deadline_ns(m->stage, c->side), 0);
  int64_t time = 0;
  chime_status status;
  switch (c->operation) {
    case ACTIVATE: return chime_timer_activate(m->timer, &schedule);
    case RESTART: return chime_timer_restart(m->timer, &schedule);
    case RESTART_UNTIL: return chime_timer_restart_until(m->timer, schedule.first_ns);
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
      if (status == CHIME_OK) c->seen.deadline = deadline_number(m->stage, time);
      return status;
    case GET_INFO:
      status = get_info(m, &c->seen);
      c->seen.deadline = 0; /* beside a thread that stands still it can be of another moment than the rest */
      return status;
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
    p->meetings[i].calls[side].status = make(&p->meetings[i], &p->meetings[i].calls[side]);
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

static void begin(csuite *t, meeting *m) {
  chime_timer_options options =
      TIMER_OPTIONS(.handler = ignore_tick, .context = &m->stage->finalized, .finalizer = count_call);
  EXPECT_OK(chime_timer_create(m->stage->queue, &options, &m->timer));
  if (m->start != CHIME_STATE_IDLE) EXPECT_OK(chime_timer_activate(m->timer, AT(deadline_ns(m->stage, 0))));
  if (m->start == CHIME_STATE_SUSPENDED) EXPECT_OK(chime_timer_suspend(m->timer));
  if (m->start == CHIME_STATE_CANCELLED) EXPECT_OK(chime_timer_cancel(m->timer));
  m->generation = generation_of(t, m->timer);
}

static void prepare(pair *p, meeting *m, dice *d) {
  static const chime_state states[] = {CHIME_STATE_IDLE, CHIME_STATE_RUNNING, CHIME_STATE_SUSPENDED,
                                       CHIME_STATE_CANCELLED};
  int swapped = (int)roll_below(d, 2);
  *m = (meeting){.stage = &p->storm, .start = states[roll_below(d, 4)]};
  for (int i = 0; i < 2; i++) m->calls[i] = (call){.operation = p->operations[i ^ swapped], .side = i + 1};
  begin(p->t, m);
}

static void end(csuite *t, meeting *m) {
  get_info(m, &m->left);
  if (!m->left.released) EXPECT_TOOK_EFFECT(chime_timer_release(m->timer));
}

static int is_same(const view *a, const view *b) { return memcmp(a, b, sizeof *a) == 0; }

/* Whether the calls, one after the other, say the same and leave the same. */
static int fits(pair *p, const meeting *m, int first) {
  int ticks = m->calls[0].operation == FIRE || m->calls[1].operation == FIRE, alike = 1;
  meeting other = {.stage = &p->virtual, .start = m->start};
  begin(p->t, &other);
  for (int i = 0; i < 2; i++) {
    const call *seen = &m->calls[first ^ i];
    call c = {.operation = seen->operation, .side = seen->side};
    c.status = make(&other, &c);
    if (ticks && seen->status == CHIME_RUNNING && c.status == CHIME_OK && c.operation <= RELEASE)
      c.status = CHIME_RUNNING;
    alike &= c.status == seen->status && is_same(&c.seen, &seen->seen);
  }
  end(p->t, &other);
  return alike && is_same(&other.left, &m->left);
}

static void check(pair *p, meeting *m) {
  csuite *t = p->t;
  const call *a = &m->calls[0], *b = &m->calls[1];
  char text[256];
  end(t, m);
  if (fits(p, m, 0) || fits(p, m, 1)) return;
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
  QUEUE_OR_RETURN(exact, VIRTUAL);
  p->t = t;
  p->storm = (stage){.queue = queue, .base_ns = now_of(t, queue)};
  p->virtual = (stage){.queue = exact};
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
  EXPECT_EQ(load(&p->storm.finalized), batches * p->count); /* [8] */
}
