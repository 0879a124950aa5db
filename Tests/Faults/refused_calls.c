/*
 * refused_calls.c - the kernel refuses a call that Chime makes, as sandboxes do (seccomp): a queue answers RESOURCE, or
 * works. From the process's beginning, or from when queues have worked. Promise 21.
 */
#include "guest.h"

#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>

typedef struct kernel_call {
  const char *name;
  long number;
} kernel_call;

#define CALL(name) \
  { #name, SYS_##name }
static const kernel_call calls[] = {
    CALL(timerfd_create),
    CALL(timerfd_settime),
    CALL(eventfd2),
    CALL(epoll_create1),
    CALL(epoll_ctl),
    CALL(epoll_pwait2),
    CALL(sched_getaffinity),
    CALL(sched_setaffinity),
    CALL(sched_getscheduler),
    CALL(sched_setscheduler),
    CALL(sched_getparam),
    CALL(sched_get_priority_max),
    CALL(getpriority),
    CALL(setpriority),
    CALL(prctl),
    CALL(prlimit64),
    CALL(fcntl),
    CALL(madvise),
    CALL(clone3),
    CALL(set_robust_list),
    CALL(rt_sigprocmask),
    CALL(ppoll),
    CALL(openat),
    CALL(readlinkat),
    CALL(getrandom),
    CALL(membarrier),
    CALL(sysinfo),
};
enum { COUNT = sizeof calls / sizeof calls[0] };

static const int errors[] = {EPERM, ENOSYS};

/* Either it is refused, for want of something of the system's, or it ticks and ends. */
static void expect_resource_or_work(int where, const char *name) {
  static int ticks; /* outlives a queue that does not end */
  const int before = load(&ticks);
  chime_queue_t queue = 0;
  chime_status status = place_make(where, NULL, &queue);
  if (status != CHIME_OK) {
    if (EXPECT(status == CHIME_ERROR_RESOURCE || status == CHIME_ERROR_PERMISSION))
      fault_seen("%s: %s", name, place_name(where));
    else fprintf(stderr, "  %s on %s\n", chime_status_name(status), place_name(where));
    return;
  }
  place_drive(where, queue);
  status = chime_timer_every(queue, CHIME_MILLISECOND, count_tick, &ticks, NULL, NULL);
  if (status != CHIME_OK) {
    EXPECT(status == CHIME_ERROR_RESOURCE);
  } else if (!EXPECT(place_await(where, queue, &ticks, before + 3))) {
    fprintf(stderr, "  %s refused: %s is made and does not tick\n", name, place_name(where));
    fault_leave();
  }
  place_end(where, queue);
}

/* Argument: the call, twice for the two errors, of each kind of queue. */
static void refuse_and_try(int argument, int is_late) {
  const int where = argument / (2 * COUNT), error = errors[argument % 2];
  const kernel_call *call = &calls[argument / 2 % COUNT];
  if (!place_is_there(where) && is_late) fault_skip("the library has no libdispatch");
  if (call->number == SYS_clone3 && where == HOST) fault_skip("the host's own thread cannot be made");
  /* Its ticks come when threads can be had again. */
  if (call->number == SYS_clone3 && where == DISPATCH) fault_skip("libdispatch asks for threads again and again");
  if (is_late) place_expect_works(where);
  guest_refuse(call->number, error);
  expect_resource_or_work(where, call->name);
}

CASES(early, argument, 0, 2 * COUNT * PLACES - 1) { refuse_and_try(argument, 0); }
CASES(late, argument, 0, 2 * COUNT * PLACES - 1) { refuse_and_try(argument, 1); }
