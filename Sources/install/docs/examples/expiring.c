/*
 * Pages: chime_expiring_create chime_expiring_on_expiry chime_expiring_acquire chime_expiring_yield chime_expiring_reset chime_expiring_release chime_expiring_t
 * Output:
 *   token
 *   no longer
 *   token is freed
 *   then: CHIME_IGNORED
 */
#include <chime.h>
#include <stdio.h>

static void on_expiry(const chime_tick *tick, void *context) {
  (void)tick;
  printf("%s\n", (const char *)context);
}

static void on_free(void *value) { printf("%s is freed\n", (const char *)value); }

int main(void) {
  chime_expiring_t token;
  void *value;
  chime_queue_t queue;
  if (CHIME_FAILED(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue))) return 1;
  if (CHIME_FAILED(chime_expiring_create(queue, "token", on_free, 30 * CHIME_SECOND, &token))) return 1;
  chime_expiring_on_expiry(token, on_expiry, "no longer", NULL);
  chime_queue_advance(queue, 20 * CHIME_SECOND);
  chime_expiring_reset(token, 30 * CHIME_SECOND); /* it is good for 30 s more */
  chime_queue_advance(queue, 20 * CHIME_SECOND);
  if (chime_expiring_acquire(token, &value) == CHIME_OK) {
    printf("%s\n", (const char *)value); /* valid until yielded */
    chime_expiring_yield(token);
  }
  chime_queue_advance(queue, 20 * CHIME_SECOND);
  printf("then: %s\n", chime_status_name(chime_expiring_acquire(token, &value)));
  chime_expiring_release(token);
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
