/* windows/allocator.h - how memory.c gets between libchime and the C library's allocator: the linker's --wrap. There is no
   posix_memalign, and what _aligned_malloc gives only _aligned_free takes: so all blocks are of these. */
#include <errno.h>
#include <malloc.h>
#include <stddef.h>

static void *__real_malloc(size_t bytes) { return _aligned_malloc(bytes, 16); }
static int __real_posix_memalign(void **memory, size_t alignment, size_t bytes) {
  *memory = _aligned_malloc(bytes, alignment);
  return *memory == 0 ? ENOMEM : 0;
}
static void __real_free(void *memory) { _aligned_free(memory); }
