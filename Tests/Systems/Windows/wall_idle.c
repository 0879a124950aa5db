/*
 * wall_idle.c - while a queue on the wall clock waits for nothing, nobody compares the clocks; while one of its timers is
 * pending, that happens about once a second. libchime.a is part of this program, which counts how often it asks for the
 * time of day.
 */
#define _WIN32_WINNT 0x0A00
#include <windows.h>

#include <stdio.h>

#include "basics.h"

static LONG asked;

static void WINAPI ask(FILETIME *now) {
  InterlockedIncrement(&asked);
  GetSystemTimeAsFileTime(now);
}
/* In the place of what the import library has. */
void(WINAPI *__imp_GetSystemTimePreciseAsFileTime)(FILETIME *) = ask;

/* The second that begins now is not counted: what the last call has begun ends in it. */
static LONG asked_in_four_seconds(void) {
  Sleep(1500);
  LONG before = asked;
  Sleep(4000);
  return asked - before;
}

int main(void) {
  chime_queue_options options = QUEUE_OPTIONS(.clock = CHIME_CLOCK_WALL);
  chime_queue_t queue = 0;
  chime_timer_t timer = 0;
  if (chime_queue_create(CHIME_QUEUE_SERIAL, &options, &queue) != CHIME_OK) return 1;
  LONG idle = asked_in_four_seconds();
  if (chime_timer_after(queue, CHIME_HOUR, ignore_tick, NULL, NULL, &timer) != CHIME_OK) return 1;
  LONG pending = asked_in_four_seconds();
  if (chime_queue_shutdown(queue, PATIENCE) != CHIME_OK) return 1;
  printf("%s wall_idle: asked %ld times while nothing waits, %ld while a timer does\n",
         idle == 0 && pending > 0 ? "ok" : "FAILED", (long)idle, (long)pending);
  return idle == 0 && pending > 0 ? 0 : 1;
}
