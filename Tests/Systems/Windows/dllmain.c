/* dllmain.c - a DLL that starts a timer under the loader's lock. Its thread begins once DllMain has returned. */
#include <windows.h>

#include <chime.h>

static volatile LONG ticks;

static void count(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  InterlockedIncrement(&ticks);
}

__declspec(dllexport) int ticks_of_dll(void) { return (int)ticks; }

BOOL WINAPI DllMain(HINSTANCE module, DWORD reason, void *reserved) {
  chime_queue_t queue = 0;
  (void)module, (void)reserved;
  if (reason != DLL_PROCESS_ATTACH) return TRUE;
  return chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue) == CHIME_OK &&
         chime_timer_every(queue, CHIME_MILLISECOND, count, NULL, NULL, NULL) == CHIME_OK;
}
