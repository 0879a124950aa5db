/*
 * known_nio.c - the cases of SwiftNIO's EventLoopTest on scheduled and repeated tasks, asked of Chime.
 *
 * scheduleTask is a one-shot, a repeated task is a repeating timer under CHIME_MISSED_DELAY (its delay counts from the
 * end of the task), a cancelled task's notification is the cancel handler, what a task's closure holds is the context,
 * and the loop's shutdown is the queue's. In a timeline a- is the cancel handler and a. the finalizer (harness.h).
 */
#include "harness.h"

static chime_schedule spaced(int64_t first_ns, int64_t delay_ns) {
  chime_schedule schedule = schedule_of(first_ns, delay_ns);
  schedule.missed_policy = CHIME_MISSED_DELAY;
  return schedule;
}

/* ---- Order ------------------------------------------------------------------------------------------------------ */

enum { TASKS = 101 };

typedef struct tasks {
  int count;
  int order[TASKS];
} tasks;

static void note_number(probe *p, const chime_tick *tick) {
  tasks *seen = p->user;
  (void)tick;
  if (seen->count < TASKS) seen->order[seen->count] = (int)p->number;
  add(&seen->count, 1);
}

/* testScheduledTasksAreOrdered: of one deadline, which is over by then on a real clock, in the order of scheduling. */
TESTS_ON_VIRTUAL_SERIAL_AND_MAIN(tasks_of_one_deadline_run_in_the_order_of_scheduling) {
  tasks *seen = csuite_memory(t, sizeof *seen);
  int i;
  QUEUE_OR_RETURN(queue, place);
  chime_schedule schedule = schedule_at(now_of(t, queue), 0);
  for (i = 0; i < TASKS; i++) {
    probe *p = probe_idle(t, queue, "a");
    p->quiet = 1;
    p->number = i;
    p->user = seen;
    p->on_tick = note_number;
    EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  }
  if (place == VIRTUAL) ADVANCE(0);
  REQUIRE(await(&seen->count, TASKS));
  for (i = 0; i < TASKS; i++) {
    if (!EXPECT_EQ(seen->order[i], i)) return;
  }
}

/* ---- Cancelling ------------------------------------------------------------------------------------------------- */

typedef struct cancelled_at_once {
  probe *tasks[2];
  int done;
} cancelled_at_once;

static void start_and_cancel(void *context) {
  cancelled_at_once *c = context;
  csuite *t = c->tasks[0]->t;
  chime_schedule once = schedule_of(0, 0), repeated = spaced(0, 1);
  EXPECT_OK(chime_timer_activate(c->tasks[0]->timer, &once));
  EXPECT_OK(chime_timer_cancel(c->tasks[0]->timer));
  EXPECT_OK(chime_timer_activate(c->tasks[1]->timer, &repeated));
  EXPECT_OK(chime_timer_cancel(c->tasks[1]->timer));
  store(&c->done, 1);
}

/* testScheduledTaskThatIsImmediatelyCancelledNeverFires and testRepeatedTask...: on the loop itself, without delay. */
TESTS_ON_VIRTUAL_AND_SERIAL(what_is_cancelled_at_once_on_the_queue_never_fires) {
  cancelled_at_once *c = csuite_memory(t, sizeof *c);
  int i;
  QUEUE_OR_RETURN(queue, place);
  for (i = 0; i < 2; i++) c->tasks[i] = probe_idle(t, queue, "a");
  EXPECT_OK(chime_queue_async(queue, start_and_cancel, c, NULL));
  if (place == VIRTUAL) ADVANCE(CHIME_SECOND);
  REQUIRE(await(&c->done, 1));
  if (place != VIRTUAL) let_later_ticks_come(t, queue, 0);
  for (i = 0; i < 2; i++) EXPECT_EQ(load(&c->tasks[i]->ticks), 0);
}

typedef struct barrier {
  probe *task;
  int ticks;
  int reached;
} barrier;

static void note_ticks(void *context) {
  barrier *b = context;
  b->ticks = load(&b->task->ticks);
  store(&b->reached, 1);
}

/* testScheduleRepeatedTaskCancelFromDifferentThread, NIO's issue 554: cancelled while it runs as often as it can; by
   the time the loop does what was handed to it after the cancel, no run begins any more. */
TEST(after_a_cancel_from_another_thread_no_run_begins) {
  chime_schedule schedule = spaced(0, 1);
  int i, rounds = csuite_scaled(200);
  QUEUE_OR_RETURN(queue, SERIAL);
  for (i = 0; i < rounds; i++) {
    barrier *b = csuite_memory(t, sizeof *b);
    b->task = probe_idle(t, queue, "a");
    b->task->quiet = 1;
    EXPECT_OK(chime_timer_activate(b->task->timer, &schedule));
    REQUIRE(await(&b->task->returned, 1));
    EXPECT_TOOK_EFFECT(chime_timer_cancel(b->task->timer));
    EXPECT_OK(chime_queue_async(queue, note_ticks, b, NULL));
    REQUIRE(await(&b->reached, 1));
    EXPECT_EQ(load(&b->task->ticks), b->ticks);
    EXPECT_OK(chime_timer_release(b->task->timer));
    REQUIRE(await(&b->task->finalized, 1));
    if (!EXPECT_EQ(load(&b->task->ticks), b->ticks)) return;
  }
}

/* ---- Notifications ---------------------------------------------------------------------------------------------- */

static void cancel_own_and_note(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  if (tick->sequence < 2) return;
  cancel_own(p, tick);
  EXPECT_EQ(load(&p->cancelled), 0);
  csuite_log(t, "end");
}

/* testRepeatedTaskThatIsImmediatelyCancelledNotifies and ...ThatCancelsItselfNotifiesOnlyWhenFinished. */
TEST(a_cancelled_task_notifies_once_and_only_when_it_has_ended) {
  chime_schedule schedule = spaced(10, 10);
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *at_once = probe_start_full(t, queue, "a", &schedule);
  probe *itself;
  EXPECT_OK(chime_timer_cancel(at_once->timer));
  ADVANCE(0);
  EXPECT_EQ(at_once->ticks, 0);
  EXPECT_EQ(at_once->cancelled, 1);
  EXPECT_LOG("a^ a-");
  itself = probe_start_full(t, queue, "b", &schedule);
  itself->on_tick = cancel_own_and_note;
  ADVANCE(1000);
  EXPECT_LOG("b^ b1@10 b2@20 end b-");
}

static void note_returned(probe *p, const chime_tick *tick) {
  (void)tick;
  p->number = load(&p->returned);
}

static void note_returned_at_the_end(probe *p) { p->gate = load(&p->returned) + 10; }

/* The same while the task blocks its loop: neither the notification nor the end of what it holds comes before it has
   returned, whoever cancels and releases it. */
TEST(while_a_task_blocks_its_end_is_held_back) {
  chime_schedule schedule = schedule_of(0, CHIME_HOUR);
  QUEUE_OR_RETURN(queue, SERIAL);
  probe *p = probe_new(t, queue, "a");
  chime_timer_options options = probe_full_options(p);
  p->quiet = 1;
  p->on_tick = stay_until_gate_opens;
  p->on_cancelled = note_returned;
  p->on_finalize = note_returned_at_the_end;
  EXPECT_OK(chime_timer_create(queue, &options, &p->timer));
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  REQUIRE(await(&p->flag, 1));
  EXPECT_STATUS(chime_timer_cancel(p->timer), CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_release(p->timer), CHIME_RUNNING);
  EXPECT_EQ(load(&p->cancelled), 0);
  EXPECT_EQ(load(&p->finalized), 0);
  open_gate(p);
  REQUIRE(await(&p->finalized, 1));
  EXPECT_EQ(p->number, 1); /* the handler had returned when the cancel handler came, */
  EXPECT_EQ(p->gate, 11);  /* and when the finalizer came */
  EXPECT_EQ(load(&p->cancelled), 1);
}

/* ---- What a task holds ------------------------------------------------------------------------------------------ */

/* testCancelledScheduledTasksDoNotHoldOnToRunClosure, and ...EvenIfTheyWereTheNextTaskToExecute: long before its time
   would have come, the last that could be freed is. A cancel alone keeps the context, as the timer can be activated
   again; it is the release that ends it. */
TESTS_ON_ALL_QUEUES(cancelled_and_released_tasks_keep_nothing) {
  QUEUE_OR_RETURN(queue, place);
  probe *next = probe_after(t, queue, "a", CHIME_HOUR);
  probe *later = probe_after(t, queue, "b", 2 * CHIME_HOUR);
  next->quiet = later->quiet = 1;
  EXPECT_OK(chime_timer_cancel(later->timer));
  EXPECT_OK(chime_timer_cancel(next->timer));
  EXPECT_EQ(load(&next->finalized) + load(&later->finalized), 0);
  EXPECT_OK(chime_timer_release(later->timer));
  EXPECT_OK(chime_timer_release(next->timer));
  if (place == VIRTUAL) EXPECT_EQ(load(&next->finalized) + load(&later->finalized), 2); /* in the call */
  EXPECT(await(&next->finalized, 1));
  EXPECT(await(&later->finalized, 1));
  EXPECT_EQ(load(&next->ticks) + load(&later->ticks), 0);
}

/* A one-shot that nobody holds releases its context after its run, not with the queue. */
TEST(a_task_that_ran_holds_on_to_nothing) {
  chime_schedule schedule = schedule_of(10, 0);
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_new(t, queue, "a");
  chime_timer_options options = probe_options(p);
  EXPECT_OK(chime_timer_start(queue, &options, &schedule, NULL));
  probe_after(t, queue, "b", 20);
  ADVANCE(30);
  EXPECT_LOG("a1@10 a. b1@20");
}

/* testShutdownWhileScheduledTasksNotReady, testScheduleRepeatedTaskToNotRetainEventLoop: an end that waits for no
   task's time, and frees what the tasks hold. */
TESTS_ON_DISPATCH_QUEUES(a_shutdown_does_not_wait_for_tasks_that_are_not_due) {
  int64_t begin = monotonic_ns();
  QUEUE_OR_RETURN(queue, place);
  probe *once = probe_after(t, queue, "a", CHIME_HOUR);
  probe *repeated = probe_every_quietly(t, queue, CHIME_HOUR);
  once->quiet = 1;
  EXPECT_OK(chime_queue_shutdown(queue, CHIME_HOUR));
  EXPECT(monotonic_ns() - begin < PATIENCE);
  EXPECT_EQ(load(&once->finalized) + load(&repeated->finalized), 2);
  EXPECT_EQ(load(&once->ticks) + load(&repeated->ticks), 0);
}
