/*
 * Debounce: act once, when nothing has happened for a while. A key starts the timer anew, whatever it did before
 * (chime_timer_restart_after); the search begins 300 ms after the last key.
 *
 * Build:  make (or cc debounce.c -o build/debounce -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/debounce
 *
 * Output:
 *   0 ms  key: t
 *   120 ms  key: ti
 *   240 ms  key: tim
 *   540 ms  search for "tim"
 *   1000 ms  key: time
 *   1300 ms  search for "time"
 */
#include "check.h"

#include <string.h>

static chime_queue_t queue; /* in virtual time here; on a serial queue, or your own loop's, the same code is live */

struct field {
  char text[16];
  chime_timer_t pause;
};

static int64_t now_ms(void) {
  int64_t now;
  CHECK(chime_queue_now(queue, &now));
  return now / CHIME_MILLISECOND;
}

static void on_pause(const chime_tick *tick, void *context) {
  const struct field *field = context;
  (void)tick;
  printf("%" PRId64 " ms  search for \"%s\"\n", now_ms(), field->text);
}

static void on_key(struct field *field, const char *text) {
  strcpy(field->text, text);
  printf("%" PRId64 " ms  key: %s\n", now_ms(), text);
  CHECK(chime_timer_restart_after(field->pause, 300 * CHIME_MILLISECOND));
}

int main(void) {
  static struct field field;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;

  options.handler = on_pause;
  options.context = &field;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  CHECK(chime_timer_create(queue, &options, &field.pause)); /* idle, until the first key */
  on_key(&field, "t");
  CHECK(chime_queue_advance(queue, 120 * CHIME_MILLISECOND));
  on_key(&field, "ti");
  CHECK(chime_queue_advance(queue, 120 * CHIME_MILLISECOND));
  on_key(&field, "tim");
  CHECK(chime_queue_advance(queue, 760 * CHIME_MILLISECOND));
  on_key(&field, "time");
  CHECK(chime_queue_advance(queue, CHIME_SECOND));
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  return 0;
}
