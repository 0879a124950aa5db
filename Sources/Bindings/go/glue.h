// What stands between Go and C; see callback.go.
#ifndef CHIME_GO_GLUE_H
#define CHIME_GO_GLUE_H
#include <chime.h>

// What becomes of a function's panic.
enum { CHIME_GO_IS_RAISED, CHIME_GO_IS_DROPPED, CHIME_GO_ENDS_THE_PROCESS };

// What a call answers that may run functions of Go's inside it.
typedef struct chime_go_answer {
  chime_status status;
  uint32_t count;   // chime_queue_process
  uintptr_t raised; // a cgo.Handle of what the first function that panicked has panicked with; 0: none has
} chime_go_answer;

chime_go_answer chime_go_advance(chime_queue_t queue, int64_t duration_ns);
chime_go_answer chime_go_process(chime_queue_t queue, uint32_t most);
chime_go_answer chime_go_run(chime_queue_t queue, uint32_t flags);
chime_go_answer chime_go_shutdown(chime_queue_t queue, int64_t timeout_ns);
chime_go_answer chime_go_queue_release(chime_queue_t queue);
chime_go_answer chime_go_release(chime_timer_t timer);
chime_go_answer chime_go_release_and_wait(chime_timer_t timer, int64_t timeout_ns);
chime_status chime_go_sync(chime_queue_t queue, uintptr_t context, int64_t timeout_ns);

// Whether this thread is inside a function that Chime has called.
int chime_go_is_inside(void);
// The contexts of those that it is inside of, the innermost first; 0: no more.
uintptr_t chime_go_inside(int depth);

// schedule NULL: the timer is created and not started.
chime_status chime_go_start(chime_queue_t queue, const char *label, uint32_t flags, chime_target_t target, int armed,
                            int cancelled, uintptr_t context, const chime_schedule *schedule, chime_timer_t *timer);
chime_status chime_go_after(chime_queue_t queue, int64_t delay_ns, uintptr_t context, chime_timer_t *timer);
chime_status chime_go_every(chime_queue_t queue, int64_t interval_ns, uintptr_t context, chime_timer_t *timer);
chime_status chime_go_async(chime_queue_t queue, uintptr_t context);
#endif
