/*
 * wait_handles.c - a loop of Windows' own: the handle of a host-driven queue (chime_queue_fd) beside the program's, in
 * WaitForMultipleObjects. Handlers run in this thread, inside chime_queue_process; another thread signals an event.
 *
 * Build:  make FOR=windows; in a release: gcc wait_handles.c -I../../../../include ../../../../lib/libchime.dll.a
 * Run:    build\wait_handles
 *
 * Output:
 *   tick 1
 *   tick 2
 *   tick 3
 *   the event: no timer runs any more
 */
#include "check.h"

#include <windows.h>

static void on_tick(const chime_tick *tick, void *context) {
  printf("tick %" PRIu64 "\n", tick->sequence);
  if (tick->sequence < 3) return;
  CHECK(chime_timer_cancel(tick->timer)); /* CHIME_RUNNING: this handler has not returned */
  SetEvent((HANDLE)context);              /* any thread could */
}

int main(void) {
  HANDLE event = CreateEventW(NULL, FALSE, FALSE, NULL);
  chime_queue_t queue;
  chime_timer_t timer;
  chime_waitable file;
  int is_over = 0;

  CHECK(chime_queue_create(CHIME_QUEUE_HOST, NULL, &queue));
  CHECK(chime_queue_fd(queue, &file));
  CHECK(chime_timer_every(queue, 20 * CHIME_MILLISECOND, on_tick, event, NULL, &timer));

  while (!is_over) {
    const HANDLE handles[] = {(HANDLE)file, event};
    switch (WaitForMultipleObjects(2, handles, FALSE, INFINITE)) {
      case WAIT_OBJECT_0: CHECK(chime_queue_process(queue, 0, NULL)); break;
      case WAIT_OBJECT_0 + 1: is_over = 1; break;
      default: return EXIT_FAILURE;
    }
  }
  printf("the event: no timer runs any more\n");

  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER)); /* and with it the handle */
  CloseHandle(event);
  return EXIT_SUCCESS;
}
