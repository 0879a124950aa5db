/*
 * pairs_storm.c - each pair of calls on one timer, by two threads at the same time, in every state that a timer can be
 * in, while it ticks and while it does not, on five kinds of queue. What was answered and what is left must fit one
 * order of the two calls (pairs_model.c); each callback checks that it is alone and not stale. Promises 2, 6, 7, 8, 10.
 *
 * A round is one timer and two calls. Both threads make a batch of timers, go over all of them side by side, the one a
 * little ahead of the other or behind, and then each looks at the timers that it made. CSUITE_MORE=n makes n times as
 * many rounds: with 800 they are 100,000 for each pair and queue.
 */
#include "pairs_meeting.h"

#include <sched.h>

enum { ROUNDS = 128 /* of each pair on each queue */ };

static int rounds_of_a_pair(void) {
  const char *text = getenv("CSUITE_MORE");
  long more = text == NULL ? 1 : strtol(text, NULL, 10);
  return csuite_scaled(ROUNDS * (more < 1 || more > 100000 ? 1 : (int)more));
}

static int took_effect(chime_status status) { return status == CHIME_OK || status == CHIME_RUNNING; }

/* ---- Before the calls -------------------------------------------------------------------------------------------- */

static int64_t unit_of(const storm *s) { return s->place == VIRTUAL ? 1 : CHIME_MICROSECOND; }

static chime_schedule schedule_for(const storm *s, prospect prospect, dice *d) {
  switch (prospect) {
    case NONE:
    case FAR: break;
    case SOON: return schedule_of(roll_below(d, 8) * unit_of(s), 0);
    case TICKING: return schedule_of(0, (20 + roll_below(d, 20)) * unit_of(s));
  }
  return schedule_of(1000 * CHIME_HOUR, 1000 * CHIME_HOUR); /* out of reach for virtual time, too */
}

static int is_in_pair(const storm *s, operation operation) { return s->first == operation || s->second == operation; }

static chime_status add_handler(meeting *m, int i) {
  named *n = &m->named[i];
  chime_status status;
  n->meeting = m;
  status = chime_timer_add_handler(m->timer, KEY, pair_on_named, n, pair_on_named_finalize);
  n->accepted = took_effect(status);
  return status;
}

static void set_going(meeting *m, dice *d) {
  csuite *t = m->storm->t;
  chime_schedule far_away = schedule_for(m->storm, FAR, d), soon = schedule_for(m->storm, SOON, d);
  chime_schedule ticking = schedule_for(m->storm, TICKING, d);
  switch (m->start) {
    case START_IDLE:
    case STARTS: break;
    case START_RUNNING: EXPECT_OK(chime_timer_activate(m->timer, &far_away)); break;
    case START_SUSPENDED:
    case START_SUSPENDED_SOON:
      EXPECT_OK(chime_timer_activate(m->timer, &far_away));
      EXPECT_TOOK_EFFECT(chime_timer_suspend(m->timer));
      if (m->start == START_SUSPENDED_SOON) EXPECT_TOOK_EFFECT(chime_timer_reschedule(m->timer, &soon));
      break;
    case START_FINISHED:
    case START_RUNNING_SOON: EXPECT_OK(chime_timer_activate(m->timer, &soon)); break;
    case START_CANCELLED:
      EXPECT_OK(chime_timer_activate(m->timer, &far_away));
      EXPECT_TOOK_EFFECT(chime_timer_cancel(m->timer));
      break;
    case START_TICKING: EXPECT_OK(chime_timer_activate(m->timer, &ticking)); break;
  }
}

static void prepare(storm *s, meeting *m, dice *d) {
  csuite *t = s->t;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  int whole = roll_below(d, 4) == 0, swapped = (int)roll_below(d, 2), i;
  int has_name = roll_below(d, is_in_pair(s, ADD_HANDLER) || is_in_pair(s, REMOVE_HANDLER) ? 2 : 8) == 0;
  memset(m, 0, sizeof *m);
  m->storm = s;
  m->start = (start)roll_below(d, STARTS);
  m->before = model_of(m->start, whole, has_name);
  m->calls[swapped].operation = s->first;
  m->calls[!swapped].operation = s->second;
  for (i = 0; i < 2; i++) m->calls[i].prospect = (prospect)roll_below(d, GIVEN);
  if (is_in_pair(s, TARGET_RELEASE) || roll_below(d, 8) == 0)
    EXPECT_OK(chime_target_create(m, pair_on_destroy, &m->target));
  options.handler = pair_on_tick;
  options.context = m;
  options.finalizer = pair_on_finalize;
  options.target = m->target;
  if (whole) {
    options.registration_handler = pair_on_armed;
    options.cancel_handler = pair_on_cancelled;
  }
  EXPECT_OK(chime_timer_create(s->queue, &options, &m->timer));
  if (has_name) EXPECT_OK(add_handler(m, 0));
  set_going(m, d);
}

/* After all of the batch are going: those that must have ticked. */
static void finish_preparing(meeting *m) {
  csuite *t = m->storm->t;
  if (m->start == START_FINISHED) EXPECT(await(&m->due, 1));
  m->asked_ns = now_of(t, m->storm->queue);
  __atomic_store_n(&m->generation, generation_of(t, m->timer), __ATOMIC_RELEASE);
}

/* ---- The calls --------------------------------------------------------------------------------------------------- */

/* From here on no tick of the generation before the calls starts, but the one whose handler runs. [7] */
static void expect_no_more(meeting *m, chime_status status) {
  csuite *t = m->storm->t;
  if (status == CHIME_RUNNING) {
    int any = 0;
    __atomic_compare_exchange_n(&m->stale, &any, 2, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  } else if (status == CHIME_OK) {
    store(&m->stale, 1);
    EXPECT(__atomic_load_n(&m->inside, __ATOMIC_ACQUIRE) != m->generation);
  }
}

static void make_the_next(meeting *m, int side) {
  csuite *t = m->storm->t;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  options.handler = pair_on_next_tick;
  options.context = m;
  options.finalizer = pair_on_next_finalize;
  if (!EXPECT_OK(chime_timer_create(m->storm->queue, &options, &m->next[side]))) return;
  m->next_generation[side] = generation_of(t, m->next[side]);
}

static void check_info(meeting *m, const chime_timer_info *info) {
  csuite *t = m->storm->t;
  EXPECT_EQ(info->queue, m->storm->queue);
  EXPECT_EQ(info->next_deadline_ns == CHIME_FOREVER, info->state != CHIME_STATE_RUNNING);
  EXPECT_EQ(info->has_schedule == 0 && info->state == CHIME_STATE_RUNNING, 0);
  EXPECT_EQ(info->remaining_ns, -1); /* resumes are by CHIME_RESUME_COALESCE */
}

static void make_call(meeting *m, int side, dice *d) {
  csuite *t = m->storm->t;
  call *c = &m->calls[side];
  operation other = m->calls[!side].operation;
  chime_schedule schedule = schedule_for(m->storm, c->prospect, d);
  chime_state state = CHIME_STATE_IDLE;
  uint64_t generation = 0;
  int64_t deadline = 0;
  switch (c->operation) {
    case ACTIVATE: c->status = chime_timer_activate(m->timer, &schedule); break;
    case RESTART: expect_no_more(m, c->status = chime_timer_restart(m->timer, &schedule)); break;
    case SUSPEND: expect_no_more(m, c->status = chime_timer_suspend(m->timer)); break;
    case RESUME: c->status = chime_timer_resume(m->timer); break;
    case RESCHEDULE: expect_no_more(m, c->status = chime_timer_reschedule(m->timer, &schedule)); break;
    case POSTPONE: c->status = chime_timer_postpone(m->timer, 1000 * CHIME_HOUR); break;
    case POSTPONE_UNTIL: c->status = chime_timer_postpone_until(m->timer, CHIME_FOREVER / 2); break;
    case FIRE: c->status = chime_timer_fire(m->timer); break;
    case CANCEL: expect_no_more(m, c->status = chime_timer_cancel(m->timer)); break;
    case CANCEL_AND_WAIT:
      c->status = chime_timer_cancel_and_wait(m->timer, roll_below(d, 40) * CHIME_MICROSECOND);
      expect_no_more(m, c->status == CHIME_TIMED_OUT ? CHIME_IGNORED : c->status);
      break;
    case RELEASE:
      expect_no_more(m, c->status = chime_timer_release(m->timer));
      if (took_effect(c->status)) make_the_next(m, side);
      break;
    case GENERATION:
      c->status = chime_timer_generation(m->timer, &generation);
      c->value = generation != m->generation;
      break;
    case CHECK_GENERATION: c->status = chime_timer_check_generation(m->timer, m->generation); break;
    case STATE:
      c->status = chime_timer_state(m->timer, &state);
      c->value = (int)state;
      break;
    case NEXT_DEADLINE:
      c->status = chime_timer_next_deadline(m->timer, &deadline);
      c->value = deadline != CHIME_FOREVER;
      break;
    case GET_INFO: {
      chime_timer_info info = CHIME_TIMER_INFO_INIT;
      c->status = chime_timer_get_info(m->timer, &info);
      c->value = (int)info.state;
      if (c->status == CHIME_OK) check_info(m, &info);
      break;
    }
    case ADD_HANDLER: c->status = add_handler(m, 1 + side); break;
    case REMOVE_HANDLER:
      c->status = chime_timer_remove_handler(m->timer, KEY);
      if (took_effect(c->status) && other != ADD_HANDLER && other != REMOVE_HANDLER) {
        store(&m->named[0].removed, c->status == CHIME_RUNNING ? 2 : 1);
      }
      break;
    case EXPLAIN: {
      char text[64];
      c->status = chime_timer_explain(m->timer, text, sizeof text, NULL);
      break;
    }
    case TARGET_RELEASE:
      c->status = chime_target_release(m->target);
      expect_no_more(m, c->status == CHIME_OK ? CHIME_RUNNING : c->status); /* it does not tell */
      break;
    case OPERATIONS: break;
  }
  EXPECT(c->status != INT32_MIN);
}

/* ---- After the calls --------------------------------------------------------------------------------------------- */

/* Most have come when they are looked for, or do in a moment. */
static void expect_soon(csuite *t, const int *value, int least) {
  int turns;
  for (turns = 0; turns < 50 && load(value) < least; turns++) sched_yield();
  EXPECT(await(value, least));
}

static int was_made(const meeting *m, operation operation) {
  int i;
  for (i = 0; i < 2; i++) {
    if (m->calls[i].operation == operation && took_effect(m->calls[i].status)) return 1;
  }
  return 0;
}

static prospect prospect_of(int64_t interval_ns) {
  if (interval_ns == 0) return SOON;
  return interval_ns > CHIME_HOUR ? FAR : TICKING;
}

static void look(meeting *m) {
  csuite *t = m->storm->t;
  model *seen = &m->seen;
  memset(seen, 0, sizeof *seen);
  seen->released = was_made(m, RELEASE);
  seen->target_gone = was_made(m, TARGET_RELEASE);
  if (seen->released) {
    EXPECT(is_stale(m->timer)); /* [10] */
  } else {
    chime_timer_info info = info_of(t, m->timer);
    seen->state = info.state;
    seen->changed = info.generation != m->generation;
    seen->prospect = !info.has_schedule ? NONE : prospect_of(info.interval_ns);
    seen->far_away = info.next_deadline_ns != CHIME_FOREVER && info.next_deadline_ns > m->asked_ns + 100 * CHIME_HOUR;
  }
  seen->due = load(&m->due);
  seen->fired = load(&m->fired);
  seen->armed = load(&m->armed);
  seen->cancelled = load(&m->cancelled);
}

static void tell(meeting *m, int line) {
  const model *seen = &m->seen;
  const call *a = &m->calls[0], *b = &m->calls[1];
  char text[700];
  snprintf(
      text, sizeof text,
      "an order for: %s%s%s; %s(%d) says %s %d; %s(%d) says %s %d; then state %d, schedule %d%s, %s%s%d due, %d fired, %d armed, %d "
      "cancelled",
      start_names[m->start], m->before.whole ? ", all handlers" : "", m->target ? ", target" : "",
      operation_names[a->operation], a->prospect, chime_status_name(a->status), a->value, operation_names[b->operation],
      b->prospect, chime_status_name(b->status), b->value, (int)seen->state, (int)seen->prospect,
      seen->far_away ? ", far away" : "", seen->changed ? "changed, " : "", seen->named ? "named, " : "", seen->due,
      seen->fired, seen->armed, seen->cancelled);
  csuite_expect(m->storm->t, 0, __FILE__, line, text);
}

/* Waits until what is left fits an order of the calls. */
static void settle(meeting *m) {
  csuite *t = m->storm->t;
  int64_t end = monotonic_ns() + PATIENCE;
  int named = 0, turns = 0;
  if (was_made(m, RELEASE)) expect_soon(t, &m->finalized, 1); /* after all else that it has to call */
  look(m);
  /* Not asked in passing: whoever asks takes the handler away. */
  if (!m->seen.released) named = took_effect(chime_timer_remove_handler(m->timer, KEY));
  m->seen.named = named;
  while (!model_explains(&m->before, m->calls, &m->seen)) {
    if (csuite_failed(m->storm->t) || monotonic_ns() > end) {
      tell(m, __LINE__);
      return;
    }
    if (++turns < 20) {
      sched_yield();
    } else {
      sleep_ns(50 * CHIME_MICROSECOND);
    }
    look(m);
    m->seen.named = named;
  }
}

static void release_all(meeting *m) {
  csuite *t = m->storm->t;
  int i;
  if (!m->seen.released) EXPECT_TOOK_EFFECT(chime_timer_release(m->timer));
  if (m->target != 0 && !m->seen.target_gone) EXPECT_OK(chime_target_release(m->target));
  for (i = 0; i < 2; i++) {
    if (m->next[i] == 0) continue;
    EXPECT_EQ(state_of(t, m->next[i]), CHIME_STATE_IDLE); /* [10] */
    EXPECT_EQ(generation_of(t, m->next[i]), m->next_generation[i]);
    EXPECT_OK(chime_timer_release(m->next[i]));
  }
}

/* When the timer is gone: nothing has come after what was seen, and each end was told once. */
static void expect_all_over(meeting *m) {
  csuite *t = m->storm->t;
  chime_state state = m->seen.state;
  int ended = !m->seen.released && (state == CHIME_STATE_RUNNING || state == CHIME_STATE_SUSPENDED);
  int i;
  expect_soon(t, &m->finalized, 1);
  expect_soon(t, &m->next_finalized, (m->next[0] != 0) + (m->next[1] != 0));
  if (m->target != 0) expect_soon(t, &m->destroyed, 1);
  for (i = 0; i < NAMED; i++) {
    if (m->named[i].accepted) expect_soon(t, &m->named[i].finalized, 1);
    EXPECT_EQ(load(&m->named[i].finalized), m->named[i].accepted);
  }
  EXPECT_EQ(load(&m->finalized), 1); /* [8] */
  EXPECT_EQ(load(&m->destroyed), m->target != 0);
  if (!EXPECT_EQ(load(&m->cancelled), m->seen.cancelled + (ended && m->before.whole))) tell(m, __LINE__);
  m->seen.due = load(&m->due);
  m->seen.fired = load(&m->fired);
  if (!model_explains(&m->before, m->calls, &m->seen)) tell(m, __LINE__);
}

/* ---- The threads ------------------------------------------------------------------------------------------------- */

/* Both threads meet here; 0 when one of them has seen a failure, and then for both. */
static int meet(storm *s) {
  int turn = load(&s->turn), turns = 0;
  if (add(&s->arrived, 1) == 2) {
    store(&s->arrived, 0);
    store(&s->failed, csuite_failed(s->t));
    add(&s->turn, 1);
  }
  while (load(&s->turn) == turn) {
    if (++turns > ENOUGH) sched_yield();
  }
  return !load(&s->failed);
}

static int run_batch(worker *w, int count) {
  storm *s = w->storm;
  worker *other = &s->workers[!w->number];
  int from = w->number * HALF, to = from + count, i, k, turns;
  for (i = from; i < to; i++) prepare(s, &s->meetings[i], &w->d);
  for (i = from; i < to; i++) finish_preparing(&s->meetings[i]);
  store(&w->progress, 0);
  if (!meet(s)) return 0;
  for (k = 0; k < 2 * count; k++) {
    store(&w->progress, k + 1);
    /* Side by side, but not for ever: the other one may not be on a processor. */
    for (turns = 0; turns < ENOUGH && load(&other->progress) < k + 1; turns++) {}
    pass_time((int)roll_below(&w->d, 4) * (int)roll_below(&w->d, 30));
    make_call(&s->meetings[k < count ? k : HALF + k - count], w->number, &w->d);
  }
  if (!meet(s)) return 0;
  for (i = from; i < to; i++) settle(&s->meetings[i]);
  for (i = from; i < to; i++) release_all(&s->meetings[i]);
  for (i = from; i < to; i++) expect_all_over(&s->meetings[i]);
  return 1;
}

static void *work(void *argument) {
  worker *w = argument;
  storm *s = w->storm;
  int first, second, rounds = rounds_of_a_pair(), done, count;
  for (first = 0; first < OPERATIONS; first++) {
    for (second = first; second < OPERATIONS; second++) {
      if (!meet(s)) return NULL;
      if (w->number == 0) {
        s->first = (operation)first;
        s->second = (operation)second;
      }
      if (!meet(s)) return NULL;
      for (done = 0; done < rounds; done += 2 * count) {
        count = rounds - done >= BATCH ? HALF : (rounds - done + 1) / 2;
        if (!run_batch(w, count)) return NULL;
      }
    }
  }
  return NULL;
}

static void *advance(void *argument) {
  storm *s = argument;
  csuite *t = s->t;
  while (load(&s->end_of_time) == 0) {
    chime_status status = chime_queue_advance(s->queue, 10);
    if (status != CHIME_ERROR_BUSY) EXPECT_OK(status); /* a release calls finalizers on its own thread */
    sched_yield();
  }
  return NULL;
}

static void each_pair_of_calls_fits_an_order(csuite *t, where place) {
  storm *s = csuite_memory(t, sizeof *s);
  pthread_t threads[2], advancer;
  int advancing = 0, i;
  QUEUE_OR_RETURN(queue, place);
  s->t = t;
  s->place = place;
  s->queue = queue;
  if (place == VIRTUAL) advancing = spawn(t, &advancer, advance, s);
  for (i = 0; i < 2; i++) {
    s->workers[i].storm = s;
    s->workers[i].number = i;
    s->workers[i].d.state = UINT64_C(0xA1B2C3) + (uint64_t)(i * 10 + (int)place);
  }
  if (spawn(t, &threads[0], work, &s->workers[0])) {
    work(&s->workers[1]);
    pthread_join(threads[0], NULL);
  }
  store(&s->end_of_time, 1);
  if (advancing) pthread_join(advancer, NULL);
}

TEST_ON(each_pair_of_calls_fits_an_order, a_virtual_queue, VIRTUAL)
TEST_ON(each_pair_of_calls_fits_an_order, a_serial_queue, SERIAL)
TEST_ON(each_pair_of_calls_fits_an_order, a_concurrent_queue, CONCURRENT)
TEST_ON(each_pair_of_calls_fits_an_order, a_host_driven_queue, HOST)
TEST_ON(each_pair_of_calls_fits_an_order, a_precise_queue, PRECISE)
