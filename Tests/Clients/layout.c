/* Prints the sizes and offsets of the header's structures, `name number` a line, for clients that declare them anew. */
#include <chime.h>
#include <stdio.h>

#define SIZE(type) printf("%s %zu\n", #type, sizeof(type))
#define OFFSET(type, member) printf("%s.%s %zu\n", #type, #member, offsetof(type, member))

int main(void) {
  SIZE(chime_tick);
  OFFSET(chime_tick, timer);
  OFFSET(chime_tick, generation);
  OFFSET(chime_tick, sequence);
  OFFSET(chime_tick, missed);
  OFFSET(chime_tick, scheduled_ns);
  OFFSET(chime_tick, actual_ns);
  OFFSET(chime_tick, context);
  OFFSET(chime_tick, target);
  OFFSET(chime_tick, kind);
  OFFSET(chime_tick, reserved);
  SIZE(chime_queue_options);
  OFFSET(chime_queue_options, flags);
  OFFSET(chime_queue_options, label);
  OFFSET(chime_queue_options, qos);
  OFFSET(chime_queue_options, clock);
  OFFSET(chime_queue_options, timer_limit);
  OFFSET(chime_queue_options, start_ns);
  OFFSET(chime_queue_options, enter);
  OFFSET(chime_queue_options, leave);
  OFFSET(chime_queue_options, hook_context);
  OFFSET(chime_queue_options, affinity);
  OFFSET(chime_queue_options, realtime_priority);
  OFFSET(chime_queue_options, reserved);
  SIZE(chime_schedule);
  OFFSET(chime_schedule, flags);
  OFFSET(chime_schedule, first_ns);
  OFFSET(chime_schedule, interval_ns);
  OFFSET(chime_schedule, leeway_ns);
  OFFSET(chime_schedule, tick_limit);
  OFFSET(chime_schedule, missed_policy);
  OFFSET(chime_schedule, resume_policy);
  SIZE(chime_timer_options);
  OFFSET(chime_timer_options, flags);
  OFFSET(chime_timer_options, handler);
  OFFSET(chime_timer_options, registration_handler);
  OFFSET(chime_timer_options, cancel_handler);
  OFFSET(chime_timer_options, context);
  OFFSET(chime_timer_options, finalizer);
  OFFSET(chime_timer_options, label);
  OFFSET(chime_timer_options, target);
  SIZE(chime_timer_info);
  OFFSET(chime_timer_info, state);
  OFFSET(chime_timer_info, queue);
  OFFSET(chime_timer_info, generation);
  OFFSET(chime_timer_info, sequence);
  OFFSET(chime_timer_info, next_deadline_ns);
  OFFSET(chime_timer_info, remaining_ns);
  OFFSET(chime_timer_info, interval_ns);
  OFFSET(chime_timer_info, leeway_ns);
  OFFSET(chime_timer_info, tick_limit);
  OFFSET(chime_timer_info, due_count);
  OFFSET(chime_timer_info, busy);
  OFFSET(chime_timer_info, has_schedule);
  OFFSET(chime_timer_info, missed);
  return 0;
}
