/*
 * A background thread with a run loop of its own, which goes on whatever the main thread does. A queue on it has a
 * countdown; a weak timer on it ticks for as long as its target lives. The main thread waits in its own run loop until
 * the countdown stops it.
 *
 * Build:  make (or cc background_loop.c -o build/background_loop -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/background_loop
 *
 * Output:
 *   3, on the background thread
 *   2, on the background thread
 *   1, on the background thread
 *   the session is closed
 *   the main loop was stopped
 *   the weak timer is not valid
 */
#include "check.h"
#include <chime_run_loop.h>

static chime_run_loop_t main_loop, background;
static chime_target_t target;

static void count_down(const chime_tick *tick, void *context) {
  chime_run_loop_t current;
  (void)context;
  CHECK(chime_run_loop_current(&current));
  printf("%d, on the %s thread\n", 4 - (int)tick->sequence, current == background ? "background" : "wrong");
  if (tick->sequence < 3) return;
  CHECK(chime_target_release(target)); /* on this thread the weak timer's action does not run now */
  CHECK(chime_run_loop_stop(main_loop));
}

static void poll_session(const chime_tick *tick, void *user_info) {
  (void)user_info;
  if (tick->target == NULL) printf("a tick without a target\n");
}

static void close_session(void *session) { printf("the %s is closed\n", (const char *)session); }

int main(void) {
  static char session[] = "session";
  chime_queue_t queue;
  chime_timer_t countdown;
  chime_weak_timer_t poll;
  chime_run_loop_options thread = CHIME_RUN_LOOP_OPTIONS_INIT;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  int32_t valid;

  CHECK(chime_run_loop_main(&main_loop));
  thread.label = "background";
  CHECK(chime_run_loop_create(&thread, &background));
  CHECK(chime_queue_create_on_run_loop(background, NULL, NULL, &queue));
  CHECK(chime_target_create(session, close_session, &target));
  CHECK(chime_weak_timer_create(CHIME_MILLISECOND, 1, target, poll_session, NULL, NULL, NULL, &poll));
  CHECK(chime_weak_timer_add(poll, background, NULL));
  options.handler = count_down;
  schedule.first_ns = schedule.interval_ns = 10 * CHIME_MILLISECOND;
  schedule.missed_policy = CHIME_MISSED_DELAY; /* so that a slow machine counts down to the end as well */
  schedule.tick_limit = 3;
  CHECK(chime_timer_start(queue, &options, &schedule, &countdown));

  EXPECT(CHIME_STOPPED, chime_run_loop_run(NULL, CHIME_FOREVER, 0));
  printf("the main loop was stopped\n");
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER)); /* no handler runs from here on */
  CHECK(chime_weak_timer_is_valid(poll, &valid));
  printf("the weak timer is %s\n", valid ? "valid" : "not valid");
  CHECK(chime_weak_timer_release(poll));
  CHECK(chime_run_loop_release(background)); /* ends the thread */
  return 0;
}
