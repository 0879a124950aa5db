/* memory.c - see memory.h. Only for libchime. */
#include "memory.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include "memcheck.h"
#include "thread_locals.h"
#include "threads.h"

#define HIDDEN __attribute__((visibility("hidden")))

#if defined(__APPLE__)
#include "../darwin/allocator.h"
#elif defined(_WIN32)
#include "../windows/allocator.h"
#else
#include "../linux/allocator.h"
#endif

/* Where a block is from, and so where it goes back to. */
enum { FROM_SYSTEM = 0, FROM_CACHE = 1, FROM_RESERVE = 2 /* and the size class */ };

/* Before each block. */
typedef struct header {
  uint64_t bytes;  /* of the whole, header and what lies before it included */
  uint32_t offset; /* of the block in the whole */
  uint32_t origin;
} header;

enum { HEADER = 16, ALIGNMENT = 16 };

static header *header_of(void *block) { return (header *)((char *)block - HEADER); }

static void *block_in(char *whole, size_t offset, size_t bytes, uint32_t origin) {
  header *before = (header *)(whole + offset - HEADER);
  before->bytes = bytes;
  before->offset = (uint32_t)offset;
  before->origin = origin;
  return whole + offset;
}

/* ---- The system, or the host ------------------------------------------------------------------------------------ */

static void *(*host_allocate)(size_t, size_t, void *);
static void (*host_deallocate)(void *, void *);
static void *host_context;
/* Before the first call that makes something, what is needed to load the library comes out of the reserve. */
static atomic_int has_begun;

/* Whatever the host's functions or the system's leave in errno, the call of Chime's that they serve leaves it as it was. */
static void *take_whole(size_t alignment, size_t bytes) {
  const int error = errno;
  void *whole = 0;
  if (!atomic_load_explicit(&has_begun, memory_order_relaxed) || !chime_memory_take_account(bytes)) return 0;
  if (host_allocate != 0) {
    whole = host_allocate(alignment, bytes, host_context);
  } else if (alignment <= ALIGNMENT) {
    whole = __real_malloc(bytes);
  } else if (__real_posix_memalign(&whole, alignment, bytes) != 0) {
    whole = 0;
  }
  errno = error;
  if (whole == 0) chime_memory_give_account(bytes);
  return whole;
}

static void give_whole(void *whole, size_t bytes) {
  const int error = errno;
  host_deallocate != 0 ? host_deallocate(whole, host_context) : __real_free(whole);
  errno = error;
  chime_memory_give_account(bytes);
}

/* A block within a whole one that the system or the host has given. */
static void *block_of_system(char *whole, size_t offset, size_t bytes, uint32_t origin) {
  void *block = block_in(whole, offset, bytes, origin);
  chime_tell_memcheck(CHIME_MEMCHECK_BEGINS, block, bytes - offset);
  return block;
}

static void *take_from_system(size_t alignment, size_t bytes) {
  size_t offset = alignment > HEADER ? alignment : HEADER;
  char *whole;
  if (bytes > SIZE_MAX - offset) return 0;
  whole = take_whole(alignment > ALIGNMENT ? alignment : ALIGNMENT, offset + bytes);
  return whole == 0 ? 0 : block_of_system(whole, offset, offset + bytes, FROM_SYSTEM);
}

static void give_to_system(void *block) {
  const header *before = header_of(block);
  char *whole = (char *)block - before->offset;
  size_t bytes = before->bytes;
  chime_tell_memcheck(CHIME_MEMCHECK_ENDS, block, 0);
  give_whole(whole, bytes);
}

/* ---- The reserve ------------------------------------------------------------------------------------------------ */

/* Slabs out of which blocks of 64 to 2,048 bytes are cut, and a list of free ones for each size. Without a lock, so that a
   fork leaves all of it usable (P21). Slabs are never given back. */
enum {
  SLAB = 64 << 10,
  /* What nobody is promised: for what must not fail. */
  UNPROMISED = 16 << 10,
  CLASSES = 6
};

typedef struct slab {
  struct slab *previous;
  char *base;
  size_t bytes;
  atomic_size_t used;
} slab;

/* The first one is part of the library, so that it cannot be refused; no page of it is used before it is needed. */
static char first_bytes[SLAB] __attribute__((aligned(64)));
static slab first_slab = {0, first_bytes, SLAB, 0};

static _Atomic(slab *) newest = &first_slab;
static atomic_size_t promised = UNPROMISED;
/* What nobody has cut yet, of all slabs together. A cut is counted late, while it is still promised, and a new slab once it
   is in the list; so between the two it can fall below 0. */
static _Atomic ptrdiff_t uncut = SLAB;

static size_t class_bytes(int class) { return (size_t)64 << class; }

/* The address of a free list's first block, which is a multiple of 64 below 2^48, and in the other 22 bits a count of
   changes, so that a swap fails when the list has changed and come back. A block begins with the address of the next. */
static _Atomic uint64_t free_lists[CLASSES];
#define ADDRESS(head) ((void *)(uintptr_t)((head) >> 22 << 6))
#define CHANGED(head, block) ((uint64_t)(uintptr_t)(block) << 16 | (((head) + 1) & 0x3fffff))

static void give_to_reserve(void *whole, int class) {
  uint64_t head = atomic_load(&free_lists[class]);
  do {
    atomic_store_explicit((_Atomic(void *) *)whole, ADDRESS(head), memory_order_relaxed);
  } while (!atomic_compare_exchange_weak(&free_lists[class], &head, CHANGED(head, whole)));
}

static void *take_from_list(int class) {
  uint64_t head = atomic_load(&free_lists[class]);
  void *whole;
  do {
    whole = ADDRESS(head);
    if (whole == 0) return 0;
    /* Another thread may have taken it by now, and write in it; then the swap fails. */
  } while (!atomic_compare_exchange_weak(
      &free_lists[class], &head, CHANGED(head, atomic_load_explicit((_Atomic(void *) *)whole, memory_order_relaxed))));
  return whole;
}

static void *cut(size_t bytes) {
  slab *from;
  for (from = atomic_load(&newest); from != 0; from = from->previous) {
    size_t used = atomic_load(&from->used);
    while (used + bytes <= from->bytes) {
      if (atomic_compare_exchange_weak(&from->used, &used, used + bytes)) {
        atomic_fetch_sub(&uncut, (ptrdiff_t)bytes);
        return from->base + used;
      }
    }
  }
  return 0;
}

static void *take_from_reserve(size_t bytes) {
  int class = 0, larger;
  void *whole;
  while (class < CLASSES && class_bytes(class) < bytes + HEADER) class ++;
  if (class == CLASSES) return 0;
  whole = take_from_list(class);
  if (whole == 0) whole = cut(class_bytes(class));
  for (larger = class + 1; whole == 0 && larger < CLASSES; larger++) {
    whole = take_from_list(larger);
    if (whole != 0) class = larger;
  }
  return whole == 0 ? 0 : block_in(whole, HEADER, class_bytes(class), FROM_RESERVE + (uint32_t) class);
}

int chime_memory_promise(size_t bytes) {
  ptrdiff_t there, all = (ptrdiff_t)(atomic_fetch_add(&promised, bytes) + bytes);
  if (!atomic_load_explicit(&has_begun, memory_order_relaxed)) atomic_store(&has_begun, 1);
  /* Read once a round: other threads add slabs meanwhile. */
  while ((there = atomic_load(&uncut)) < all) {
    size_t wanted = (size_t)(all - there) + 64, more = wanted > SLAB ? (wanted + 4095) & ~(size_t)4095 : SLAB;
    slab *made = take_whole(64, more);
    if (made == 0) {
      atomic_fetch_sub(&promised, bytes);
      return 0;
    }
    made->base = (char *)made;
    made->bytes = more;
    atomic_init(&made->used, 64);
    made->previous = atomic_load(&newest);
    while (!atomic_compare_exchange_weak(&newest, &made->previous, made)) {}
    atomic_fetch_add(&uncut, (ptrdiff_t)(more - 64));
  }
  return 1;
}

/* ---- A block that is ready -------------------------------------------------------------------------------------- */

int chime_memory_provide(size_t bytes) {
  if (bytes <= CHIME_MEMORY_LARGEST) return 1;
  if (thread_of_chime.provided != 0) give_to_system(thread_of_chime.provided);
  thread_of_chime.provided = take_from_system(ALIGNMENT, bytes);
  return thread_of_chime.provided != 0;
}

void chime_memory_leave(size_t bytes) {
  atomic_fetch_sub(&promised, bytes);
  if (thread_of_chime.provided == 0) return;
  give_to_system(thread_of_chime.provided);
  thread_of_chime.provided = 0;
}

static void *take_provided(size_t alignment, size_t bytes) {
  void *block = thread_of_chime.provided;
  if (block == 0 || bytes <= CHIME_MEMORY_LARGEST || alignment > ALIGNMENT) return 0;
  if (header_of(block)->bytes - HEADER < bytes) return 0;
  thread_of_chime.provided = 0;
  return block;
}

/* ---- Blocks of libdispatch's ------------------------------------------------------------------------------------ */

/* Of these it takes and gives back some for each wake-up: so some are kept. Behind a lock that nobody waits for long: in a
   forked child its holder may be gone. */
enum { CACHED_BYTES = 128, MOST_CACHED = 256, TRIES = 1000 };

static atomic_flag cache_lock = ATOMIC_FLAG_INIT;
static void *cached;
static int cached_count;

static int lock_cache(void) {
  int i;
  for (i = 0; i < TRIES; i++) {
    if (!atomic_flag_test_and_set_explicit(&cache_lock, memory_order_acquire)) return 1;
    if (i % 64 == 63) chime_yield();
  }
  return 0;
}

static void *take_from_cache(void) {
  void *whole = 0;
  if (!lock_cache()) return 0;
  if (cached != 0) {
    whole = cached;
    cached = *(void **)whole;
    cached_count--;
  }
  atomic_flag_clear_explicit(&cache_lock, memory_order_release);
  return whole;
}

static int give_to_cache(void *whole) {
  int is_kept = 0;
  if (!lock_cache()) return 0;
  if (cached_count < MOST_CACHED) {
    *(void **)whole = cached;
    cached = whole;
    cached_count++;
    is_kept = 1;
  }
  atomic_flag_clear_explicit(&cache_lock, memory_order_release);
  return is_kept;
}

/* ---- What the linker leads here --------------------------------------------------------------------------------- */

HIDDEN void *__wrap_malloc(size_t bytes);
HIDDEN void *__wrap_calloc(size_t count, size_t bytes);
HIDDEN int __wrap_posix_memalign(void **memory, size_t alignment, size_t bytes);
HIDDEN void __wrap_free(void *memory);
HIDDEN char *__wrap_strdup(const char *text);
HIDDEN int __wrap_asprintf(char **text, const char *format, ...);

/* Whoever calls it looks at the answer: that is Chime itself. */
void *__wrap_malloc(size_t bytes) {
  void *block = take_from_system(ALIGNMENT, bytes);
  if (block == 0 && !atomic_load_explicit(&has_begun, memory_order_relaxed)) block = take_from_reserve(bytes);
  return block;
}

/* Whoever calls these does not. */
int __wrap_posix_memalign(void **memory, size_t alignment, size_t bytes) {
  void *block = take_provided(alignment, bytes);
  if (block == 0) block = take_from_system(alignment, bytes);
  if (block == 0 && alignment <= ALIGNMENT) block = take_from_reserve(bytes);
  if (block == 0) return ENOMEM;
  *memory = block;
  return 0;
}

void *__wrap_calloc(size_t count, size_t bytes) {
  size_t all = count * bytes;
  void *block = 0;
  if (bytes != 0 && all / bytes != count) return 0;
  if (all <= CACHED_BYTES - HEADER) {
    char *whole = take_from_cache();
    if (whole == 0) whole = take_whole(ALIGNMENT, CACHED_BYTES);
    if (whole != 0) block = block_of_system(whole, HEADER, CACHED_BYTES, FROM_CACHE);
  } else {
    block = take_from_system(ALIGNMENT, all);
  }
  if (block == 0) block = take_from_reserve(all);
  return block == 0 ? 0 : memset(block, 0, all);
}

char *__wrap_strdup(const char *text) {
  size_t bytes = strlen(text) + 1;
  void *copy = take_from_system(ALIGNMENT, bytes);
  if (copy == 0) copy = take_from_reserve(bytes);
  return copy == 0 ? 0 : memcpy(copy, text, bytes);
}

/* libc's own would give a block that has no header. */
int __wrap_asprintf(char **text, const char *format, ...) {
  va_list arguments;
  int length;
  va_start(arguments, format);
  length = vsnprintf(0, 0, format, arguments);
  va_end(arguments);
  *text = length < 0 ? 0 : take_from_system(ALIGNMENT, (size_t)length + 1);
  if (*text == 0) return -1;
  va_start(arguments, format);
  vsnprintf(*text, (size_t)length + 1, format, arguments);
  va_end(arguments);
  return length;
}

void __wrap_free(void *memory) {
  const header *before;
  char *whole;
  if (memory == 0) return;
  before = header_of(memory);
  whole = (char *)memory - before->offset;
  switch (before->origin) {
    case FROM_SYSTEM: give_to_system(memory); break;
    case FROM_CACHE:
      chime_tell_memcheck(CHIME_MEMCHECK_ENDS, memory, 0);
      if (!give_to_cache(whole)) give_whole(whole, CACHED_BYTES);
      break;
    default: give_to_reserve(whole, (int)before->origin - FROM_RESERVE);
  }
}

/* ---- For the interface ------------------------------------------------------------------------------------------ */

int chime_memory_set_allocator(void *(*allocate)(size_t, size_t, void *), void (*deallocate)(void *, void *),
                               void *context) {
  if (atomic_load(&has_begun)) return 0;
  host_context = context;
  host_deallocate = deallocate;
  host_allocate = allocate;
  return 1;
}
