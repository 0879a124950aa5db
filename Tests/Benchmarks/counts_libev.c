/*
 * counts_libev.c - what counts.c counts for chime_timer_restart_after, for libev's ev_timer_again: one timer, and as many
 * others pending as the first argument says.
 */
#include <ev.h>
#include <stdio.h>
#include <stdlib.h>

enum { WARM_UP = 100 };

static struct ev_loop *loop;
static ev_timer timer;

static void on_timer(struct ev_loop *l, ev_timer *t, int events) {}

static void again(int i) {
  timer.repeat = 3600 + i * 1e-9;
  ev_timer_again(loop, &timer);
}

__attribute__((noinline)) void counted(void (*once)(int), int n) {
  for (int i = 0; i < n; i++) once(WARM_UP + i);
}

int main(int argc, char **argv) {
  int others = argc > 1 ? atoi(argv[1]) : 0, n = argc > 2 ? atoi(argv[2]) : 1000;
  ev_timer *pending = calloc((size_t)others + 1, sizeof *pending);
  loop = ev_loop_new(EVFLAG_AUTO);
  if (loop == NULL || pending == NULL) return 1;
  for (int i = 0; i < others; i++) {
    ev_timer_init(&pending[i], on_timer, 1 + i % 7200, 0);
    ev_timer_start(loop, &pending[i]);
  }
  ev_timer_init(&timer, on_timer, 0, 3600);
  for (int i = 0; i < WARM_UP; i++) again(i);
  counted(again, n);
  return 0;
}
