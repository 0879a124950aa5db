/*
 * Pages: chime_expiring_create chime_expiring_on_expiry
 *        chime_expiring_acquire chime_expiring_yield
 *        chime_expiring_reset chime_expiring_release
 *        chime_expiring_t chime_expiring_options
 * Output:
 *   at 20 s: token
 *   at 50 s: expired
 *   freed
 *   at 60 s: none
 */
#include "check.h"

static void on_expiry(const chime_tick *tick, void *context) {
  (void)context;
  printf("at %d s: expired\n",
         (int)(tick->scheduled_ns / CHIME_SECOND));
}

static void on_free(void *value) {
  (void)value;
  printf("freed\n");
}

static void use(chime_expiring_t session, int now_s) {
  void *value;
  if (chime_expiring_acquire(session, &value) == CHIME_OK) {
    printf("at %d s: %s\n", now_s, (const char *)value);
    CHECK(chime_expiring_yield(session));
  } else {
    printf("at %d s: none\n", now_s);
  }
}

int main(void) {
  chime_expiring_options options = CHIME_EXPIRING_OPTIONS_INIT;
  chime_expiring_t session;
  chime_queue_t queue;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  options.label = "session"; /* for a dump of the queue */
  CHECK(chime_expiring_create(queue, 30 * CHIME_SECOND, "token",
                              on_free, &options, &session));
  CHECK(chime_expiring_on_expiry(session, on_expiry, NULL, NULL));
  chime_queue_advance(queue, 20 * CHIME_SECOND);
  use(session, 20);
  chime_expiring_reset(session, 30 * CHIME_SECOND); /* until 50 s */
  chime_queue_advance(queue, 40 * CHIME_SECOND);
  use(session, 60);
  chime_expiring_release(session);
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
