/*
 * embedded_runtime.c - what Embedded Swift's standard library asks of its surroundings, for libchime alone: SwiftPM's
 * builds have Swift's own runtime.
 */
#include "platform.h"

#include "clocks.h"

#define HIDDEN __attribute__((visibility("hidden")))

#if !defined(__APPLE__) /* whose library has both */

/* The seed of hash tables; glibc has this function from 2.36 on only. */
HIDDEN void arc4random_buf(void *bytes, size_t count) {
  unsigned char *next = bytes;
  int64_t now;
  if (chime_fill_at_random(bytes, count)) return;
  /* Tables that are hard to foresee are not a promise. */
  now = chime_clock_now(chime_monotonic_clock());
  for (; count > 0; count--) *next++ = (unsigned char)(now >> count % 20);
}

/* For the capacities of hash tables; libm is not needed then. */
HIDDEN double ceil(double value) {
  double whole = (double)(int64_t)value;
  return whole < value ? whole + 1 : whole;
}

#endif

/* Where the compiler has put a check that failed (an overflow, an index out of range, memory that could not be had for an
   object): says where, and ends the process. */
HIDDEN __attribute__((noreturn, noinline)) void chime_trap(void) {
  const char *at = __builtin_return_address(0);
  char text[] = "libchime: a check of its own has failed at +0x0000000000000000 in the library; please report";
  char *digit = strstr(text, "+0x") + 3 + 16;
  uintptr_t offset = (uintptr_t)(at - (const char *)chime_file_of(at));
  int i;
  for (i = 0; i < 16; i++, offset >>= 4) *--digit = "0123456789abcdef"[offset & 15];
  chime_write_error(text, sizeof text - 1);
  chime_write_error("\n", 1);
  abort();
}
