/*
 * memcheck.h - tells valgrind's memcheck, if the program runs under it, of a block inside the block of the system's that it
 * was cut out of (a header is before it, see memory.c). Without that memcheck sees a pointer into the middle, and reports the
 * block as possibly lost. It is asked by a sequence of instructions that does nothing elsewhere (valgrind's manual, "The
 * Client Request mechanism"); on processors other than x86-64 nothing is asked.
 */
#ifndef CHIME_MEMCHECK_H
#define CHIME_MEMCHECK_H

#include <stddef.h>
#include <stdint.h>

enum { CHIME_MEMCHECK_BEGINS = 0x1301, CHIME_MEMCHECK_ENDS = 0x1302 };

static __attribute__((noinline)) void chime_tell_memcheck(uint64_t request, void *block, size_t bytes) {
#if defined(__x86_64__)
  /* The block, its size, no red zone, not zeroed; of an end, the block and no red zone. */
  volatile uint64_t what[6] = {request, (uint64_t)(uintptr_t)block, request == CHIME_MEMCHECK_BEGINS ? bytes : 0, 0, 0,
                               0};
  uint64_t answer = 0;
  __asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi; xchgq %%rbx, %%rbx"
                   : "+d"(answer)
                   : "a"(&what[0])
                   : "cc", "memory");
#else
  (void)request, (void)block, (void)bytes;
#endif
}

#endif
