/* linux/allocator.h - how memory.c gets between libchime and libc's allocator: the linker's --wrap. */
#include <stddef.h>

void *__real_malloc(size_t bytes);
int __real_posix_memalign(void **memory, size_t alignment, size_t bytes);
void __real_free(void *memory);
