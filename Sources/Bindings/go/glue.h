// What stands between Go's numbers and C's pointers; see callback.go.
#include <chime.h>

extern void chimeGoTick(chime_tick *tick, uintptr_t context, uintptr_t target);
extern void chimeGoFunction(uintptr_t context);
extern void chimeGoGone(uintptr_t context);

static void on_tick(const chime_tick *tick, void *context) {
  chimeGoTick((chime_tick *)tick, (uintptr_t)context, (uintptr_t)tick->target);
}
static void on_function(void *context) { chimeGoFunction((uintptr_t)context); }
static void on_gone(void *context) { chimeGoGone((uintptr_t)context); }

// schedule NULL: the timer is created and not started.
static inline chime_status chime_go_start(chime_queue_t queue, const char *label, uint32_t flags, chime_target_t target,
                                          int armed, int cancelled, uintptr_t context, const chime_schedule *schedule,
                                          chime_timer_t *timer) {
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
static inline chime_status chime_go_after(chime_queue_t queue, int64_t delay_ns, uintptr_t context,
                                          chime_timer_t *timer) {
  return chime_timer_after(queue, delay_ns, on_tick, (void *)context, on_gone, timer);
}
static inline chime_status chime_go_every(chime_queue_t queue, int64_t first_ns, int64_t interval_ns, uintptr_t context,
                                          chime_timer_t *timer) {
  return chime_timer_after_every(queue, first_ns, interval_ns, on_tick, (void *)context, on_gone, timer);
}
static inline chime_status chime_go_async(chime_queue_t queue, uintptr_t context) {
  return chime_queue_async(queue, on_function, (void *)context, on_gone);
}
static inline chime_status chime_go_sync(chime_queue_t queue, uintptr_t context, int64_t timeout_ns) {
  return chime_queue_sync(queue, on_function, (void *)context, timeout_ns);
}
