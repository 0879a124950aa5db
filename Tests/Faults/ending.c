/* ending.c - see ending.h. */
#include "ending.h"

#include <time.h>

int ending_by_cancellation, ending_calls, ended;

static pthread_t ended_thread;
static void *const exit_value = (void *)7;
static void *const returned_value = (void *)5;

void end_thread(void) {
  if (add(&ending_calls, 1) > 1) return;
  ended_thread = pthread_self();
  store(&ended, 1);
  if (ending_by_cancellation) {
    pthread_cancel(pthread_self());
    pthread_testcancel();
  }
  pthread_exit(exit_value);
}

void end_in_tick(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  end_thread();
}

void end_in_call(void *context) {
  (void)context;
  end_thread();
}

void *host_thread_run(void *context) {
  host_thread *thread = context;
  pthread_cleanup_push(count_call, &thread->cleaned_up);
  thread->body();
  pthread_cleanup_pop(0);
  return returned_value;
}

void host_thread_start(host_thread *thread, void (*body)(void)) {
  thread->body = body;
  thread->cleaned_up = 0;
  thread->has_ended = 0;
  thread->id = spawn(host_thread_run, thread);
}

/* Once it is joined another thread may get its id. */
static int is_joined;

int host_thread_was_ended(const host_thread *thread) {
  return thread->has_ended || (load(&ended) && !is_joined && pthread_equal(ended_thread, thread->id));
}

void host_thread_expect_end(host_thread *thread) {
  struct timespec end;
  void *result = NULL, *expected = returned_value;
  int was_ended;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += PATIENCE / CHIME_SECOND;
  if (!EXPECT_OK(pthread_timedjoin_np(thread->id, &result, &end))) return;
  was_ended = thread->has_ended = host_thread_was_ended(thread);
  if (was_ended) is_joined = 1;
  if (was_ended) expected = ending_by_cancellation ? PTHREAD_CANCELED : exit_value;
  EXPECT_EQ(thread->cleaned_up, was_ended);
  EXPECT_EQ((intptr_t)result, (intptr_t)expected);
}
