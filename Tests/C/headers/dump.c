/*
 * dump.c - a program with a timer of every kind and state, whose memory dump.py reads with chime.gdb: prints what
 * chime_queue_dump says of each queue, and waits.
 */
#include "program.h"

static int handler_runs;

static void never_return(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  store(&handler_runs, 1);
  for (;;) sleep_ns(CHIME_SECOND);
}

static void print(chime_queue_t queue) {
  static char text[1 << 20];
  CHECK(CHIME_OK, chime_queue_dump(queue, text, sizeof text, NULL));
  fputs(text, stdout);
}

int main(void) {
  chime_queue_t states = queue_of(CHIME_QUEUE_VIRTUAL, "all states, a longer label \xe2\x8f\xb0");
  chime_queue_t many = queue_of(CHIME_QUEUE_VIRTUAL, "many"), none = queue_of(CHIME_QUEUE_VIRTUAL, NULL);
  chime_queue_t gone = queue_of(CHIME_QUEUE_VIRTUAL, "gone");
  chime_queue_t host = queue_of(CHIME_QUEUE_HOST, "host"), stuck = queue_of(CHIME_QUEUE_PRECISE, "stuck queue");
  chime_timer_t timer;

  CHECK(CHIME_OK, chime_queue_jump(states, 100 * CHIME_HOUR));
  CHECK(CHIME_OK, chime_timer_create(states, &TIMER_OPTIONS(.handler = ignore_tick), &timer));
  timer_of(states, "one-shot", NULL, CHIME_SECOND, 0, 0);
  timer_of(states, NULL, NULL, CHIME_SECOND, 3 * CHIME_SECOND, 0);
  timer_of(states, "limit \"of\" 3\\: running\x7f\xc2\x9b\xe2\x80\xae\xe2\x80\xa8\n", NULL, CHIME_MILLISECOND,
           CHIME_MILLISECOND, 3);
  timer_of(states, "never", NULL, CHIME_FOREVER, 0, 0);
  timer = timer_of(states, "postponed a little", NULL, CHIME_MINUTE, 0, 0);
  CHECK(CHIME_OK, chime_timer_postpone(timer, CHIME_MINUTE + CHIME_MILLISECOND));
  timer = timer_of(states, "postponed by far", NULL, CHIME_MINUTE, 0, 0);
  CHECK(CHIME_OK, chime_timer_postpone(timer, 15 * CHIME_MINUTE));
  timer = timer_of(states, "suspended", NULL, CHIME_MINUTE, 0, 0);
  CHECK(CHIME_OK, chime_timer_suspend(timer));
  timer = timer_of(states, "cancelled", NULL, CHIME_MINUTE, 0, 0);
  CHECK(CHIME_OK, chime_timer_cancel(timer));
  timer = timer_of(states, "released", NULL, CHIME_MINUTE, 0, 0);
  CHECK(CHIME_OK, chime_timer_release(timer));
  CHECK(CHIME_OK, chime_queue_advance(states, CHIME_SECOND));
  CHECK(CHIME_OK, chime_queue_jump(states, 10 * CHIME_SECOND + 1));
  CHECK(CHIME_OK, chime_queue_advance(states, 0));
  CHECK(CHIME_OK, chime_queue_jump(states, 7 * CHIME_SECOND));
  for (int i = 0; i < 1000; i++) {
    CHECK(CHIME_OK, chime_timer_after(many, (i + 1) * CHIME_SECOND, ignore_tick, NULL, NULL, &timer));
    if (i % 3 == 0) CHECK(CHIME_OK, chime_timer_release(timer));
  }
  CHECK(CHIME_OK, chime_queue_advance(many, 10 * CHIME_SECOND));
  CHECK(CHIME_OK, chime_queue_shutdown(gone, 0));
  timer_of(host, "on the host", NULL, CHIME_HOUR, CHIME_HOUR, 0);
  CHECK(CHIME_OK, chime_timer_after(stuck, 0, never_return, NULL, NULL, &timer));
  if (!await(&handler_runs, 1)) return 3;
  print(states);
  print(many);
  print(none);
  print(host);
  print(stuck);
  puts("end");
  fflush(stdout);
  for (;;) sleep_ns(CHIME_SECOND);
}
