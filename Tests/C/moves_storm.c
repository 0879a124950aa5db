/*
 * moves_storm.c - timers that are moved again and again, earlier and later, just when they fall due, and that another
 * thread looks at all the time: each must still come once it is left alone. A move leaves the timer's entry in the
 * wheel where that is early enough, so whether the pass sees the move or the mover sees the pass is what is tried here,
 * and whether the pass passes a timer over for a query's sake. Promises 1, 3, 12 and 18.
 */
#include "harness.h"

enum { MOVERS = 3, MOVED = 16, ROUNDS = 1200, MOVES = 4 };

typedef struct mover {
  csuite *t;
  dice d;
  chime_queue_t queue;
  chime_timer_t timers[MOVED];
  int is_over;
} mover;

static void on_moved(const chime_tick *tick, void *context) {
  csuite *t = context;
  EXPECT(tick->actual_ns >= tick->scheduled_ns);
}

/* One move of one timer, to some time within 200 us; a postponement by more than a word holds now and then. */
static void move(mover *m, chime_timer_t timer) {
  csuite *t = m->t;
  chime_schedule schedule = schedule_of(roll_below(&m->d, 200 * CHIME_MICROSECOND), 0);
  switch (roll_below(&m->d, 6)) {
    case 0: EXPECT_TOOK_EFFECT(chime_timer_restart(timer, &schedule)); break;
    case 1: EXPECT_TOOK_EFFECT(chime_timer_reschedule(timer, &schedule)); break;
    case 2: EXPECT(chime_timer_postpone(timer, schedule.first_ns) >= 0); break;
    case 3: EXPECT(chime_timer_postpone(timer, 10 * CHIME_SECOND) >= 0); break;
    case 4: EXPECT(chime_timer_suspend(timer) >= 0); break;
    default: EXPECT(chime_timer_resume(timer) >= 0); break;
  }
}

THREAD(look, mover, m) {
  dice d = {UINT64_C(0x100C)};
  while (load(&m->is_over) == 0) {
    int64_t kind = roll_below(&d, 2 * QUERIES); /* most are short */
    EXPECT_OK(query((int)(kind < QUERIES ? kind : kind % 2), m->queue, m->timers[roll_below(&d, MOVED)]));
  }
}

THREAD(move_timers, mover, m) {
  for (int round = 0; round < csuite_scaled(ROUNDS) && !csuite_failed(t); round++) {
    for (int k = 0; k < MOVES; k++)
      for (int i = 0; i < MOVED; i++) move(m, m->timers[i]);
    for (int i = 0; i < MOVED; i++) {
      EXPECT_TOOK_EFFECT(chime_timer_restart(m->timers[i], AFTER(roll_below(&m->d, 100 * CHIME_MICROSECOND))));
    }
    for (int i = 0; i < MOVED; i++)
      AWAIT(state_of(t, m->timers[i]) != CHIME_STATE_RUNNING); /* their ticks have started */
  }
}

TESTS_ON_DISPATCH_QUEUES(timers_that_are_moved_again_and_again_still_tick) {
  mover *movers = csuite_memory(t, MOVERS * sizeof *movers);
  pthread_t threads[MOVERS], looker;
  int started = 0, looks;
  for (int i = 0; i < MOVERS; i++) {
    movers[i].t = t;
    movers[i].queue = queue;
    movers[i].d.state = UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)i;
    for (int k = 0; k < MOVED; k++) {
      REQUIRE_OK(chime_timer_start(queue, &TIMER_OPTIONS(.handler = on_moved, .context = t), AFTER(CHIME_MILLISECOND),
                                   &movers[i].timers[k]));
    }
  }
  looks = spawn(t, &looker, look, &movers[0]);
  while (started < MOVERS && spawn(t, &threads[started], move_timers, &movers[started])) started++;
  while (started > 0) pthread_join(threads[--started], NULL);
  store(&movers[0].is_over, 1);
  if (looks) pthread_join(looker, NULL);
}
