/* A plugin is unloaded whose timer still runs: it had to shut its queue down. */
#define _GNU_SOURCE
#include "misuse.h"

#include <dlfcn.h>

/* Waits until the end of a tick is in the trace. */
static void await_trace(void) {
  static char text[65536];
  for (int i = 0; i < 30000 && strstr(text, "\"ph\":\"E\"") == NULL; i++) {
    FILE *file = fopen(getenv("CHIME_TRACE"), "r");
    if (file != NULL) text[fread(text, 1, sizeof text - 1, file)] = 0;
    if (file != NULL) fclose(file);
    sleep_ms(1);
  }
}

int main(void) {
  void *plugin = dlopen(getenv("MISUSE_PLUGIN"), RTLD_NOW);
  void (*begin)(int *, chime_queue_t *, chime_timer_t *);
  int ticks = 0;
  chime_queue_t queue;
  chime_timer_t timer;
  if (plugin == NULL) return 1;
  *(void **)&begin = dlsym(plugin, "begin");
  begin(&ticks, &queue, &timer);
  await(&ticks);
  await_trace();
  /* What the plugin should have done: chime_queue_shutdown(queue, CHIME_FOREVER). */
  told(dlclose(plugin) == 0 ? CHIME_OK : CHIME_ERROR_RESOURCE);
  fflush(stdout);
  for (;;) sleep_ms(100);
}
