/*
 * held.c - a thread stands still in the midst of some operation on a timer, or of a pass; every question about the
 * timer that another thread has meanwhile is answered, and all answers agree. Promise 18.
 */
#include "storms.h"

#include "hold.h"

typedef struct bystander {
  csuite *t;
  chime_queue_t queue;
  chime_timer_t timer;
  int operation; /* the one to step through */
  int over;
  int calls;
} bystander;

static void on_tick(const chime_tick *tick, void *context) { (void)tick, (void)context; }

/* Operations that change the timer, or pass over it. */
enum { OPERATIONS = 12 };

static void operate(bystander *b, int operation) {
  chime_schedule soon = schedule_of(1000, 1000), later = schedule_of(CHIME_HOUR, 0);
  chime_timer_info info = CHIME_TIMER_INFO_INIT;
  switch (operation) {
    case 0: chime_timer_restart(b->timer, &soon); break;
    case 1: chime_timer_reschedule(b->timer, &later); break;
    case 2: chime_timer_suspend(b->timer); break;
    case 3: chime_timer_resume(b->timer); break;
    case 4: chime_timer_postpone(b->timer, 10); break;
    case 5: chime_timer_postpone(b->timer, CHIME_MINUTE); break;
    case 6: chime_timer_fire(b->timer); break;
    case 7: chime_timer_cancel(b->timer); break;
    case 8: chime_timer_activate(b->timer, NULL); break;
    case 9: chime_queue_advance(b->queue, 3000); break;
    case 10: chime_timer_get_info(b->timer, &info); break;
    default: chime_timer_cancel_and_wait(b->timer, 0); break;
  }
}

static void *operate_all_the_time(void *argument) {
  bystander *b = argument;
  dice d = storm_dice(500);
  while (load(&b->over) == 0) {
    operate(b, (int)roll_below(&d, OPERATIONS));
    add(&b->calls, 1);
  }
  return NULL;
}

/*
 * What is asked of a timer. What is asked of a queue takes a lock for a moment, which lends its owner the priority of
 * whoever waits; the program `realtime` of Tests/Faults sees to that.
 */
static void ask_everything(bystander *b) {
  csuite *t = b->t;
  chime_timer_info info = CHIME_TIMER_INFO_INIT;
  chime_state state = 0;
  uint64_t generation = 0;
  int64_t time = 0;
  storm_waits_for(0, "chime_timer_state beside a thread that stands");
  EXPECT_OK(chime_timer_state(b->timer, &state));
  storm_waits_for(0, "chime_timer_generation beside a thread that stands");
  EXPECT_OK(chime_timer_generation(b->timer, &generation));
  EXPECT_OK(chime_timer_check_generation(b->timer, generation)); /* nobody changes it */
  storm_waits_for(0, "chime_timer_next_deadline beside a thread that stands");
  EXPECT_OK(chime_timer_next_deadline(b->timer, &time));
  EXPECT_EQ(time == CHIME_FOREVER, state != CHIME_STATE_RUNNING);
  storm_waits_for(0, "chime_timer_get_info beside a thread that stands");
  EXPECT_OK(chime_timer_get_info(b->timer, &info));
  EXPECT_EQ(info.state, state);
  EXPECT_EQ(info.generation, generation);
  EXPECT_EQ(info.next_deadline_ns, time);
  storm_rests(0);
}

/* [18] On a virtual queue, as nothing but these two threads is inside it. */
TEST(a_thread_that_stands_in_any_operation_holds_up_no_query) {
  bystander *b = csuite_memory(t, sizeof *b);
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = schedule_of(CHIME_HOUR, 0);
  pthread_t thread;
  int rounds = 0;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  b->t = t;
  b->queue = queue;
  options.handler = on_tick;
  REQUIRE_OK(chime_timer_start(queue, &options, &schedule, &b->timer));
  hold_prepare();
  if (!spawn(t, &thread, operate_all_the_time, b)) return;
  for (; storm_goes_on(t); rounds++) {
    int calls = load(&b->calls);
    while (load(&b->calls) == calls) sleep_ns(CHIME_MICROSECOND);
    hold(thread);
    ask_everything(b);
    hold_end();
  }
  store(&b->over, 1);
  pthread_join(thread, NULL);
  storm_saw("%d rounds", rounds);
}

/* ---- At each instruction ----------------------------------------------------------------------------------------- */

static void *operate_step_by_step(void *argument) {
  bystander *b = argument;
  step_begin(0);
  operate(b, b->operation);
  step_end();
  return NULL;
}

/* [18] The same, with the thread before each instruction of each operation in turn. */
TEST(no_instruction_of_any_operation_holds_up_a_query) {
  bystander *b = csuite_memory(t, sizeof *b);
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = schedule_of(CHIME_HOUR, 0);
  int64_t instructions = 0;
  int operations = 0;
  dice d = storm_dice(501);
  QUEUE_OR_RETURN(queue, VIRTUAL);
  hold_prepare();
  if (!hold_can_step()) {
    csuite_skip(t, "this processor cannot be stepped through a call");
    return;
  }
  b->t = t;
  b->queue = queue;
  options.handler = on_tick;
  REQUIRE_OK(chime_timer_start(queue, &options, &schedule, &b->timer));
  for (; storm_goes_on(t); operations++) {
    pthread_t thread;
    b->operation = operations < OPERATIONS ? operations : (int)roll_below(&d, OPERATIONS);
    if (!spawn(t, &thread, operate_step_by_step, b)) return;
    for (; step_await(); instructions++) {
      ask_everything(b);
      step_on(0);
    }
    pthread_join(thread, NULL);
  }
  storm_saw("%" PRId64 " instructions of %d operations", instructions, operations);
}
