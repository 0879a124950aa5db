/*
 * thread_locals.h - what each thread has in static storage. With glibc a library that dlopen loads shares some 1.6 kB of it with
 * all others of the process that want some, and does not load where too little is left: so all of it is one structure, no larger
 * than a cache line, and what is read only when a caller asks for it, like the text of a sentence, lies elsewhere.
 *
 * For C; Swift sees it through thread_state.h where it can.
 */
#ifndef CHIME_THREAD_LOCALS_H
#define CHIME_THREAD_LOCALS_H

#include <stdint.h>
#if defined(__linux__)
#include <features.h>
#endif

/* With glibc it is reached without a call: initial-exec storage. (pthread_getspecific is some 25 instructions each time.) musl
   refuses to load a library that has any; there it is reached by a call, except in a static program, for which the linker takes
   the call out. */
#if defined(__GLIBC__)
#define CHIME_THREAD_LOCAL_MODEL tls_model("initial-exec")
#else
#define CHIME_THREAD_LOCAL_MODEL tls_model("global-dynamic")
#endif

#pragma GCC visibility push(hidden)

struct chime_thread_locals {
  void *state;     /* thread_state.h */
  uint64_t number; /* 0: not numbered yet */
  void *provided;  /* memory.c */
  /* text.c: of the last call that failed. A signal handler may store another format at any time. */
  const char *volatile format;
  const char *name;
  int64_t first, second;
  int16_t status;
  uint8_t is_own, is_over : 1,  /* thread_state.h */
      refused_log2_and_one : 7; /* pages.c: how many bytes the limit refused last; 0: none */
  uint32_t slack_and_one;       /* linux/scheduling.c; 0: not asked yet */
};

_Static_assert(sizeof(struct chime_thread_locals) <= 64, "a process has little static storage for threads");

extern __attribute__((CHIME_THREAD_LOCAL_MODEL)) _Thread_local struct chime_thread_locals thread_of_chime;

enum { CHIME_SENTENCE = 192 };

/* The calling thread's room for a sentence, until it ends; NULL: there is no memory for it. */
char *chime_sentence_room(void);

#pragma GCC visibility pop

#endif
