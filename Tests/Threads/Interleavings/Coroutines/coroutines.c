#define _GNU_SOURCE
#include "coroutines.h"

#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

void chime_coroutine_prepare(void *memory, size_t size, void (*body)(void)) {
  ucontext_t *context = memory;
  getcontext(context);
  context->uc_stack.ss_sp = context + 1;
  context->uc_stack.ss_size = size - sizeof *context;
  context->uc_link = NULL;
  makecontext(context, body, 0);
}

void chime_coroutine_switch(void *from, void *to) { swapcontext(from, to); }

/* In front of libc's, as are those of Scheduler+Files.swift. */
void chime_file_close(int file);
int close(int file) {
  if (file < CHIME_FIRST_FILE) return (int)syscall(SYS_close, file);
  chime_file_close(file);
  return 0;
}
