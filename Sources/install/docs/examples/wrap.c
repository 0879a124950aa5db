/*
 * Pages: chime_queue_create_on_dispatch
 * Output:
 *   no queue: CHIME_ERROR_INVALID_ARGUMENT
 */
#include <chime.h>
#include <stdio.h>

/* The dispatch queue belongs to the libdispatch that Chime uses: in
   programs of the Swift package, the toolchain's. */
static chime_status on(void *dispatch_queue, chime_queue_t *queue) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  options.label = "on the host's queue";
  return chime_queue_create_on_dispatch(dispatch_queue, &options,
                                        queue);
}

int main(void) {
  chime_queue_t queue;
  printf("no queue: %s\n", chime_status_name(on(NULL, &queue)));
  return 0;
}
