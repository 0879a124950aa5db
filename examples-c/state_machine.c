/*
 * The state machine: every order of calls that kills a libdispatch timer, or hangs it, is a status here. The comments
 * say what a bare dispatch source does.
 *
 * Build:  make (or cc state_machine.c -o build/state_machine -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/state_machine
 *
 * Output:
 *   chime_timer_resume(idle)                                 CHIME_IGNORED
 *   chime_timer_cancel(idle)                                 CHIME_IGNORED
 *   chime_timer_release(idle)                                CHIME_OK
 *   chime_timer_activate(timer, &hourly)                     CHIME_OK
 *   chime_timer_activate(timer, &hourly)                     CHIME_IGNORED
 *   chime_timer_resume(timer)                                CHIME_IGNORED
 *   chime_timer_suspend(timer)                               CHIME_OK
 *   chime_timer_suspend(timer)                               CHIME_IGNORED
 *   chime_timer_resume(timer)                                CHIME_OK
 *   chime_timer_resume(timer)                                CHIME_IGNORED
 *   chime_timer_cancel(timer)                                CHIME_OK
 *   chime_timer_cancel(timer)                                CHIME_IGNORED
 *   chime_timer_resume(timer)                                CHIME_IGNORED
 *   chime_timer_postpone(timer, CHIME_HOUR)                  CHIME_IGNORED
 *   chime_timer_fire(timer)                                  CHIME_IGNORED
 *   chime_timer_reschedule(timer, &hourly)                   CHIME_OK
 *   chime_timer_activate(timer, NULL)                        CHIME_OK
 *   chime_timer_suspend(timer)                               CHIME_OK
 *   chime_timer_cancel_and_wait(timer, CHIME_FOREVER)        CHIME_OK
 *   chime_timer_restart(timer, NULL)                         CHIME_OK
 *   chime_timer_restart_until(timer, CHIME_FOREVER)          CHIME_OK
 *   chime_timer_suspend(timer)                               CHIME_OK
 *   chime_timer_release(timer)                               CHIME_OK
 *   chime_timer_release(timer)                               CHIME_ERROR_INVALID_HANDLE
 *   chime_timer_resume(queue)                                CHIME_ERROR_INVALID_HANDLE
 *   chime_timer_release(0)                                   CHIME_OK
 *   chime_timer_cancel_and_wait(tick->timer, CHIME_FOREVER)  CHIME_ERROR_WOULD_DEADLOCK
 *   chime_queue_sync(queue, nothing, NULL, CHIME_FOREVER)    CHIME_OK
 *   chime_timer_release(tick->timer)                         CHIME_RUNNING
 */
#include "check.h"

#include <semaphore.h>

#define SHOW(call) printf("%-55s  %s\n", #call, chime_status_name(call))

static sem_t done;
static chime_queue_t queue;

static void nothing(void *context) { (void)context; }

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  SHOW(chime_timer_cancel_and_wait(tick->timer, CHIME_FOREVER)); /* in its own handler: hangs for ever */
  SHOW(chime_queue_sync(queue, nothing, NULL, CHIME_FOREVER));   /* on its own queue: SIGILL */
  SHOW(chime_timer_release(tick->timer));
  CHECK_ZERO(sem_post(&done));
}

int main(void) {
  chime_timer_t idle, timer;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule hourly = CHIME_SCHEDULE_INIT;

  options.handler = on_tick;
  hourly.first_ns = hourly.interval_ns = CHIME_HOUR;
  CHECK_ZERO(sem_init(&done, 0, 0));
  CHECK(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue));
  CHECK(chime_timer_create(queue, &options, &idle));
  CHECK(chime_timer_create(queue, &options, &timer));

  SHOW(chime_timer_resume(idle));
  SHOW(chime_timer_cancel(idle));
  SHOW(chime_timer_release(idle)); /* never activated: SIGILL, also when it was cancelled */
  SHOW(chime_timer_activate(timer, &hourly));
  SHOW(chime_timer_activate(timer, &hourly));
  SHOW(chime_timer_resume(timer)); /* running: SIGILL */
  SHOW(chime_timer_suspend(timer));
  SHOW(chime_timer_suspend(timer)); /* counts, and wants as many resumes */
  SHOW(chime_timer_resume(timer));
  SHOW(chime_timer_resume(timer)); /* one resume too many: SIGILL */
  SHOW(chime_timer_cancel(timer));
  SHOW(chime_timer_cancel(timer));
  SHOW(chime_timer_resume(timer)); /* after cancel: SIGILL */
  SHOW(chime_timer_postpone(timer, CHIME_HOUR));
  SHOW(chime_timer_fire(timer));
  SHOW(chime_timer_reschedule(timer, &hourly)); /* after cancel: accepted and lost. Here it waits for the activate */
  SHOW(chime_timer_activate(timer, NULL));      /* after cancel: a cancelled source never runs again */
  SHOW(chime_timer_suspend(timer));
  SHOW(chime_timer_cancel_and_wait(timer, CHIME_FOREVER)); /* suspended: hangs for ever */
  SHOW(chime_timer_restart(timer, NULL));
  SHOW(chime_timer_restart_until(timer, CHIME_FOREVER));
  SHOW(chime_timer_suspend(timer));
  SHOW(chime_timer_release(timer)); /* suspended: SIGILL */
  SHOW(chime_timer_release(timer)); /* one release too many: memory that is no longer ours */
  SHOW(chime_timer_resume(queue));  /* an id of another kind */
  SHOW(chime_timer_release(0));

  CHECK(chime_timer_every(queue, CHIME_MILLISECOND, on_tick, NULL, NULL, &timer));
  CHECK_ZERO(sem_wait(&done));
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  CHECK_ZERO(sem_destroy(&done));
  return 0;
}
