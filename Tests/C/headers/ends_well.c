/*
 * ends_well.c - a program that releases all it has made, on each kind of queue: LeakSanitizer and memcheck with all its checks
 * report nothing of Chime's (make leaks).
 */
#include <chime.h>
#include <stdio.h>
#include <unistd.h>

static void handle(const chime_tick *tick, void *context) { (void)tick, (void)context; }

#define OK(call) \
  do { \
    if ((call) != CHIME_OK) return printf("%s: %s\n", #call, chime_last_error_detail()), 2; \
  } while (0)

int main(void) {
  static const chime_queue_kind kinds[] = {CHIME_QUEUE_VIRTUAL, CHIME_QUEUE_HOST, CHIME_QUEUE_SERIAL,
                                           CHIME_QUEUE_CONCURRENT, CHIME_QUEUE_PRECISE};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    chime_queue_t queue;
    chime_timer_t labelled, plain;
    chime_target_t target;
    chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
    chime_schedule schedule = CHIME_SCHEDULE_INIT;
    OK(chime_queue_create(kinds[i], NULL, &queue));
    OK(chime_target_create(&queue, NULL, &target));
    options.handler = options.cancel_handler = handle;
    options.label = "labelled";
    options.target = target;
    schedule.first_ns = CHIME_MILLISECOND;
    schedule.interval_ns = 2 * CHIME_MILLISECOND;
    schedule.tick_limit = 1000;
    OK(chime_timer_start(queue, &options, &schedule, &labelled));
    OK(chime_timer_after(queue, CHIME_MILLISECOND, handle, NULL, NULL, &plain));
    usleep(5000);
    if (CHIME_FAILED(chime_timer_release(labelled)) || CHIME_FAILED(chime_timer_release(plain))) return 3;
    OK(chime_target_release(target));
    OK(chime_queue_shutdown(queue, CHIME_FOREVER));
  }
  return 0;
}
