// Prints: tick 1 | tick 2 | tick 3
#include <chime.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  printf("tick %" PRIu64 "\n", tick->sequence);
}

int main(void) {
  chime_queue_t queue;
  struct pollfd entry = {.events = POLLIN};
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (chime_queue_create(CHIME_QUEUE_HOST, NULL, &queue) != CHIME_OK) return 1;
  if (chime_queue_fd(queue, &entry.fd) != CHIME_OK) return 1;
  if (chime_timer_every(queue, CHIME_MILLISECOND, on_tick, NULL, NULL, NULL) != CHIME_OK) return 1;
  // the snippet that begins for (;;) {
}
