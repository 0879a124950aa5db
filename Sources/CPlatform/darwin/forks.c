#if defined(__APPLE__)
#include "forks.h"

#include <mach/vm_inherit.h>
#include <sys/mman.h>

#ifndef VM_INHERIT_ZERO
#define VM_INHERIT_ZERO 3
#endif

extern int minherit(void *first, size_t bytes, int inherit); /* which some sets of headers do not have */

bool chime_empty_in_child(void *first, size_t bytes) { return minherit(first, bytes, VM_INHERIT_ZERO) == 0; }
#endif
