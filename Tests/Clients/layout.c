/* Prints the sizes and offsets of the header's structures, `name number` a line, for clients that declare them anew. */
#include <chime.h>
#include <stdio.h>

/* clang-format off */
#define SIZE(type) {#type, sizeof(type)}
#define OFFSET(type, member) {#type "." #member, offsetof(type, member)}
#define TICK(member) OFFSET(chime_tick, member)
#define QUEUE(member) OFFSET(chime_queue_options, member)
#define SCHEDULE(member) OFFSET(chime_schedule, member)
#define TIMER(member) OFFSET(chime_timer_options, member)
#define INFO(member) OFFSET(chime_timer_info, member)

static const struct { const char *name; size_t number; } rows[] = {
  SIZE(chime_tick), TICK(timer), TICK(generation), TICK(sequence), TICK(missed), TICK(scheduled_ns), TICK(actual_ns),
  TICK(context), TICK(target), TICK(kind), TICK(reserved),

  SIZE(chime_queue_options), QUEUE(flags), QUEUE(label), QUEUE(qos), QUEUE(clock), QUEUE(timer_limit), QUEUE(start_ns),
  QUEUE(enter), QUEUE(leave), QUEUE(hook_context), QUEUE(affinity), QUEUE(realtime_priority), QUEUE(reserved),

  SIZE(chime_schedule), SCHEDULE(flags), SCHEDULE(first_ns), SCHEDULE(interval_ns), SCHEDULE(leeway_ns),
  SCHEDULE(tick_limit), SCHEDULE(missed_policy), SCHEDULE(resume_policy),

  SIZE(chime_timer_options), TIMER(flags), TIMER(handler), TIMER(registration_handler), TIMER(cancel_handler),
  TIMER(context), TIMER(finalizer), TIMER(label), TIMER(target),

  SIZE(chime_timer_info), INFO(state), INFO(queue), INFO(generation), INFO(sequence), INFO(next_deadline_ns),
  INFO(remaining_ns), INFO(interval_ns), INFO(leeway_ns), INFO(tick_limit), INFO(due_count), INFO(busy),
  INFO(has_schedule), INFO(missed),
};
/* clang-format on */

int main(void) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i += 1) printf("%s %zu\n", rows[i].name, rows[i].number);
  return 0;
}
