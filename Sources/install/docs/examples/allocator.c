/*
 * Pages: chime_set_allocator chime_allocator
 * Output:
 *   CHIME_OK
 *   asked for: yes
 */
#define _POSIX_C_SOURCE 200112L
#include "check.h"

static void *allocate(size_t alignment, size_t bytes,
                      void *context) {
  void *memory = NULL;
  /* any thread may be here, with locks held: no call of Chime */
  *(int *)context = 1;
  if (alignment < sizeof(void *)) alignment = sizeof(void *);
  if (posix_memalign(&memory, alignment, bytes) != 0) return NULL;
  return memory;
}

static void deallocate(void *memory, void *context) {
  (void)context;
  free(memory);
}

int main(void) {
  static int is_asked;
  chime_allocator allocator = CHIME_ALLOCATOR_INIT;
  chime_queue_t queue;
  allocator.allocate = allocate;
  allocator.deallocate = deallocate;
  allocator.context = &is_asked;
  /* before anything is created */
  printf("%s\n", chime_status_name(chime_set_allocator(&allocator)));
  CHECK(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue));
  printf("asked for: %s\n", is_asked ? "yes" : "no");
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
