/*
 * ids_storm.c - timers come and go in the same slots while other threads call with the ids of those that have gone: each
 * such call is refused, and none reaches the timer that has the slot now. Promise 10.
 */
#include "harness.h"

enum {
  KEEPERS = 2,
  STRANGERS = 2,
  KEPT = 8,        /* timers that a keeper has at once */
  REMEMBERED = 64, /* ids of released timers */
  LIVES = 200000   /* timers, over all keepers and queues */
};

typedef struct storm storm;

/* A keeper's place for one timer after the other. */
typedef struct kept {
  storm *storm;
  chime_timer_t timer;
  uint64_t generation;
  int made;
  int finalized;
} kept;

struct storm {
  csuite *t;
  chime_queue_t queue;
  uint64_t remembered[REMEMBERED]; /* by __atomic builtins */
  kept kept[KEEPERS][KEPT];
  int refused;
  int over;
  int lives; /* of each keeper */
};

typedef struct worker {
  storm *storm;
  int number;
} worker;

static void on_tick(const chime_tick *tick, void *context) {
  csuite *t = ((kept *)context)->storm->t;
  (void)tick;
  EXPECT(!"a timer ticks that nobody has called");
}

static void on_named_tick(const chime_tick *tick, void *context) { (void)tick, (void)context; }

static void on_finalize(void *context) { add(&((kept *)context)->finalized, 1); }

static void make(kept *k) {
  csuite *t = k->storm->t;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = schedule_of(1000 * CHIME_HOUR, 0);
  options.handler = on_tick;
  options.context = k;
  options.finalizer = on_finalize;
  if (!EXPECT_OK(chime_timer_start(k->storm->queue, &options, &schedule, &k->timer))) return;
  k->made++;
  k->generation = generation_of(t, k->timer);
}

/* Nobody else knows the timer: it is as it was left. */
static void expect_untouched(kept *k) {
  csuite *t = k->storm->t;
  EXPECT_EQ(state_of(t, k->timer), CHIME_STATE_RUNNING);
  EXPECT_OK(chime_timer_check_generation(k->timer, k->generation));
  EXPECT(deadline_of(t, k->timer) > 100 * CHIME_HOUR);
}

static void *keep(void *argument) {
  worker *w = argument;
  storm *s = w->storm;
  csuite *t = s->t;
  dice d = {UINT64_C(0x1D5) + (uint64_t)w->number};
  int i;
  for (i = 0; i < KEPT; i++) make(&s->kept[w->number][i]);
  for (i = 0; i < s->lives && !(i % 256 == 0 && csuite_failed(t)); i++) {
    kept *k = &s->kept[w->number][roll_below(&d, KEPT)];
    expect_untouched(k);
    EXPECT_OK(chime_timer_release(k->timer));
    __atomic_store_n(&s->remembered[roll_below(&d, REMEMBERED)], k->timer, __ATOMIC_RELEASE);
    make(k);
  }
  for (i = 0; i < KEPT; i++) {
    expect_untouched(&s->kept[w->number][i]);
    EXPECT_OK(chime_timer_release(s->kept[w->number][i].timer));
  }
  return NULL;
}

static chime_status call_with(chime_timer_t id, dice *d) {
  chime_schedule at_once = schedule_of(0, 1);
  switch (roll_below(d, 13)) {
    case 0: return chime_timer_activate(id, &at_once);
    case 1: return chime_timer_restart(id, &at_once);
    case 2: return chime_timer_suspend(id);
    case 3: return chime_timer_resume(id);
    case 4: return chime_timer_reschedule(id, &at_once);
    case 5: return chime_timer_postpone(id, 2000 * CHIME_HOUR);
    case 6: return chime_timer_postpone_until(id, CHIME_FOREVER / 2);
    case 7: return chime_timer_fire(id);
    case 8: return chime_timer_cancel(id);
    case 9: return chime_timer_cancel_and_wait(id, 0);
    case 10: return chime_timer_add_handler(id, "stranger", on_named_tick, NULL, NULL);
    case 11: return chime_timer_release_and_wait(id, 0);
    default: return chime_timer_release(id);
  }
}

static void *call_with_ids_of_the_gone(void *argument) {
  worker *w = argument;
  storm *s = w->storm;
  csuite *t = s->t;
  dice d = {UINT64_C(0x57A1E) + (uint64_t)w->number};
  while (load(&s->over) == 0) {
    chime_timer_t id = __atomic_load_n(&s->remembered[roll_below(&d, REMEMBERED)], __ATOMIC_ACQUIRE);
    if (id == 0) continue;
    if (!EXPECT_STATUS(call_with(id, &d), CHIME_ERROR_INVALID_HANDLE)) break;
    add(&s->refused, 1);
  }
  return NULL;
}

TESTS_ON_VIRTUAL_AND_SERIAL(the_id_of_a_released_timer_never_reaches_the_next_one) {
  storm *s = csuite_memory(t, sizeof *s);
  pthread_t keepers[KEEPERS], strangers[STRANGERS];
  worker workers[KEEPERS > STRANGERS ? KEEPERS : STRANGERS];
  int keeping = 0, calling = 0, i, k;
  QUEUE_OR_RETURN(queue, place);
  s->t = t;
  s->queue = queue;
  s->lives = csuite_scaled(LIVES / KEEPERS / 2);
  for (i = 0; i < (int)(sizeof workers / sizeof workers[0]); i++) {
    workers[i].storm = s;
    workers[i].number = i;
  }
  for (i = 0; i < KEEPERS; i++)
    for (k = 0; k < KEPT; k++) s->kept[i][k].storm = s;
  while (calling < STRANGERS && spawn(t, &strangers[calling], call_with_ids_of_the_gone, &workers[calling])) calling++;
  while (keeping < KEEPERS && spawn(t, &keepers[keeping], keep, &workers[keeping])) keeping++;
  while (keeping > 0) pthread_join(keepers[--keeping], NULL);
  EXPECT(await(&s->refused, 1));
  store(&s->over, 1);
  while (calling > 0) pthread_join(strangers[--calling], NULL);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  for (i = 0; i < KEEPERS; i++)
    for (k = 0; k < KEPT; k++) EXPECT_EQ(load(&s->kept[i][k].finalized), s->kept[i][k].made); /* [8] */
}
