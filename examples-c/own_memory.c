/*
 * The host's own allocator, and a limit. What Chime allocates goes through two functions; the pages of timers, which are
 * most of its memory, are mapped and do not. The limit counts both: a call that would need more returns CHIME_ERROR_LIMIT
 * and changes nothing.
 *
 * Build:  make (or cc own_memory.c -o build/own_memory -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/own_memory
 *
 * Output:
 *   Chime asked for memory
 *   some timers were made, then: CHIME_ERROR_LIMIT
 *   without the limit: CHIME_OK
 *   an allocator now: CHIME_ERROR_BUSY
 */
#define _POSIX_C_SOURCE 200112L /* posix_memalign */
#include "check.h"

static int requests; /* one thread calls Chime here; a real one would be atomic */

static void *allocate(size_t alignment, size_t bytes, void *context) {
  void *memory = NULL;
  (void)context;
  requests++;
  if (alignment < sizeof(void *)) alignment = sizeof(void *);
  return posix_memalign(&memory, (size_t)alignment, (size_t)bytes) == 0 ? memory : NULL;
}

static void deallocate(void *memory, void *context) {
  (void)context;
  free(memory);
}

static void on_tick(const chime_tick *tick, void *context) { (void)tick, (void)context; }

int main(void) {
  chime_allocator allocator = CHIME_ALLOCATOR_INIT;
  chime_queue_t queue;
  chime_status status;
  int made = 0;

  allocator.allocate = allocate;
  allocator.deallocate = deallocate;
  CHECK(chime_set_allocator(&allocator)); /* before any other call */

  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  printf("%s\n", requests > 0 ? "Chime asked for memory" : "Chime asked for nothing");

  CHECK(chime_set_memory_limit(chime_memory_used() + 1000000));
  while ((status = chime_timer_after(queue, CHIME_HOUR, on_tick, NULL, NULL, NULL)) == CHIME_OK) made++;
  printf("%s timers were made, then: %s\n", made > 0 ? "some" : "no", chime_status_name(status));

  CHECK(chime_set_memory_limit(0));
  printf("without the limit: %s\n", chime_status_name(chime_timer_after(queue, 1, on_tick, NULL, NULL, NULL)));
  printf("an allocator now: %s\n", chime_status_name(chime_set_allocator(&allocator)));
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  return 0;
}
