#include "counted.h"

__attribute__((noinline)) void counted(void (*function)(void)) {
  function();
  __asm__ volatile("" ::: "memory"); /* no tail call: its end has to be seen */
}
