/* loads.c - loads libchime, arms timers, and lets go of it: it stays, and they go on. Prints "ok loads". */
#include <windows.h>

#include <stdint.h>
#include <stdio.h>

#include <chime.h>

static volatile LONG ticks;

static void count(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  InterlockedIncrement(&ticks);
}

int main(void) {
  HMODULE library = LoadLibraryA("chime-0.dll");
  chime_status (*create)(chime_queue_kind, const chime_queue_options *, chime_queue_t *);
  chime_status (*every)(chime_queue_t, int64_t, chime_handler, void *, chime_finalizer, chime_timer_t *);
  chime_queue_t queue = 0;
  LONG before;
  if (library == NULL) return 2;
  *(FARPROC *)&create = GetProcAddress(library, "chime_queue_create");
  *(FARPROC *)&every = GetProcAddress(library, "chime_timer_every");
  if (create(CHIME_QUEUE_SERIAL, NULL, &queue) != CHIME_OK) return 3;
  if (every(queue, CHIME_MILLISECOND, count, NULL, NULL, NULL) != CHIME_OK) return 4;
  for (int i = 0; i < 5; i++) FreeLibrary(library);
  before = ticks;
  for (int i = 0; i < 3000 && ticks < before + 10; i++) Sleep(10);
  if (ticks < before + 10 || GetModuleHandleA("chime-0.dll") == NULL) return 5;
  puts("ok loads");
  return 0;
}
