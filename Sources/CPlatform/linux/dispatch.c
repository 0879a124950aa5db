#if defined(__linux__)
#include "dispatch_main_queue.h"

#include <stdint.h>
#include <unistd.h>

#if defined(CHIME_WITHOUT_DISPATCH)
int chime_dispatch_main_queue_file(void) { return -1; }
void chime_dispatch_drain_main_queue(int file) { (void)file; }
#else
/* Declared in headers of libdispatch that are not installed; CoreFoundation uses them, too. */
extern int _dispatch_get_main_queue_handle_4CF(void);
extern void _dispatch_main_queue_callback_4CF(void *);

/* An eventfd. */
int chime_dispatch_main_queue_file(void) { return _dispatch_get_main_queue_handle_4CF(); }

/* Where the linker leads libdispatch's getenv here (../Makefile), no variable of the environment means anything to it: by
   LIBDISPATCH_LOG it would make a file in /var/tmp, and by LIBDISPATCH_STRICT end the process, in programs with more rights
   than their user, too. Chime itself asks chime_getenv. */
__attribute__((visibility("hidden"))) char *__wrap_getenv(const char *name);
char *__wrap_getenv(const char *name) {
  (void)name;
  return 0;
}

void chime_dispatch_drain_main_queue(int file) {
  uint64_t count;
  ssize_t got = read(file, &count, sizeof count);
  (void)got;
  _dispatch_main_queue_callback_4CF(0);
}
#endif
#endif
