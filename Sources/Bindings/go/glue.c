// Contexts cross as numbers, and panics as handles that wait here for the end of the C call that they came up in.
#include "glue.h"

#include "_cgo_export.h"

#ifndef _WIN32
#include <signal.h>

// Chime's own threads block signals, and a program that a function starts would inherit that: it would never get its SIGALRM or
// SIGUSR1. So there functions run with the mask that the process has begun with, as on threads that Go makes.
static sigset_t at_start;
__attribute__((constructor)) static void note_signals(void) { pthread_sigmask(SIG_SETMASK, NULL, &at_start); }
#endif

// A call that Go has entered and that has not returned. It lives on the stack of its thread.
struct entry {
  struct entry *outer;
  chime_queue_t runs;      // the queue that chime_queue_run drives: a panic stops it
  int does_not_raise;      // a panic inside ends the process
  chime_go_answer *answer; // takes the panic
};
static __thread struct entry *innermost;

// What becomes of a panic, should there be one: see attempt in callback.go.
static int fate(void) {
  if (!innermost || innermost->does_not_raise) return CHIME_GO_ENDS_THE_PROCESS;
  return innermost->answer->raised ? CHIME_GO_IS_DROPPED : CHIME_GO_IS_RAISED;
}

static void keep(uintptr_t raised) {
  if (raised == 0) return;
  innermost->answer->raised = raised;
  if (innermost->runs) chime_queue_stop(innermost->runs);
}

// A function of Go's that Chime has called and that has not returned. It lives on the stack of its thread.
struct called {
  struct called *outer;
  uintptr_t context;
#ifndef _WIN32
  sigset_t blocked; // on a thread of Chime's
#endif
};
static __thread struct called *called;

// A thread that Go has not entered C on is one of Chime's.
static void enter_function(struct called *this, void *context) {
  this->outer = called;
  this->context = (uintptr_t)context;
#ifndef _WIN32
  if (!innermost && !called) pthread_sigmask(SIG_SETMASK, &at_start, &this->blocked);
#endif
  called = this;
}

static void leave_function(struct called *this, uintptr_t raised) {
  called = this->outer;
#ifndef _WIN32
  if (!innermost && !called) pthread_sigmask(SIG_SETMASK, &this->blocked, NULL);
#endif
  keep(raised);
}

int chime_go_is_inside(void) { return called != NULL; }
uintptr_t chime_go_inside(int depth) {
  struct called *one = called;
  while (one && depth-- > 0) one = one->outer;
  return one ? one->context : 0;
}

static void on_tick(const chime_tick *tick, void *context) {
  struct called this;
  enter_function(&this, context);
  leave_function(&this, chimeGoTick((chime_tick *)tick, (uintptr_t)context, (uintptr_t)tick->target, fate()));
}
static void on_function(void *context) {
  struct called this;
  enter_function(&this, context);
  leave_function(&this, chimeGoFunction((uintptr_t)context, fate()));
}
static void on_gone(void *context) {
  struct called this;
  enter_function(&this, context);
  leave_function(&this, chimeGoGone((uintptr_t)context, fate()));
}

#define ENTER(queue_that_runs, no_raise, call) \
  chime_go_answer answer = {CHIME_OK, 0, 0}; \
  struct entry entry = {innermost, (queue_that_runs), (no_raise), &answer}; \
  innermost = &entry; \
  answer.status = (call); \
  innermost = entry.outer

chime_go_answer chime_go_advance(chime_queue_t queue, int64_t duration_ns) {
  ENTER(0, 0, chime_queue_advance(queue, duration_ns));
  return answer;
}
chime_go_answer chime_go_process(chime_queue_t queue, uint32_t most) {
  ENTER(0, 0, chime_queue_process(queue, most, &answer.count));
  return answer;
}
chime_go_answer chime_go_run(chime_queue_t queue, uint32_t flags) {
  ENTER(queue, 0, chime_queue_run(queue, flags));
  return answer;
}
chime_go_answer chime_go_shutdown(chime_queue_t queue, int64_t timeout_ns) {
  ENTER(0, 0, chime_queue_shutdown(queue, timeout_ns));
  return answer;
}
chime_go_answer chime_go_queue_release(chime_queue_t queue) {
  ENTER(0, 0, chime_queue_release(queue));
  return answer;
}
chime_go_answer chime_go_release(chime_timer_t timer) {
  ENTER(0, 0, chime_timer_release(timer));
  return answer;
}
chime_go_answer chime_go_release_and_wait(chime_timer_t timer, int64_t timeout_ns) {
  ENTER(0, 0, chime_timer_release_and_wait(timer, timeout_ns));
  return answer;
}

// The function of a sync catches its own panic (Queue.Sync). What else runs here is a turn of the queue, which otherwise
// would run on a thread of Chime's, where a panic ends the process.
chime_status chime_go_sync(chime_queue_t queue, uintptr_t context, int64_t timeout_ns) {
  ENTER(0, 1, chime_queue_sync(queue, on_function, (void *)context, timeout_ns));
  return answer.status;
}

chime_status chime_go_start(chime_queue_t queue, const char *label, uint32_t flags, chime_target_t target, int armed,
                            int cancelled, uintptr_t context, const chime_schedule *schedule, chime_timer_t *timer) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  options.flags = flags;
  options.handler = on_tick;
  options.registration_handler = armed ? on_tick : NULL;
  options.cancel_handler = cancelled ? on_tick : NULL;
  options.context = (void *)context;
  options.finalizer = on_gone;
  options.label = label;
  options.target = target;
  if (!schedule) return chime_timer_create(queue, &options, timer);
  return chime_timer_start(queue, &options, schedule, timer);
}
chime_status chime_go_after(chime_queue_t queue, int64_t delay_ns, uintptr_t context, chime_timer_t *timer) {
  return chime_timer_after(queue, delay_ns, on_tick, (void *)context, on_gone, timer);
}
chime_status chime_go_every(chime_queue_t queue, int64_t interval_ns, uintptr_t context, chime_timer_t *timer) {
  return chime_timer_every(queue, interval_ns, on_tick, (void *)context, on_gone, timer);
}
chime_status chime_go_async(chime_queue_t queue, uintptr_t context) {
  return chime_queue_async(queue, on_function, (void *)context, on_gone);
}
