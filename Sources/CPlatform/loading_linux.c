#if defined(__linux__)
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "platform.h"

/* The linker has said so already: -z nodelete. */
void chime_stay_loaded(const void *address) { (void)address; }

const char *chime_getenv(const char *name) { return secure_getenv(name); }
#endif
