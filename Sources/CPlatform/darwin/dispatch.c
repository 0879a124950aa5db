#if defined(__APPLE__)
#include "dispatch_main_queue.h"

#if defined(CHIME_WITHOUT_DISPATCH)
int chime_dispatch_main_queue_file(void) { return -1; }
void chime_dispatch_drain_main_queue(int file) { (void)file; }
#else
#include <fcntl.h>
#include <mach/mach.h>
#include <sys/event.h>
#include <unistd.h>

#include "clocks.h"
#include "dispatch_functions.h"

/* libdispatch counts mach_absolute_time, rounded up here so that nothing is early; and Chime has seen to the leeway. */
#define CHIME_DISPATCH_CALL
#define CHIME_DISPATCH_TIMER_FLAGS DISPATCH_TIMER_STRICT
#define CHIME_DISPATCH_TIME(nanoseconds) chime_mach_ticks((int64_t)(nanoseconds))
#include "dispatch_calls.h"

/* The main queue has a port, which gets a message when there is work, and CoreFoundation's run loop receives from it.
   These functions are exported, and declared nowhere: an app that uses them may be refused by the App Store. So they are
   used where CHIME_MAIN_QUEUE_PORT asks for them only. Otherwise the main queue is drained by whoever runs the main
   thread's loop, as in every app (CFRunLoopRun, NSApplicationMain, dispatch_main). */
#ifndef CHIME_MAIN_QUEUE_PORT
int chime_dispatch_main_queue_file(void) { return -1; }
void chime_dispatch_drain_main_queue(int file) { (void)file; }
#else
extern mach_port_t _dispatch_get_main_queue_port_4CF(void);
extern void _dispatch_main_queue_callback_4CF(void *);

/* A set with that port in it, which a kqueue watches: that is a descriptor to poll. */
static mach_port_t set;
static int made; /* + 1 */

/* Called first behind MainQueue's lock. */
int chime_dispatch_main_queue_file(void) {
  struct kevent64_s event;
  mach_port_t port, made_set = MACH_PORT_NULL;
  int file = __atomic_load_n(&made, __ATOMIC_ACQUIRE) - 1;
  if (file >= 0) return file;
  port = _dispatch_get_main_queue_port_4CF();
  if (port == MACH_PORT_NULL ||
      mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_PORT_SET, &made_set) != KERN_SUCCESS)
    return -1;
  file = kqueue();
  EV_SET64(&event, made_set, EVFILT_MACHPORT, EV_ADD, 0, 0, 0, 0, 0);
  if (mach_port_insert_member(mach_task_self(), port, made_set) != KERN_SUCCESS || file < 0 ||
      kevent64(file, &event, 1, 0, 0, 0, 0) != 0) {
    if (file >= 0) close(file);
    mach_port_mod_refs(mach_task_self(), made_set, MACH_PORT_RIGHT_PORT_SET, -1);
    return -1;
  }
  fcntl(file, F_SETFD, FD_CLOEXEC);
  set = made_set;
  __atomic_store_n(&made, file + 1, __ATOMIC_RELEASE);
  return file;
}

void chime_dispatch_drain_main_queue(int file) {
  struct {
    mach_msg_header_t header;
    char rest[512];
  } message;
  (void)file;
  message.header.msgh_size = sizeof message;
  message.header.msgh_local_port = set;
  mach_msg(&message.header, MACH_RCV_MSG | MACH_RCV_TIMEOUT | MACH_RCV_LARGE, 0, sizeof message, set, 0,
           MACH_PORT_NULL);
  _dispatch_main_queue_callback_4CF(&message);
}
#endif
#endif
#endif
