/*
 * reused.c - a queue ends while other threads call with its id, and another queue takes its place at once: none of these
 * calls reaches that one; nor does the id of a timer that was released, however often its place is used again. Promise 10.
 */
#include "harness.h"

enum { CALLERS = 3, ROUNDS = 600 };

/* Queues that the callers know have this many timers, begin at this time and are called so; the others are not. */
enum { KNOWN_TIMERS = 2, HIDDEN_TIMERS = 5 };
static const int64_t known_start = CHIME_SECOND, hidden_start = INT64_C(1) << 60;
static const char known_label[] = "known", hidden_label[] = "hidden";

typedef struct place {
  csuite *t;
  uint64_t known; /* the id that the callers use; by __atomic builtins */
  int over;
  int calls;
} place;

static void never(const chime_tick *tick, void *context) { (void)tick, (void)context; }

static chime_queue_t make(csuite *t, int timers, int64_t start, const char *label) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  chime_queue_t queue = 0;
  int i;
  options.start_ns = start;
  options.label = label;
  EXPECT_OK(chime_queue_create(CHIME_QUEUE_VIRTUAL, &options, &queue));
  for (i = 0; i < timers; i++)
    EXPECT_OK(chime_timer_after(queue, CHIME_FOREVER, never, NULL, NULL, &(chime_timer_t){0}));
  return queue;
}

static void call(csuite *t, chime_queue_t queue, dice *d) {
  chime_queue_stats stats = CHIME_QUEUE_STATS_INIT;
  int64_t time = 0;
  int32_t file = -1;
  char text[1024] = "";
  chime_status status;
  switch (roll_below(d, 6)) {
    case 0:
      status = chime_queue_get_stats(queue, &stats);
      if (status == CHIME_OK) EXPECT(stats.timers <= KNOWN_TIMERS);
      break;
    case 1:
      status = chime_queue_dump(queue, text, sizeof text, NULL);
      EXPECT(strstr(text, hidden_label) == NULL);
      break;
    case 2:
      status = chime_queue_now(queue, &time);
      EXPECT(time < hidden_start);
      break;
    case 3:
      status = chime_queue_fd(queue, &file);
      EXPECT(status == CHIME_ERROR_UNSUPPORTED || status == CHIME_ERROR_INVALID_HANDLE);
      return;
    default: status = chime_queue_jump(queue, 1000); break;
  }
  if (status != CHIME_ERROR_SHUT_DOWN && status != CHIME_ERROR_INVALID_HANDLE) EXPECT_OK(status);
}

static void *call_again_and_again(void *argument) {
  place *p = argument;
  csuite *t = p->t;
  dice d = {UINT64_C(11) + (uint64_t)add(&p->calls, 1)};
  int i;
  for (i = 0; load(&p->over) == 0 && !(i == 0 && csuite_failed(t)); i = (i + 1) % 1024) {
    chime_queue_t queue = __atomic_load_n(&p->known, __ATOMIC_ACQUIRE);
    if (queue != 0) call(t, queue, &d);
  }
  return NULL;
}

/* [10] */
TEST(a_call_with_the_id_of_a_queue_that_ended_never_reaches_the_next_one) {
  place *p = csuite_memory(t, sizeof *p);
  pthread_t threads[CALLERS];
  int started = 0, round;
  dice d = {UINT64_C(1111)};
  p->t = t;
  while (started < CALLERS && spawn(t, &threads[started], call_again_and_again, p)) started++;
  for (round = 0; round < csuite_scaled(ROUNDS) && !(round % 256 == 0 && csuite_failed(t)); round++) {
    chime_queue_t known = make(t, KNOWN_TIMERS, known_start, known_label), hidden;
    int64_t end = monotonic_ns() + roll_below(&d, 4 * CHIME_MICROSECOND);
    __atomic_store_n(&p->known, known, __ATOMIC_RELEASE);
    while (monotonic_ns() < end) continue;
    EXPECT_OK(chime_queue_shutdown(known, CHIME_FOREVER));
    hidden = make(t, HIDDEN_TIMERS, hidden_start, hidden_label);
    for (end = monotonic_ns() + roll_below(&d, 4 * CHIME_MICROSECOND); monotonic_ns() < end;) continue;
    EXPECT_EQ(now_of(t, hidden), hidden_start);
    EXPECT_OK(chime_queue_shutdown(hidden, CHIME_FOREVER));
  }
  store(&p->over, 1);
  while (started > 0) pthread_join(threads[--started], NULL);
}

/* tokio's remove_after_compact, remove_after_compact_poll: a key that was removed stays stale, through as many lives of its
   place as a generation of 16 bits would count, and no call with it reaches who lives there. */
TEST(a_stale_key_never_reaches_a_later_entry) {
  enum { STALE = 64 };
  chime_timer_t stale[STALE];
  chime_schedule at_once = schedule_of(0, 0);
  int life, lives = csuite_scaled(70000), kept = 0;
  int64_t ticks = 0;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_new(t, queue, "a");
  chime_timer_options options = probe_options(p);
  options.finalizer = NULL;
  for (life = 0; life < lives; life++) {
    chime_timer_t key = stale[life % STALE];
    EXPECT_OK(chime_timer_create(queue, &options, &p->timer));
    EXPECT_OK(chime_timer_activate(p->timer, &at_once));
    if (kept == STALE) {
      /* Each of these would be seen in what the living timer does. */
      int refused = chime_timer_cancel(key) == CHIME_ERROR_INVALID_HANDLE;
      refused += chime_timer_suspend(key) == CHIME_ERROR_INVALID_HANDLE;
      refused += chime_timer_fire(key) == CHIME_ERROR_INVALID_HANDLE;
      refused += chime_timer_postpone_until(key, CHIME_HOUR) == CHIME_ERROR_INVALID_HANDLE;
      refused += chime_timer_restart(key, &at_once) == CHIME_ERROR_INVALID_HANDLE;
      refused += chime_timer_release(key) == CHIME_ERROR_INVALID_HANDLE;
      if (!EXPECT_EQ(refused, 6)) return;
    }
    if (life % 8 == 0) {
      ADVANCE(1);
      if (!EXPECT_EQ(p->ticks, ++ticks)) return;
    }
    /* The first keys are kept to the end; the others of the 64 follow each other. */
    if (kept < STALE) {
      stale[kept++] = p->timer;
    } else if (life % STALE >= STALE / 2) {
      stale[life % STALE] = p->timer;
    }
    EXPECT_OK(chime_timer_release(p->timer));
  }
  EXPECT_EQ(stats_of(t, queue).timers, 0);
}

TEST(a_released_timers_id_never_names_the_one_that_took_its_place) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *old = probe_after(t, queue, "a", 10);
  probe *successor;
  int i;
  EXPECT_OK(chime_timer_release(old->timer));
  for (i = 0; i < 200; i++) {
    successor = probe_after(t, queue, "b", 10);
    EXPECT(successor->timer != old->timer);
    EXPECT_STATUS(chime_timer_cancel(old->timer), CHIME_ERROR_INVALID_HANDLE);
    EXPECT_STATUS(chime_timer_release(old->timer), CHIME_ERROR_INVALID_HANDLE);
    EXPECT_EQ(state_of(t, successor->timer), CHIME_STATE_RUNNING);
    EXPECT_OK(chime_timer_release(successor->timer));
  }
}
