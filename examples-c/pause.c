/*
 * A game's pause. A queue that is suspended calls nothing, but its time goes on: what was missed comes as one tick after the
 * resume. To keep a timer's remaining time instead, give it CHIME_RESUME_REMAINING and suspend the timer itself. Meanwhile
 * the menu lists the timers and how they are set, and changes one.
 *
 * Build:  make (or cc pause.c -o build/pause -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/pause
 *
 * Output:
 *    2 s: an enemy
 *    4 s: an enemy
 *    5 s: pause
 *         every 1 s, next at 6 s
 *         every 8 s, next at 8 s, in the background
 *   10 s: on
 *   10 s: an enemy, and 4 missed
 *   10 s: saved
 *   11 s: an enemy
 *   12 s: an enemy
 */
#include "check.h"

static void on_tick(const chime_tick *tick, void *name) {
  printf("%2d s: %s", (int)(tick->actual_ns / CHIME_SECOND), (const char *)name);
  if (tick->missed > 0) printf(", and %d missed", (int)tick->missed);
  puts("");
}

static void show_menu(chime_queue_t queue) {
  chime_timer_t timers[8];
  size_t count, i;
  CHECK(chime_queue_list_timers(queue, timers, 8, &count));
  for (i = 0; i < count && i < 8; i++) {
    chime_timer_info info = CHIME_TIMER_INFO_INIT;
    chime_schedule schedule = CHIME_SCHEDULE_INIT;
    CHECK(chime_timer_get_info(timers[i], &info));
    CHECK(chime_timer_get_schedule(timers[i], &schedule));
    printf("      every %d s, next at %d s%s\n", (int)(schedule.interval_ns / CHIME_SECOND),
           (int)(info.next_deadline_ns / CHIME_SECOND), info.background ? ", in the background" : "");
  }
}

int main(void) {
  chime_queue_t queue;
  chime_timer_t enemies, saving;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  CHECK(chime_timer_every(queue, 2 * CHIME_SECOND, on_tick, "an enemy", NULL, &enemies));
  CHECK(chime_timer_every(queue, 8 * CHIME_SECOND, on_tick, "saved", NULL, &saving));
  CHECK(chime_timer_set_background(saving, 1)); /* chime_queue_run would not wait for it */
  CHECK(chime_queue_advance(queue, 5 * CHIME_SECOND));

  puts(" 5 s: pause");
  CHECK(chime_queue_suspend(queue));
  CHECK(chime_queue_advance(queue, 5 * CHIME_SECOND));
  CHECK(chime_timer_set_interval(enemies, 1 * CHIME_SECOND)); /* the next deadline stays */
  show_menu(queue);

  puts("10 s: on");
  CHECK(chime_queue_resume(queue));
  CHECK(chime_queue_advance(queue, 2 * CHIME_SECOND));
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  return 0;
}
